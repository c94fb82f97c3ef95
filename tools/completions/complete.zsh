#compdef spillway
# zsh completion of spillway. The commands and their arguments are made from spillway's own tables:

@TABLES@
_spillway_pids() {
    local -a pids=("${(@f)$(_call_program pids $service texts pids 2>/dev/null)}")
    pids=("${(@)pids//$'\t'/:}")
    _describe process pids
}

_spillway() {
    local curcontext=$curcontext state line
    _arguments -C '(- *)'{-h,--help}'[list the commands]' '(- *)--version[print the version]' \
        '1:command:_spillway_commands' '*::arguments:->arguments'
    [[ $state != arguments ]] || _spillway_arguments $words[1]
}

_spillway "$@"
