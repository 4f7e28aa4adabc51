"""One run of ``oospec-run --live``: requests by methods, shown, summed up, and written down."""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from oospec_async.commands import terminal
from oospec_async.commands.results import batch_lines, run_json, told
from oospec_async.commands.summary import summarise
from oospec_async.completion import Completion
from oospec_async.console.output import COUNTED, note, stdout
from oospec_async.decoding.drafters import drafters_of, lacking, needs_of
from oospec_async.decoding.drafters.needs import CHAINS, HINTS
from oospec_async.errors import OospecError
from oospec_async.files.writing import check_outputs
from oospec_async.recording.assemble import check_recordable, make_trace
from oospec_async.recording.provenance import Setup
from oospec_async.request import Request
from oospec_async.request_file import Failure, RequestFile
from oospec_async.runtime.config import EngineConfig
from oospec_async.runtime.engine import Engine
from oospec_async.timeline import check_timeline_path, write_timeline
from oospec_async.trace import Trace, write_trace
from oospec_async.weights.adapters import NO_ADAPTER, SHIPPED, check_named


@dataclass(frozen=True)
class RunOptions:
    asked: RequestFile
    methods: Sequence[str]
    config: EngineConfig  # as it was asked for
    record: Path | None = None
    timeline: Path | None = None
    as_json: bool = False
    strict: bool = False  # one bad request, and none is served

    @property
    def engine(self) -> EngineConfig:
        """What this run needs of it."""
        return replace(
            self.config,
            sidecar=self.config.sidecar if HINTS in needs_of(*self.methods) else None,
            reuse_prefix=self.record is None,  # a trace says what a request costs by itself
            record=self.record is not None or self.timeline is not None,
            finish_waves=True,  # the table tells the whole wave
        )


def check(options: RunOptions) -> None:
    """Raises OospecError for what would otherwise fail only after minutes of work."""
    engine, asked = options.engine, options.asked
    if asked.refused and (options.strict or not asked.requests):
        raise OospecError(told(asked.refused))
    if options.as_json and asked.is_batch and len(options.methods) > 1:
        raise OospecError(f"{asked.path}: a batch is answered by one method; leave out --compare or --json")
    for method in options.methods:
        if (lack := lacking(method, engine)) is not None:
            raise OospecError(f"method {method!r} {lack.unmet_command}")
    if engine.draft_model is not None and CHAINS not in needs_of(*options.methods):
        raise OospecError("--draft-model belongs to the drafter 'draft', and no method here has it")
    if options.record is not None:
        for method in options.methods:
            check_recordable(method)
    check_outputs([asked.path], {"--record": options.record, "--timeline": options.timeline})
    if options.timeline is not None:
        check_timeline_path(options.timeline)
    if engine.sidecar is not None:
        check_named(engine.adapter)
    elif engine.adapter not in (SHIPPED, NO_ADAPTER):
        raise OospecError("--adapter belongs to a sidecar, and no method here takes its hints")


async def run(options: RunOptions) -> None:
    """Serve every request by every method. Results go to stdout, progress to stderr. Raises OospecError.

    A request that is bad or fails costs the others nothing: it is named at the end. Interrupted, it still sums up and
    writes down what was finished.
    """
    err = Console(stderr=True)
    async with Engine.open(options.engine, lambda line: note(err, line)) as engine:
        serving = _Serving(engine, options, err)
        serving.refuse()
        try:
            await (serving.quietly() if options.as_json else serving.visibly())
        finally:
            if serving.done:
                with _uninterrupted():
                    serving.conclude()
        if serving.failed:
            raise OospecError(told(serving.failed))


@dataclass
class _Serving:
    """A run at work, and what has become of its requests so far."""

    engine: Engine
    options: RunOptions
    err: Console
    out: Console = field(default_factory=stdout)
    done: list[Completion] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)  # those that can be served
    failed: list[Failure] = field(default_factory=list)

    def refuse(self) -> None:
        """Sort out what cannot be served, a line on stderr each. Raises OospecError where that ends the run."""
        asked = self.options.asked
        self.failed += asked.refused
        for request in asked.requests:
            try:
                self.engine.check(request)
                self.requests.append(request)
            except OospecError as error:
                self.failed.append(Failure(request.id, None, f"{asked.places[request.id]}: {error}"))
        if self.failed and (self.options.strict or not self.requests):
            raise OospecError(told(self.failed))
        for failure in self.failed:
            note(self.err, f"not served: {failure.error}")

    async def visibly(self) -> None:
        """Show calls as they are committed."""
        out, methods = self.out, self.options.methods
        drafters = dict.fromkeys(drafter.name for method in methods for drafter in drafters_of(method))
        terminal.print_legend(out, list(drafters))
        for request in self.requests:
            terminal.print_request(out, request)
            for method in methods:
                terminal.print_method(out, method)
                try:
                    async for item in self.engine.stream(request, method):
                        if isinstance(item, Completion):
                            terminal.print_completion(out, item)
                            self.done.append(item)
                        else:
                            terminal.print_chunk(out, item)
                except OospecError as error:
                    terminal.print_failure(out, str(error))
                    self.failed.append(Failure(request.id, method, str(error)))

    async def quietly(self) -> None:
        """Show only how many are done."""
        pairs = list(product(self.requests, self.options.methods))
        with Progress(*COUNTED, console=self.err) as progress:
            task = progress.add_task("requests x methods", total=len(pairs))
            for request, method in pairs:
                try:
                    self.done.append(await self.engine.generate(request, method))
                except OospecError as error:
                    self.failed.append(Failure(request.id, method, str(error)))
                progress.advance(task)

    def conclude(self) -> None:
        """Write the files first, each whatever becomes of the other, then print."""
        setup, options = self.engine.parts.setup, self.options
        assert setup is not None  # the engine was opened on real models
        events, unwritten = self.engine.recorder.events, []
        files: list[tuple[str, Path | None, Callable[[Path], None]]] = [
            ("timeline", options.timeline, lambda path: write_timeline(events, path, f"Measured: {setup.line}")),
            ("trace", options.record, lambda path: write_trace(self._trace(setup), path)),
        ]
        for what, path, write in files:
            if path is not None:
                try:
                    write(path)
                    note(self.err, f"{what}: {path}")
                except OospecError as failure:
                    unwritten.append(str(failure))
        if options.as_json and options.asked.is_batch:
            print(*batch_lines(setup.target.name, self.done, self.failed), sep="\n")
        elif options.as_json:
            print(run_json(setup, self.done, self.failed))
        else:
            terminal.print_summary(self.out, summarise(self.done), setup.line)
        if unwritten:
            raise OospecError("; ".join([*unwritten, *([told(self.failed)] if self.failed else [])]))

    def _trace(self, setup: Setup) -> Trace:
        with Progress(*COUNTED, console=self.err, transient=True) as progress:
            task = progress.add_task("profiles", total=len(self.done))
            told = functools.partial(progress.advance, task)
            return make_trace(setup, self.engine.recorder, self.requests, self.done, told)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Further Ctrl-C is ignored while results are written."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
