"""images.py - kernels that a program made while it ran, as the simulated driver puts them aside (SIMGPU_IMAGES): there is no type to tell
what they do with their parameters, only machine code. Each file is named by the hash that the driver knows the image by, since one
program makes many kernels of one name."""
import dataclasses

import cubin
import refine
import sass
from classify import WORD, Use


def kernels(folder):
    """Those of all images, in order, each under its name in the table."""
    for path in sorted(path for path in folder.iterdir() if path.suffix == ".cubin"):
        for kernel in cubin.kernels(path):
            yield dataclasses.replace(kernel, name=f"{kernel.name}@{path.stem}")


def code(kernel, cuobjdump, seconds):
    """What its code does; None where that takes too long, or can't be told for certain."""
    if seconds <= 0:
        return None
    name = kernel.name.rpartition("@")[0]
    steps = sass.code_of(sass.listing(cuobjdump, kernel.path, [name], seconds)).get(name)
    access = sass.Flow(steps, kernel.base, kernel.size).run() if steps else None
    return access if access and access.certain else None


def anything(offset, size):
    """What a parameter may be used for of which nothing is known."""
    return Use(offset, size, "value" if size < WORD else f"words/{size // WORD}", True)


def uses(kernel, access):
    """What a kernel does with its parameters: with addresses what its code does, and numbers count if they are loaded."""
    if access is None:
        return [anything(offset, size) for offset, size in kernel.params]
    words = refine.Words(access, kernel.params)
    return [use for offset, size in kernel.params for use in refine.struct(Use(offset, size, "words/0", False), words, True)]
