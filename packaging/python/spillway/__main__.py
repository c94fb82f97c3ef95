"""python -m spillway: becomes the command, or says why it cannot be run here."""
import errno
import os
import platform
import sys

import spillway

GLIBC = (2, 28)  # what the command and the library ask for
SEE = "(see troubleshooting: library-not-found)"


def obstacle():
    """What of this machine keeps the command from starting; None where nothing does."""
    name, version = platform.libc_ver()
    number = tuple(int(part) for part in version.split(".")[:2]) if version and version[0].isdigit() else None
    if name == "glibc" and number and number < GLIBC:
        return f"this machine has glibc {version}, and spillway needs {GLIBC[0]}.{GLIBC[1]} or newer: use a newer system, or a container with one"
    if sys.platform.startswith("linux") and name != "glibc":
        return "this Python is not built for glibc (Alpine's musl, for instance), and spillway is: use a system with glibc"
    return None


def main():
    why = obstacle()
    if why:
        sys.exit(f"spillway: {why} {SEE}")
    try:
        path = spillway.command()
        os.execv(path, [path, *sys.argv[1:]])
    except FileNotFoundError as error:
        sys.exit(f"spillway: {error} {SEE}")
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        sys.exit(f"spillway: {path} is not for this processor ({platform.machine()}): install the wheel that is; there are some for x86_64 and "
                 f"aarch64 {SEE}")


if __name__ == "__main__":
    main()
