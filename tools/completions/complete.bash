# bash completion of spillway. The words are made from spillway's own tables:
# shellcheck shell=bash

@TABLES@
_spillway_reply() { # WORDS CURRENT: replies with those of the words, or of what @KIND stands for, that begin with CURRENT
    local kind=$1 current=$2
    case $kind in
    @file | @trace)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(
            if [[ $kind == @file ]]; then compgen -f -- "$current"; else compgen -f -X '!*.trace' -- "$current"; fi
            [[ $kind == @file ]] || compgen -d -- "$current")
        return ;;
    @pid) kind=$("${COMP_WORDS[0]}" texts pids 2>/dev/null | cut -f 1) ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$kind" -- "$current")
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

# The program to be run, which completes its own arguments if bash-completion is loaded.
_spillway_program() { # FIRST: the index of its name among the words
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif [[ $1 -eq $COMP_CWORD ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
    else
        _spillway_reply @file "${COMP_WORDS[COMP_CWORD]}"
    fi
}

_spillway() {
    local command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} option='' plain='' operands i
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        _spillway_reply "$(_spillway_words '')" "$current"
        return
    fi
    operands=$(_spillway_values "$command")

    for ((i = 2; i < COMP_CWORD; i++)); do
        option=''
        if [[ -z $plain && ${COMP_WORDS[i]} == -- ]]; then
            plain=true # what follows is no option
        elif [[ -z $plain && ${COMP_WORDS[i]} == -* ]]; then
            # Its value is the next word, or the one after a = that is a separate word; it is completed if it is the last.
            [[ " $(_spillway_words "$command") " != *" ${COMP_WORDS[i]}= "* ]] || option=${COMP_WORDS[i]}
            [[ ${COMP_WORDS[i + 1]} != '=' || $((i + 1)) -eq $COMP_CWORD ]] || i=$((i + 1))
            [[ -z $option ]] || i=$((i + 1))
        elif [[ $operands == @command ]]; then
            _spillway_program "$i"
            return
        fi
    done
    [[ $i -gt $COMP_CWORD ]] || option='' # that option has its value already
    if [[ -n $option ]]; then
        _spillway_reply "$(_spillway_values "$command$option")" "${current#=}"
    elif [[ -z $plain && $current == --*=* ]]; then # in shells in which = ends no word
        _spillway_reply "$(_spillway_values "$command${current%%=*}")" "${current#*=}"
        COMPREPLY=("${COMPREPLY[@]/#/${current%%=*}=}")
    elif [[ -z $plain && $current == -* ]]; then
        _spillway_reply "$(_spillway_words "$command")" "$current"
    elif [[ $operands == @command ]]; then
        _spillway_program "$COMP_CWORD"
    else
        _spillway_reply "$operands" "$current"
    fi
}
complete -F _spillway spillway
