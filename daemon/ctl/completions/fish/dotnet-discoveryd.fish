# fish completion for dotnet-discoveryd
# SPDX-License-Identifier: MIT

complete -c dotnet-discoveryd -f
complete -c dotnet-discoveryd -s h -l help -d 'Show help'
complete -c dotnet-discoveryd -l version -d 'Show the version'
complete -c dotnet-discoveryd -l check -d 'Say what the machine offers'
complete -c dotnet-discoveryd -a '--check=' -n 'string match -q -- "--c*" (commandline -ct)' -d 'Say what is known of one process'
complete -c dotnet-discoveryd -l socket -r -F -d 'Status socket'
complete -c dotnet-discoveryd -l log-level -x -a 'err warning notice info debug' -d 'How much to log'
complete -c dotnet-discoveryd -l mechanism -x -a 'auto fentry kprobe syscall-tracepoint raw-tracepoint perf scan' -d 'How to notice processes'
complete -c dotnet-discoveryd -l without -x -a 'mapping listen exec scan' -d 'Leave out a kernel program'
complete -c dotnet-discoveryd -l max-processes -x -d 'Processes followed at once'
complete -c dotnet-discoveryd -l max-probes -x -d 'Processes asked at the same time'
complete -c dotnet-discoveryd -l max-connections -x -d 'Clients in all'
complete -c dotnet-discoveryd -l max-connections-per-uid -x -d 'Clients of one uid other than 0'
complete -c dotnet-discoveryd -l max-queue -x -d 'Changes queued for one subscriber'
complete -c dotnet-discoveryd -l ring-size -x -d 'Ring buffer of kernel records'
