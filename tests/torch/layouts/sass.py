"""sass.py - what a kernel's machine code does with its parameters: which bytes it loads, and through which words it reads and writes memory.

Every register is followed from the constant bank, where the parameters are, to the address of a load or a store, through what keeps an
address one: moves, choices and additions. A word that reaches one is an address, or a number that was added to one. What is loaded from
memory is not followed, nor what goes through shared memory, nor calls: compilers put long arithmetic into functions, which touch no memory."""
import dataclasses
import heapq
import re
import subprocess

WORD = 8
LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(@!?U?P[0-9T]+\s+)?([A-Z][\w.]*)\s*([^;]*);")
FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
REGISTER = re.compile(r"\bU?R\d+\b")
PREDICATE = re.compile(r"!?U?P[0-9T]+")
CONSTANT = re.compile(r"c\[0x0\]\[(?:(U?R\w+)(?:\.\w+)?)?\+?(-?0x[0-9a-f]+)?\]")
STACK = re.compile(r"R1(?:\+(0x[0-9a-f]+))?")
ADDRESS = re.compile(r"\[([^\]]*)\]")
TYPE = re.compile(r"[FSU](8|16|32|64)")
TARGET = re.compile(r"\b0x[0-9a-f]+\b")

LOADS = {"LDC", "ULDC", "LDCU"}
READING = {"LD", "LDG", "LDGSTS"}
WRITING = {"ST", "STG", "RED", "REDG", "ATOM", "ATOMG"}
WITHOUT_RESULT = {"ST", "STG", "STS", "STL", "RED", "REDG", "LDGSTS", "R2P", "FCHK", "BAR", "NOP"}
KEEPING = {"MOV", "UMOV", "IADD", "IADD3", "UIADD3", "VIADD", "IMAD", "UIMAD", "LEA", "ULEA", "SEL", "USEL", "FSEL", "R2UR", "LOP3", "ULOP3",
           "PRMT", "UPRMT", "SHFL", *LOADS}
JUMPS = {"BRA", "BSSY", "JMP", "WARPSYNC"}
ENDS = {"EXIT", "RET", "BRA", "JMP", "BRX"}
UNFOLLOWED = re.compile(r"UTMA|UBLK|MULTIMEM|BRX|JMX")  # copies by descriptor, jumps by table
ROUNDS = 40  # through a function, at most
DOUBLE = {"DADD", "DMUL", "DFMA", "DSETP", "DMNMX"}
BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


@dataclasses.dataclass
class Access:
    """Offsets in the image of the parameters."""
    loaded: set = dataclasses.field(default_factory=set)  # bytes that are loaded for certain
    whole: set = dataclasses.field(default_factory=set)  # words of which both halves are loaded
    read: set = dataclasses.field(default_factory=set)  # words that memory is read through
    written: set = dataclasses.field(default_factory=set)
    indexed: set = dataclasses.field(default_factory=set)  # where arrays begin that are indexed
    indexed_read: set = dataclasses.field(default_factory=set)  # those through whose words memory is read
    indexed_written: set = dataclasses.field(default_factory=set)
    certain: bool = True  # all stores have been followed back to a word


@dataclasses.dataclass(frozen=True)
class Step:
    address: int
    guard: str  # the predicate it depends on, with @ and perhaps !
    code: str  # without modifiers
    modifiers: tuple
    operands: tuple


def listing(cuobjdump, path, functions, seconds):
    """The machine code of some functions of a cubin as text; nothing where that takes too long."""
    try:
        done = subprocess.run([cuobjdump, "-sass", "-fun", ",".join(functions), path], capture_output=True, text=True,
                              timeout=seconds, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def code_of(text):
    """The steps of each function in a listing, by name."""
    begins = [(found.group(1), found.end()) for found in FUNCTION.finditer(text)]
    ends = [begin for _, begin in begins[1:]] + [len(text)]
    return {name: [step(found) for found in LINE.finditer(text, begin, end)] for (name, begin), end in zip(begins, ends)}


def step(found):
    address, guard, code, operands = found.groups()
    code, *modifiers = code.split(".")
    guard = (guard or "").strip()
    guard = "" if guard in ("@PT", "@UPT") else guard
    return Step(int(address, 16), guard, code, tuple(modifiers), tuple(part.strip() for part in operands.split(",")))


def types(one):
    """The types that a step names: of the result first, where it converts."""
    return [name for name in one.modifiers if TYPE.fullmatch(name)]


def width(one, operand):
    """Bytes that an instruction takes from the constant bank."""
    if one.code in LOADS:
        return next((BYTES[name] for name in one.modifiers if name in BYTES), 4)
    if one.code in DOUBLE or one.code in ("F2I", "F2F", "FRND") and types(one)[-1:] == ["F64"]:
        return 8
    if one.code == "I2F" and {"S64", "U64"} & set(one.modifiers) or "WIDE" in one.modifiers and operand == len(one.operands) - 1:
        return 8
    return 4


def results(one):
    """The registers that an instruction sets."""
    if one.code in WITHOUT_RESULT or one.code.endswith("SETP") or one.code.endswith("SETP2"):
        return ()
    first = next((text for text in one.operands if not PREDICATE.fullmatch(text)), "")
    if not REGISTER.fullmatch(first):
        return ()
    kind, number = first.rstrip("0123456789"), int(first.lstrip("UR"))
    return tuple(f"{kind}{number + more}" for more in range(registers(one)))


def registers(one):
    """How many registers its result takes."""
    if "128" in one.modifiers:
        return 4
    if one.code in ("F2I", "I2F"):
        return 2 if ({"S64", "U64"} if one.code == "F2I" else {"F64"}) & set(one.modifiers) else 1
    if one.code in ("F2F", "FRND"):
        return 2 if types(one)[:1] == ["F64"] else 1
    return 2 if {"64", "WIDE"} & set(one.modifiers) or one.code in DOUBLE or one.code == "CS2R" and "32" not in one.modifiers else 1


def index(register):
    """Whether a register makes a difference to the address that it is added to."""
    return register not in ("", "RZ", "URZ")


def local(one, operand):
    """The slots of the thread's own memory at a fixed place of its stack; none where the place depends."""
    found = STACK.fullmatch(ADDRESS.search(operand).group(1))
    count = 4 if "128" in one.modifiers else 2 if "64" in one.modifiers else 1
    return [f"at {int(found.group(1) or '0', 16) + 4 * more}" for more in range(count)] if found else []


def kept(one):
    """The operands of a step that may be an address and still are in its result: no factors, nothing that is shifted."""
    if one.code == "STL":
        return [1]
    if one.code not in KEEPING:
        return []
    sources = [number for number, text in enumerate(one.operands) if number and not PREDICATE.fullmatch(text)]
    if one.code in ("IMAD", "UIMAD"):
        return sources if "0x1" in [one.operands[number] for number in sources[:2]] else sources[2:3]
    return sources[1:2] if one.code in ("LEA", "ULEA") else sources


class Registers:
    """What each register holds, as bits; within a block also what it holds where a predicate is true, or false."""

    def __init__(self, state):
        self.state, self.exact = state, {}

    def get(self, register, guard):
        known = self.exact.get(register)
        return known[guard] if known and guard in known else self.state.get(register, 0)

    def set(self, register, guard, words):
        if not guard:
            self.exact.pop(register, None)
            self.state[register] = words
            return
        known = {same: bits_ for same, bits_ in self.exact.get(register, {}).items() if same.lstrip("@!") == guard.lstrip("@!")}
        known[guard] = words
        self.exact[register] = known
        self.state[register] = sum_of(known) | (0 if len(known) == 2 else self.state.get(register, 0))

    def forget(self, predicates):
        """These predicates may have changed."""
        if predicates and self.exact:
            self.exact = {register: known for register, known in self.exact.items()
                          if "PR" not in predicates and next(iter(known)).lstrip("@!") not in predicates}


def sum_of(known):
    found = 0
    for words in known.values():
        found |= words
    return found


class Flow:
    """Follows the words of the parameters, from `base` of the constant bank on, through one function."""

    def __init__(self, steps, base, size):
        self.steps, self.base, self.size = steps, base, size
        self.at = {one.address: number for number, one in enumerate(steps)}
        self.access = Access()
        self.moves = [self.prepared(one) for one in steps]
        self.predicates = [[text.lstrip("!") for text in one.operands[:3] if PREDICATE.fullmatch(text) or text == "PR"] for one in steps]
        self.memory = {number for number, one in enumerate(steps) if one.code in READING or one.code in WRITING}
        self.rejoins = [(one.operands[0], target) for one in steps if one.code == "BSSY" for target in self.targets(one)]

    def targets(self, one):
        found = TARGET.findall(one.operands[-1]) if one.operands else []
        return [self.at[int(text, 16)] for text in found if int(text, 16) in self.at]

    def following(self, number):
        """The steps that may come after this one."""
        one = self.steps[number]
        ends = one.code in ENDS and not one.guard and len(one.operands) < 2 and not PREDICATE.fullmatch(one.operands[0])
        after = [] if ends else [number + 1]
        if one.code in JUMPS:
            after += self.targets(one)
        elif one.code == "BSYNC":
            places = [place for barrier, place in self.rejoins if barrier == one.operands[0]]
            after += [] if number + 1 in places else places
        return [number for number in after if number < len(self.steps)]

    def blocks(self):
        """Step numbers at which a block begins, in order."""
        begins = {0}
        for number, one in enumerate(self.steps):
            after = self.following(number)
            if after != [number + 1]:
                begins.update(after)
                begins.add(number + 1)
        return sorted(number for number in begins if number < len(self.steps))

    def constants(self, one, operands):
        """(register it is indexed by, offset in the image, bytes) of what a step takes from the parameters in these operands."""
        for operand in operands:
            text = one.operands[operand]
            for register, offset in CONSTANT.findall(text):
                offset, bytes_ = int(offset or "0", 16) - self.base, width(one, operand)
                if 0 <= offset < self.size:
                    yield register, offset, bytes_

    def words(self, one):
        """The words that a step takes, as bits: two for each, the second if it is the first of an array that is indexed."""
        found = 0
        for register, offset, bytes_ in self.constants(one, kept(one)):
            for word in range(offset // WORD, (offset + bytes_ - 1) // WORD + 1):
                found |= 1 << 2 * word + index(register)
        return found

    def prepared(self, one):
        """What a step does to the registers: (those it takes, the words it takes, where it puts them, whether that adds to what was there).
        The thread's own memory is registers too: one for each slot, `some` for what is put where is not known, `any` for all of it."""
        taken = [register for operand in kept(one) for register in REGISTER.findall(one.operands[operand])]
        words = self.words(one)
        if one.code == "STL":
            slots = local(one, one.operands[0])
            return taken, words, [*(slots or ["some"]), "any"], True
        if one.code == "LDL":
            slots = local(one, one.operands[-1])
            return [*slots, "some"] if slots else ["any"], 0, results(one), False
        if one.code in READING or one.code in WRITING or one.code in ("LDS", "ATOMS"):
            return [], 0, results(one), False
        return taken, words, results(one), False

    def note(self, one, registers):
        """Which words a step reads or writes memory through."""
        text = next(text for text in reversed(one.operands) if "[" in text)
        reached = 0
        for register in REGISTER.findall(ADDRESS.findall(text)[-1]):
            reached |= registers.get(register, one.guard)
        direct = {bit // 2 * WORD for bit in bits(reached) if bit % 2 == 0}
        arrays = {bit // 2 * WORD for bit in bits(reached) if bit % 2}
        if one.code in WRITING:
            self.access.written |= direct
            self.access.indexed_written |= arrays
            self.access.certain &= reached != 0
        if one.code in READING or one.code.startswith("ATOM"):
            self.access.read |= direct
            self.access.indexed_read |= arrays

    def walk(self, begin, end, state):
        """Takes the state through one block."""
        registers = Registers(state)
        for number in range(begin, end):
            one = self.steps[number]
            if number in self.memory:
                self.note(one, registers)
            taken, words, put, adds = self.moves[number]
            for register in taken:
                words |= registers.get(register, one.guard)
            registers.forget(self.predicates[number])
            for register in put:
                if adds:
                    state[register] = state.get(register, 0) | words
                else:
                    registers.set(register, one.guard, words)

    def run(self):
        """What has been found out, after as many rounds as it takes until no block learns more."""
        begins = self.blocks()
        ends = dict(zip(begins, [*begins[1:], len(self.steps)]))
        known, waiting, left = {0: {}}, [0] if self.steps else [], ROUNDS * len(self.steps)
        while waiting and left > 0:
            begin = heapq.heappop(waiting)
            state = dict(known[begin])
            self.walk(begin, ends[begin], state)
            left -= ends[begin] - begin
            for after in self.following(ends[begin] - 1):
                if merge(known, after, state) and after not in waiting:
                    heapq.heappush(waiting, after)
        self.take()
        beyond = [one for begin in begins if begin not in known for one in self.steps[begin:ends[begin]]]
        self.access.certain &= not waiting and not any(one.code in WRITING for one in beyond)
        return self.access

    def take(self):
        """Which bytes are loaded."""
        access = self.access
        for one in self.steps:
            access.certain &= not UNFOLLOWED.match(one.code)
            for register, offset, bytes_ in self.constants(one, range(len(one.operands))):
                if index(register):
                    access.indexed.add(offset)
                else:
                    access.loaded.update(range(offset, offset + bytes_))
        access.whole = {word for word in range(0, self.size - self.size % WORD, WORD)
                        if {word, word + 3, word + 4, word + 7} <= access.loaded}


def bits(number):
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def merge(known, begin, state):
    """Adds what a block may begin with; whether it is more than was known."""
    if begin not in known:
        known[begin] = dict(state)
        return True
    before, more = known[begin], False
    for register, words in state.items():
        both = before.get(register, 0) | words
        if both != before.get(register, 0):
            before[register], more = both, True
    return more
