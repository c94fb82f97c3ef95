"""Ends in the way that its argument names, after some work."""
import atexit
import os
import signal
import sys

import jax
import jax.numpy as jnp

atexit.register(lambda: print("at exit", flush=True))
print(float(jax.jit(jnp.sum)(jnp.ones(3))), flush=True)
how = sys.argv[1]
if how == "status":
    sys.exit(7)
elif how == "exception":
    raise ValueError("on purpose")
elif how == "at-once":
    os._exit(5)
elif how == "signal":
    os.kill(os.getpid(), signal.SIGTERM)
elif how == "abort":
    os.abort()
elif how == "exec":
    os.execv(sys.executable, [sys.executable, "-c", "import jax; print(jax.default_backend())"])
