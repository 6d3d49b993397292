# SPDX-License-Identifier: MIT
"""The manual pages are well-formed, and true to the contracts and to the code."""

import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from lib.interface import INTERFACE
from lib.require import require, require_tool
from manual import BUILT, ROOT, SOURCES, bounds, marked, section, source, terms

VARLINK = "org.dotnetdiscovery.Manager.7"
DBUS = "org.dotnetdiscovery1.5"

# What scdoc itself writes, whatever the page: paragraphs where none are needed, names as they are
# typed, and a paragraph's text as one line.
OF_SCDOC = re.compile(r"WARNING: skipping paragraph macro: "
                      r"|STYLE: lower case character in document title: "
                      r"|STYLE: input text line longer than 80 bytes: ")

# What docs/security.md says of limits, as one line.
SECURITY = (
    "closed after <PROBE_MS s> at the latest",
    "let go of after <PROBE_MS s> and the outcome is `timeout`",
    "replies end at <IPC_MESSAGE> bytes",
    "other processes are asked meanwhile (<PROBES> at a time)",
    "| <ARGUMENTS KiB> are kept, and `argumentsTruncated` says so |",
    "up to <PROC_MAPS KiB> of its `maps` are read at once",
    "| <JOURNAL_BURST> journal entries about a user's processes at once, then "
    "<JOURNAL_PER_SECOND> a second",
    "share <JOURNAL_PLACES> such allowances, root has one of <JOURNAL_ROOT_BURST> and "
    "<JOURNAL_ROOT_PER_SECOND> a second",
    "deep (over <MESSAGE_DEPTH> levels) or long (over <MESSAGE KiB>) messages",
    "up to <QUEUE KiB> of changes wait for it",
    "one reply is at most <REPLY MiB>",
    "its size (<PATTERN> bytes) and the text's (<PATTERN_TEXT> characters)",
    "| <CONNECTIONS_PER_UID> for a uid other than 0, <CONNECTIONS> in all;",
)
UNITS = {"s": 1000, "KiB": 1 << 10, "MiB": 1 << 20}


def shown(value: int, unit: str | None) -> str:
    """A limit as text; one with a unit is kept in milliseconds or bytes."""
    if not unit:
        return f"{value:,}"
    assert value % UNITS[unit] == 0, f"{value} is no whole number of {unit}"
    return f"{value // UNITS[unit]:,} {unit}"


def built() -> list[Path]:
    """Every page but the aliases."""
    require(BUILT.exists(), "the manual pages are not built (DISCOVERY_MANUALS)")
    return [path for path in sorted(BUILT.glob("man?/*"))
            if not path.read_text().startswith(".so ")]


class Form(unittest.TestCase):

    def test_mandoc_finds_nothing(self) -> None:
        pages = built()
        self.assertEqual({page.name for page in pages},
                         {path.stem for path in SOURCES.glob("*.scd")})
        result = subprocess.run([require_tool("mandoc"), "-Tlint", *pages], text=True,
                                stdout=subprocess.PIPE, check=False, timeout=60)
        self.assertEqual([line for line in result.stdout.splitlines()
                          if not OF_SCDOC.search(line)], [])

    def test_groff_warns_of_nothing(self) -> None:
        for page in built():
            with self.subTest(page.name):
                result = subprocess.run(
                    [require_tool("groff"), "-t", "-k", "-man", "-Tutf8", "-ww", "-z", str(page)],
                    text=True, capture_output=True, check=False, timeout=60)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_aliases_lead_to_a_page(self) -> None:
        pages = {str(page.relative_to(BUILT)) for page in built()}
        aliases = [path for path in BUILT.glob("man?/*") if path not in built()]
        self.assertEqual({path.name for path in aliases},
                         {"dotnet-discoveryd.service.8", "dotnet-discoveryd.socket.8"})
        for path in aliases:
            self.assertIn(path.read_text().removeprefix(".so ").strip(), pages)

    def test_own_pages_named_are_there(self) -> None:
        own = {path.stem for path in SOURCES.glob("*.scd")} | {"dotnet-discoveryd.service.8"}
        for page in SOURCES.glob("*.scd"):
            named = re.findall(r"\*((?:org\.)?dotnet[\w.-]+)\*\((\d)\)", source(page.stem))
            self.assertTrue(named)
            self.assertLessEqual({f"{name}.{number}" for name, number in named}, own)


class Varlink(unittest.TestCase):
    """The page and the description."""

    def test_methods_and_errors_are_printed_as_described(self) -> None:
        synopsis = " ".join(section(VARLINK, "SYNOPSIS").split())
        described = re.sub(r"#.*", "", INTERFACE.text)
        for kind in ("method", "error"):
            declared = re.findall(rf"^{kind} .*(?:\n +.*)*", described, re.MULTILINE)
            self.assertTrue(declared)
            for text in declared:
                self.assertIn(" ".join(text.split()), synopsis)
            self.assertEqual(synopsis.count(f"{kind} "), len(declared))

    def test_every_method_and_error_is_explained(self) -> None:
        self.assertEqual([term.split("(")[0] for term in terms(section(VARLINK, "METHODS"))],
                         list(INTERFACE.methods))
        errors = [term.split("(")[0] for term in terms(section(VARLINK, "ERRORS"))
                  if not term.startswith("org.varlink.service.")]
        self.assertEqual(errors, list(INTERFACE.errors))

    def test_every_field_of_a_process_is_explained_with_its_type(self) -> None:
        words = {"string": "string", "int": "int", "bool": "bool", "[]string": "array of strings"}
        explained = {}
        for term in terms(section(VARLINK, "PROCESSES")):
            names, _, type_name = term.partition(" (")
            explained |= {name: type_name.rstrip(")") for name in names.split(", ")}
        declared = {name: type_name.lstrip("?")
                    for name, type_name in INTERFACE.types["Process"].items()}
        self.assertEqual(explained, {name: words.get(type_name, type_name)
                                     for name, type_name in declared.items()})

    def test_every_filter_is_explained(self) -> None:
        explained = [name for term in terms(section(VARLINK, "FILTERS"))
                     for name in term.split(", ")]
        self.assertEqual(explained, list(INTERFACE.types["Filter"]))

    def test_every_value_is_explained(self) -> None:
        explained = terms(section(VARLINK, "STATES"))
        self.assertEqual(explained, INTERFACE.types["State"] + INTERFACE.types["Reason"])
        self.assertEqual(terms(section(VARLINK, "SUBSCRIBING")), INTERFACE.types["EventKind"])
        self.assertLessEqual(set(INTERFACE.types["Signal"]), marked(section(VARLINK, "PROCESSES")))

    def test_every_field_of_a_reply_is_named(self) -> None:
        replies = {name for _, reply in INTERFACE.methods.values() for name in reply}
        parts = {name for part in ("Program", "Counter", "CheckItem")
                 for name in INTERFACE.types[part]}
        text = section(VARLINK, "METHODS") + section(VARLINK, "SUBSCRIBING")
        self.assertLessEqual((replies | parts | INTERFACE.types.keys()) - {"process", "Reason",
                             "State", "Signal", "Filter", "Process"}, marked(text))

    def test_every_counter_is_explained_and_whether_all_may_see_it(self) -> None:
        code = (ROOT / "daemon/app/overview.c").read_text()
        counters = re.findall(r'^ *\{"(\w+)", [\w>.-]+, (true|false)\},', code, re.MULTILINE)
        self.assertTrue(counters)
        page = re.findall(r"^\|  \*(\w+)\*( \\\*)?$", section(VARLINK, "COUNTERS"), re.MULTILINE)
        self.assertEqual({name: bool(star) for name, star in page},
                         {name: public == "true" for name, public in counters})


class DBus(unittest.TestCase):
    """The page and the introspection data."""

    def setUp(self) -> None:
        path = ROOT / "include/org.dotnetdiscovery1.Manager.xml"
        self.interface = ElementTree.parse(path).find("interface")

    def test_members_are_printed_as_declared(self) -> None:
        wanted = [f"service org.dotnetdiscovery1, object /org/dotnetdiscovery1 "
                  f"interface {self.interface.get('name')} {{"]
        for kind, words in (("method", "methods"), ("signal", "signals"),
                            ("property", "properties")):
            wanted.append(f"{words}:")
            for member in self.interface.findall(kind):
                arguments = ", ".join(" ".join(filter(None, (arg.get("direction"), arg.get("type"),
                                                             arg.get("name"))))
                                      for arg in member.findall("arg"))
                wanted.append(f"readonly {member.get('type')} {member.get('name')};"
                              if kind == "property" else f"{member.get('name')}({arguments});")
        synopsis = section(DBUS, "SYNOPSIS").replace("```", "")
        self.assertEqual(synopsis.split(), " ".join([*wanted, "};"]).split())

    def test_every_member_is_explained(self) -> None:
        for kind, name in (("method", "METHODS"), ("signal", "SIGNALS"),
                           ("property", "PROPERTIES")):
            self.assertEqual([term.rstrip("()") for term in terms(section(DBUS, name))],
                             [member.get("name") for member in self.interface.findall(kind)])
        arguments = {arg.get("name") for arg in self.interface.iterfind("signal/arg")}
        self.assertLessEqual(arguments, marked(section(DBUS, "SIGNALS")))

    def test_keys_are_the_fields_of_the_varlink_interface(self) -> None:
        keys = marked(section(DBUS, "KEYS OF A PROCESS").split("\n\n")[1]) - {"Type", "Keys"}
        self.assertEqual(keys, {name[0].upper() + name[1:]
                                for name in INTERFACE.types["Process"]})
        selected = {name[0].upper() + name[1:] for name in INTERFACE.types["Filter"]}
        self.assertLessEqual(selected, marked(section(DBUS, "METHODS")))
        status = {name[0].upper() + name[1:] for name in INTERFACE.methods["Status"][1]}
        self.assertLessEqual(status, marked(section(DBUS, "METHODS")))

    def test_errors_are_those_of_the_introspection_data(self) -> None:
        text = (ROOT / "include/org.dotnetdiscovery1.Manager.xml").read_text()
        declared = re.findall(r"^ +- (org\.\S+): ", text, re.MULTILINE)
        self.assertTrue(declared)
        self.assertEqual(terms(section(DBUS, "ERRORS")), declared)

    def test_values_are_those_of_the_varlink_interface(self) -> None:
        values = set(INTERFACE.types["State"] + INTERFACE.types["Reason"])
        self.assertLessEqual(values, marked(section(DBUS, "SIGNALS")))


class Code(unittest.TestCase):
    """What only the code says."""

    def test_exit_statuses_of_the_client(self) -> None:
        code = (ROOT / "daemon/ctl/exit_status.h").read_text()
        statuses = re.findall(r"EXIT_STATUS_\w+ = (\d+)", code)
        self.assertTrue(statuses)
        self.assertEqual(terms(section("dotnet-discoveryctl.1", "EXIT STATUS")), statuses)

    def test_message_ids_stand_in_page_and_catalog(self) -> None:
        code = (ROOT / "include/discovery_names.h").read_text()
        ids = re.findall(r'DISCOVERY_MESSAGE_\w+ "(\w{32})"', code)
        self.assertTrue(ids)
        journal = section("dotnet-discoveryd.8", "JOURNAL")
        self.assertEqual(re.findall(r"MESSAGE_ID=(\w{32})", journal), ids)
        catalog = (ROOT / "systemd/dotnet-discoveryd.catalog").read_text()
        self.assertEqual(re.findall(r"^-- (\w{32})$", catalog, re.MULTILINE), ids)

    def test_journal_fields_are_those_that_are_written(self) -> None:
        code = (ROOT / "daemon/publish/announce.c").read_text()
        written = set(re.findall(r'"(DOTNET_\w+)"', code))
        self.assertTrue(written)
        journal = section("dotnet-discoveryd.8", "JOURNAL")
        self.assertEqual(set(re.findall(r"\*(DOTNET_\w+)=\*", journal)), written)

    def test_numbers_of_security_md_are_the_limits(self) -> None:
        text = " ".join((ROOT / "docs/security.md").read_text().split())
        limits = bounds()
        for phrase in SECURITY:
            with self.subTest(phrase):
                self.assertIn(re.sub(r"<(\w+)(?: (\S+))?>", lambda found: shown(
                    limits[f"BOUND_{found[1]}"], found[2]), phrase), text)

    def test_names_are_the_public_ones(self) -> None:
        code = (ROOT / "include/discovery_names.h").read_text()
        names = dict(re.findall(r'#define (\w+) "([^"]+)"', code))
        text = source("dotnet-discoveryd.8")
        self.assertIn(f"*{names['DISCOVERY_GROUP']}*", text)
        socket = f"{names['DISCOVERY_SOCKET_DIRECTORY']}/{names['DISCOVERY_INTERFACE']}"
        self.assertIn(f"_{socket}_", text)
        self.assertIn(f"_{socket}_", source("dotnet-discoveryctl.1"))
