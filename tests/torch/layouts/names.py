"""names.py - kernels' names as C++ means them: the function, its template arguments, and the types of its parameters."""
import dataclasses
import re
import shutil
import subprocess

OPENING, CLOSING = "<([{", ">)]}"
OPERATORS = re.compile(r"operator(<<=|>>=|<=>|<<|>>|<=|>=|->\*|->|<|>|\(\))|->")


@dataclasses.dataclass(frozen=True)
class Name:
    function: str  # without its template arguments: at::native::reduce_kernel
    arguments: tuple  # of the template
    parameters: tuple  # types; None where the name does not tell


def demangled(names):
    """What each of the names means, in order: the name itself where that cannot be found out."""
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if not tool or not names:
        return list(names)
    said = subprocess.run([tool], input="\n".join(names) + "\n", capture_output=True, text=True, check=False).stdout.splitlines()
    return said if len(said) == len(names) else list(names)


def pieces(text):
    """The text cut at commas that are in no brackets."""
    text = OPERATORS.sub(lambda found: "#" * len(found.group()), text) if "operator" in text or "->" in text else text
    begin, depth, cut = 0, 0, []
    for at, letter in enumerate(text):
        if letter in OPENING:
            depth += 1
        elif letter in CLOSING:
            depth -= 1
        elif letter == "," and depth == 0:
            cut.append((begin, at))
            begin = at + 1
    return cut + [(begin, len(text))] if text.strip() else cut


def split(text):
    return tuple(text[begin:end].strip() for begin, end in pieces(text))


def opening(text, end):
    """Where the bracket opens that closes at `end`."""
    hidden = OPERATORS.sub(lambda found: "#" * len(found.group()), text)
    depth = 0
    for at in range(end, -1, -1):
        if hidden[at] in CLOSING:
            depth += 1
        elif hidden[at] in OPENING:
            depth -= 1
            if depth == 0:
                return at
    return -1


def parsed(text):
    """A Name, of a demangled one."""
    if not text.endswith(")"):
        return Name(text, (), None)
    begin = opening(text, len(text) - 1)
    parameters, front = split(text[begin + 1:-1]), text[:begin].replace("(anonymous namespace)::", "")
    arguments = ()
    if front.endswith(">"):
        bracket = opening(front, len(front) - 1)
        arguments, front = split(front[bracket + 1:-1]), front[:bracket]
    return Name(front.rsplit(" ", 1)[-1], arguments, () if parameters == ("void",) else parameters)
