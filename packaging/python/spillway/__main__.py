"""python -m spillway: becomes the command."""
import os
import sys

import spillway


def main():
    try:
        path = spillway.command()
    except FileNotFoundError as error:
        sys.exit(f"spillway: {error}")
    os.execv(path, [path, *sys.argv[1:]])


main()
