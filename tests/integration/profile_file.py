"""profile_file.py - reads and writes the files in which the library keeps what it learned of kernels (shim/profile/profile.c)."""
import struct

HEADER, FIXED = struct.Struct("<QQQQ4I"), struct.Struct("<6QQ64s4B3I")
MAGIC, MASK = 0x32666F7270777073, (1 << 64) - 1
CONDEMNED, REFUTED = 1, 2


def fold(x):
    return x ^ (x >> 32)


def swap(x):
    return (x >> 32) | (x << 32) & MASK


def content_hash(data):
    """As shim/base/hash.h says."""
    words = list(struct.unpack(f"<{(len(data) + 7) // 8}Q", data + bytes(-len(data) % 8)))
    sums = [0, 0]
    for i, word in [*enumerate(words), (MASK, len(data))]:
        key = (i * 0x9E3779B97F4A7C15 + 0x243F6A8885A308D3) & MASK
        y = fold((word ^ key) * 0xBF58476D1CE4E5B9 & MASK)
        sums[0] += fold(fold(y * 0x94D049BB133111EB & MASK) * 0xFF51AFD7ED558CCD & MASK)
        sums[1] += fold(fold((y + swap(key)) * 0xC4CEB9FE1A85EC53 & MASK) * 0xD6E8FEB86659FD93 & MASK)
    return sums[0] & MASK, sums[1] & MASK


class Profile(list):
    """What is known of each class; and the iterations, as they are in the file, so many of them."""
    iterations, iteration_count = b"", 0


class Known:
    """What a profile says of one class of launches."""

    def __init__(self, fields, numbers):
        self.key, self.hits, self.changed, self.seen = fields[:6], fields[5], fields[6], bytearray(fields[7])
        self.looks, self.tries, self.failures, self.verdict, self.flags = fields[8:13]
        self.numbers = numbers

    def packed(self):
        return FIXED.pack(*self.key, self.changed, bytes(self.seen), self.looks, self.tries, self.failures, self.verdict, self.flags,
                          len(self.numbers) // 2, 0) + struct.pack(f"<{len(self.numbers)}I", *self.numbers)


def read(path):
    """The identity, and what is known of each class."""
    with open(path, "rb") as file:
        data = file.read()
    magic, size, *digest, identity_bytes, count, iterations, _ = HEADER.unpack_from(data)
    assert (magic, size) == (MAGIC, len(data) - HEADER.size), "no profile"
    assert tuple(digest) == content_hash(data[HEADER.size:]), "its hash is another"
    at, known = HEADER.size + identity_bytes, Profile()
    for _ in range(count):
        fields = FIXED.unpack_from(data, at)
        at += FIXED.size
        known.append(Known(fields, list(struct.unpack_from(f"<{2 * fields[13]}I", data, at))))
        at += 8 * fields[13]
    known.iterations, known.iteration_count = data[at:], iterations
    return data[HEADER.size:HEADER.size + identity_bytes - 1].decode(), known


def write(path, identity, known):
    body = identity.encode() + b"\0" + b"".join(each.packed() for each in known) + known.iterations
    with open(path, "wb") as file:
        file.write(HEADER.pack(MAGIC, len(body), *content_hash(body), len(identity) + 1, len(known), known.iteration_count, 0) + body)
