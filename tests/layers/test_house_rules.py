"""Each rule of the house refuses what it is there for, and nothing else."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import house_rules

HEAD = "// What it is.\n// SPDX-License-Identifier: MIT\n"


class HouseRulesTest(unittest.TestCase):
    def check(self, files: dict[str, str]) -> list[str]:
        """What house_rules says of a checkout with just these files."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return house_rules.check(Path(folder).resolve())

    def assert_refused(self, name: str, text: str, line: int, complaint: str) -> None:
        """One breach, at this line, which says this."""
        found = self.check({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{name}:{line}: "), found)
        self.assertIn(complaint, found[0])

    def assert_accepted(self, name: str, text: str) -> None:
        self.assertEqual(self.check({name: text}), [])

    def test_include_that_climbs(self) -> None:
        for include in ('"../core/registry.h"', '"x/../../y.h"', "<../core/registry.h>"):
            with self.subTest(include):
                self.assert_refused("daemon/wire/a.c", f"{HEAD}\n#  include {include}\n", 4,
                                    "climbs")

    def test_include_with_a_folder(self) -> None:
        self.assert_refused("daemon/wire/a.h", f'{HEAD}#include "core/registry.h"\n', 3, "bare")
        self.assert_accepted("daemon/wire/a.h", f"{HEAD}#include <sys/types.h>\n")

    def test_extern(self) -> None:
        for text in ("extern int count;", "  extern int feed(int *a,\n    int b);"):
            with self.subTest(text):
                self.assert_refused("daemon/wire/a.c", f"{HEAD}/*\n*/\n{text}\n", 5, "extern")
        self.assert_accepted("daemon/wire/a.c", f"{HEAD}/*\nextern int a;\n*/\n"
                                                'const char *a = "\\\nextern int a;";\n')
        self.assert_accepted("daemon/wire/a.h", f"{HEAD}extern const int a;\n")
        self.assert_accepted("bpf/a.bpf.c", f"{HEAD}extern int LINUX_KERNEL_VERSION __kconfig;\n")

    def test_prototype(self) -> None:
        for text in ("int feed(void);", "const char *feed(const char *a,\n    void (*b)(int));",
                     "struct Registry *feed(void) __attribute__((pure));"):
            with self.subTest(text):
                self.assert_refused("daemon/wire/a.c", f"{HEAD}{text}\n", 3,
                                    "feed: defined elsewhere")
        for text in ("static int feed(void);", "int feed(void);\nint feed(void) {\n}",
                     "typedef int (*Feed)(int);", "int a = FEED(1);", "FEED(int a);",
                     "_Static_assert(sizeof(int) == 4, \"\");"):
            with self.subTest(text):
                self.assert_accepted("daemon/wire/a.c", f"{HEAD}{text}\n")

    def test_sleep(self) -> None:
        self.assert_refused("tests/wire/a.c", f"{HEAD}static void a(void) {{\n    sleep(1);\n}}\n",
                            4, "sleeps")
        self.assert_accepted("tests/wire/a.c", f"{HEAD}// sleep(1)\nstatic int no_sleep(int a);\n")

    def test_header_with_a_system_name(self) -> None:
        for name in ("limits.h", "poll.h", "error.h"):
            with self.subTest(name):
                self.assert_refused(f"daemon/base/{name}", HEAD, 1, "system header")
        self.assert_accepted("daemon/base/bounds.h", HEAD)

    def test_two_headers_of_one_name(self) -> None:
        for other in ("core", "publish"):  # publish sees core's, app sees probe's and publish's
            with self.subTest(other):
                found = self.check({f"daemon/{other}/view.h": HEAD, "daemon/probe/view.h": HEAD})
                self.assertTrue(any("two headers of this name" in line for line in found), found)
        self.assertEqual(self.check({"daemon/app/a.h": HEAD, "daemon/ctl/a.h": HEAD}), [])

    def test_length(self) -> None:
        for name, head in (("daemon/wire/a.c", HEAD), ("tests/lib/a.py", "\n\n")):
            with self.subTest(name):
                self.assert_accepted(name, head + 498 * "\n")
                self.assert_refused(name, head + 499 * "\n", 501, "500 lines")

    def test_placeholder(self) -> None:
        self.assert_refused("daemon/wire/a.c", f"{HEAD}// TODO: more\n", 3, "TODO")
        self.assert_refused("tests/lib/a.py", "# FIXME\n", 1, "FIXME")
        self.assert_accepted("daemon/wire/a.c", f"{HEAD}// AUTODOC\n")

    def test_opening(self) -> None:
        self.assert_refused("daemon/wire/a.c", HEAD.removeprefix("// What it is.\n"), 1, "SPDX")
        self.assert_refused("daemon/wire/a.c", "\n" + HEAD, 1, "open with a comment")

    def test_exit_status(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(house_rules.main([folder]), 0)
            Path(folder, "bpf").mkdir()
            Path(folder, "bpf", "a.h").write_text("")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                self.assertEqual(house_rules.main([folder]), 1)
            self.assertEqual(len(output.getvalue().splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
