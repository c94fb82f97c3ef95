"""refine.py - what a kernel's machine code adds to what its name says: which words of a struct are addresses, which of them are written,
and which bytes count because the kernel loads them. Bytes that it does not load may never have been set."""
from classify import WORD, Use, round_up

# Bytes of the largest struct whose numbers count if they are loaded. Larger ones have arrays that are not set to their end, of which the
# code may load more than it goes on to use.
SMALL = 64


def homes(access, params):
    """Where indexed arrays begin. Code may fold a constant into the index: what is said to begin in a parameter of one word begins in the
    struct after it."""
    found = {}
    for begin in access.indexed:
        for offset, size in params:
            if begin < offset + size and size > WORD:
                found[begin] = max(begin, offset)
                break
    return found


class Words:
    """The words of one kernel's parameters, by what its code does with them."""

    def __init__(self, access, params):
        moved = homes(access, params)
        self.access, self.read, self.written = access, access.read, access.written
        self.arrays = sorted(moved.values())
        self.arrays_written = {moved[begin] for begin in access.indexed_written if begin in moved}
        self.ends = [offset + size for offset, size in params]

    def array(self, word):
        """Where the array begins that is indexed and may have this word in it."""
        begin = max((begin for begin in self.arrays if begin <= word), default=None)
        return begin if begin is not None and not any(begin < end <= word for end in self.ends) else None

    def loaded(self, offset, size):
        """The bytes of these that are loaded, as (offset, size) of each run."""
        runs = []
        for byte in range(offset, offset + size):
            if byte in self.access.loaded:
                if runs and sum(runs[-1]) == byte:
                    runs[-1] = (runs[-1][0], runs[-1][1] + 1)
                else:
                    runs.append((byte, 1))
        return runs

    def how(self, word):
        """What is done with the memory that a word leads to."""
        if word in self.written:
            return "writes"
        return "reads" if word in self.read else None


def pointer(use, words):
    """An address of memory that is written as far as its type says."""
    if words.access.certain and use.offset not in words.written and use.offset in words.access.whole:
        return use._replace(how="reads")
    return use


def struct(use, words, small):
    """A run of bytes of which nothing was known: its words, as the code treats them."""
    begin, end = round_up(use.offset, WORD), use.offset + use.size
    last = max(begin, end - end % WORD)
    yield from numbers(use.offset, min(begin, end) - use.offset, words, small)
    for word in range(begin, last, WORD):
        yield from one_word(word, words, small)
    yield from numbers(last, end - last, words, small)


def one_word(word, words, small):
    array = words.array(word)
    if word in words.access.whole:
        how = words.how(word)
        if how == "writes" or how and not small:
            yield Use(word, WORD, how, True)
        elif small or not words.access.certain:
            yield Use(word, WORD, "words/0" if small else "addresses/0", True)
    elif array is not None:
        # A large one may not have been set to its end: what is there by accident had better not be written.
        yield Use(word, WORD, "writes" if small and array in words.arrays_written else "addresses/0", True)
    else:
        yield from numbers(word, WORD, words, small)


def numbers(offset, size, words, small):
    return [Use(begin, length, "value", True) for begin, length in words.loaded(offset, size)] if small else []


def refined(kernel, uses, access):
    """The uses of a kernel, with what its code says of those that were not sure."""
    words, found = Words(access, kernel.params), []
    for use in uses:
        if use.sure:
            found.append(use)
        elif use.how == "writes":
            found.append(pointer(use, words))
        else:
            inside = list(struct(use, words, use.size <= SMALL))
            missed = use.how == "addresses/1" and not any(one.how == "writes" for one in inside)
            found += [use] if missed else inside
    return found


def settled(uses):
    """The uses as they are written down: addresses where whole words can be, neighbours of one kind together."""
    found = []
    for use in sorted(uses):
        if use.how.startswith(("words", "addresses")):
            begin = round_up(use.offset, WORD)
            use = use._replace(offset=begin, size=(use.offset + use.size) // WORD * WORD - begin)
        before = found[-1] if found else None
        if before and use.how == before.how in ("words/0", "addresses/0") and use.offset == before.offset + before.size:
            found[-1] = before._replace(size=before.size + use.size)
        elif use.size > 0:
            found.append(use)
    return found
