"""classify.py - what a kernel does with each of its parameters, as far as its name and the sizes of its parameters tell."""
import collections
import re

import kernels
import names

WORD = 8
SIZES = {"r": 8, "w": 8, "p": 8, "a": 8, "l": 8, "i": 4, "h": 2, "b": 1}
NUMBERS = re.compile(r"(unsigned |signed )?(char|short|int|long|long long|__int128)|bool|float|double|unsigned|wchar_t|__half|__nv_bfloat16"
                     r"|c10::(Half|BFloat16|Float8_\w+|complex<(float|c10::Half)>)|cutlass::\w*(half|bfloat16|float)_t")
VERSION = re.compile(r"\b(_V_\w+|__\d+)::")
ANONYMOUS = "(anonymous namespace)::"


def round_up(number, to):
    return -(-number // to) * to


def members(row):
    """(offset, letter) of each member of a row."""
    offset = 0
    for word in row.split():
        if word.startswith("@"):
            offset = int(word[1:])
            continue
        for _ in range(int(word[:-1] or 1)):
            size = SIZES[word[-1].lower()]
            offset = round_up(offset, size)
            yield offset, word[-1]
            offset += size


def pointed(element):
    """How memory of elements of this type is used, if nothing else is known. Addresses are made by the program."""
    return "reads" if element.endswith((" const", "*")) else "writes"


def outer(text):
    """A type without its template's arguments, and these; Outer<...>::Inner is Outer::Inner."""
    text = VERSION.sub("", text.replace(ANONYMOUS, ""))
    begin = text.find("<")
    if begin < 0:
        return text, ()
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == "<") - (text[at] == ">" and text[at - 1] != "-")
        if depth == 0:
            return text[:begin] + text[at + 1:], names.split(text[begin + 1:at])
    return text, ()


# Bytes of the parameters and how they are used; `sure` where that is known, not concluded from what is usual.
Use = collections.namedtuple("Use", ("offset", "size", "how", "sure"))


class Uses:
    """What has been found out of one kernel so far."""

    def __init__(self, kernel, name):
        self.kernel, self.name, self.found = kernel, name, []

    def add(self, offset, size, how, sure=True):
        self.found.append(Use(offset, size, how, sure))

    def memory(self, offset, element, how):
        """An address of elements of this type; `how` is what else is known."""
        self.add(offset, WORD, how or pointed(element), bool(how) or pointed(element) == "reads")

    def words(self, offset, size, how="addresses/0"):
        """A struct of which nothing is known."""
        if size:
            self.add(offset, size, how, False)

    def row(self, offset, size, row, element, how=None):
        """A struct whose members are declared; `how` overrules what is said of memory of elements."""
        hows = {"r": "reads", "w": "writes", "a": "words/0"}
        for at, letter in members(row):
            if letter.isupper() or at + SIZES[letter] > size:
                continue
            if letter == "p":
                self.memory(offset + at, element, how)
            else:
                self.add(offset + at, SIZES[letter], hows.get(letter, "value"))

    def parameter(self, number, how=None):
        """One parameter, by its type; `how` is what is known of the memory that it leads to."""
        offset, size = self.kernel.params[number]
        text = self.name.parameters[number] if self.name.parameters is not None else None
        if text is None:
            self.unnamed(offset, size)
        elif text.endswith("&") or text.endswith(")"):
            pass  # of the host: a reference; or a function
        elif text.endswith("*"):
            self.memory(offset, text[:-1], how)
        elif NUMBERS.fullmatch(text):
            self.add(offset, size, "value")
        else:
            self.struct(offset, size, text, how)

    def unnamed(self, offset, size):
        if size == WORD:
            self.add(offset, size, "words/0", False)
        elif size in (1, 2, 4):
            self.add(offset, size, "value")
        else:
            self.words(offset, size)

    def struct(self, offset, size, text, how):
        kind, arguments = outer(text)
        row, element = kernels.STRUCTS.get(text) or kernels.STRUCTS.get(kind) or (None, None)
        if row is not None:
            self.row(offset, size, row, arguments[element] if element is not None else "", how)
        elif how:
            self.words(offset, size, "addresses/1" if how == "writes" else "addresses/0")
        else:
            self.words(offset, size)


# ------------------------------------------------------------------------------------------------------ families of kernels
FAMILIES = {}


def family(*functions):
    """Registers the function below it for kernels of these names; it answers whether it could make sense of the kernel."""
    def register(function):
        for name in functions:
            FAMILIES[name] = function
        return function
    return register


def pointers(uses, offset, count, written):
    """An array of addresses of which the first are written."""
    for number in range(count):
        uses.add(offset + number * WORD, WORD, "writes" if number < written else "reads")


@family("vectorized_elementwise_kernel", "unrolled_elementwise_kernel", "vectorized_templated_elementwise_kernel",
        "unrolled_elementwise_kernel_for_multi_outputs")
def elementwise_contiguous(uses):
    """An array with the addresses of outputs, then inputs."""
    outputs = int(uses.name.arguments[0]) if uses.name.function.endswith("_for_multi_outputs") else 1
    for number, text in enumerate(uses.name.parameters):
        offset, size = uses.kernel.params[number]
        if text.startswith("std::array<char*,") or text.startswith("at::detail::Array<char*,"):
            pointers(uses, offset, size // WORD, outputs)
        else:
            uses.parameter(number)
    return True


def calculator(tensors):
    """Bytes of an OffsetCalculator, and up to the next word: dimensions, 25 dividers of three words, 25 strides of each tensor."""
    return round_up(4 + 25 * 12 + 25 * 4 * tensors, WORD)


def strided_tensors(size):
    """How many tensors a closure of elementwise_kernel has the addresses of, and where: an OffsetCalculator is before these, the
    functor after them. The calculator's words do not count: those of unused dimensions have never been set."""
    fits = [(count, calculator(count)) for count in range(1, 16)]
    fits = [(count, offset) for count, offset in fits if offset + count * WORD < size]
    return fits[-1] if fits else (0, 0)


@family("elementwise_kernel")
def elementwise_strided(uses):
    if len(uses.kernel.params) != 2 or "gpu_kernel_impl" not in uses.name.parameters[1]:
        return False
    offset, size = uses.kernel.params[1]
    count, first = strided_tensors(size)
    uses.parameter(0)
    pointers(uses, offset + first, count, 1)
    uses.words(offset + first + count * WORD, size - first - count * WORD)
    return count > 0


@family("distribution_elementwise_grid_stride_kernel")
def distribution(uses):
    """Number of elements, random state, two functors, of which the second has the address of the output: first, or after an
    OffsetCalculator of one tensor."""
    for number in (0, 1):
        uses.parameter(number)
    offset, size = uses.kernel.params[3]
    uses.add(offset + (calculator(1) if size > calculator(1) else 0), WORD, "writes")
    return True


@family("index_elementwise_kernel")
def indexed(uses):
    """The closure begins with an OffsetCalculator of three tensors; output and input follow, then the addresses of indices."""
    uses.parameter(0)
    offset, size = uses.kernel.params[1]
    begin = calculator(3)
    uses.words(offset + begin, size - begin, "addresses/1")
    return size > begin


PAIRS = re.compile(r"\b(MinOps|MaxOps|MinMaxOps|AMinMaxOps)<")


@family("reduce_kernel")
def reduction(uses):
    """struct ReduceOp ends with src, dst[2], acc_buf, cta_buf, semaphores, base_idx, two flags and the number of outputs. The second
    output is set where there is one only."""
    offset, size = uses.kernel.params[0]
    begin = offset + size - 8 * WORD
    for number, how in enumerate(("reads", "writes", "writes", "writes", "writes", "writes")):
        if number != 2 or PAIRS.search(uses.name.parameters[0]):
            uses.add(begin + number * WORD, WORD, how)
    return True


def list_size(lists, count, extra, tail, blocks, width):
    """Bytes of a struct of multi-tensor lists, up to the blocks' indices and in all."""
    indices = (lists + 1) * count * WORD + count * extra
    end = round_up(indices + blocks * width, 4) + blocks * 4 + tail
    return indices, end


def list_of(size, lists, extra, tail):
    """(tensors at most, offset of the blocks' indices, bytes of each) of the struct that has this size."""
    for blocks, width in kernels.LIST_BLOCKS:
        count = (size - blocks * (width + 4) - tail) // ((lists + 1) * WORD + extra)
        indices, end = list_size(lists, count, extra, tail, blocks, width)
        if count > 0 and round_up(end, WORD) <= size < round_up(end, WORD) + 2 * WORD:
            return count, indices, width
    return None


@family("multi_tensor_apply_kernel")
def multi_tensor(uses):
    kind, arguments = outer(uses.name.parameters[0])
    kind, lists, extra, tail = kind.rsplit("::", 1)[-1], int(arguments[-1]), 0, 4
    if kind == "TensorListScalarListMetadata":
        extra, tail = kernels.SCALARS[arguments[0]], 0
    elif kind == "FusedOptimizerTensorListMetadata":
        extra = WORD
    offset, size = uses.kernel.params[0]
    known = list_of(size, lists, extra, tail)
    if not known:
        return False
    count, indices, width = known
    functor, options = outer(uses.name.parameters[1])
    functor = functor.rsplit("::", 1)[-1]
    written = kernels.LISTS_WRITTEN.get(functor, lambda lists: (1 << lists) - 1)
    mask = written(lists) if callable(written) else 1 << int(options[written])
    uses.add(offset, lists * count * WORD, f"tensors/{lists}/{count}/{mask}/{offset + indices}/{width}")
    if kind == "FusedOptimizerTensorListMetadata":  # the states' steps, after the numbers of elements
        uses.add(offset + (lists + 1) * count * WORD, count * WORD, f"tensors/1/{count}/0/{offset + indices}/{width}")
    positional(uses, ".." + kernels.AFTER_FUNCTOR.get(functor, ""), start=2)
    return True


@family("CatArrayBatchedCopy", "CatArrayBatchedCopy_contig", "CatArrayBatchedCopy_vectorized", "CatArrayBatchedCopy_alignedK_contig",
        "CatArrayBatchedCopy_aligned16_contig")
def concatenation(uses):
    """One row of blocks for each input."""
    inputs = int(outer(uses.name.parameters[1])[1][2])
    uses.add(uses.kernel.params[1][0], inputs * WORD, f"tensors/1/{inputs}/0/y")
    for number in (0, *range(2, len(uses.kernel.params))):
        uses.parameter(number)
    return True


@family("split_with_sizes_copy_out_contiguous_no_cast_kernel")
def split_copies(uses):
    """Addresses that are written and addresses that are read, in one table, then where the parts are."""
    at = [offset for offset, _ in uses.kernel.params]
    uses.add(at[0], WORD, f"table/{at[1]}/1")
    uses.add(at[1], WORD, f"table/{at[2]}/0")
    for number in (5, 6):
        uses.parameter(number)
    return True


@family("chunk_cat_cuda_kernel")
def chunks(uses):
    """Addresses that are read, in a table, and the output; then where the parts are, in the same table."""
    at = [offset for offset, _ in uses.kernel.params]
    uses.add(at[0], WORD, f"table/{at[2]}/0")
    uses.parameter(1)
    for number in range(8, len(uses.kernel.params)):
        uses.parameter(number)
    return True


@family("lpnorm_cleanup", "lpmax_cleanup")
def norms(uses):
    """One block for each of the addresses."""
    for number, text in enumerate(uses.name.parameters):
        offset, size = uses.kernel.params[number]
        if text.endswith("TensorListAddresses"):
            uses.add(offset, size, f"tensors/1/{size // WORD}/1/x")
        else:
            uses.parameter(number)
    return True


def positional(uses, letters, start=0):
    for number in range(start, len(uses.kernel.params)):
        letter = letters[number] if number < len(letters) else "."
        if letter != "-":
            uses.parameter(number, {"r": "reads", "w": "writes"}.get(letter))
    return True


def uses_of(kernel, name):
    """All that is known to be used, in order."""
    short = name.function.rsplit("::", 1)[-1]
    if name.parameters is None or len(name.parameters) != len(kernel.params):
        name = names.Name(name.function, (), None)
    uses = Uses(kernel, name)
    if name.parameters is not None and short in FAMILIES and FAMILIES[short](uses):
        return sorted(uses.found)
    uses = Uses(kernel, name)
    if name.parameters is not None and short in kernels.FIRST_PARAMETERS:
        uses.row(*kernel.params[0], kernels.FIRST_PARAMETERS[short], "")
        positional(uses, "", start=1)
    else:
        positional(uses, kernels.PARAMETERS.get(short, ""))
    return sorted(uses.found)
