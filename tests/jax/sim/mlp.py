#!/usr/bin/env python3
"""mlp.py - trains a small network with Adam, written in plain JAX, on the simulated device.

A step is one executable, which has one block of memory for all that it keeps inside, and is given the state to change in place; with
--pieces each layer's way forward and back is an executable of its own, and what lies between them are arrays. Everything comes from
fixed seeds, and nothing that is done next hangs on a number that the device computed.

It prints some losses and a SHA-256 of each array at the end; a line that begins with "memory" is measured, all others are the
same in every run."""
import argparse
import functools
import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import hardware_utils

hardware_utils.has_visible_nvidia_gpu = lambda: True  # it looks for files in /dev, which the simulated device has not
SEED, LAYERS, BATCHES = 20, 6, 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--pieces", action="store_true", help="each layer is compiled by itself")
    parser.add_argument("--evaluate-every", type=int, default=0, help="after so many steps the loss of another batch is computed")
    return parser.parse_args()


# ------------------------------------------------------------------------------------------------------------- the model
def layer(weights, x):
    return jax.nn.relu(x @ weights[0] + weights[1])


def distance(x, y):
    return jnp.mean((x - y) ** 2)


def loss_of(network, x, y):
    for weights in network:
        x = layer(weights, x)
    return distance(x, y)


def changed(weights, mean, square, gradient):
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    weights = jax.tree.map(lambda w, m, s: w - 1e-3 * m / (jnp.sqrt(s) + 1e-8), weights, mean, square)
    return weights, mean, square


# ---------------------------------------------------------------------------------------------------------- the training
@functools.partial(jax.jit, donate_argnums=0)
def whole(state, x, y):
    """A step as one executable."""
    loss, gradient = jax.value_and_grad(loss_of)(state[0], x, y)
    return changed(*state, gradient), loss


forward = jax.jit(lambda weights, x: jax.vjp(layer, weights, x))
ending = jax.jit(jax.value_and_grad(distance))
back = jax.jit(lambda way, gradient: way(gradient))
update = functools.partial(jax.jit, donate_argnums=(0, 1, 2))(changed)
evaluated = jax.jit(loss_of)


def pieces(state, x, y):
    """The same step, a piece at a time."""
    weights, means, squares = ([*part] for part in state)
    ways = []
    for one in weights:
        x, way = forward(one, x)
        ways.append(way)
    del way
    loss, gradient = ending(x, y)
    for place in reversed(range(LAYERS)):
        change, gradient = back(ways.pop(), gradient)
        weights[place], means[place], squares[place] = update(weights[place], means[place], squares[place], change)
    return (weights, means, squares), loss


def train(options):
    random = np.random.default_rng(SEED)

    def some(*shape):
        return jax.device_put(random.normal(scale=0.05, size=shape).astype(np.float32))

    def zeros():
        return [tuple(jax.device_put(np.zeros_like(part)) for part in weights) for weights in state[0]]

    state = ([(some(options.width, options.width), some(options.width)) for _ in range(LAYERS)],)
    state = (*state, zeros(), zeros())
    batches = [(some(options.batch, options.width), some(options.batch, options.width)) for _ in range(BATCHES)]
    for number in range(1, options.steps + 1):
        state, loss = (pieces if options.pieces else whole)(state, *batches[number % BATCHES])
        if number % 2 == 0:
            print(f"step {number}: loss {float(loss).hex()}", flush=True)
        if options.evaluate_every and number % options.evaluate_every == 0:
            print(f"step {number}: evaluated {float(evaluated(state[0], *batches[0])).hex()}", flush=True)
    tell(state)


def tell(state):
    for number, array in enumerate(jax.tree.leaves(state)):
        print(f"array {number} {array.shape} {hashlib.sha256(np.asarray(array).tobytes()).hexdigest()}")
    print("memory", json.dumps({"peak_bytes": (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use")}))


train(arguments())
