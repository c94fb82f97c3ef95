"""simulated.py - how JAX is started on the simulated device."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
ABOVE = ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "beside/libnvidia-ml.so.1", "beside/libcudnn.so.9", "beside/libsimgpu-direct.so")
# No search for the fastest kernel by the clock, and products by cuBLAS, whose stand-ins are there.
FLAGS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
NO_GRAPHS = "--xla_gpu_enable_command_buffer="  # as spillway has it within a budget
# A small device with small granules, so that small arrays are moved too; one of 8.0, for which XLA takes 4 MiB for cuBLAS, not 32.
DEVICE = {"SIMGPU_PROFILE": "a100-40g", "SIMGPU_GRANULARITY": "64KiB", "SIMGPU_MEMORY": "2GiB", "SIMGPU_IDLE": "5"}


def settings(build, folder, flags=FLAGS):
    """What the environment has to say for it, beside where libcuda.so.1 is. `folder` keeps what is made once."""
    device = os.path.join(build, "tests", "simgpu")
    layouts, images, cache = (os.path.join(folder, name) for name in ("layouts", "images", "cache"))
    os.makedirs(images, exist_ok=True)
    with open(layouts, "w", encoding="utf-8") as file:
        file.write("simgpu-layouts 1: of no kernel\n")  # so each is taken to write all that it is given
    return {**DEVICE, "LD_PRELOAD": ":".join(os.path.join(device, name) for name in ABOVE), "SIMGPU_LAYOUTS": layouts, "SIMGPU_IMAGES": images,
            "JAX_PLATFORMS": "cuda", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "XLA_FLAGS": flags, "TF_CPP_MIN_LOG_LEVEL": "2",
            "XLA_PYTHON_CLIENT_ALLOCATOR": "cuda_async", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1", "PYTHONDONTWRITEBYTECODE": "1"}
