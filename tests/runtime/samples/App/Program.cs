// Tells that Main runs, in which process and on which runtime, then waits for the end of its
// standard input. The test holds the other end: no sample sleeps, and none outlives its test.
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.Linq;
using System.Runtime.InteropServices;

// Nothing that .NET Core 3.1 does not have.
string version = RuntimeInformation.FrameworkDescription.Split(' ').Last();
Console.WriteLine($"ready {Process.GetCurrentProcess().Id} {version}");
Console.In.ReadToEnd();
