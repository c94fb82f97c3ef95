"""device - is there a GPU, which one is it, and how much of its memory is in use."""
import ctypes
import threading
import time

from . import child

_ASK = '''
import ctypes, sys
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit("no driver: libcuda.so.1 is not on this machine")
count = ctypes.c_int(0)
result = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
if result:
    sys.exit(f"the driver starts with error {result}")
if not count.value:
    sys.exit("the driver finds no device")
'''


def missing(limit_s=60):
    """Why no GPU can be used here, or '' when one can. Asked in a process of its own: a broken driver can hang."""
    outcome = child.run([child.PYTHON, '-c', _ASK], limit_s)
    if outcome.ok:
        return ''
    return 'the driver did not answer in time' if outcome.timed_out else outcome.errors.strip() or outcome.why()


_CAPABILITY = '''
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
major, minor, device = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
assert not driver.cuInit(0) and not driver.cuDeviceGet(ctypes.byref(device), 0)
assert not driver.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
assert not driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
print(major.value, minor.value)
'''


def capability(limit_s=60):
    """The first device's compute capability, (major, minor); None when the driver doesn't tell."""
    outcome = child.run([child.PYTHON, '-c', _CAPABILITY], limit_s)
    return tuple(map(int, outcome.output.split())) if outcome.ok else None


_FIND = '''
import ctypes
ctypes.CDLL("libcuda.so.1")
print(next(line.split(None, 5)[5] for line in open("/proc/self/maps") if "/libcuda.so" in line), end="")
'''


def driver_file(env):
    """The file of the driver that a program in this environment gets; '' without one."""
    outcome = child.run([child.PYTHON, '-c', _FIND], 20, env)
    return outcome.output.strip() if outcome.ok else ''


class _Memory(ctypes.Structure):
    _fields_ = [('total', ctypes.c_ulonglong), ('free', ctypes.c_ulonglong), ('used', ctypes.c_ulonglong)]


class Watch:
    """Notes the most device memory that was in use while it is entered, as NVML counts it: every process, driver and
    contexts included. peak_bytes is None where NVML doesn't answer. Sampled, so that a short peak can be missed."""

    def __init__(self, index=0, interval_s=0.003):
        self.interval_s = interval_s
        self.peak_bytes = self.before_bytes = None
        self._stop = threading.Event()
        self._thread = None
        self._read = _reader(index)

    def __enter__(self):
        self.before_bytes = self.peak_bytes = self._read()
        if self.peak_bytes is not None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *unused):
        self._stop.set()
        if self._thread:
            self._thread.join(timeout=5)

    def _watch(self):
        while not self._stop.is_set():
            used = self._read()
            if used is not None:
                self.peak_bytes = max(self.peak_bytes, used)
            time.sleep(self.interval_s)

    @property
    def rise_bytes(self):
        """How far the use rose above what it was before; None where it isn't known."""
        return None if self.peak_bytes is None else self.peak_bytes - self.before_bytes


def _reader(index):
    """A function that tells the bytes in use on that device, or None."""
    try:
        nvml = ctypes.CDLL('libnvidia-ml.so.1')
        handle = ctypes.c_void_p()
        if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
            return lambda: None
    except (OSError, AttributeError):
        return lambda: None
    memory = _Memory()

    def read():
        return None if nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) else memory.used

    return read
