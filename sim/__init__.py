"""The simulator: replays recorded traces and answers what-if questions about device splits, without torch or hardware.

``oospec-sim`` is its command line (docs/oospec-sim.md). From Python:

>>> recording = open_recording(Path("traces/qwen3-14b.json"))
>>> result = Simulator(recording).run(Scenario(method="oospec", placement=parse_placement("shared")))

from ``sim.figures.simulator``, ``sim.scenario.scenario``, ``sim.scenario.placement`` and ``sim.costs.recording``.
"""
