"""What ``tools/soak.py`` is made of."""
