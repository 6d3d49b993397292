# fish completion for dotnet-discoveryctl
# SPDX-License-Identifier: MIT

# The pids that the daemon lists, each with its program: of the daemon at the socket given, if one
# is given. A quote within a string is escaped in JSON, so these patterns match nothing that a
# process wrote.
function __dotnet_discoveryctl_pids
    set -l socket
    set -l words (commandline -opc)
    for i in (seq (count $words))
        switch $words[$i]
            case '--socket=?*'
                set socket $words[$i]
            case --socket
                set -q words[(math $i + 1)]; and set socket --socket=$words[(math $i + 1)]
        end
    end
    dotnet-discoveryctl list --json=short $socket 2>/dev/null |
        sed -E 's/\},\{"id":/}\n{"id":/g' |
        sed -nE -e 's/.*[{,]"pid":([0-9]+).*[,]"entryAssembly":"(([^"\\\\]|\\\\.)*)".*/\1\t\2/p;t' \
            -e 's/.*[{,]"pid":([0-9]+).*[,]"command":"(([^"\\\\]|\\\\.)*)".*/\1\t\2/p;t' \
            -e 's/.*[{,]"pid":([0-9]+).*/\1/p'
end

# The command on the line; nothing where there is none yet.
function __dotnet_discoveryctl_command
    set -l skip
    for word in (commandline -opc)[2..]
        if test -n "$skip"
            set skip
            continue
        end
        switch $word
            case --json --socket --timeout
                set skip yes
            case '-*'
            case '*'
                echo $word
                return
        end
    end
    return 1
end

function __dotnet_discoveryctl_is
    contains -- (__dotnet_discoveryctl_command) $argv
end

function __dotnet_discoveryctl_filters
    switch (commandline -ct)
        case 'pid=*'
            string replace -r '^' pid= (__dotnet_discoveryctl_pids)
        case 'uid=*'
            string replace -r '^' uid= (__fish_complete_users)
        case 'state=*'
            printf 'state=%s\n' detected ready unreachable gone
        case '*=*'
        case '*'
            printf '%s\n' pid=\tprocess uid=\t'effective user' state=\tstate unit=\t'system unit' \
                command=\t'name of the process' entryAssembly=\tprogram \
                runtimeVersion=\t'version of the runtime' containerId=\tcontainer
    end
end

complete -c dotnet-discoveryctl -f
complete -c dotnet-discoveryctl -s h -l help -d 'Show help'
complete -c dotnet-discoveryctl -l version -d 'Show the version'
complete -c dotnet-discoveryctl -s a -l all -d 'status: show counters that are zero, too'
complete -c dotnet-discoveryctl -l json -x -a 'short pretty off' -d 'Print JSON'
complete -c dotnet-discoveryctl -s j -d 'As --json=pretty on a terminal, --json=short otherwise'
complete -c dotnet-discoveryctl -l no-legend -d 'Leave out headings, counts and hints'
complete -c dotnet-discoveryctl -l no-pager -d 'Do not pipe output into a pager'
complete -c dotnet-discoveryctl -l socket -r -F -d 'Socket of the daemon'
complete -c dotnet-discoveryctl -l timeout -x -d 'wait: give up after so long'

complete -c dotnet-discoveryctl -n 'not __dotnet_discoveryctl_command' -a list -d 'List .NET processes'
complete -c dotnet-discoveryctl -n 'not __dotnet_discoveryctl_command' -a show -d 'Show everything that is known of processes'
complete -c dotnet-discoveryctl -n 'not __dotnet_discoveryctl_command' -a monitor -d 'Show processes, then every change'
complete -c dotnet-discoveryctl -n 'not __dotnet_discoveryctl_command' -a wait -d 'Wait until a process matches, print its PID'
complete -c dotnet-discoveryctl -n 'not __dotnet_discoveryctl_command' -a status -d 'Show what the daemon does and sees'
complete -c dotnet-discoveryctl -n 'not __dotnet_discoveryctl_command' -a check -d 'Check what this machine offers, or one process'
complete -c dotnet-discoveryctl -n '__dotnet_discoveryctl_is list monitor wait' -a '(__dotnet_discoveryctl_filters)'
complete -c dotnet-discoveryctl -n '__dotnet_discoveryctl_is show check' -a '(__dotnet_discoveryctl_pids)'
