"""What a method drafts at every output position, and which hints it may use: methods over recorded profiles.

One recorded run with hints stands behind several methods, because drafting changes no output: without any hint it is
ToolSpec, with no drafts it is AR. Adding a method is a function and a line in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    _check_profiles(recording, base)
    return _alone(recording, base, "toolspec", f"{base}'s drafters without any hint, and no sidecar")


def _alone(recording: Recording, base: str, name: str, about: str) -> Method:
    def drafts(request: str) -> Drafts:
        run = recording.run(request, base)
        return Drafts(run, {0: _profiles(run)[0]})

    return Method(name, base, about, drafts, _of(recording, base))


def _as_recorded(recording: Recording, base: str) -> Method:
    _check_profiles(recording, base)
    hinted = any(run.wave is not None or len(run.profiles) > 1 for run in recording.runs[base].values())

    def drafts(request: str) -> Drafts:
        run = recording.run(request, base)
        return Drafts(run, _profiles(run), wave=hinted, listens=hinted)

    about = "every round uses the newest hint that has arrived" if hinted else "as recorded, without hints"
    return Method(base, base, about, drafts, _of(recording, base), wave=hinted, listens=hinted)


def _zero(recording: Recording, base: str) -> Method:
    _check_profiles(recording, base)

    def drafts(request: str) -> Drafts:
        run = recording.run(request, base)
        profiles = _profiles(run)
        return Drafts(run, profiles, version=max(profiles))

    about = "what if: the wave's last hint is there from the start, and no wave runs"
    return Method(f"{base}@zero", base, about, drafts, _of(recording, base))


def _never(recording: Recording, base: str) -> Method:
    _check_profiles(recording, base)

    def drafts(request: str) -> Drafts:
        run = recording.run(request, base)
        return Drafts(run, {0: _profiles(run)[0]}, wave=True)

    about = "control: the wave runs, and no hint ever arrives"
    return Method(f"{base}@never", base, about, drafts, _of(recording, base), wave=True)


def _without(recording: Recording, base: str) -> Method:
    _check_profiles(recording, base)
    return _alone(recording, base, f"{base}@alone", f"control: {base}'s drafters without any hint, and no sidecar")


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


def _check_profiles(recording: Recording, base: str) -> None:
    bare = next((run.request for run in recording.runs[base].values() if not run.profiles), None)
    if bare is not None:
        raise OospecError(
            f"{recording.source}: requests: {bare!r} by {base!r} has no profiles; "
            f"record the trace with a version that writes them"
        )


def _profiles(run: RequestTrace) -> Mapping[int, Profile]:
    return {profile.version: profile for profile in run.profiles}


METHODS: dict[str, Callable[[Recording], Method]] = {"ar": _ar, "toolspec": _toolspec, "perfect": _perfect}
"""Of every recording."""

ENDINGS: dict[str, Callable[[Recording, str], Method]] = {
    "": _as_recorded,
    "zero": _zero,
    "never": _never,
    "alone": _without,
}
"""Of every recorded method, as in ``oospec@zero``."""
