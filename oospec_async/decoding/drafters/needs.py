"""What drafters need beside the committed prefix."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """Something that is made for a drafter beside the round loop.

    ``part``: the part of an engine that makes it, by its name among an engine's parts, in its configuration and on a
    command line. ``unmet_engine``, ``unmet_command``: what is said of a method to whoever has left that part out.
    """

    part: str
    unmet_engine: str
    unmet_command: str


HINTS = Need(
    part="sidecar",
    unmet_engine="takes hints, and no sidecar is loaded; open the engine with one",
    unmet_command="takes hints; name a model that gives them with --sidecar",
)
CHAINS = Need(
    part="draft_model",
    unmet_engine="drafts with a model, and none is loaded; name a draft model",
    unmet_command="drafts with a model; name one with --draft-model",
)
