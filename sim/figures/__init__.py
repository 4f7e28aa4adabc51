"""From a recording and a scenario to figures, and what a reader must know beside them."""
