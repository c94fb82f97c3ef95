#!/usr/bin/env python3
"""spillway doctor: what it finds is so, what it advises helps, and it leaves nothing behind.

usage: doctor.py LACKING SECOND SECOND_LOOKUPS SOURCE: a library that makes a machine lack things, two that stand in front of the
driver as well, and the folder that has the sources"""
import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import DEVICE, PRELOAD, SMALL_DEVICE, SPILLWAY, Skipped, environment, finish, require, sentence

LACKING, SECOND, LOOKUPS, SOURCE = (os.path.abspath(path) for path in sys.argv[1:5])
# A small device, so that this machine's memory is enough for it, and no folder of the one who runs the tests.
HERE = {**SMALL_DEVICE, "LD_LIBRARY_PATH": DEVICE}
OURS = ("XDG_RUNTIME_DIR", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING", "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_PREALLOCATE",
        "TF_GPU_ALLOCATOR", "XLA_FLAGS", "NCCL_LOCAL_REGISTER", "NCCL_GRAPH_REGISTER", "TORCH_DIST_USE_NCCL2", "RANK", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE")


def doctor(*options, start_in=None, after="true", **settings):
    """What a shell prints that types the line `after` and then asks doctor."""
    env = {name: value for name, value in environment({**HERE, **settings}).items() if name not in OURS or name in settings}
    with tempfile.TemporaryDirectory(prefix="spillway-doctor-") as folder:
        done = subprocess.run(["bash", "-c", f'{after}\n"$@"', "bash", SPILLWAY, "doctor", *options], env=env, cwd=start_in or folder,
                              capture_output=True, text=True, check=False, timeout=60)
        require(os.listdir(folder) == [], "files are left", os.listdir(folder))
    return done


def found(**settings):
    done = doctor("--json", **settings)
    report = json.loads(done.stdout)
    said = [line for line in done.stderr.splitlines() if not line.startswith("ERROR: ld.so:")]  # of preloads that are not there
    require(done.returncode == (1 if report["problems"] else 0) and not said, done.returncode, done.stdout, done.stderr)
    return report


def advised(report, line):
    return [advice for advice in report["advice"] if advice["type"].startswith(line)]


def without_figures(text):
    """What is left of the host's memory is not the same a moment later."""
    return re.sub(r"[\d.]+", "N", text)


def helped(line, because, **settings):
    """Doctor advises a line that begins like this, gives the reason, and has nothing more to say of it once it was typed."""
    report = found(**settings)
    advice = advised(report, line)
    require(len(advice) == 1 and because in advice[0]["because"], f"no such advice: {line}: {because}", json.dumps(report["advice"], indent=1))
    text = doctor(**settings).stdout
    require(without_figures(f"  {advice[0]['because']}:\n      {advice[0]['type']}\n") in without_figures(text), text)
    after = found(after=advice[0]["type"], **settings)
    require(not advised(after, line), "the advice does not help", json.dumps(after["advice"], indent=1))
    return report, after


@sentence("where all is well doctor says so, and ends with 0")
def _():
    report = found()
    try:
        ctypes.CDLL("libunwind.so.8")
    except OSError as error:
        raise Skipped("libunwind is not installed") from error
    if not report["machine"]["memory_policy"]:
        raise Skipped("this container lets nobody place memory")
    require(report["advice"] == [] and report["problems"] == [], json.dumps(report, indent=1))
    text = doctor()
    require(text.returncode == 0 and text.stdout.endswith("what to set\n  nothing: no setting would make it better\n"), text.stdout)


@sentence("text and JSON tell the same")
def _():
    report, text = found(SPILLWAY_BUDGET="1G"), doctor(SPILLWAY_BUDGET="1G").stdout
    require(report["settings"]["SPILLWAY_BUDGET"] == "1G" and report["settings"]["SPILLWAY_MODE"] is None, report["settings"])
    require(report["driver"]["path"] == f"{DEVICE}/libcuda.so.1" and report["spillway"]["library"] == PRELOAD, report["driver"])
    device = report["driver"]["devices"][0]
    require(len(report["driver"]["devices"]) == 1 and re.fullmatch("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", device.pop("uuid")), report["driver"])
    require(device == {"name": "NVIDIA H200 (simulated)", "total_bytes": 256 << 20, "is_slice": False}, report["driver"])
    require(report["driver"]["escaped"] == 0 and report["driver"]["calls"]["hooked"] > 100 and report["driver"]["version"] == 13000, report["driver"])
    for expected in ("SPILLWAY_BUDGET +1G\n", "SPILLWAY_MODE +swap \\(default\\)\n", "devices +1\n", "0 +NVIDIA H200 \\(simulated\\), 256.0 MiB\n",
                     f"path +{DEVICE}/libcuda.so.1\n", "version +13.0\n", f"{report['driver']['calls']['hooked']} hooked"):
        require(re.search(expected, text), f"not in the text: {expected}", text)
    sections = [line for line in text.splitlines() if line[0] != " "]
    require(sections == [*list(report)[:-2], "what to set"], sections, list(report))


@sentence("doctor leaves no page and no file, and does not become a process that spillway top shows")
def _():
    before = set(glob.glob("/dev/shm/.spillway*"))
    doctor()
    require(set(glob.glob("/dev/shm/.spillway*")) <= before, glob.glob("/dev/shm/.spillway*"))


@sentence("an argument that is none ends with 2")
def _():
    for wrong in ("--nonsense", "something"):
        done = doctor(wrong)
        require(done.returncode == 2 and not done.stdout, done.returncode, done.stdout)


# ---------------------------------------------------------------------------------------------- settings and driver
@sentence("a variable that is no setting is a problem; to unset it helps")
def _():
    report, after = helped("unset SPILLWAY_FOO", "refuses to start", SPILLWAY_FOO="1")
    require(len(report["problems"]) == 1 and "SPILLWAY_FOO=1 is not a setting" in report["problems"][0], report["problems"])
    require(after["problems"] == [] and doctor(SPILLWAY_FOO="1").returncode == 1)


@sentence("a value that is refused is a problem; to unset it helps")
def _():
    report, _ = helped("unset SPILLWAY_BUDGET", "refuses to start", SPILLWAY_BUDGET="12Q")
    require("SPILLWAY_BUDGET=12Q is refused" in report["problems"][0], report["problems"])


@sentence("that spillway is switched off is told")
def _():
    helped("unset SPILLWAY_MODE", "does nothing", SPILLWAY_MODE="off")


@sentence("a driver that does not start is told with its error, and devices that are hidden with what hides them")
def _():
    report = found(SIMGPU_FAIL="cuInit:1=100")
    require(report["driver"]["error"] == "CUDA_ERROR_NO_DEVICE" and "devices" not in report["driver"], report["driver"])
    require(len(advised(report, "nvidia-smi")) == 1, report["advice"])
    report = found(SIMGPU_FAIL="cuInit:1=100", CUDA_VISIBLE_DEVICES="7")
    require("CUDA_VISIBLE_DEVICES=7 hides" in advised(report, "unset CUDA_VISIBLE_DEVICES")[0]["because"], report["advice"])


@sentence("a slice of a GPU in MIG mode is named as one, with what counts in it; one that is not there with where they are listed")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-slice-") as folder:
        with open(os.path.join(SOURCE, "tests", "simgpu", "profiles", "a100-40g.profile"), encoding="utf-8") as file:
            text = re.sub("^name = .*", "name = NVIDIA A100-SXM4-40GB MIG 1g.5gb", file.read(), flags=re.MULTILINE)
        profile = os.path.join(folder, "slice")
        with open(profile, "w", encoding="utf-8") as file:
            file.write(text)
        device = found(SIMGPU_PROFILE=profile)["driver"]["devices"][0]
        require(device["is_slice"] and device["uuid"].startswith("MIG-") and device["total_bytes"] == 256 << 20, device)
        told = doctor(SIMGPU_PROFILE=profile).stdout
        require(f"MIG 1g.5gb, 256.0 MiB, {device['uuid']}; a MIG slice: budgets" in told, told)
    require("slice" not in doctor().stdout, "a whole GPU is none")
    report = found(SIMGPU_FAIL="cuInit:1=100", CUDA_VISIBLE_DEVICES="MIG-1/7/0")
    require("CUDA_VISIBLE_DEVICES=MIG-1/7/0 names a slice" in advised(report, "nvidia-smi -L ")[0]["because"], report["advice"])


@sentence("a driver that pins no host memory is told with its error, and what may let it")
def _():
    report = found(SIMGPU_FAIL="cuMemHostAlloc:1=2")
    require(report["driver"]["pins_host_memory"] is False and report["problems"] == [], report["driver"], report["problems"])
    require("CUDA_ERROR_OUT_OF_MEMORY" in advised(report, "ulimit -l unlimited")[0]["because"], report["advice"])
    require(found()["driver"]["pins_host_memory"] is True, "it can be pinned here")


@sentence("a driver that ends the process is a problem, and the rest is told all the same")
def _():
    report = found(SPILLWAY_DRIVER=LACKING, LACKS="driver")
    require(report["problems"] == ["the check under the library ended by itself"], report["problems"])
    require("tracing" in report and "calls" in report["driver"], list(report))


# ---------------------------------------------------------------------------------------------- the machine
@sentence("a device that may not be opened is a problem, with what would let one in")
def _():
    report = found(LD_PRELOAD=LACKING, LACKS="permission")
    require(report["problems"] == ["/dev/nvidia0 may not be opened here: Operation not permitted"], report["problems"])
    require("/dev/nvidia0" in report["machine"]["nodes"], report["machine"])
    require(advised(report, "sudo usermod -aG \"$(stat -c %G /dev/nvidia0)\""), report["advice"])


@sentence("a kernel that has the driver, and no device in /dev, is a problem")
def _():
    if glob.glob("/dev/nvidia*"):
        raise Skipped("there is one here")
    report = found(LD_PRELOAD=LACKING, LACKS="nodes")
    require(report["machine"]["kernel_driver"] and "no device of it" in " ".join(report["problems"]), report["problems"])
    require(advised(report, "sudo nvidia-modprobe"), report["advice"])
    plain = found()
    require(not plain["machine"]["kernel_driver"] and not plain["machine"]["nodes"] and not plain["problems"], plain["machine"])


@sentence("where memory cannot be placed, that is told, and is no problem")
def _():
    report = found(LD_PRELOAD=LACKING, LACKS="placing")
    require(not report["machine"]["memory_policy"] and report["problems"] == [], report["machine"], report["problems"])
    require(advised(report, "docker run --cap-add SYS_NICE"), report["advice"])


@sentence("another preloaded library that takes the driver's calls past spillway is a problem; not to preload it helps")
def _():
    past = {"SECOND_DRIVER": os.path.join(DEVICE, "libcuda.so.1")}
    for order, env in ((LOOKUPS, past), (f"{SECOND}:{PRELOAD}", past), (f"{PRELOAD}:{LOOKUPS}", past)):
        report, after = helped("unset LD_PRELOAD", "refuses to start with a budget", LD_PRELOAD=order, **env)
        other = report["machine"]["preloaded_driver"]
        require(other in (SECOND, LOOKUPS) and other in order, report["machine"])
        require([f"{other} is preloaded and takes the driver's calls past spillway"] == report["problems"], report["problems"])
        require(after["machine"]["preloaded_driver"] is None and not after["problems"], after["machine"])


@sentence("one that passes calls on to spillway, or comes behind it, is told, and is no problem")
def _():
    for order in (SECOND, LOOKUPS, f"{SECOND}:{PRELOAD}", f"{PRELOAD}:{SECOND}", os.path.join(DEVICE, "libcuda.so.1")):
        report = found(LD_PRELOAD=order)
        require(report["machine"]["preloaded_driver"] in order and not report["problems"] and not advised(report, "unset LD_PRELOAD"), order, report)
        require(f"{report['machine']['preloaded_driver']}; calls come to spillway first\n" in doctor(LD_PRELOAD=order).stdout, order)


@sentence("where no driver starts it is told that this cannot be tried")
def _():
    done = doctor(LD_PRELOAD=SECOND, LD_LIBRARY_PATH="/nowhere", SECOND_DRIVER="/nowhere/libcuda.so.1")
    require(f"{SECOND}; whether calls come to spillway cannot be tried here\n" in done.stdout and done.returncode == 0, done.stdout, done.stderr)


# ---------------------------------------------------------------------------------------------- the host
@sentence("a host budget of more than there is: a smaller one is advised")
def _():
    report, after = helped("export SPILLWAY_HOST_BUDGET=", "more than the", SPILLWAY_HOST_BUDGET="900T")
    require(report["host"]["budget_bytes"] == 900 << 40 and after["host"]["budget_bytes"] < report["host"]["machine_bytes"], after["host"])


@sentence("a host budget that is little beside the device: a larger one is advised")
def _():
    report, after = helped("export SPILLWAY_HOST_BUDGET=", "small beside a device with 256.0 MiB", SPILLWAY_HOST_BUDGET="10M")
    require(report["host"]["budget_bytes"] == 10 << 20 and after["host"]["budget_bytes"] > 64 << 20, after["host"])
    require(not advised(found(SPILLWAY_HOST_BUDGET="64M"), "export SPILLWAY_HOST"), "a quarter of the device is not little")


@sentence("processes of one job share the host's memory")
def _():
    alone, four = found()["host"], found(LOCAL_WORLD_SIZE="4")["host"]
    require(four["local_ranks"] == 4 and abs(four["default_budget_bytes"] * 4 / alone["default_budget_bytes"] - 1) < 0.2, alone, four)


# ----------------------------------------------------------------------------------------- installation
@sentence("an LD_PRELOAD that names a removed file is a problem, with the line to type; after that line all is well")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-doctor-") as folder:
        gone = os.path.join(folder, "libspillway.so")
        report = found(LD_PRELOAD=f"libm.so.6 {gone}")
        require([problem for problem in report["problems"] if gone in problem], report["problems"])
        lines = [each["type"] for each in report["advice"] if "LD_PRELOAD" in each["type"]]
        require(len(lines) == 1 and PRELOAD in lines[0], report["advice"])
        after = found(after=lines[0], LD_PRELOAD=gone)
        require(not after["problems"] and not advised(after, lines[0]), after["problems"], after["advice"])
        other = os.path.join(folder, "libother.so")
        report = found(LD_PRELOAD=other)
        require(advised(report, "unset LD_PRELOAD") and [problem for problem in report["problems"] if other in problem], report["problems"])


@sentence("a preload of another installation, and a second command on PATH, are named")
def _():
    with tempfile.TemporaryDirectory(prefix="spillway-doctor-") as folder:
        copy, command = os.path.join(folder, "libspillway.so"), os.path.join(folder, "spillway")
        shutil.copy(PRELOAD, copy)
        require(found(LD_PRELOAD=copy)["spillway"]["preloaded_library"] == os.path.realpath(copy), "another library")
        shutil.copy(SPILLWAY, command)
        os.symlink(SPILLWAY, os.path.join(folder, "link"))
        report = found(PATH=f"{folder}:{os.environ['PATH']}")
        require(report["spillway"]["other_command"] == os.path.realpath(command), report["spillway"])
        require(any("two installations" in each["because"] for each in report["advice"]), report["advice"])
        os.remove(command)
        os.rename(os.path.join(folder, "link"), command)
        report = found(PATH=f"{folder}:{os.environ['PATH']}")
        require("other_command" not in report["spillway"], "a link to this command is no other one", report["spillway"])


def copied(folder, library):
    """A command with this library beside it, as in a build folder; its path."""
    for place in ("tools", "shim"):
        os.makedirs(os.path.join(folder, place), exist_ok=True)
    shutil.copy(SPILLWAY, os.path.join(folder, "tools", "spillway"))
    with open(os.path.join(folder, "shim", "libspillway.so"), "wb") as file:
        file.write(library)
    return os.path.join(folder, "tools", "spillway")


def refuses(command, why, *prefix):
    """Neither doctor nor run take the library; both say why, and nothing is started."""
    env = environment(HERE)
    done = subprocess.run([*prefix, command, "doctor", "--json"], env=env, capture_output=True, text=True, check=False, timeout=60)
    report = json.loads(done.stdout)
    require(done.returncode == 1 and not done.stderr, done.returncode, done.stderr)
    require(len(report["problems"]) == 1 and why in report["problems"][0] and advised(report, "pip install --force-reinstall"), json.dumps(report, indent=1))
    done = subprocess.run([*prefix, command, "run", "--", "echo", "started"], env=env, capture_output=True, text=True, check=False, timeout=60)
    require(done.returncode == 1 and not done.stdout and why in done.stderr and "library-not-found" in done.stderr, done.returncode, done.stdout, done.stderr)


@sentence("a library for another processor, one that was cut off, and what is none, are refused with what to do")
def _():
    with open(PRELOAD, "rb") as file:
        whole = file.read()
    foreign = whole[:18] + (243).to_bytes(2, "little") + whole[20:]  # the header's processor: RISC-V
    with tempfile.TemporaryDirectory(prefix="spillway-doctor-") as folder:
        for library, why in ((foreign, "not for this processor"), (whole[:len(whole) // 2], "a part of the file is missing"), (b"text", "it is no library")):
            refuses(copied(folder, library), why)


@sentence("a library in a file system from which nothing may be executed is refused with the reason")
def _():
    with open(PRELOAD, "rb") as file:
        whole = file.read()
    with tempfile.TemporaryDirectory(prefix="spillway-doctor-") as folder:
        command = copied(folder, whole)
        script = 'mount -t tmpfs -o noexec tmpfs "$0" && cp "$1" "$0/" && shift && exec "$@"'
        prefix = ["unshare", "--mount", "sh", "-c", script, os.path.join(folder, "shim"), PRELOAD]
        if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
            raise Skipped("this container mounts nothing")
        refuses(command, "mounted noexec", *prefix)


@sentence("a machine without a driver is no problem, and is told what a GPU needs")
def _():
    report = found(LD_LIBRARY_PATH="/nowhere")
    if report["driver"]["path"]:
        raise Skipped("there is a driver here")
    require(not report["problems"] and "no driver was found" in advised(report, "nvidia-smi ")[0]["because"], report["problems"], report["advice"])
    report = found(LD_LIBRARY_PATH="/nowhere", LD_PRELOAD=LACKING, LACKS="path")
    require(advised(report, "export LD_LIBRARY_PATH=/usr/lib/wsl/lib") and not advised(report, "nvidia-smi "), report["advice"])


# ---------------------------------------------------------------------------------------------- tracing
@sentence("without libunwind doctor says which package has it")
def _():
    report = found(LD_PRELOAD=LACKING, LACKS="libunwind")
    require(report["tracing"]["libunwind"] is None, report["tracing"])
    require(advised(report, "sudo apt-get install libunwind8"), report["advice"])


@sentence("names of functions can be read")
def _():
    require(found()["tracing"]["symbols"] is True)


@sentence("a folder that takes no trace: another one is advised, and traces go there")
def _():
    for settings in ({"SPILLWAY_TRACE_FILE": "/nonexistent/x.trace"}, {"start_in": "/proc"}):
        report, after = helped("export SPILLWAY_TRACE_FILE=", "cannot be written to /", **settings)
        require(report["tracing"]["folder_writable"] is False and after["tracing"]["folder_writable"] is True, after["tracing"])
        require(report["tracing"]["folder"] in ("/nonexistent", "/proc"), report["tracing"])


@sentence("a folder without room: told; where no other has room either a place must be found")
def _():
    report = found(LD_PRELOAD=LACKING, LACKS="room")
    require(report["tracing"]["folder_room_bytes"] == 0 and report["tracing"]["folder_writable"], report["tracing"])
    require(advised(report, "export SPILLWAY_TRACE_FILE=FOLDER/spillway.%r.%p.trace"), report["advice"])


@sentence("without /dev/shm pages go to XDG_RUNTIME_DIR; without either doctor says how to make one")
def _():
    require(found()["tracing"]["status_folder"] == "/dev/shm")
    with tempfile.TemporaryDirectory(prefix="spillway-runtime-") as folder:
        report = found(LD_PRELOAD=LACKING, LACKS="shm", XDG_RUNTIME_DIR=folder)
        require(report["tracing"]["status_folder"] == folder and os.listdir(folder) == [], report["tracing"])
    report = found(LD_PRELOAD=LACKING, LACKS="shm")
    require(report["tracing"]["status_folder"] is None, report["tracing"])
    advice = advised(report, "mkdir -p -m 700 ")
    require(len(advice) == 1 and "spillway top sees no process" in advice[0]["because"], report["advice"])
    with tempfile.TemporaryDirectory(prefix="spillway-runtime-") as folder:
        line = advice[0]["type"].replace("/tmp/spillway-$UID", f"{folder}/made")
        require(found(after=line, LD_PRELOAD=LACKING, LACKS="shm")["tracing"]["status_folder"] == f"{folder}/made", "the advice does not help")


# ---------------------------------------------------------------------------------------------- frameworks
WRONG = {"PYTORCH_CUDA_ALLOC_CONF": ["max_split_size_mb:64", "backend:native", "", "expandable_segments:True"],
         "PYTORCH_ALLOC_CONF": ["backend:native"], "XLA_PYTHON_CLIENT_ALLOCATOR": ["bfc"], "XLA_PYTHON_CLIENT_PREALLOCATE": ["true"],
         "TF_GPU_ALLOCATOR": ["something"],
         "NCCL_LOCAL_REGISTER": ["1"], "NCCL_GRAPH_REGISTER": ["1"], "TORCH_DIST_USE_NCCL2": ["1"]}
RIGHT = {"PYTORCH_CUDA_ALLOC_CONF": ["backend:cudaMallocAsync", "max_split_size_mb:64,backend:cudaMallocAsync"],
         "PYTORCH_ALLOC_CONF": ["backend:cudaMallocAsync"], "XLA_PYTHON_CLIENT_ALLOCATOR": ["cuda_async", "platform"],
         "XLA_PYTHON_CLIENT_PREALLOCATE": ["false", "0"], "TF_GPU_ALLOCATOR": ["cuda_malloc_async"],
         "NCCL_LOCAL_REGISTER": ["0"], "NCCL_GRAPH_REGISTER": ["0"], "TORCH_DIST_USE_NCCL2": ["0"]}
for name, values in WRONG.items():
    @sentence(f"{name} set so that spillway does not see each tensor: what that means, and to unset it helps")
    def _(name=name, values=values):
        for value in values:
            report, after = helped(f"unset {name}", f"with {name}={value} ", **{name: value})
            require(report["frameworks"][name] == value and after["frameworks"][name] is None, after["frameworks"])


@sentence("values with which spillway sees each tensor are left alone")
def _():
    for name, values in RIGHT.items():
        for value in values:
            require(not advised(found(**{name: value}), "unset"), f"{name}={value}")


@sentence("of what concerns PyTorch's own allocator only nothing is said unless that was chosen; to unset it helps")
def _():
    for settings in ({}, {"PYTORCH_ALLOC_CONF": "backend:cudaMallocAsync"}):
        require(not advised(found(PYTORCH_NO_CUDA_MEMORY_CACHING="1", **settings), "unset"), "it is not read")
    helped("unset PYTORCH_NO_CUDA_MEMORY_CACHING", "waits for the device", PYTORCH_NO_CUDA_MEMORY_CACHING="1", PYTORCH_ALLOC_CONF="backend:native")


@sentence("that XLA is asked for graphs is told; to leave them out helps, and other flags stay")
def _():
    flags = "--xla_gpu_enable_command_buffer=FUSION,CUBLAS --xla_gpu_autotune_level=0"
    report, after = helped("export XLA_FLAGS=", "stays on the device", XLA_FLAGS=flags)
    require(report["frameworks"]["XLA_FLAGS"] == flags and after["frameworks"]["XLA_FLAGS"] == f"{flags} --xla_gpu_enable_command_buffer=", after["frameworks"])
    for fine in ("--xla_gpu_autotune_level=0", "", "--xla_gpu_enable_command_buffer="):
        require(not advised(found(XLA_FLAGS=fine), "export XLA_FLAGS="), fine)
    require("XLA_FLAGS                     not set; with a budget spillway run adds --xla_gpu_enable_command_buffer=\n" in doctor().stdout, doctor().stdout)


@sentence("a value that is no UTF-8 is told all the same")
def _():
    report = found(PYTORCH_ALLOC_CONF=os.fsdecode(b"a\xff"))
    require(report["frameworks"]["PYTORCH_ALLOC_CONF"].startswith("a") and advised(report, "unset PYTORCH_ALLOC_CONF"), report)


@sentence("of PyTorch's two names the one that is set decides")
def _():
    text = doctor(PYTORCH_ALLOC_CONF="backend:cudaMallocAsync").stdout
    require("PYTORCH_CUDA_ALLOC_CONF       not set; PYTORCH_ALLOC_CONF decides\n" in text, text)


finish()
