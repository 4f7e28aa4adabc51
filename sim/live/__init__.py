"""The runtime on a virtual clock: the live engine and its round loop, over devices whose forwards take recorded times.

A host, which is the event loop with everything that it runs, spends time in plain calls; devices and messages go on
meanwhile. ``serve.serve`` puts the pieces together. What is replayed is a table (``sim.replay.timetable``) that
the simulator replays too, with event code of its own: the two timelines must be equal to the nanosecond.
"""
