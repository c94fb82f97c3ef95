#!/usr/bin/env python3
"""train_jax.py - trains a small transformer written in plain JAX for a few steps, the same way every time.

It prints what harness/training.py reads. Each layer's forward and backward pass is compiled by itself: what XLA compiles
as one piece has one block of memory for all it keeps inside, while between pieces the tensors are arrays of their own.
Exit status 77: JAX can't be imported, or finds no such device."""
import argparse
import functools
import hashlib
import os
import statistics
import sys
import time

# Which kernels are the fastest would be found out by the clock, so by chance.
os.environ['XLA_FLAGS'] = (os.environ.get('XLA_FLAGS', '') +
                           ' --xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0').strip()
os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')     # else it takes three quarters of the device at once

import turn

MODULE_MISSING = 77
BATCHES = 3         # different ones, in turn
SEED = 20
HEADS = 8

try:
    import jax
    import jax.numpy as jnp
except ImportError as missing:
    print(f'jax cannot be imported: {missing}', file=sys.stderr)
    sys.exit(MODULE_MISSING)


# ------------------------------------------------------------------------------------------------------------- the model
def normalized(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale


def layer(weights, x):
    """One block of a transformer: attention to what came before, then two dense layers."""
    count, length, width = x.shape
    inward = normalized(x, weights['scale_1']) @ weights['attend']
    query, key, value = (part.reshape(count, length, HEADS, width // HEADS) for part in jnp.split(inward, 3, axis=-1))
    scores = jnp.einsum('bqhd,bkhd->bhqk', query, key) / (width // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum('bhqk,bkhd->bqhd', jax.nn.softmax(scores), value).reshape(x.shape)
    x = x + mixed @ weights['join']
    return x + jax.nn.gelu(normalized(x, weights['scale_2']) @ weights['widen']) @ weights['narrow']


def beginning(weights, words):
    return weights['words'][words] + weights['places']


def ending(weights, x, labels):
    chances = jax.nn.log_softmax(x @ weights['out'])
    return -jnp.mean(jnp.take_along_axis(chances, labels[..., None], axis=-1))


def initial(options):
    """All weights: those of the beginning, of each layer, of the ending."""
    keys = iter(jax.random.split(jax.random.key(SEED), 3 + 4 * options.layers))
    width = options.width

    def some(*shape):
        return 0.02 * jax.random.normal(next(keys), shape)

    layers = [{'scale_1': jnp.ones(width), 'attend': some(width, 3 * width), 'join': some(width, width),
               'scale_2': jnp.ones(width), 'widen': some(width, 4 * width), 'narrow': some(4 * width, width)}
              for _ in range(options.layers)]
    return [{'words': some(options.vocabulary, width), 'places': some(options.length, width)}, *layers,
            {'out': some(width, options.vocabulary)}]


# ---------------------------------------------------------------------------------------------------------- the training
def forward(function, differentiated):
    """Compiled: the result, and the way back to the first so many arguments with what it needs."""
    def run(*arguments):
        fixed = arguments[differentiated:]
        return jax.vjp(lambda *changing: function(*changing, *fixed), *arguments[:differentiated])
    return jax.jit(run)


@jax.jit
def back(way, gradient):
    return way(gradient)


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def updated(weights, mean, square, gradient):
    """Adam without its correction for the first steps."""
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    weights = jax.tree.map(lambda w, m, s: w - 1e-4 * m / (jnp.sqrt(s) + 1e-8), weights, mean, square)
    return weights, mean, square


BEGIN, PASS, END = forward(beginning, 1), forward(layer, 2), forward(ending, 2)


def step(state, words):
    """One step of training; changes the state, a list of (weights, mean, square), and returns the loss."""
    ways = []
    x, way = BEGIN(state[0][0], words)
    ways.append(way)
    for weights, _, _ in state[1:-1]:
        x, way = PASS(weights, x)
        ways.append(way)
    loss, way = END(state[-1][0], x, words)
    gradient, x = back(way, jnp.ones_like(loss))
    del way
    state[-1] = updated(*state[-1], gradient)
    for place in range(len(state) - 2, 0, -1):
        gradient, x = back(ways.pop(), x)
        state[place] = updated(*state[place], gradient)
    (gradient,) = back(ways.pop(), x)
    state[0] = updated(*state[0], gradient)
    return loss


def train(options):
    turn.wait()
    jax.config.update('jax_platforms', options.device)
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as missing_device:   # which of them depends on what is missing
        print(f'JAX finds no {options.device} device {missing_device}', file=sys.stderr)
        sys.exit(MODULE_MISSING)
    jax.config.update('jax_default_matmul_precision', 'highest')
    state = [(weights, *(jax.tree.map(jnp.zeros_like, weights) for _ in range(2))) for weights in initial(options)]
    key = jax.random.key(SEED + 1)
    batches = [jax.random.randint(jax.random.fold_in(key, number), (options.batch, options.length), 0, options.vocabulary)
               for number in range(BATCHES)]
    losses, steps_ms = [], []
    for number in range(options.steps):
        begun = time.perf_counter()
        losses.append(float(step(state, batches[number % BATCHES])))
        jax.block_until_ready(state)
        steps_ms.append((time.perf_counter() - begun) * 1000)
    tell(state, losses, steps_ms)


def tell(state, losses, steps_ms):
    for number, loss in enumerate(losses, 1):
        print(f'step {number} loss {loss:.6g} {loss.hex()}')
    print('steps took', *(f'{ms:.3f}' for ms in steps_ms))
    settled = steps_ms[-max(len(steps_ms) // 3, 1):]        # the first ones compile and warm up
    print(f'step_ms {statistics.median(settled):.4f}')
    counted = jax.local_devices()[0].memory_stats() or {}
    print('peak_bytes', counted.get('peak_bytes_in_use', 1))
    print('reserved_bytes', counted.get('peak_pool_bytes', counted.get('peak_bytes_in_use', 1)))
    digest = hashlib.sha256()
    for array in jax.tree.leaves([weights for weights, _, _ in state]):
        digest.update(jax.device_get(array).tobytes())
    print(f'parameters 0x{digest.hexdigest()}')


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--batch', type=int, default=16)
    parser.add_argument('--steps', type=int, default=24)
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda')
    parser.add_argument('--tiny', action='store_true', help='a model of the same kind that a CPU trains in a moment')
    options = parser.parse_args(arguments)
    options.layers, options.width, options.length, options.vocabulary = (
        (2, 32, 16, 64) if options.tiny else (12, 768, 512, 16384))
    return options


if __name__ == '__main__':
    train(parse(sys.argv[1:]))
