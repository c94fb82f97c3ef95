#!/usr/bin/env python3
"""The Debian package works in a bare Debian root without compiler, CUDA or network, and leaves nothing when it goes."""
import os

from harness import finish, require, sentence
from packaged import Root, command, demo, package

WANTED = ("usr/bin/spillway", "spillway/libspillway.so", "spillway/unversioned/libcuda.so", "man1/spillway.1.gz", "man1/spillway-run.1.gz",
          "bash-completion/completions/spillway", "zsh/site-functions/_spillway", "fish/vendor_completions.d/spillway.fish", "usr/include/spillway.h")


def the_package():
    return package("deb", ".deb", "deb")


@sentence("it has command, library, man pages, completions and header, and the library where the loader does not look")
def _():
    listed = [line.split()[-1] for line in command("dpkg-deb", "--contents", the_package()).splitlines()]
    for wanted in WANTED:
        require(any(name.endswith(wanted) for name in listed), f"{wanted} is missing", *listed)
    for name in listed:
        require("libcuda.so" not in name or "/spillway/unversioned/" in name, name)
        require(os.path.basename(name) != "libspillway.so" or os.path.basename(os.path.dirname(name)) == "spillway", name)


@sentence("it depends on nothing of NVIDIA's, of Python or of a framework")
def _():
    depends = command("dpkg-deb", "--field", the_package(), "Depends")
    require("libdw1" in depends and not any(word in depends for word in ("nvidia", "cuda", "python", "torch")), depends)


@sentence("installed in a bare root everything works; it leaves nothing when it goes")
def _():
    with Root() as root:
        path = root.put(the_package())
        root.succeeds("dpkg --install needs/*.deb")
        before = root.files()
        root.succeeds(f"dpkg --install {path} && ldconfig")
        require("libcuda" not in root.succeeds("ldconfig -p"), "the loader takes it for the machine's driver")
        said = root.succeeds("spillway doctor")
        require("PROBLEM" not in said and "/spillway/libspillway.so" in said, said)
        root.succeeds("spillway run -- python3 -c pass")
        demo(root, "spillway")
        root.succeeds("dpkg --purge spillway")
        require(root.files() == before, root.files() ^ before)


finish()
