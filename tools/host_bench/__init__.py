"""What ``tools/bench_host.py`` is made of."""
