"""The GPU harness: see tests/gpu/README.md."""
