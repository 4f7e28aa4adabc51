"""What a method drafts at every output position, and which hints it may use: methods over recorded profiles.

One recorded run with hints stands behind several methods, because drafting changes no output: without any hint it is
ToolSpec, with no drafts it is AR. Adding a method is a function and a line in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from oospec_async.errors import OospecError
from oospec_async.trace import Profile, RequestTrace
from sim.costs.recording import Recording
from sim.scenario.parameters import suggestion

DEFAULT_METHODS = ("ar", "toolspec", "oospec", "oospec@zero", "perfect")


@dataclass(frozen=True)
class Drafts:
    """Of one request: profiles by hint version, the version at its start, and whether a wave runs and is heard."""

    run: RequestTrace  # whose wave it is
    profiles: Mapping[int, Profile]
    version: int = 0
    wave: bool = False
    listens: bool = False


@dataclass(frozen=True)
class Method:
    """A method over one recording. ``recorded`` names the recorded method whose host times come closest to its own."""

    name: str
    recorded: str
    about: str
    drafts: Callable[[str], Drafts]  # of a request
    requests: tuple[str, ...]
    wave: bool = False  # a sidecar is needed
    listens: bool = False  # to hints as they arrive
    fitted: bool = False  # drafts are cut so that the output takes the least time


def find_method(recording: Recording, name: str) -> Method:
    """Raises OospecError for a name that is no method of the recording."""
    if name in METHODS:
        return METHODS[name](recording)
    base, _, ending = name.partition("@")
    if base in recording.runs and ending in ENDINGS:
        return ENDINGS[ending](recording, base)
    known = [*METHODS, *(m + (f"@{e}" if e else "") for m in recording.runs for e in ENDINGS)]
    meant = suggestion(name, dict.fromkeys(known))
    raise OospecError(f"method {name!r} is neither built in nor recorded in {recording.source}; {meant}")


def playable(recording: Recording, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those of the methods that the recording can replay, and a line about the others for each reason."""
    found: list[str] = []
    left_out: dict[str, list[str]] = {}
    for name in names:
        try:
            find_method(recording, name)
        except OospecError as error:
            left_out.setdefault(str(error), []).append(name)
        else:
            found.append(name)
    return found, [f"left out: {', '.join(names)}: {why}" for why, names in left_out.items()]


def _ar(recording: Recording) -> Method:
    def drafts(request: str) -> Drafts:
        run = recording.any_run(request)
        none = [0] * (run.output_tokens - 1)
        return Drafts(run, {0: Profile(version=0, drafted=none, accepted=none)})

    recorded = "ar" if "ar" in recording.runs else recording.hinted if recording.has_profiles else ""
    return Method("ar", recorded, "no drafts", drafts, recording.requests)


def _toolspec(recording: Recording) -> Method:
    recorded = recording.runs.get("toolspec", {})
    if any(run.profiles for run in recorded.values()):
        return _as_recorded(recording, "toolspec")
    base = recording.hinted
    return _replayed(recording, base, "toolspec", f"{base}'s drafters without any hint, and no sidecar")


def _as_recorded(recording: Recording, base: str) -> Method:
    hinted = any(run.wave is not None or len(run.profiles) > 1 for run in recording.runs[base].values())
    about = "every round uses the newest hint that has arrived" if hinted else "as recorded, without hints"
    return _replayed(recording, base, base, about, hinted=True, wave=hinted, listens=hinted)


def _zero(recording: Recording, base: str) -> Method:
    about = "what if: the wave's last hint is there from the start, and no wave runs"
    return _replayed(recording, base, f"{base}@zero", about, hinted=True, at_once=True)


def _never(recording: Recording, base: str) -> Method:
    about = "control: the wave runs, and no hint ever arrives"
    return _replayed(recording, base, f"{base}@never", about, wave=True)


def _without(recording: Recording, base: str) -> Method:
    about = f"control: {base}'s drafters without any hint, and no sidecar"
    return _replayed(recording, base, f"{base}@alone", about)


def _replayed(
    recording: Recording,
    base: str,
    name: str,
    about: str,
    *,
    hinted: bool = False,  # profiles of all hint versions, not only of none
    at_once: bool = False,  # the last version is there from the start
    wave: bool = False,
    listens: bool = False,
) -> Method:
    """A method that drafts by the profiles of ``base``."""
    bare = next((run.request for run in recording.runs[base].values() if not run.profiles), None)
    if bare is not None:
        raise OospecError(
            f"{recording.source}: requests: {bare!r} by {base!r} has no profiles; "
            f"record the trace with a version that writes them"
        )

    def drafts(request: str) -> Drafts:
        run = recording.run(request, base)
        profiles = {profile.version: profile for profile in run.profiles if hinted or not profile.version}
        return Drafts(run, profiles, version=max(profiles) if at_once else 0, wave=wave, listens=listens)

    return Method(name, base, about, drafts, _of(recording, base), wave=wave, listens=listens)


def _perfect(recording: Recording) -> Method:
    base = recording.hinted
    largest = max((max(p.drafted, default=0) for r in recording.runs[base].values() for p in r.profiles), default=0)

    def drafts(request: str) -> Drafts:
        run = recording.run(request, base)
        left = [min(largest, run.output_tokens - 1 - committed) for committed in range(1, run.output_tokens)]
        return Drafts(run, {0: Profile(version=0, drafted=left, accepted=left)})

    about = (
        f"bound: the cheapest way to draft nothing but the tokens that come next, "
        f"at most {largest} at once (the largest recorded tree)"
    )
    return Method("perfect", base, about, drafts, _of(recording, base), fitted=True)


def _of(recording: Recording, base: str) -> tuple[str, ...]:
    return tuple(request for request in recording.requests if request in recording.runs[base])


METHODS: dict[str, Callable[[Recording], Method]] = {"ar": _ar, "toolspec": _toolspec, "perfect": _perfect}
"""Of every recording."""

ENDINGS: dict[str, Callable[[Recording, str], Method]] = {
    "": _as_recorded,
    "zero": _zero,
    "never": _never,
    "alone": _without,
}
"""Of every recorded method, as in ``oospec@zero``."""
