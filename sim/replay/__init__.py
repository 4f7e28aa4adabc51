"""Simulated time: what is known before the clock starts, and SimPy processes that replay it on devices."""
