# SPDX-License-Identifier: MIT
"""What everybody's tools show of the daemon. All of it is printed, for people to read."""

import json
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import guest
from lib import interface
from lib.bus import MANAGER, NAME, PATH
from lib.child import Child
from lib.require import require
from lib.varlink import INTERFACE
from system_bus import Signal

SHOP = guest.DotnetService("shop", {"PrivateTmp": "yes"})
DESCRIPTION = Path(__file__).parents[2] / "include" / f"{MANAGER}.xml"
OBJECT = (NAME, PATH)
GDBUS = ("--system", "--dest", NAME, "--object-path", PATH)
NOBODYS = "4194304"  # above every pid
RECORD_SEPARATOR = "\x1e"  # before each object of a JSON text sequence


def before_boot(root: Path) -> None:
    SHOP.enable(root)


class Tools(guest.Scenario):
    """A machine with the daemon and a service, as an administrator looks at it."""

    pid: int

    @classmethod
    def setUpClass(cls) -> None:
        cls.pid = SHOP.pid
        guest.ctl("wait", f"pid={cls.pid}", "--timeout=20s")

    def shown(self, *argv: str | int, status: int = 0) -> str:
        """What a command shows, which ends like this."""
        command = [str(word) for word in argv]
        result = guest.run(*command, check=False)
        text = result.stdout + result.stderr
        print(f"$ {shlex.join(command)}\n{text}")
        self.assertEqual(result.returncode, status)
        return text

    def assert_lines(self, text: str, *patterns: str) -> None:
        """Each pattern is that of a line, and they come in this order."""
        lines = iter(text.splitlines())
        for pattern in patterns:
            self.assertTrue(any(re.fullmatch(pattern, line) for line in lines),
                            f"no line like {pattern} or not there in\n{text}")

    def watch(self, *argv: str) -> Child:
        """A command that shows more and more, until the test is over."""
        print(f"$ {shlex.join(argv)}")
        return self.enterContext(guest.spawn(*argv, stderr=subprocess.STDOUT))

    def read_until(self, watch: Child, pattern: str) -> list[str]:
        """All that it shows up to a line like this."""
        lines: list[str] = []
        while not lines or not re.search(pattern, lines[-1]):
            lines.append(watch.read_line())
        print(*lines, sep="\n")
        return lines


class Varlinkctl(Tools):
    """The status socket, by systemd's client of all such sockets."""

    @classmethod
    def setUpClass(cls) -> None:
        require(shutil.which("varlinkctl"), "this systemd has no varlinkctl")
        super().setUpClass()

    def varlinkctl(self, verb: str, *arguments: str, status: int = 0) -> str:
        """What it shows of the socket."""
        return self.shown("varlinkctl", verb, guest.STATUS_SOCKET, *arguments, status=status)

    def call(self, method: str, *options: str, status: int = 0, **parameters: Any) -> str:
        """What it shows of a call."""
        return self.shown("varlinkctl", *options, "call", guest.STATUS_SOCKET,
                          f"{INTERFACE}.{method}", json.dumps(parameters), status=status)

    def test_info(self) -> None:
        self.assert_lines(self.varlinkctl("info"),
                          r" +Vendor: dotnet-discoveryd", r" +Product: dotnet-discoveryd",
                          r" +Version: \d+\.\d+\.\d+", r" +URL: \S+",
                          rf"Interfaces: {re.escape(INTERFACE)}", r" +org\.varlink\.service")
        self.assertEqual(self.varlinkctl("list-interfaces").split(),
                         [INTERFACE, "org.varlink.service"])

    def test_introspect_shows_the_whole_description_and_validates_it(self) -> None:
        described = self.varlinkctl("introspect", INTERFACE)
        parsed = interface.parse(described)
        for part in ("name", "types", "methods", "errors"):
            self.assertEqual(getattr(parsed, part), getattr(interface.INTERFACE, part))
        self.assertIn("# Which .NET processes on this host can be diagnosed", described)
        file = Path("/tmp/interface.varlink")
        file.write_text(interface.INTERFACE.text)
        self.shown("varlinkctl", "validate-idl", str(file))

    def test_call(self) -> None:
        process = json.loads(self.call("Get", pid=self.pid))["process"]
        self.assertEqual((process["state"], process["unit"]), ("ready", SHOP.unit))
        listed = json.loads(self.call("List", filter={"unit": "shop.*"}))
        self.assertEqual(listed["processes"], [process])
        pretty = self.call("Get", "--json=pretty", pid=self.pid)
        self.assert_lines(pretty, r"\{", r'\s+"process" : \{', r'\s+"state" : "ready",')
        self.assertEqual(json.loads(pretty)["process"], process)
        self.assertTrue(json.loads(self.call("Status"))["version"])
        self.assertTrue(all(item["ok"] for item in json.loads(self.call("Check"))["items"]))

    def test_errors(self) -> None:
        for error, failed in (
                (f"{INTERFACE}.NoSuchProcess", self.call("Get", pid=int(NOBODYS), status=1)),
                ("org.varlink.service.InvalidParameter",
                 self.call("List", filter={"colour": "red"}, status=1)),
                ("org.varlink.service.ExpectedMore", self.call("Subscribe", status=1)),
                ("org.varlink.service.MethodNotFound", self.call("Launch", status=1))):
            self.assertIn(error, failed)

    def test_subscribe(self) -> None:
        till = guest.dotnet_service("till")
        watch = self.watch("varlinkctl", "call", "--more", "--json=short", guest.STATUS_SOCKET,
                           f"{INTERFACE}.Subscribe", '{"filter": {"state": "ready"}}')
        told = self.read_until(watch, '"kind":"synced"')
        pid = till.start()
        told += self.read_until(watch, '"kind":"changed"')
        till.stop()
        told += self.read_until(watch, '"kind":"changed"')
        events = [json.loads(line.strip(RECORD_SEPARATOR)) for line in told]
        self.assertEqual([event["kind"] for event in events],
                         ["snapshot", "synced", "changed", "changed"])
        self.assertEqual([process["pid"] for process in events[0]["processes"]], [self.pid])
        self.assertEqual([(event["process"]["pid"], event["process"]["state"])
                          for event in events[2:]], [(pid, "ready"), (pid, "gone")])


class Busctl(Tools):
    """The bus, by systemd's client."""

    def call(self, method: str, *arguments: str | int, status: int = 0) -> str:
        """What it shows of a call."""
        return self.shown("busctl", "call", *OBJECT, MANAGER, method, *arguments,
                          status=status)

    def test_introspect(self) -> None:
        self.assert_lines(
            self.shown("busctl", "introspect", *OBJECT),
            r"NAME +TYPE +SIGNATURE +RESULT/VALUE +FLAGS",
            rf"{re.escape(MANAGER)} +interface +- +- +-",
            r"\.GetProcess +method +u +a\{sv\} +-",
            r"\.GetStatus +method +- +a\{sv\} +-",
            r"\.ListProcesses +method +a\{sv\} +taa\{sv\} +-",
            r"\.Degraded +property +as +0 +emits-change",
            r"\.Mechanism +property +s +\"\S+\" +emits-change",
            r"\.ReadyCount +property +u +1 +-",
            r"\.RunId +property +s +\"[0-9a-f]{32}\" +const",
            r"\.Version +property +s +\"\S+\" +const",
            r"\.ProcessChanged +signal +tsutsss +- +-")

    def test_introspection_is_what_the_description_says(self) -> None:
        shown = self.shown("busctl", "introspect", "--xml-interface", *OBJECT)
        self.assertEqual(members(shown), members(DESCRIPTION.read_text()))

    def test_list(self) -> None:
        listed = self.call("ListProcesses", "a{sv}", 0)
        self.assertRegex(listed, r'^taa\{sv\} \d+ 1 \d+ "Id" s "\S+" "Pid" u ')
        self.assertIn(f' "Pid" u {self.pid} ', listed)
        self.assertIn(f' "Unit" s "{SHOP.unit}" ', listed)
        matching = self.call("ListProcesses", "a{sv}", 3, "State", "s", "ready",
                             "EntryAssembly", "s", "A*", "Uid", "u", 0)
        self.assertEqual(matching, listed)
        none = self.call("ListProcesses", "a{sv}", 1, "Unit", "s", "till.*")
        self.assertRegex(none, r"^taa\{sv\} \d+ 0$")

    def test_get_and_status(self) -> None:
        self.assertIn(' "State" s "ready" ', self.call("GetProcess", "u", self.pid))
        self.assertIn(' "Mechanism" s ', self.call("GetStatus"))

    def test_errors_say_what_is_wrong(self) -> None:
        for problem, failed in (
                (f"There is no process {NOBODYS}",
                 self.call("GetProcess", "u", NOBODYS, status=1)),
                ("Colour is not known",
                 self.call("ListProcesses", "a{sv}", 1, "Colour", "s", "red", status=1)),
                ("Pid is not known, of another type",
                 self.call("ListProcesses", "a{sv}", 1, "Pid", "s", "7", status=1))):
            self.assertIn(problem, failed)

    def test_properties(self) -> None:
        names = ("Version", "RunId", "Mechanism", "Degraded", "ReadyCount")
        shown = self.shown("busctl", "get-property", *OBJECT, MANAGER, *names)
        self.assert_lines(shown, r's "\d+\.\d+\.\d+"', r's "[0-9a-f]{32}"', r's ".+"', "as 0",
                          "u 1")

    def test_monitor(self) -> None:
        till = guest.dotnet_service("till")
        watch = self.watch("busctl", "monitor", NAME)
        self.read_until(watch, "Monitoring bus message stream")
        pid = till.start()
        told = "\n".join(self.read_until(watch, 'STRING "ready"'))
        self.assert_lines(told, rf".*Path={PATH} +Interface={re.escape(MANAGER)} +"
                          "Member=ProcessChanged", r' +MESSAGE "tsutsss" \{', rf" +UINT32 {pid};",
                          ' +STRING "ready";')
        till.stop()
        self.read_until(watch, 'STRING "gone"')


class Gdbus(Tools):
    """The bus, by GLib's client."""

    def call(self, method: str, *arguments: str | int, status: int = 0) -> str:
        """What it shows of a call."""
        return self.shown("gdbus", "call", *GDBUS, "--method", f"{MANAGER}.{method}",
                          *arguments, status=status)

    def test_introspect(self) -> None:
        shown = self.shown("gdbus", "introspect", *GDBUS)
        self.assert_lines(
            shown, rf"  interface {re.escape(MANAGER)} \{{", r"    methods:",
            r"      ListProcesses\(in  a\{sv\} filter,", r" +out t sequence,",
            r" +out aa\{sv\} processes\);", r"      GetProcess\(in  u pid,",
            r"      GetStatus\(out a\{sv\} status\);", r"    signals:",
            r"      ProcessChanged\(t sequence,", r" +s reason\);", r"    properties:",
            r"      readonly s Version = '\S+';", r"      readonly as Degraded = \[\];")

    def test_call(self) -> None:
        listed = self.call("ListProcesses", "{'State': <'ready'>}")
        self.assertRegex(listed, r"^\(uint64 \d+, \[\{'Id': <'\S+'>, 'Pid': <uint32 ")
        self.assertIn(f"'Unit': <'{SHOP.unit}'>", listed)
        self.assertIn(f"'Pid': <uint32 {self.pid}>", self.call("GetProcess", self.pid))
        self.assertIn("'Mechanism': <'", self.call("GetStatus"))

    def test_errors_have_names(self) -> None:
        self.assertIn(f"{NAME}.NoSuchProcess: ", self.call("GetProcess", NOBODYS, status=1))
        self.assertIn("org.freedesktop.DBus.Error.InvalidArgs: ",
                      self.call("ListProcesses", "{'Colour': <'red'>}", status=1))

    def test_monitor(self) -> None:
        till = guest.dotnet_service("till")
        watch = self.watch("gdbus", "monitor", "--system", "--dest", NAME)
        self.read_until(watch, r"is owned by :\d+\.\d+")
        pid = till.start()
        *_, told = self.read_until(watch, "'ready'")
        self.assertEqual(Signal.shown(told)[2:3] + Signal.shown(told)[4:],
                         (pid, "ready", "detected", ""))
        till.stop()
        self.read_until(watch, "'gone', 'ready', ''")


class Administrator(Tools):
    """The service manager, the journal and our own client."""

    def test_systemctl_status(self) -> None:
        shown = self.shown("systemctl", "status", "--no-pager", "--lines=3", guest.SERVICE)
        self.assert_lines(
            shown, rf"● {re.escape(guest.SERVICE)} - \.NET Process Discovery",
            r" +Loaded: loaded \(\S+; enabled; .*\)", r" +Active: active \(running\) since .*",
            rf"TriggeredBy: ● {re.escape(guest.SOCKET)}", r" +Docs: man:dotnet-discoveryd\(8\)",
            r" +Main PID: \d+ \(dotnet-discover\)",
            r" +CGroup: /system\.slice/dotnet-discoveryd\.service")

    def test_journalctl(self) -> None:
        guest.wait_journal("", DOTNET_PID=self.pid, DOTNET_STATE="ready")
        shown = self.shown("journalctl", "--no-pager", "--output=cat", f"--unit={guest.SERVICE}")
        # Which of the two came first at the boot is not said.
        for line in (r"Started .*\.NET Process Discovery.*",
                     rf"Process {self.pid} \(App\) can be diagnosed, runtime \S+\."):
            self.assert_lines(shown, line)
        explained = self.shown("journalctl", "--no-pager", "--catalog", f"DOTNET_PID={self.pid}")
        self.assert_lines(explained, rf"░░ Subject: \.NET process {self.pid} can be diagnosed",
                          r"░░ Defined-By: dotnet-discoveryd")

    def test_list_and_show(self) -> None:
        self.assert_lines(self.shown("dotnet-discoveryctl", "list"),
                          "PID STATE VERSION USER ENTRY SINCE *",
                          rf" *{self.pid} ready \S+ +root App +\d{{4}}-\d\d-\d\d [0-9:]+", "",
                          "1 process listed.")
        self.assert_lines(self.shown("dotnet-discoveryctl", "show", self.pid),
                          rf" +PID: {self.pid}", " +State: ready", r" +Runtime version: \S+",
                          " +Entry assembly: App", rf" +Unit: {re.escape(SHOP.unit)}",
                          rf" *Socket from here: /proc/{self.pid}/root/tmp/\S+")
        self.shown("dotnet-discoveryctl", "show", NOBODYS, status=3)

    def test_status_and_check(self) -> None:
        self.assert_lines(self.shown("dotnet-discoveryctl", "status"),
                          r"● dotnet-discoveryd \S+", " +Degraded: no", r" +Running: since .*",
                          r"Mechanism: \S+ \(.+\)", r" +Programs: .*: attached", "Processes: 1 ready")
        for command in (["check"], ["check", str(self.pid)]):
            lines = self.shown("dotnet-discoveryctl", *command).splitlines()
            self.assertEqual({line[0] for line in lines}, {"✓"})


def members(text: str) -> dict[str, tuple[Any, ...]]:
    """What a description says of each method, signal and property of our interface."""
    described = {}
    interfaces = xml.fromstring(text).iterfind(f"interface[@name='{MANAGER}']")
    for member in next(interfaces):
        # A direction left out is the only one that a signal knows.
        arguments = [(item.get("name"), item.get("type"), item.get("direction", "out"))
                     for item in member.iterfind("arg")]
        notes = {note.get("name"): note.get("value") for note in member.iterfind("annotation")
                 if "EmitsChangedSignal" in note.get("name")}
        described[member.get("name")] = (member.tag, member.get("type"), member.get("access"),
                                         arguments, notes)
    return described
