"""Commands of the repository, run from its root as ``python -m tools.NAME``. No part of the installed package."""
