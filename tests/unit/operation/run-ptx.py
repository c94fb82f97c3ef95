#!/usr/bin/env python3
"""run-ptx.py HASH.PTX - carries the kernels out as a device would, thread by thread, and holds what it comes to against the
definition of the hash. No GPU needed; its speed is the only thing that this does not tell."""
import functools
import random
import re
import sys

WORD = (1 << 64) - 1
ADDRESS, SLOT = 0x7f0000000000, 0x600000000000
THREADS = 256


# ---- the definition, as shim/base/hash.h puts it ----

def fold(x):
    return x ^ (x >> 32)


def hash_of(data):
    words = [int.from_bytes(data[i:i + 8], 'little') for i in range(0, len(data), 8)]
    sums = [0, 0]
    for index, word in [*enumerate(words), (WORD, len(data))]:
        key = (index * 0x9E3779B97F4A7C15 + 0x243F6A8885A308D3) & WORD
        y = fold((word ^ key) * 0xBF58476D1CE4E5B9 & WORD)
        z = y + (key << 32 & WORD | key >> 32) & WORD
        sums[0] += fold(fold(y * 0x94D049BB133111EB & WORD) * 0xFF51AFD7ED558CCD & WORD)
        sums[1] += fold(fold(z * 0xC4CEB9FE1A85EC53 & WORD) * 0xD6E8FEB86659FD93 & WORD)
    return [each & WORD for each in sums]


# ---- PTX to Python: a generator for one thread, which yields where it needs others ----

def name_of(operand):
    return re.sub(r'[%.$]', '_', operand)


def value(operand):
    if operand.startswith('%') or operand in SHARED:
        return name_of(operand)
    return str(int(operand, 0))


SHARED = ('parts',)
COMPARE = {'eq': '==', 'ne': '!=', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>='}
TWO = {'add': '({0} + {1}) & {m}', 'sub': '({0} - {1}) & {m}', 'mul.lo': '({0} * {1}) & {m}', 'mul.wide': '{0} * {1}',
       'and': '{0} & {1}', 'or': '{0} | {1}', 'xor': '{0} ^ {1}', 'min': 'min({0}, {1})',
       'shl': '({0} << min({1}, 64)) & {m}', 'shr': '{0} >> min({1}, 64)'}


def place(operand):
    base, offset = re.fullmatch(r'\[([%\w]+)(?: \+ (\d+))?\]', operand).groups()
    return base, f'{name_of(base)} + {offset or 0}'


def plain(opcode, args):
    """The statements of one instruction; None where it is none of these."""
    parts = opcode.split('.')
    mask = (1 << int(parts[-1][1:])) - 1 if parts[-1][1:].isdigit() else 0
    for stem, expression in TWO.items():
        if opcode.startswith(stem + '.') and parts[-1][0] in 'ub':
            return [f'{name_of(args[0])} = ' + expression.format(value(args[1]), value(args[2]), m=mask)]
    if parts[0] == 'mov' and args[0].startswith('{'):
        low, high = map(name_of, args[0].strip('{}').split(', '))
        return [f'{low}, {high} = {value(args[1])} & 0xFFFFFFFF, {value(args[1])} >> 32']
    if parts[0] == 'mov' and args[1].startswith('{'):
        low, high = map(name_of, args[1].strip('{}').split(', '))
        return [f'{name_of(args[0])} = {low} | {high} << 32']
    if parts[0] == 'mov':
        return [f'{name_of(args[0])} = {value(args[1])} & {mask}']
    if parts[0] == 'cvt':
        return [f'{name_of(args[0])} = {value(args[1])} & {(1 << int(parts[1][1:])) - 1}']
    if parts[0] == 'cvta':
        return [f'{name_of(args[0])} = {value(args[1])}']
    if parts[0] == 'setp':
        return [f'{name_of(args[0])} = {value(args[1])} {COMPARE[parts[1]]} {value(args[2])}']
    if parts[0] == 'selp':
        return [f'{name_of(args[0])} = {value(args[1])} if {name_of(args[3])} else {value(args[2])}']
    return None


def with_memory(opcode, args):
    if opcode == 'ld.param.u64':
        return [f'{name_of(args[0])} = params["{place(args[1])[0]}"]']
    load = re.fullmatch(r'ld\.(global|shared)(?:\.cs)?(\.v2)?\.u64', opcode)
    if load:
        names = ', '.join(map(name_of, args[0].strip('{}').split(', ')))
        comma = ',' if load[2] else ''
        count = 2 if load[2] else 1
        space = 'shared' if load[1] == 'shared' else 'global_'
        return [f'{names}{comma} = {space}.load({place(args[1])[1]}, {count})' + ('' if load[2] else '[0]')]
    if opcode == 'st.shared.v2.u64':
        names = ', '.join(map(name_of, args[1].strip('{}').split(', ')))
        return [f'shared.store({place(args[0])[1]}, ({names}))']
    if opcode == 'st.global.v2.u64':
        names = ', '.join(map(name_of, args[1].strip('{}').split(', ')))
        return [f'global_.store_two({place(args[0])[1]}, {names})']
    if opcode == 'st.global.u64':
        return [f'global_.store({place(args[0])[1]}, {name_of(args[1])})']
    if opcode == 'st.global.u8':
        return [f'global_.store_byte({place(args[0])[1]}, {name_of(args[1])})']
    if opcode == 'red.global.add.u64':
        return [f'global_.add({place(args[0])[1]}, {name_of(args[1])})']
    if opcode == 'shfl.sync.down.b32' and args[3:] == ['31', '0xFFFFFFFF']:
        return [f'{name_of(args[0])} = yield "shuffle", {value(args[1])}, {value(args[2])}']
    if opcode == 'bar.sync':
        return ['yield "barrier", 0, 0']
    return None


def split_arguments(text):
    return [each.strip() for each in re.findall(r'\{[^}]*\}|\[[^\]]*\]|[^,{}\[\]]+', text) if each.strip(' ,')]


def translate(text, entry):
    text = next(each for each in re.sub(r'//.*', '', text).split('.visible .entry ') if each.startswith(entry + '('))
    body = text[text.index('{') + 1:text.rindex('}')]
    body = re.sub(r'(\w+):', r'label \1;', body)
    instructions = [' '.join(each.split()) for each in body.split(';') if each.strip()]
    instructions = [each for each in instructions if not each.startswith(('.reg', '.shared'))]
    blocks, labels = [[]], {}
    for each in instructions:
        if each.startswith('label '):
            labels[each.split()[1]] = len(blocks)
            blocks.append([])
        else:
            blocks[-1].append(each)
    lines = ['def thread(params, global_, shared, _tid_x, _ctaid_x, _nctaid_x):', '    parts = 0', '    at = 0', '    while True:']
    for number, block in enumerate(blocks):
        lines.append(f'        if at == {number}:')
        for each in block:
            lines += ['            ' + line for line in statements(each, labels)]
        lines.append(f'            at = {number + 1}')
    scope = {}
    exec('\n'.join(lines), scope)
    return scope['thread']


def statements(instruction, labels):
    guard = re.match(r'@(%\w+) ', instruction)
    rest = instruction[guard.end():] if guard else instruction
    opcode, _, arguments = rest.partition(' ')
    if opcode == 'bra':
        jump = [f'at = {labels[arguments]}', 'continue']
        return [f'if {name_of(guard[1])}:', *('    ' + line for line in jump)] if guard else jump
    if opcode == 'ret' and not guard:
        return ['return']
    args = split_arguments(arguments)
    found = None if guard else plain(opcode, args) or with_memory(opcode, args)
    if not found:
        raise ValueError(f'this is not known here: {instruction}')
    return found


# ---- memory, warps and blocks ----

class Global:
    """The range, of which aligned words are read that overlap it, and the slot."""

    def __init__(self, address, data, junk):
        self.address, self.data, self.junk, self.slot = address, data, junk, [0, 0]
        self.read = set()

    def load(self, at, count):
        assert at % (8 * count) == 0, f'a load of {8 * count} bytes from {at:#x}'
        return [self.word(at + 8 * k) for k in range(count)]

    def word(self, at):
        assert at + 8 > self.address and at < self.address + len(self.data), f'{at - self.address} is read'
        self.read.update(range(max(at, self.address), min(at + 8, self.address + len(self.data))))
        return int.from_bytes(bytes(self.data[i] if 0 <= i < len(self.data) else self.junk
                                    for i in range(at - self.address, at - self.address + 8)), 'little')

    def add(self, at, term):
        index = (at - SLOT) // 8
        assert at % 8 == 0 and index in (0, 1), f'{at:#x} is written to'
        self.slot[index] = self.slot[index] + term & WORD


class Pages(Global):
    """Whole pages at equal distances; nothing between them is read."""

    def word(self, at):
        assert (at - self.address) % PITCH < PAGE, f'{at - self.address} is read, between the pages'
        return super().word(at)


class Words:
    """What is told: from one place to another, each word once."""

    def __init__(self, words):
        self.words, self.told = words, {}

    def load(self, at, count):
        assert at % 8 == 0 and count == 1 and at - SLOT in range(0, 8 * len(self.words)), f'{at:#x} is read'
        return [self.words[(at - SLOT) // 8]]

    def store(self, at, word):
        if at - SLOT in range(0, 8 * len(self.words)):
            assert word == 0 and at - SLOT + ADDRESS in self.told, f'{at:#x} is cleared before it was told, or not cleared'
            self.words[(at - SLOT) // 8] = 0
            return
        assert at % 8 == 0 and at not in self.told, f'{at:#x} is written again'
        self.told[at] = word


class Shared:
    def __init__(self):
        self.words = {}

    def load(self, at, count):
        return [self.words[at + 8 * k] for k in range(count)]

    def store(self, at, values):
        assert at % 16 == 0 and at + 16 <= 128
        self.words[at], self.words[at + 8] = values


def step(warp, answers):
    asked = []
    for lane, thread in enumerate(warp):
        try:
            asked.append(thread.send(answers[lane]))
        except StopIteration:
            asked.append(None)
    return asked


def run_warp(warp):
    """Yields at each barrier."""
    answers = [None] * 32
    while True:
        asked = step(warp, answers)
        kinds = {each and each[0] for each in asked}
        assert len(kinds) == 1, f'the threads of a warp are apart: {kinds}'
        if kinds == {None}:
            return
        if kinds == {'barrier'}:
            yield
            answers = [None] * 32
        else:
            answers = [asked[lane + delta][1] if lane + delta < 32 else own for lane, (_, own, delta) in enumerate(asked)]


def run(thread, address, data, blocks, junk):
    memory = Global(address, data, junk)
    for block in random.Random(blocks).sample(range(blocks), blocks):
        shared = Shared()
        threads = [thread({'address': address, 'bytes': len(data), 'slot': SLOT}, memory, shared, tid, block, blocks)
                   for tid in range(THREADS)]
        warps = [run_warp(threads[first:first + 32]) for first in range(0, THREADS, 32)]
        assert all(next(warp, 'gone') is None for warp in warps)       # up to the barrier, ...
        assert all(next(warp, 'gone') == 'gone' for warp in warps)     # and behind it
    assert len(memory.read) == len(data), f'{len(data) - len(memory.read)} bytes are not read'
    return memory.slot


def tell(thread, count, blocks):
    words = [random.Random(number).getrandbits(64) for number in range(count)]
    memory = Words(words[:])
    for block in range(blocks):
        for tid in range(THREADS):
            thread({'from': SLOT, 'to': ADDRESS, 'words': count}, memory, None, tid, block, blocks)
    assert memory.told == {ADDRESS + 8 * number: word for number, word in enumerate(words)}, 'it is told something else'
    assert not any(memory.words), 'something is left behind'


class Filled:
    def __init__(self):
        self.words = {}

    def store_two(self, at, first, second):
        assert at % 16 == 0 and at not in self.words, f'{at:#x} is written to'
        self.words[at], self.words[at + 8] = first, second


def fill(thread, pages, blocks):
    memory = Filled()
    for block in range(blocks):
        for tid in range(THREADS):
            thread({'address': ADDRESS, 'pages': pages, 'pitch': PITCH, 'pattern': PATTERN}, memory, None, tid, block, blocks)
    assert memory.words == {ADDRESS + page * PITCH + i: PATTERN for page in range(pages) for i in range(0, PAGE, 8)}, 'other words are filled'


def sample_of(data, pages, pattern):
    words = [int.from_bytes(data[page * PITCH + i:page * PITCH + i + 8], 'little') for page in range(pages) for i in range(0, PAGE, 8)]
    total = 0
    for index, word in enumerate(words):
        key = (index * 0x9E3779B97F4A7C15 + 0x243F6A8885A308D3) & WORD
        total += fold(fold(fold((word ^ key) * 0xBF58476D1CE4E5B9 & WORD) * 0x94D049BB133111EB & WORD) * 0xFF51AFD7ED558CCD & WORD)
    return [total & WORD, words.count(pattern)]


def sample(thread, data, pages, blocks, pattern):
    memory = Pages(ADDRESS, data, 0)
    expected = sample_of(data, pages, pattern)
    for sign in (1, WORD):
        for block in range(blocks):
            params = {'address': ADDRESS, 'pages': pages, 'pitch': PITCH, 'pattern': pattern, 'sign': sign, 'slot': SLOT}
            threads = [thread(params, memory, None, tid, block, blocks) for tid in range(THREADS)]
            for first in range(0, THREADS, 32):
                assert next(run_warp(threads[first:first + 32]), 'gone') == 'gone'
        assert memory.slot == (expected if sign == 1 else [0, 2 * expected[1]]), 'it is another sample'


class Found(Global):
    """Words, and the slot, of which only the first word is added to."""

    def add(self, at, term):
        assert at == SLOT and term > 0, f'{term} is added at {at:#x}'
        super().add(at, term)


def find(thread, count, blocks):
    chosen = random.Random(count)
    words = [chosen.choice((LOW - 1, LOW, LOW + 5, LOW + EXTENT - 1, LOW + EXTENT, OTHER_LOW - 1, OTHER_LOW, 0, WORD)) for _ in range(count)]
    memory = Found(ADDRESS + 8, b''.join(word.to_bytes(8, 'little') for word in words), 0)
    for block in range(blocks):
        for tid in range(THREADS):
            list(thread({'address': ADDRESS + 8, 'words': count, 'low': LOW, 'extent': EXTENT, 'other_low': OTHER_LOW, 'other_extent': 1, 'slot': SLOT},
                        memory, None, tid, block, blocks) or ())
    assert len(memory.read) == 8 * count, 'not every word is read'
    assert memory.slot == [sum(LOW <= word < LOW + EXTENT for word in words) + words.count(OTHER_LOW), 0], f'{memory.slot[0]} are found'


LOW, EXTENT, OTHER_LOW = 0x10100000000, 0x4000000, 0x7f0000001000
FOUND = [(0, 1), (1, 1), (256, 1), (300, 1), (700, 2), (1000, 6)]  # words, blocks
PAGE, PITCH, PATTERN = 4096, 3 * 4096, 0xb7b7b7b7b7b7b7b7
SAMPLED = [(0, 1), (1, 1), (2, 1), (3, 2), (4, 6)]  # pages, blocks
TOLD = [(2, 1), (256, 1), (258, 2), (1000, 4), (1000, 6)]  # words, blocks
CASES = [  # alignment, bytes, blocks
    (0, 0, 1), (0, 1, 1), (0, 7, 1), (0, 8, 2), (0, 2049, 3), (0, 16383, 1), (0, 16384, 1), (0, 16385, 2),
    (0, 3 * 16384 + 5000 + 3, 2), (0, 2 * 16384, 4), (8, 16384 + 9, 2), (4, 5001, 1), (1, 0, 1), (1, 1, 1), (7, 1, 1), (7, 2, 1),
    (1, 7, 1), (1, 8, 1), (3, 4099, 2), (5, 16384 + 11, 3), (6, 10, 1), (15, 17, 1),
]


def sampled_and_filled(sampler, filler, pages, blocks):
    data = bytearray(random.Random(pages).randbytes((pages - 1) * PITCH + PAGE if pages else 0))
    for page in range(0, pages, 2):  # words that are the pattern, and what is nearly one
        data[page * PITCH + 8:page * PITCH + 8 + 24] = PATTERN.to_bytes(8, 'little') * 3
        data[page * PITCH + 104] = 0xb7
    sample(sampler, data, pages, blocks, PATTERN)
    fill(filler, pages, blocks)


def others(teller, sampler, filler, finder):
    """What the other kernels do, each with a sentence."""
    for count, blocks in TOLD:
        yield f'{count} words, told in {blocks} blocks', functools.partial(tell, teller, count, blocks)
    for pages, blocks in SAMPLED:
        yield f'a sample of {pages} pages, in {blocks} blocks', functools.partial(sampled_and_filled, sampler, filler, pages, blocks)
    for count, blocks in FOUND:
        yield f'of {count} words those between bounds, in {blocks} blocks', functools.partial(find, finder, count, blocks)


def main():
    with open(sys.argv[1], encoding='ascii') as file:
        text = file.read()
    thread, teller, sampler, filler, finder = (translate(text, f'spillway_{name}') for name in ('hash', 'tell', 'sample', 'fill', 'find'))
    print(f'1..{len(CASES) + len(TOLD) + len(SAMPLED) + len(FOUND)}')
    failed = 0
    for number, (alignment, size, blocks) in enumerate(CASES, 1):
        data = random.Random(number).randbytes(size)
        try:
            good = all(run(thread, ADDRESS + alignment, data, blocks, junk) == hash_of(data) for junk in (0, 0xff))
            why = '' if good else 'it is another hash'
        except AssertionError as error:
            good, why = False, str(error)
        failed += not good
        print(f'{"" if good else "not "}ok {number} - {size} bytes, {alignment} behind an aligned address, in {blocks} blocks'
              + (f' # {why}' if why else ''))
    for number, (what, judge) in enumerate(others(teller, sampler, filler, finder), len(CASES) + 1):
        try:
            judge()
            why = ''
        except AssertionError as error:
            why = f' # {error}'
        failed += bool(why)
        print(f'{"not " if why else ""}ok {number} - {what}{why}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
