"""samples - reads what the sampler (probes/sampler.c) wrote, and tells how the time of a program's threads is shared out."""
import bisect
import collections
import struct
from pathlib import Path

# Where the exported functions are that a thread waits in: innermost or close to it.
WAITS = ('pthread_cond_wait', 'pthread_cond_timedwait', 'pthread_cond_clockwait', 'epoll_wait', 'poll', 'select', 'accept', 'sem_wait',
         'sem_timedwait', 'nanosleep', 'clock_nanosleep', 'usleep')
CLOSE = 3


def symbols_of(path):
    """(addresses, names) of the functions in an ELF file's own table, ascending; of one without a table none."""
    data = Path(path).read_bytes()
    if data[:4] != b'\x7fELF' or data[4] != 2:
        return [], []
    table, size, count = struct.unpack_from('<Q', data, 40)[0], *struct.unpack_from('<HH', data, 58)
    sections = [struct.unpack_from('<IIQQQQIIQQ', data, table + i * size) for i in range(count)]
    found = []
    for kind, offset, length, link in ((s[1], s[4], s[5], s[6]) for s in sections):
        if kind != 2:   # SHT_SYMTAB
            continue
        names = sections[link][4]
        for at in range(offset, offset + length, 24):
            name, info, _, section, value, _ = struct.unpack_from('<IBBHQQ', data, at)
            if info & 15 == 2 and section:
                end = data.index(b'\0', names + name)
                found.append((value, data[names + name:end].decode()))
    found.sort()
    return [value for value, _ in found], [name for _, name in found]


class Samples:
    """`library`: the file whose own functions are to be told by name, as it is in the program."""

    def __init__(self, text, library):
        self.library = str(library)
        self.maps, self.names, self.taken = [], {}, []
        for line in text.splitlines():
            kind, *words = line.split(' ')
            if kind == 'm':
                self.maps.append((int(words[0], 16), int(words[1], 16), int(words[2], 16), ' '.join(words[3:])))
            elif kind == 'n':
                self.names[int(words[0], 16)] = words[1]
            elif kind == 's':
                self.taken.append((int(words[0]), int(words[1]), [int(word, 16) for word in words[2:]]))
        self.maps.sort()
        self.starts = [begin for begin, *_ in self.maps]
        self.values, self.functions = symbols_of(library)

    def name(self, address, is_innermost):
        """(name, whether it is one of the library's)."""
        i = bisect.bisect_right(self.starts, address) - 1
        begin, end, offset, path = self.maps[i] if i >= 0 else (0, 0, 0, '')
        if not begin <= address < end:
            return '?', False
        if path != self.library:
            return self.names.get(address, Path(path).name), False
        k = bisect.bisect_right(self.values, address - begin + offset - (not is_innermost)) - 1
        return (self.functions[k] if k >= 0 else '?'), True

    def stacks(self, from_ms):
        """Of threads that work; each a list of (name, whether it is the library's), the innermost first."""
        for _, ms, addresses in self.taken:
            if ms >= from_ms and addresses:
                stack = [self.name(address, k == 0) for k, address in enumerate(addresses)]
                if not any(name in WAITS for name, _ in stack[:CLOSE]):
                    yield stack

    def shares(self, from_ms, most=24):
        """{figure: value}: per cent of the samples of the second half of the run, or from some time on."""
        inside, beneath, count, under = collections.Counter(), collections.Counter(), 0, 0
        for stack in self.stacks(from_ms):
            count += 1
            ours = [name for name, is_ours in stack if is_ours]
            under += bool(ours)
            inside.update(set(ours))
            if ours and not stack[0][1]:
                beneath[f'{stack[0][0]} in {ours[0]}'] += 1
        told = {'samples': count, 'under_spillway_percent': percent(under, count)}
        told.update({f'within/{name}_percent': percent(n, count) for name, n in inside.most_common(most)})
        told.update({f'outside/{name}_percent': percent(n, count) for name, n in beneath.most_common(most // 2)})
        return told

    def middle_ms(self):
        return max((ms for _, ms, _ in self.taken), default=0) // 2


def percent(part, whole):
    return round(100 * part / whole, 1) if whole else 0.0
