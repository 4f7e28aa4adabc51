"""The benchmark behind ``tools/bench.py``: the same requests by every method, in turn, each row saved as it ends."""
