# SPDX-License-Identifier: MIT
"""What the scenario's unit runs inside of the guest: waits for the end of the boot, runs the
scenario, and afterwards stops the daemon, which must have lived without a sanitizer's report.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE.parent / "lib")]
sys.dont_write_bytecode = True  # the checkout cannot be written to
os.environ |= {"DISCOVERYD": "/usr/sbin/dotnet-discoveryd",
               "DISCOVERYCTL": "/usr/bin/dotnet-discoveryctl",
               "DISCOVERY_SAMPLES": "/samples",
               "HOME": "/root", "TMPDIR": "/tmp"}

import runner
from lib.daemon import SANITIZER_REPORT


def main() -> int:
    """Returns the exit status for CTest."""
    arguments = json.loads(Path("/out/arguments").read_text())
    subprocess.run(["systemctl", "is-system-running", "--wait"], stdout=subprocess.DEVNULL,
                   check=False)  # what it has to say is for the scenario to judge
    if arguments[0] == "--":
        status = subprocess.run(arguments[1:], check=False).returncode
    else:
        status = runner.main(arguments)
    return status if ends_well() else status or 1


def ends_well() -> bool:
    """Whether no daemon of this guest was reported on by a sanitizer, its last words included."""
    unit = "dotnet-discoveryd"
    subprocess.run(["systemctl", "stop", f"{unit}.socket", f"{unit}.service"], check=False,
                   stderr=subprocess.DEVNULL)  # the package may be gone
    subprocess.run(["journalctl", "--sync"], check=False)
    written = subprocess.run(["journalctl", "--output=cat", f"--unit={unit}"], text=True,
                             errors="replace", capture_output=True, check=False).stdout
    report = SANITIZER_REPORT.search(written)
    if report:
        print(written[max(report.start() - 200, 0):][:8000])
    return not report


if __name__ == "__main__":
    sys.exit(main())
