# shellcheck shell=bash
# bash completion for dotnet-discoveryctl
# SPDX-License-Identifier: MIT

_dotnet_discoveryctl_pids() {
    local pid
    dotnet-discoveryctl list --no-legend 2>/dev/null | while read -r pid _; do
        echo "$pid"
    done
}

_dotnet_discoveryctl() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='list show monitor wait status check'
    local options='--help --version --json= --no-legend --no-pager --socket= --timeout= -h -j'
    local filters='pid= uid= state= unit= command= entryAssembly= runtimeVersion= containerId='
    local command='' i

    # bash makes "=" a word of its own.
    if [[ $word == '=' ]]; then
        previous+='='
        word=''
    elif [[ $previous == '=' ]]; then
        previous="${COMP_WORDS[COMP_CWORD - 2]}="
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
            command=${COMP_WORDS[i]}
            break
        fi
    done

    local choice=()
    case $previous in
        --json=) choice=(-W 'short pretty off') ;;
        --socket=) choice=(-f) && compopt -o filenames ;;
        state=) choice=(-W 'detected ready unreachable gone') ;;
        uid=) choice=(-u) ;;
        *=) choice=(-W '') ;;
        *)
            case $command:$word in
                *:-*) choice=(-W "$options") ;;
                :*) choice=(-W "$commands") ;;
                list:* | monitor:* | wait:*) choice=(-W "$filters") ;;
                show:* | check:*) choice=(-W "$(_dotnet_discoveryctl_pids)") ;;
                *) choice=(-W '') ;;
            esac
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen "${choice[@]}" -- "$word")
    if [[ ${COMPREPLY[*]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -F _dotnet_discoveryctl dotnet-discoveryctl
