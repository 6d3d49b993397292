// Microsoft's own client library as a command, for tests to compare with and to act through:
//   processes   the pids it would list, as JSON
//   info PID    what it learns from that process, as JSON
//   resume PID  lets a process go on that was started suspended
// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Reflection;
using System.Text.Json;
using Microsoft.Diagnostics.NETCore.Client;

switch (args)
{
    case ["processes"]:
        Print(DiagnosticsClient.GetPublishedProcesses());
        return 0;
    case ["info", var pid]:
        Print(GetProcessInfo(new DiagnosticsClient(int.Parse(pid))));
        return 0;
    case ["resume", var pid]:
        new DiagnosticsClient(int.Parse(pid)).ResumeRuntime();
        return 0;
    default:
        Console.Error.WriteLine("usage: Client processes | info PID | resume PID");
        return 2;
}

static void Print(object value) => Console.WriteLine(JsonSerializer.Serialize(value));

// The library asks for ProcessInfo itself but does not make the answer public.
static object GetProcessInfo(DiagnosticsClient client)
{
    const BindingFlags Any = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;
    object info = typeof(DiagnosticsClient).GetMethod("GetProcessInfo", Any)!.Invoke(client, null)!;
    return info.GetType().GetProperties(Any).ToDictionary(p => p.Name, p => p.GetValue(info));
}
