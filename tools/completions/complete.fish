# fish completion of spillway

function __spillway_first
    test (count (commandline -opc)) -eq 1
end

function __spillway_is # COMMAND
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

# The program to be run and its own arguments: what follows our options, all of which have a value.
function __spillway_command
    set -l words (commandline -opc)
    set -e words[1..2]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                break
            case '--*=*'
                set -e words[1]
            case '--*'
                set -e words[1..2]
            case '*'
                break
        end
    end
    set -l line (string join ' ' -- (string escape -- $words) (commandline -ct))
    string match -q -- '-*' $line; or complete -C"$line"
end

# Made from spillway's own tables:
@TABLES@
