"""spillway: talks to the library that keeps this process within a memory budget, and finds what was installed with it.

The library works by being preloaded, so it has to be there before a program starts: `spillway run -- python train.py`, or
LD_PRELOAD set to what library() returns. Nothing here needs a framework. Where the library is not preloaded, active() is False,
step() and name() do nothing, budget() and report() raise NotActive.

    with spillway.budget("6GiB"):           # from here on, and back afterwards
        evaluate(model)
    for batch in data:
        spillway.step()                     # an iteration begins: optional, spares guessing
        train(batch)
    print(spillway.report()["moved"])
"""
import ctypes
import errno
import json
import os

__version__ = "@VERSION@"
__all__ = ["BudgetTooSmall", "NotActive", "active", "budget", "command", "library", "name", "report", "step"]

_DEVICES = 64


class NotActive(RuntimeError):
    """spillway keeps no budget in this process: it is not preloaded, is off, or CUDA has not started."""


class BudgetTooSmall(MemoryError):
    """The budget cannot work. `smallest` is the number of bytes that would, at the moment; None where it is not known."""

    def __init__(self, message, smallest):
        super().__init__(message)
        self.smallest = smallest


def _load():
    """The functions of the library that is preloaded, by name; None without one."""
    process = ctypes.CDLL(None)
    number, size = ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)
    takes = {"active": [], "get_budget": [ctypes.c_int, size], "set_budget": [ctypes.c_int, number, size],
             "parse_amount": [ctypes.c_char_p, ctypes.c_int, size], "step": [], "report": [ctypes.c_char_p, ctypes.c_size_t],
             "name": [number, ctypes.c_char_p]}
    functions = {}
    for key, arguments in takes.items():
        function = getattr(process, f"spillway_{key}_v1", None)
        if function is None:
            return None
        function.argtypes, function.restype = arguments, ctypes.c_long if key == "report" else ctypes.c_int
        functions[key] = function
    return functions


_library = _load()


def _call(key, *arguments):
    return _library[key](*arguments) if _library else -errno.EAGAIN


def _check(result, what):
    if result == -errno.EAGAIN:
        raise NotActive(f"{what}: spillway is not preloaded here, or CUDA has not started; see spillway doctor")
    if result < 0:
        raise OSError(-result, f"{what}: {os.strerror(-result)}")
    return result


def active():
    """Whether CUDA has started in this process and its device memory is kept within a budget."""
    return _call("active") == 1


def _in_use():
    """The devices that have allocations, with their budgets in bytes."""
    found, bytes_ = {}, ctypes.c_uint64()
    for device in range(_DEVICES):
        result = _call("get_budget", device, ctypes.byref(bytes_))
        if result == -errno.EAGAIN:
            _check(result, "budget")
        if result == 0:
            found[device] = bytes_.value
    return found


def _parse(amount, device):
    if isinstance(amount, int):
        return amount
    bytes_ = ctypes.c_uint64()
    result = _call("parse_amount", str(amount).encode(), device, ctypes.byref(bytes_))
    if result == -errno.EINVAL:
        raise ValueError(f"budget {amount!r} is not understood; accepted: bytes such as 8589934592, 8GiB or 8G, or a share such as 60%")
    _check(result, "budget")
    return bytes_.value


def _set(device, bytes_):
    smallest = ctypes.c_uint64()
    result = _call("set_budget", device, bytes_, ctypes.byref(smallest))
    if result == -errno.EINVAL:
        raise ValueError(f"a budget of {bytes_} bytes makes no sense")
    if result == -errno.ENOMEM:
        raise BudgetTooSmall(f"a budget of {bytes_} bytes cannot work on device {device} now; the smallest that would: {smallest.value} bytes",
                             smallest.value or None)
    _check(result, "budget")


class budget:  # pylint: disable=invalid-name
    """Raises or lowers the budget now: budget("8GiB"), budget("60%"), budget(8 << 30). As a context manager, the budgets from
    before are back at its end.

    `device` is the ordinal that PyTorch and CUDA have for it; by default each device that is in use, or device 0 if none is.
    When this returns, tensors have left and memory was given back to the driver. Raises BudgetTooSmall, with the number that
    would do, ValueError and NotActive; after that all budgets are as they were."""

    def __init__(self, amount, device=None):
        in_use = _in_use()
        devices = [device] if device is not None else sorted(in_use) or [0]
        wanted = {each: _parse(amount, each) for each in devices}
        self._before = {}
        try:
            for each, bytes_ in wanted.items():
                _set(each, bytes_)
                if each in in_use:
                    self._before[each] = in_use[each]
        except Exception:
            self._restore()
            raise

    def _restore(self):
        for device, bytes_ in self._before.items():
            _set(device, bytes_)
        self._before = {}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._restore()
        return False


def step():
    """An iteration begins. What follows belongs to it, so that spillway need not guess where one ends."""
    _call("step")


def report():
    """The summary up to now as a dict (spillway-summary/1): what SPILLWAY_SUMMARY has at the end of the run."""
    length = _check(_call("report", None, 0), "report")
    while True:
        buffer = ctypes.create_string_buffer(length + 256)
        length = _check(_call("report", buffer, len(buffer)), "report")
        if length < len(buffer):
            return json.loads(buffer.value.decode(errors="replace"))


def name(tensor, text):
    """Names the memory of a tensor, or of anything with data_ptr() or __cuda_array_interface__, or at an address (an int), for
    report()["named"], which tells its bytes and where they are. True when it has the name: not where spillway is not active or
    the memory is not on a device of its. The name goes with the memory: a framework that caches memory may keep both."""
    if isinstance(tensor, int):
        address = tensor
    elif hasattr(tensor, "data_ptr"):
        address = tensor.data_ptr()
    elif hasattr(tensor, "__cuda_array_interface__"):
        address = tensor.__cuda_array_interface__["data"][0]
    else:
        raise TypeError(f"{type(tensor).__name__} has neither data_ptr() nor __cuda_array_interface__")
    return _call("name", address, text.encode()) == 0


def _installed(path):
    folder = os.path.dirname(os.path.abspath(__file__))
    while os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        if os.path.isfile(os.path.join(folder, "libexec", "spillway", "libspillway.so")) and os.path.isfile(os.path.join(folder, path)):
            return os.path.join(folder, path)
    raise FileNotFoundError(f"{path} of spillway-cuda is in no folder above {__file__}: install spillway-cuda again")


def library():
    """The path of the library, for LD_PRELOAD. FileNotFoundError when it was not installed with this module."""
    return _installed(os.path.join("libexec", "spillway", "libspillway.so"))


def command():
    """The path of the command. FileNotFoundError when it was not installed with this module."""
    return _installed(os.path.join("bin", "spillway"))
