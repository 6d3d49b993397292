// Tells that Main runs, in which process and on which runtime, then waits for the end of its
// standard input. The test holds the other end: no sample sleeps, and none outlives its test.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

string version = RuntimeInformation.FrameworkDescription.Split(' ')[^1];
Console.WriteLine($"ready {Environment.ProcessId} {version}");
Console.In.ReadToEnd();
