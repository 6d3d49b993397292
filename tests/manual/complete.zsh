# What zsh offers for the line in $LINE, as an interactive shell on a terminal: one candidate a line
# and its description behind a tab, to the file $OFFERED. The functions are those in $FUNCTIONS.
# SPDX-License-Identifier: MIT
fpath=($FUNCTIONS $fpath)
autoload -Uz compinit
compinit -D -u

# In place of the builtin: tells what it adds. With -O, -A or -D it only computes.
compadd() {
    local -a offered texts prefix suffix descriptions ignored
    if [[ ${(M)#*:#-[OAD]*} -gt 0 ]]; then
        builtin compadd "$@"
        return
    fi
    builtin compadd -O offered "$@"
    zparseopts -E -D S:=suffix d:=descriptions P:=prefix a=ignored k=ignored
    [[ -n $descriptions ]] && texts=("${(@P)descriptions[2]}")
    local candidate text
    for candidate in $offered; do
        text=${(M)texts:#(${candidate}|${candidate}[ :]*)}
        print -r -- "${IPREFIX}${prefix[2]-}${candidate}${suffix[2]-}"$'\t'"$text" >>$OFFERED
    done
    builtin compadd "$@"
}
offer() {
    _main_complete
}
zle -C offer complete-word offer

# Runs as soon as the line editor does.
begin() {
    BUFFER=$LINE
    CURSOR=$#BUFFER
    zle offer
    exit 0
}
zle -N zle-line-init begin
