"""How far the simulator is off, against what was recorded."""
