"""What programs ask of a device that may not be there, and what they are told."""
import jax
import jax.numpy as jnp


def ask(name, question):
    try:
        print(name, repr(question()))
    except (RuntimeError, AssertionError) as refusal:
        print(name, type(refusal).__name__, refusal)


ask("backend", jax.default_backend)
ask("devices", jax.devices)
ask("count", jax.device_count)
ask("memory", lambda: jax.local_devices()[0].memory_stats())
ask("array", lambda: jnp.arange(3).devices())
ask("cuda", lambda: jax.devices("cuda"))
ask("gpu", lambda: jax.devices("gpu"))
ask("lowered", lambda: len(jax.jit(jnp.sin).lower(jnp.ones(2)).as_text()))
