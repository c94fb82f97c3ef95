#!/usr/bin/env python3
"""The table of kernel layouts says of kernels that we compile what they take and what they do, and there is one clear line where none can
be made.

Without nvcc or cuobjdump (on PATH, in CUDA_HOME, or with the Triton of TORCH_PYTHON) a part is skipped."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE / "layouts")]
import classify  # noqa: E402
import cubin  # noqa: E402
import images  # noqa: E402
import names  # noqa: E402
import refine  # noqa: E402
import sass  # noqa: E402
from harness import Skipped, finish, require, sentence  # noqa: E402

CUDA = os.environ.get("CUDA_HOME", "/usr/local/cuda")
ARCHITECTURE = "sm_90"
FLAGS = ["-std=c++17", f"-arch={ARCHITECTURE}", "--extended-lambda", "--expt-relaxed-constexpr", "-cubin"]
folder = tempfile.TemporaryDirectory(prefix="spillway-layouts-")
PLACE = Path(folder.name)


def found(name, *more):
    return shutil.which(name, path=":".join([os.environ.get("PATH", ""), f"{CUDA}/bin", *more]))


def cuobjdump():
    """The real one."""
    python, triton = os.environ.get("TORCH_PYTHON"), []
    if python:
        triton = [str(path) for path in Path(python).parent.parent.glob("lib/python*/site-packages/triton/backends/nvidia/bin")]
    tool = found("cuobjdump", *triton)
    if not tool:
        raise Skipped("there is no cuobjdump")
    return tool


def compiled():
    """The cubin of our kernels."""
    path = PLACE / "ours.sm_90.cubin"
    if not path.exists():
        nvcc = found("nvcc")
        if not nvcc:
            raise Skipped("there is no nvcc")
        done = subprocess.run([nvcc, *FLAGS, "-o", path, HERE / "layouts.cu"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skipped("nvcc does not compile for " + ARCHITECTURE + ": " + done.stderr.strip()[-200:].replace("\n", " "))
    return path


def ours(text):
    """The kernel whose meaning has this in it, and its name."""
    kernels = cubin.kernels(compiled())
    meant = names.demangled([kernel.name for kernel in kernels])
    chosen = [(kernel, meaning) for kernel, meaning in zip(kernels, meant) if re.search(text, meaning)]
    require(len(chosen) == 1, f"{text} is in {len(chosen)} kernels of", *meant)
    return chosen[0][0], names.parsed(chosen[0][1])


def shown(uses):
    return " ".join(f"{use.offset}:{use.size}:{use.how}" for use in refine.settled(uses))


def says(text, expected, code=False):
    """What the table says of a kernel's uses."""
    kernel, name = ours(text)
    uses = classify.uses_of(kernel, name)
    if code:
        steps = sass.code_of(sass.listing(cuobjdump(), kernel.path, [kernel.name], 60))[kernel.name]
        uses = refine.refined(kernel, uses, sass.Flow(steps, kernel.base, kernel.size).run())
    require(shown(uses) == expected, f"{name.function}: expected {expected}", f"  got {shown(uses)}")


def flow(code, size):
    """What is found out of these lines of machine code, whose parameters begin at 0x210."""
    lines = [f"        /*{16 * number:04x}*/   {line} ;   /* 0x0 */" for number, line in enumerate(code.strip().splitlines())]
    return sass.Flow(sass.code_of("\tFunction : it\n" + "\n".join(lines))["it"], 0x210, size).run()


# -------------------------------------------------------------------------------------------------------------------- names
def parameters(text, *expected):
    got = names.parsed(text).parameters
    require(got == expected, text, f"  expected {expected}", f"  got      {got}")


@sentence("a name's parameters are told apart, whatever brackets and operators are in their types")
def _():
    parameters("void f<int, 3>(int*, std::array<char*, 3ul>, bool)", "int*", "std::array<char*, 3ul>", "bool")
    parameters("void f<(anonymous namespace)::g(int, long)::{lambda(int, int)#1}>((anonymous namespace)::g(int, long)::{lambda(int, int)#1}, int)",
               "(anonymous namespace)::g(int, long)::{lambda(int, int)#1}", "int")
    parameters("void f<g<h>::operator()(int) const::{lambda()#1}::operator()() const::{lambda(float)#2}>(long, T const*)", "long", "T const*")
    parameters("void f<&(void a::operator<< <int>(int, int)), (b)3>(decltype (c->d(0, 1)), int)", "decltype (c->d(0, 1))", "int")
    parameters("f(void)")
    require(names.parsed("_Z_no_name").parameters is None, "a name that is not understood has parameters")


@sentence("a name's function and its template's arguments are told from the rest")
def _():
    name = names.parsed("void a::(anonymous namespace)::f<int, b<(c)1>, d(e)::{lambda(int)#1}>(b<(c)1>, int)")
    require(name.function == "a::f" and name.arguments == ("int", "b<(c)1>", "d(e)::{lambda(int)#1}"), name)


# ------------------------------------------------------------------------------------------------------------------ kernels
@sentence("parameters, size, shared memory and registers are what the file says in cuobjdump's words")
def _():
    said = subprocess.run([cuobjdump(), "-elf", compiled()], capture_output=True, text=True, check=True).stdout
    infos = dict(re.findall(r"^\.nv\.info\.(\S+)$(.*?)^(?=\.\S+$)", said + "\n.end\n", re.MULTILINE | re.DOTALL))
    counts = dict(re.findall(r"EIATTR_REGCOUNT\s+Format:\s+EIFMT_SVAL\s+Value:\s+function: (\S+?)\(\S+\)\s+register count: (\d+)", said))
    kernels = cubin.kernels(compiled())
    require(len(kernels) == len(infos) > 10, f"{len(kernels)} kernels, {len(infos)} in cuobjdump's text")
    for kernel in kernels:
        text = infos[kernel.name]
        params = re.findall(r"Ordinal : 0x(\w+)\s+Offset\s+: 0x(\w+)\s+Size\s+: 0x(\w+)", text)
        params = [(int(offset, 16), int(size, 16)) for _, offset, size in sorted(params, key=lambda one: int(one[0], 16))]
        size = re.findall(r"EIATTR_CBANK_PARAM_SIZE\s+Format:\s+EIFMT_HVAL\s+Value:\s+0x(\w+)", text) or ["0"]
        require(kernel.params == tuple(params) and kernel.size == int(size[0], 16), kernel, params, size)
        require(kernel.registers == int(counts[kernel.name]) > 0 and kernel.base == (0x210 if params else 0), kernel, counts)


@sentence("shared memory is what the kernel declares, without what is the driver's")
def _():
    require(ours(r"^test::with_shared")[0].shared == 4000, ours("with_shared"))
    require(ours(r"^plain_c$")[0].shared == 0, ours("plain_c"))


@sentence("a file that is no cubin is refused, also one that is cut off anywhere")
def _():
    whole = compiled().read_bytes()
    broken = PLACE / "broken.cubin"
    for length in (0, 3, 40, 70, len(whole) // 3, len(whole) // 2):
        broken.write_bytes(whole[:length])
        try:
            got = cubin.kernels(broken)
        except cubin.Unreadable:
            continue
        require(False, f"{length} bytes of {len(whole)} give {len(got)} kernels")


# --------------------------------------------------------------------------------------------------------------------- uses
@sentence("addresses are read if their type says const, written if not; numbers count")
def _():
    says(r"test::scale<double>", "0:8:writes 8:8:reads 16:8:value 24:8:value 32:1:value")


@sentence("an array of addresses is read, whatever is done with the memory that they lead to")
def _():
    says(r"test::by_addresses<float>", "0:8:reads 8:8:reads")


@sentence("where a name tells no types, words may be addresses")
def _():
    says(r"^plain_c$", "0:16:words/0 16:4:value")


@sentence("a struct of which nothing is known may have addresses in it, and no byte of it counts")
def _():
    says(r"test::with_struct", "0:48:addresses/0 48:8:writes 56:8:writes")
    says(r"test::with_array", "0:56:addresses/0")


@sentence("elementwise kernels write the first of their tensors")
def _():
    says(r"::vectorized_elementwise_kernel", "0:4:value 8:8:writes 16:8:reads 24:8:reads")
    says(r"::elementwise_kernel", "0:4:value 512:8:writes 520:8:reads 528:8:addresses/0")


@sentence("a reduction reads its source and writes the rest, but not an output that may not have been set")
def _():
    says(r"::reduce_kernel", "72:8:reads 80:8:writes 96:8:writes 104:8:writes 112:8:writes")


@sentence("of a cell of an LSTM the last three tensors are written, and of each tensor only the address counts")
def _():
    read = " ".join(f"{216 * number}:8:reads" for number in range(5))
    says(r"::lstm_cell_forward", read + " 1080:8:writes 1296:8:writes 1512:8:writes 1728:4:value 1732:4:value")


@sentence("lists of tensors are found in structs of either size, with the list that is written")
def _():
    says(r"multi_tensor_apply_kernel<[^,]*native::\(anonymous namespace\)::TensorListMetadata<2>", "0:7168:tensors/2/448/2/10752/2 24204:4:value")
    says(r"older::TensorListMetadata<2>,", "0:1024:tensors/2/64/1/1536/1 3148:4:value")


@sentence("a fused optimizer reads gradients and steps and writes the other lists")
def _():
    says(r"FusedAdamMathFunctor", "0:8064:tensors/4/252/13/12096/2 10080:2016:tensors/1/252/0/12096/2 25552:8:reads")


@sentence("lists with one block or one row of blocks for each tensor have only as many as there are blocks")
def _():
    says(r"lpnorm_cleanup", "0:8:reads 8:3200:tensors/1/400/1/x 3208:4:value")
    says(r"CatArrayBatchedCopy_contig", "0:8:writes 8:1024:tensors/1/128/0/y 2696:4:value")


@sentence("of tables of addresses in memory what is read and written is told, and where they end; what lies behind them does not count")
def _():
    names_of = {"at::native::detail::chunk_cat_cuda_kernel": ("char**", "char*", *["long*"] * 6, "long", "long", "long"),
                "split_with_sizes_copy_out_contiguous_no_cast_kernel": ("char**", "char**", "long*", "long*", "long*", "long", "long")}
    expected = {"at::native::detail::chunk_cat_cuda_kernel": "0:8:table/16/0 8:8:writes 64:8:value 72:8:value 80:8:value",
                "split_with_sizes_copy_out_contiguous_no_cast_kernel": "0:8:table/8/1 8:8:table/16/0 40:8:value 48:8:value"}
    for function, parameters in names_of.items():
        kernel = cubin.Kernel(function, 8 * len(parameters), 0, 0, tuple((8 * number, 8) for number in range(len(parameters))), 0, None)
        got = shown(classify.uses_of(kernel, names.Name(function, (), parameters)))
        require(got == expected[function], function, got)


@sentence("lists in a struct of a size that is not known are words like any")
def _():
    kernel, name = ours(r"older::TensorListMetadata<2>,")
    odd = cubin.Kernel(kernel.name, kernel.size, 0, 0, ((0, 1000), *kernel.params[1:]), kernel.base, kernel.path)
    require(shown(classify.uses_of(odd, name)).startswith("0:1000:addresses/0 "), shown(classify.uses_of(odd, name)))


@sentence("where the name's parameters are not those of the file, only the file's sizes count")
def _():
    kernel, name = ours(r"test::scale<double>")
    fewer = names.Name(name.function, name.arguments, name.parameters[:-1])
    require(shown(classify.uses_of(kernel, fewer)) == "0:32:words/0 32:1:value", shown(classify.uses_of(kernel, fewer)))


# --------------------------------------------------------------------------------------------------------------------- code
@sentence("by its code, what a struct leads to is read or written, and only bytes that are loaded count")
def _():
    says(r"test::with_struct", "0:8:words/0 8:1:value 16:8:words/0 24:8:writes 48:8:reads 56:8:writes", code=True)


@sentence("by its code, an array that is indexed is written to its end, also by way of the stack")
def _():
    says(r"test::with_array", " ".join(f"{8 * word}:8:writes" for word in range(7)), code=True)


@sentence("by its code, a large array that is indexed has addresses, none of which is sure enough to be written; a word before it is")
def _():
    says(r"test::with_large_array", "0:8:addresses/0 8:8:reads 16:520:addresses/0", code=True)


@sentence("by its code, a functor's number counts and the padding after it does not")
def _():
    says(r"::vectorized_elementwise_kernel", "0:4:value 4:4:value 8:8:writes 16:8:reads 24:8:reads", code=True)
    says(r"::elementwise_kernel", "0:4:value 512:8:writes 520:8:reads 528:4:value", code=True)


@sentence("by its code, addresses are followed through loops, choices and calls")
def _():
    says(r"test::winding", "0:8:writes 8:8:reads 16:8:reads 24:8:value 32:8:value", code=True)
    says(r"^plain_c$", "0:8:writes 8:8:words/0 16:4:value", code=True)


@sentence("what the table declares of our kernels is what their code does")
def _():
    for text in (r"::reduce_kernel", r"::lstm_cell_forward", r"FusedAdam", r"lpnorm_cleanup", r"CatArray", r"older::TensorList"):
        kernel, name = ours(text)
        steps = sass.code_of(sass.listing(cuobjdump(), kernel.path, [kernel.name], 60))[kernel.name]
        words = refine.Words(sass.Flow(steps, kernel.base, kernel.size).run(), kernel.params)
        require(words.access.certain, f"{text}: not all stores were followed")
        for use in classify.uses_of(kernel, name):
            if use.how.startswith("tensors"):
                depth, most, mask = map(int, use.how.split("/")[1:4])
                got = sum(1 << list_ for list_ in range(depth) if use.offset + 8 * list_ * most in words.arrays_written)
                require(got == mask, f"{text}: {use.how}, by the code {got}")
            elif use.how in ("reads", "writes"):
                require(words.how(use.offset) in (use.how, None), f"{text}: {use}, by the code {words.how(use.offset)}")


@sentence("an address keeps what it is when it is moved and added to, a factor does not become one")
def _():
    got = flow("""
        LDC.64 R2, c[0x0][0x210]
        ULDC.64 UR4, c[0x0][0x208]
        MOV R4, c[0x0][0x218]
        MOV R5, c[0x0][0x21c]
        IMAD.WIDE R2, R7, 0x4, R2
        IMAD R8, R7, c[0x0][0x220], RZ
        IADD3 R2, P0, R2, R8, RZ
        MOV R10, c[0x0][0x228]
        LEA R4, P0, R10, R4, 0x2
        LEA.HI.X R5, R10, R5, R9, 0x2, P0
        IMAD.IADD R4, R4, 0x1, R7
        LDG.E R6, desc[UR4][R2.64]
        STG.E desc[UR4][R4.64], R6
        EXIT""", 32)
    require((got.read, got.written, got.certain) == ({0}, {8}, True) and got.whole == {0, 8}, got)
    require(got.loaded == {*range(20), *range(24, 28)}, got.loaded)


@sentence("what is stored through memory of the thread is found again, by its place or by any")
def _():
    got = flow("""
        LDC.64 R2, c[0x0][0x210]
        LDC.64 R4, c[0x0][0x218]
        STL.64 [R1+0x8], R2
        STL.64 [R1+0x10], R4
        MOV R2, RZ
        LDL.64 R6, [R1+0x10]
        ST.E desc[UR4][R6.64], R0
        LDL R8, [R1+0x8]
        LDL R9, [R1+0xc]
        LD.E R8, desc[UR4][R8.64]
        EXIT""", 16)
    require((got.read, got.written, got.certain) == ({0}, {8}, True), got)
    got = flow("""
        LDC.64 R2, c[0x0][0x210]
        STL.64 [R1+0x8], R2
        LDL.64 R6, [R12+0x8]
        ST.E desc[UR4][R6.64], R0
        EXIT""", 16)
    require((got.written, got.certain) == ({0}, True), got)


@sentence("both ways to a store count, and one that comes around again")
def _():
    got = flow("""
        LDC.64 R2, c[0x0][0x210]
        LDC.64 R4, c[0x0][0x218]
        LDC.64 R6, c[0x0][0x220]
        ISETP.NE.AND P0, PT, R8, RZ, PT
        BSSY B0, 0x80
        @P0 BRA 0x70
        MOV R2, R4
        BSYNC B0
        STG.E desc[UR4][R2.64], R8
        @!P1 MOV R2, R6
        @P2 BRA 0x80
        EXIT""", 24)
    require((got.written, got.certain) == ({0, 8, 16}, True), got)


@sentence("a way that joins the others somewhere else is followed")
def _():
    got = flow("""
        LDC.64 R2, c[0x0][0x210]
        BSSY B0, 0x40
        @P0 BRA 0x60
        BRA 0x40
        STG.E desc[UR4][R2.64], R8
        EXIT
        LDC.64 R2, c[0x0][0x218]
        BSYNC B0
        EXIT""", 16)
    require((got.written, got.certain) == ({0, 8}, True), got)


@sentence("where not all stores are followed, what may be written by its type stays so")
def _():
    kernel = cubin.Kernel("f", 16, 0, 0, ((0, 8), (8, 8)), 0x210, "")
    uses = classify.uses_of(kernel, names.parsed("f(float*, float*)"))
    code = "LDC.64 R2, c[0x0][0x210]\nLDC.64 R4, c[0x0][0x218]\nLDG.E.64 R8, desc[UR4][R2.64]\nSTG.E desc[UR4][{}.64], R6\nEXIT"
    for register, expected in (("R4", "0:8:reads 8:8:writes"), ("R8", "0:8:writes 8:8:writes")):
        got = shown(refine.refined(kernel, uses, flow(code.format(register), 16)))
        require(got == expected, f"a store to {register}: {got}")


@sentence("a closure that must have an output keeps the first of its addresses for it, unless the code tells which")
def _():
    kernel = cubin.Kernel("f", 640, 0, 0, ((0, 8), (8, 632)), 0x210, "")
    uses = classify.uses_of(kernel, names.parsed("void at::native::index_elementwise_kernel<4, x>(long, x)"))
    code = "LDC.64 R2, c[0x0][0x480]\nLDC.64 R4, c[0x0][0x488]\nLDG.E R8, desc[UR4][R2.64]\n{} desc[UR4][R4.64], R6\nEXIT"
    for last, expected in (("STG.E", "624:8:words/0 632:8:writes"), ("CCTL.E", "616:24:addresses/1")):
        got = shown(refine.refined(kernel, uses, flow(code.format(last), 640)))
        require(got == "0:8:value " + expected, f"{last}: {got}")


@sentence("what a register holds where a predicate is true is not what it holds elsewhere")
def _():
    got = flow("""
        LDC.64 R2, c[0x0][0x210]
        LDC.64 R4, c[0x0][0x218]
        LDG.E R6, desc[UR4][R2.64]
        @P0 IMAD.WIDE.U32 R2, P1, R7, 0x4, R4
        @P0 STG.E desc[UR4][R2.64], R6
        EXIT P2
        LDC.64 R8, c[0x0][0x220]
        @P0 MOV R8, R4
        @!P0 LDC.64 R8, c[0x0][0x228]
        LD.E R6, desc[UR4][R8.64]
        ISETP.NE.AND P0, PT, R6, RZ, PT
        @P0 LD.E R6, desc[UR4][R2.64]
        EXIT""", 32)
    require((got.written, got.certain) == ({8}, True) and got.read == {0, 8, 24}, got)
    changed = flow("""
        LDC.64 R2, c[0x0][0x210]
        @P0 LDC.64 R2, c[0x0][0x218]
        ISETP.NE.AND P0, PT, R6, RZ, PT
        @P0 ST.E desc[UR4][R2.64], R6
        EXIT""", 16)
    require(changed.written == {0, 8}, changed)


@sentence("a store to a place that was loaded from memory leaves the rest uncertain, and so do copies by descriptor")
def _():
    through = flow("""
        LDC.64 R2, c[0x0][0x210]
        LDG.E.64 R4, desc[UR4][R2.64]
        STG.E desc[UR4][R4.64], R6
        EXIT""", 8)
    require((through.read, through.written, through.certain) == ({0}, set(), False), through)
    require(not flow("UTMASTG.2D [UR8], [UR4]\nEXIT", 8).certain, "a copy by descriptor is thought to be followed")


@sentence("an index into an array is no access to the word before it")
def _():
    got = flow("""
        LEA R0, R6, 0x8, 0x3
        LDC.64 R2, c[0x0][R0+0x210]
        STG.E desc[UR4][R2.64], R3
        LDC.64 R4, c[0x0][RZ+0x210]
        LDG.E R4, desc[UR4][R4.64]
        EXIT""", 48)
    require((got.read, got.written, got.indexed, got.indexed_written) == ({0}, set(), {0}, {0}), got)
    words = refine.Words(got, ((0, 8), (8, 40)))
    require(words.arrays == [8] and words.array(40) == 8 and words.array(0) is None, words.arrays)


# ------------------------------------------------------------------------------------------------------------------- images
def image_uses(code, *params):
    """What is said of a kernel of an image that a program made, with these parameters, by these lines of machine code."""
    size = sum(params[-1])
    kernel = cubin.Kernel("it@0", size, 0, 32, params, 0x210, "")
    access = flow(code, size)
    return shown(images.uses(kernel, access if access.certain else None))


@sentence("of a kernel that a program made, addresses are read or written as its code does, and only numbers that are loaded count")
def _():
    code = """
        LDC.64 R2, c[0x0][0x210]
        LDC.64 R4, c[0x0][0x218]
        LDC.64 R6, c[0x0][0x220]
        LDC R8, c[0x0][0x228]
        LDG.E R9, desc[UR4][R2.64]
        RED.E.ADD.F32 desc[UR4][R6.64], R9
        STG.E desc[UR4][R4.64], R8
        EXIT"""
    got = image_uses(code, (0, 8), (8, 8), (16, 8), (24, 4), (28, 4), (32, 8))
    require(got == "0:8:words/0 8:8:writes 16:8:writes 24:4:value", got)


@sentence("where the code of such a kernel is not followed to its end, it may do anything with all that it is given")
def _():
    code = """
        LDC.64 R2, c[0x0][0x210]
        LDG.E.64 R4, desc[UR4][R2.64]
        STG.E desc[UR4][R4.64], R8
        EXIT"""
    got = image_uses(code, (0, 8), (8, 8), (16, 4), (64, 128))
    require(got == "0:8:words/1 8:8:words/1 16:4:value 64:128:words/16", got)


# ------------------------------------------------------------------------------------------------------------------ command
FAKE = """#!/bin/sh
case "$1" in
-xelf) cp "$OURS" "./ours.1.$2.cubin" ;;
-sass) exec "$REAL" "$@" ;;
esac
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def made(*options, library="content", tool=FAKE, real="/bin/true", version="2.99.1+cu999"):
    """How the command ends on a wheel of our own, and the table's lines."""
    with tempfile.TemporaryDirectory(dir=PLACE) as place:
        place = Path(place)
        torch, tools, output = place / "site/torch", place / "tools", place / "layouts.txt"
        (torch / "lib").mkdir(parents=True)
        (torch / "__init__.py").write_text("raise SystemExit('torch was imported')\n", encoding="utf-8")
        (torch / "version.py").write_text(f"__version__ = '{version}'\n", encoding="utf-8")
        if library is not None:
            with open(torch / "lib/libtorch_cuda.so", "wb") as file:
                file.truncate(library) if isinstance(library, int) else file.write(library.encode())
        python = script(place / "python", f'#!/bin/sh\nPYTHONPATH={place}/site exec {sys.executable} -S "$@"\n')
        if tool:
            script(tools / "cuobjdump", tool)
        env = {**os.environ, "PATH": f"{tools}:/usr/bin:/bin", "CUDA_HOME": str(place / "none"), "OURS": str(PLACE / "ours.sm_90.cubin"),
               "REAL": real}
        done = subprocess.run([sys.executable, HERE / "layouts", "--python", python, "--output", output, *options], env=env, cwd=place,
                              capture_output=True, text=True, timeout=120, check=False)
        lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
        left = sorted(path.name for path in place.iterdir())
        require(left == sorted(["site", "python", *(["tools"] if tool else []), *(["layouts.txt"] if lines else [])]), "left behind:", left)
        return done, lines


def refuses(status, text, *options, **more):
    done, lines = made(*options, **more)
    require(done.returncode == status and not lines, f"status {done.returncode}, {status} expected", done.stderr)
    require(re.fullmatch(r"layouts: [^\n]*" + text + r"[^\n]*\n", done.stderr), "not the one line expected:", done.stderr)


@sentence("the table has a heading and a line for each kernel, in the order of bytes, and no kernel is left on the disk")
def _():
    compiled()
    done, lines = made()
    require(done.returncode == 0, done.stderr)
    require(lines[0] == "simgpu-layouts 1 torch 2.99.1 sm_90", lines[0])
    kernels = [line.split(" ") for line in lines[1:]]
    require(len(kernels) == len(cubin.kernels(compiled())), f"{len(kernels)} kernels")
    require([kernel[0] for kernel in kernels] == sorted((kernel[0] for kernel in kernels), key=str.encode), "not in order")
    form = r"bytes=\d+ shared=\d+ registers=\d+ params=(-|\d+:\d+(,\d+:\d+)*) uses=(-|\d+:\d+:[a-z]+[/\dxy]*(,\d+:\d+:[a-z]+[/\dxy]*)*)"
    for line in lines[1:]:
        require(re.fullmatch(form, line.partition(" ")[2]), line)
    scale, = [line for line in lines if "5scaleIdE" in line]
    require(re.search(r" bytes=33 shared=0 registers=\d+ params=0:8,8:8,16:8,24:8,32:1 uses=0:8:writes,8:8:reads,", scale), scale)
    nothing, = [line for line in lines if line.startswith("Nothing ")]
    require(" bytes=0 " in nothing and nothing.endswith(" params=- uses=-"), nothing)


@sentence("of the kernels that were launched the code is read, as far as there is time; names that are not the wheel's do no harm")
def _():
    compiled()
    launched = PLACE / "launched.txt"
    name = ours(r"test::with_struct")[0].name
    launched.write_text(f"{name}\n{name}\n_Z7unknownv\n", encoding="utf-8")
    for options, expected in (([], "0:8:words/0,"), (["--seconds", "0"], "0:48:addresses/0,")):
        done, lines = made("--launched", launched, *options, real=cuobjdump())
        line, = [line for line in lines if line.startswith(name + " ")]
        require(done.returncode == 0 and " uses=" + expected in line, line, done.stderr)
        require(re.search(rf"the code of {0 if options else 1} of 2 read$", done.stdout.strip()), done.stdout)


@sentence("images have lines of their own, by name and image; one that is no cubin, and a folder that is not there, are told in one line")
def _():
    place = PLACE / "images"
    place.mkdir()
    (place / "0123456789abcdef.cubin").write_bytes(compiled().read_bytes())
    (place / "0123456789abcdef.cubin.77").write_bytes(b"not complete")
    for options, expected in (([], "0:8:writes,8:8:words/0,16:4:value"), (["--seconds", "0"], "0:8:words/1,8:8:words/1,16:4:value")):
        done, lines = made("--images", place, *options, real=cuobjdump())
        require(done.returncode == 0, done.stderr)
        require(sum("@" in line for line in lines) == len(cubin.kernels(compiled())), "not each of them once", *lines)
        line, = [line for line in lines if line.startswith("plain_c@0123456789abcdef ")]
        require(line.endswith(" params=0:8,8:8,16:4 uses=" + expected), line)
    (place / "1.cubin").write_bytes(b"rubbish")
    refuses(6, "no 64-bit ELF", "--images", place)
    refuses(2, "nowhere", "--images", "/nowhere")


@sentence("without a wheel, without one for CUDA or without that Python there is one line that says so")
def _():
    refuses(3, "no torch with CUDA", library=None)
    refuses(3, "no torch with CUDA", "--python", sys.executable, "--output", "x") if not has_torch() else None
    refuses(3, "cannot be run", "--python", "/nowhere/python")


def has_torch():
    return subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0


@sentence("without cuobjdump there is one line that says so")
def _():
    if shutil.which("cuobjdump", path="/usr/bin:/bin"):
        raise Skipped("there is a cuobjdump in /usr/bin")
    refuses(4, "no cuobjdump", tool=None)


@sentence("without room on the disk for the kernels there is one line that says so, and nothing is extracted")
def _():
    refuses(5, "MiB are needed", library=1 << 43)


@sentence("a library without kernels for the architecture is told in one line, and so is a tool that fails or makes rubbish")
def _():
    refuses(6, "finds no kernels for sm_90", tool="#!/bin/sh\n")
    compiled()
    refuses(6, "no such thing", tool=FAKE + "echo no such thing >&2\nexit 1\n")
    refuses(6, "no 64-bit ELF", tool="#!/bin/sh\necho rubbish of some length > rubbish.sm_90.cubin\n")


@sentence("a list of launched kernels that is not there is told in one line")
def _():
    refuses(2, "nowhere.txt", "--launched", "/nowhere.txt")


finish()
