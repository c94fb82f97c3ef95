"""Processes that are started anew, each with a JAX of its own."""
import multiprocessing

import jax.numpy as jnp


def squares(number):
    return float(jnp.sum(jnp.arange(number) ** 2))


def main():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(squares, range(6)))


if __name__ == "__main__":
    main()
