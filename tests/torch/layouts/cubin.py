"""cubin.py - what a cubin's ELF says of its kernels: the parameters of each, the shared memory and the registers that it takes."""
import dataclasses
import mmap
import struct

SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, alignment, entry size
SYMBOL = struct.Struct("<IBBHQQ")
NOTHING_IN_THE_FILE = 8  # the type of a section that only has a size
RESERVED = ".nv.shared.reserved.0"  # a file that has this section counts what the driver takes of each block's shared memory with the kernel's
RESERVED_BYTES = 1024

# Of the attributes of a kernel (.nv.info.NAME): a format, a kind, and what cuobjdump -elf calls the kind.
WITH_SIZE, WITH_HALF = 4, 3
KPARAM_INFO, KPARAM_INFO_V2, PARAM_CBANK, CBANK_PARAM_SIZE, REGCOUNT = 0x17, 0x45, 0x0A, 0x19, 0x2F
PARAMETER = struct.Struct("<IHHI")  # index, ordinal, offset, and in the upper 14 bits the size
PARAMETER_V2 = struct.Struct("<IHHI")  # the same, with a size of 32 bits


class Unreadable(Exception):
    """A file that is no cubin."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    size: int  # of the image of all parameters
    shared: int
    registers: int
    params: tuple  # (offset, size) of each
    base: int  # where the image is in the constant bank
    path: str


def attributes(data):
    """(kind, contents) of each attribute of a section .nv.info*; contents is a number where it has 16 bits."""
    at = 0
    while at + 4 <= len(data):
        form, kind, number = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == WITH_SIZE:
            yield kind, data[at:at + number]
            at += number
        elif form == WITH_HALF:
            yield kind, number


def parameters(data):
    """The size of the image, where it is in the constant bank, and (offset, size) of each parameter, in order."""
    size, base, found = 0, 0, {}
    for kind, contents in attributes(data):
        if kind == CBANK_PARAM_SIZE:
            size = contents
        elif kind == PARAM_CBANK:
            _, base, _ = struct.unpack("<IHH", contents)
        elif kind == KPARAM_INFO:
            _, ordinal, offset, bits = PARAMETER.unpack(contents)
            found[ordinal] = (offset, bits >> 18)
        elif kind == KPARAM_INFO_V2:
            _, ordinal, offset, bytes_ = PARAMETER_V2.unpack(contents)
            found[ordinal] = (offset, bytes_)
    return size, base, tuple(found[ordinal] for ordinal in sorted(found))


class Elf:
    """The sections and symbols of one file."""

    def __init__(self, data):
        if data[:4] != b"\x7fELF" or data[4] != 2 or len(data) < 64:
            raise Unreadable("no 64-bit ELF file")
        self.data = data
        start, = struct.unpack_from("<Q", data, 0x28)
        count, names = struct.unpack_from("<HH", data, 0x3C)
        first = SECTION.unpack_from(data, start)
        count, names = count or first[5], first[6] if names == 0xFFFF else names  # too many for 16 bits
        self.table = [SECTION.unpack_from(data, start + number * SECTION.size) for number in range(count)]
        if any(entry[1] != NOTHING_IN_THE_FILE and entry[4] + entry[5] > len(data) for entry in self.table):
            raise Unreadable("cut off")
        self.sections = [(self.text(self.table[names], entry[0]), entry) for entry in self.table]

    def text(self, strings, offset):
        begin = strings[4] + offset
        return self.data[begin:self.data.find(b"\0", begin)].decode()

    def contents(self, entry):
        return b"" if entry[1] == NOTHING_IN_THE_FILE else self.data[entry[4]:entry[4] + entry[5]]

    def symbols(self):
        """The name of each, by number."""
        for name, entry in self.sections:
            if name == ".symtab":
                return [self.text(self.table[entry[6]], SYMBOL.unpack_from(self.data, at)[0])
                        for at in range(entry[4], entry[4] + entry[5], SYMBOL.size)]
        return []


def shared(sections, name):
    """Bytes of shared memory that a kernel declares."""
    size = sections[".nv.shared." + name][5] if ".nv.shared." + name in sections else 0
    return max(size - RESERVED_BYTES, 0) if RESERVED in sections else size


def kernels(path):
    """Those of one cubin."""
    with open(path, "rb") as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            elf = Elf(data)
            symbols, sections = elf.symbols(), dict(elf.sections)
            registers = {}
            for kind, contents in attributes(elf.contents(sections.get(".nv.info", [0, NOTHING_IN_THE_FILE]))):
                if kind == REGCOUNT:
                    symbol, count = struct.unpack("<II", contents)
                    registers[symbols[symbol]] = count
            found = []
            for section, entry in elf.sections:
                name = section.removeprefix(".nv.info.")
                if name != section and ".text." + name in sections:
                    size, base, params = parameters(elf.contents(entry))
                    found.append(Kernel(name, size, shared(sections, name), registers.get(name, 0), params, base, str(path)))
            return found
        except (struct.error, IndexError, ValueError, Unreadable) as error:
            raise Unreadable(f"{path}: {error}") from error
