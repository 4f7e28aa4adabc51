"""What the log of a request says about it, in counts and times."""

from __future__ import annotations

from dataclasses import replace

from oospec_async.completion import HintUse, Metrics
from oospec_async.events import WaveReport
from oospec_async.recording.recorder import RequestLog


def metrics_of(log: RequestLog, output_tokens: int, wave: WaveReport | None) -> Metrics:
    """Of a request that was served to its end. ``wave``: what became of its wave; None if nobody knows."""
    (prefill,) = log.named("target", "prefill")
    verified, commits = log.named("target", "verify"), log.named("host", "commit")
    first_token_ns, end_ns = commits[0].end_ns, commits[-1].end_ns
    return Metrics(
        prompt_tokens=prefill.data["tokens"] + prefill.data["context"],
        output_tokens=output_tokens,
        rounds=len(verified),
        drafted=sum(event.data["tokens"] - 1 for event in verified),
        accepted=sum(event.data["accepted"] for event in verified),
        total_seconds=(end_ns - log.start_ns) / 1e9,
        first_token_seconds=(first_token_ns - log.start_ns) / 1e9,
        prefill_seconds=prefill.seconds,
        decode_seconds=(end_ns - first_token_ns) / 1e9,
        hint=_hint_use(log, end_ns, wave),
        reused_tokens=prefill.data["context"],
    )


def _hint_use(log: RequestLog, end_ns: int, wave: WaveReport | None) -> HintUse:
    use = HintUse()
    if polls := log.named("channel", "poll"):
        arrival = (polls[0].start_ns - log.start_ns) / 1e9
        use = HintUse(len(polls), arrival, polls[0].data["position"], polls[-1].data["bytes"])
    if wave is None or wave.cancelled or wave.error:
        return replace(use, error=wave.error if wave is not None else "")
    seconds = (wave.end_ns - wave.start_ns) / 1e9
    overlap = min(wave.end_ns, end_ns) - max(wave.start_ns, log.start_ns)
    hidden = max(0.0, overlap / 1e9 / seconds) if seconds else 1.0
    return replace(use, wave_seconds=seconds, wave_hidden=hidden)
