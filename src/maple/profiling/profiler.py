"""The profiler: times what it is told to, while it is on, and hands out what it found."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import shlex
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import msgspec
import psutil

from .analysis import analyse
from .calls import NOTHING, Call, MeasuredCall, NoCall
from .config import ProfilingConfig
from .errors import NothingRecorded
from .feeds import Source, Tells, join_feeds
from .gauges import Gauge, find_gauges
from .laps import Tallies
from .machine import describe_machine
from .metrics import Values
from .overhead import cost_of_calls
from .recording import Recording
from .renderers.text import render_live, render_summary
from .saving import Saved, save_session
from .session import Feed, Overhead, ProcessPart, Session, plain
from .system import Seen, SystemWatch, birth
from .ticker import Ticker
from .torch_events import TorchEvents
from .workers import WorkerParts, WorkerProfiling

__all__ = ["Profiler"]

_CALLS = 4096
_MEASURED_CALLS = 64
_MOST_COUNTED = 2**63 - 1
_NOTHING = "the profiler was never enabled"

P = ParamSpec("P")
T = TypeVar("T")


class Profiler:
    """Times operations by name, in all threads and tasks of this process.

    >>> profiler.enable()
    ... with profiler.profile("env_step"):
    ...     env.step(actions)
    ... print(profiler.summary())

    Off, as it is at first, it costs next to nothing. What is under way when it is turned off or on,
    or reset, counts for the part in which it was on.
    """

    def __init__(
        self,
        config: ProfilingConfig | None = None,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        role: str = "main",
    ) -> None:
        self._clock = clock
        self._say: Callable[[str], None] = _say
        self._begin(config or ProfilingConfig(), role)

    def _begin(self, config: ProfilingConfig, role: str) -> None:
        """Sets up everything that a session is made of."""
        self.enabled = False
        self.config = config
        self.role = role
        self._recording = Recording(self._clock, config.trace_calls)
        self._recorder = self._recording.recorder
        self._gauges: Mapping[str, Gauge] = {}
        self._metrics: dict[str, Values] = {}
        self._counts: dict[str, int] = {}
        self._untold = 0
        """Steps since the last live summary, also from before a reset."""
        self._sources: list[Source] = []
        self._past_feeds: list[Feed] = []
        self._watch: SystemWatch | None = None
        self._ticker: Ticker | None = None
        self._torch: TorchEvents | None = None
        self._torch_events: list[dict[str, Any]] | None = None
        self._parts = WorkerParts()
        # Whoever saves things when a signal comes may be in the middle of something.
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<Profiler: {'on' if self.enabled else 'off'}, {self._recording!r}>"

    # Recording

    def profile(self, name: str, track_memory: bool = False) -> Call | NoCall:
        """Times a `with` block as a call of the operation.

        With `track_memory` it also notes how far memory rose above where it stood: of this process
        and, where torch has one, of its GPU. That takes some 50 µs.
        """
        if not self.enabled:
            return NOTHING
        if track_memory:
            return MeasuredCall(self._recorder, name, self._gauges)
        call = Call()
        call.recorder = self._recorder
        call.operation = name
        call.end = -1
        call.node = None
        return call

    def profile_function(
        self, name: str | None = None, *, track_memory: bool = False
    ) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Times every call of a function, plain or async, under its own name or another."""
        if callable(name):
            raise TypeError("it is called first: @profile_function(), or with a name in it")

        def decorate(function: Callable[P, T]) -> Callable[P, T]:
            title = _name_of(function)
            operation = name or title
            if _is_any(function, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
                raise TypeError(
                    f"{title} is a generator, which is not over when it returns: "
                    "use `with profile(…)` inside it"
                )
            if _is_any(function, inspect.iscoroutinefunction):

                @functools.wraps(function)
                async def profiled_coroutine(*args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401
                    with self.profile(operation, track_memory=track_memory):
                        return await cast(Awaitable[Any], function(*args, **kwargs))

                return cast(Callable[P, T], profiled_coroutine)

            @functools.wraps(function)
            def profiled(*args: P.args, **kwargs: P.kwargs) -> T:
                with self.profile(operation, track_memory=track_memory):
                    return function(*args, **kwargs)

            return profiled

        return decorate

    def metric(self, name: str, value: float, *, unit: str = "") -> None:
        """Adds a value to a metric of your own, such as a reward."""
        if not self.enabled:
            return
        for text in (name, unit):
            if not isinstance(text, str):
                raise TypeError(f"a metric and its unit are named by text, not {text!r}")
        with self._lock:
            values = self._metrics.get(name)
            if values is None:
                values = self._metrics[name] = Values(unit)
            values.add(value)

    def count(self, name: str, number: int = 1) -> None:
        """Counts something; "steps" and "episodes" are what summaries divide by."""
        if not self.enabled:
            return
        if not isinstance(name, str):
            raise TypeError(f"what is counted is named by text, not {name!r}")
        more = operator.index(number)
        with self._lock:
            count = self._counts.get(name, 0) + more
            if more < 0 or count > _MOST_COUNTED:
                raise ValueError(f"{name} are counted upwards, and not by {more}")
            self._counts[name] = count

    def step(self, number: int = 1) -> None:
        """Counts so many steps more, and says how things stand whenever the settings want that."""
        if not self.enabled:
            return
        every = self.config.summary_every
        with self._lock:
            self.count("steps", number)
            if not every:
                return
            self._untold += operator.index(number)
            is_due = self._untold >= every
            self._untold %= every
        if is_due:
            # It takes its time, and is to be told as what it is.
            with self.profile("log_live_summary"):
                self._say(render_live(analyse(self.session(trace=False))))

    def episode(self, number: int = 1) -> None:
        """Counts so many episodes more, such as battles that have ended."""
        self.count("episodes", number)

    def lap(self) -> None:
        """Ends a part of the run, such as a training batch: from part to part is what varies."""
        if self.enabled:
            self._mark(by_hand=True)
            for source in tuple(self._sources):
                source.lap()

    def _mark(self, *, by_hand: bool = False, wait: bool = True) -> None:
        """Ends a lap; unless it is to wait, only if nobody is in the middle of anything."""
        if not self._lock.acquire(blocking=wait):
            return
        try:
            sums = {name: values.sums for name, values in self._metrics.items()}
            tallies = Tallies(dict(self._counts), sums)
        finally:
            self._lock.release()
        self._recording.mark(tallies, by_hand=by_hand, wait=wait)

    def watch(self, tells: Tells, name: str = "") -> Source:
        """Adds what an environment, a registry or an inference queue has timed itself.

        It is read by whoever calls this or any other method of the profiler, such as `lap` and
        `session`, in that thread. Close what is returned, or use it in a `with`, before that which
        is watched is closed. What is watched twice would count twice, and is refused.
        """
        if not isinstance(tells, Tells):
            raise TypeError(
                "watched is what has `stats`, such as an environment, a ControllerRegistry or an "
                f"InferenceQueue, and not {tells!r}"
            )
        if any(source.watches(tells) for source in self._sources):
            raise ValueError(f"{tells!r} is watched already, and would count twice")
        title = name or type(tells).__name__
        source = Source(title, tells, self._clock, self.config.trace_calls, self._release)
        if not self.enabled:
            source.pause()
        self._sources.append(source)
        return source

    def _release(self, source: Source) -> None:
        """Keeps what a source has told that is closed now, and not the source."""
        past = [*self._past_feeds, *source.feeds()]
        self._past_feeds = join_feeds(past, self.config.trace_calls)
        self._sources = [one for one in self._sources if one is not source]

    # On and off

    def enable(self, *, system: bool = True, torch_events: bool = False) -> None:
        """Records from here on, and looks at our processes from time to time.

        With `torch_events`, torch's own profiler runs along, which costs far more than this one.
        """
        with self._lock:
            if self.enabled:
                if torch_events and self._torch is None:
                    raise RuntimeError("the profiler is on already, without torch's own events")
                return
            # Now, as the time that it takes would be the run's if that had begun.
            _measure_costs()
            if torch_events:
                self._torch = TorchEvents()
            if system:
                self._watch = self._watch or SystemWatch(self._clock)
                self._watch.begin()
            for source in tuple(self._sources):
                source.resume()
            self._start()
            if system:
                self._ticker = Ticker(self.config.sample_interval, self._tick, "profiling")

    def _start(self) -> None:
        self._gauges = find_gauges()
        self._recording.turn_on()
        self.enabled = True

    def disable(self) -> None:
        """Records nothing more; what was recorded stays."""
        with self._lock:
            if not self.enabled:
                return
            self.enabled = False
            self._recording.turn_off()
            ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.stop()
            assert self._watch is not None
            self._watch.look()
        self._torch_events = self._stop_torch()
        for source in tuple(self._sources):
            source.pause()

    def _stop_torch(self) -> list[dict[str, Any]] | None:
        """The events of torch until now, if it was to tell any."""
        if self._torch is None:
            return self._torch_events
        torch, self._torch = self._torch, None
        return (self._torch_events or []) + torch.stop()

    def reset(self, *, fresh: bool = True) -> None:
        """Forgets all that was recorded, also by workers, and goes on.

        `fresh` says that sources may be asked from here; else they count from when they last were.
        """
        for source in tuple(self._sources):
            source.clear(fresh=fresh)
        with self._lock:
            self._recording.clear()
            self._metrics.clear()
            self._counts.clear()
            self._past_feeds.clear()
        if self._torch is not None:
            self._stop_torch()
            self._torch = TorchEvents()
        self._torch_events = None
        self._parts.clear()
        if self._watch is not None:
            self._watch.clear()
            self._watch.look()

    def _tick(self) -> None:
        """What the profiler does by itself, in a thread of its own."""
        assert self._watch is not None
        # Who is in the middle of something may have been stopped there by a signal, whose handler
        # waits for this to end. What is left out now is in the next look, and in the next lap.
        self._watch.look(wait=False)
        self._recording.look_at_memory()
        self._mark(wait=False)

    def configure(self, config: ProfilingConfig, *, role: str | None = None) -> None:
        """Takes other settings, and forgets what was recorded with those before."""
        if self.enabled:
            raise RuntimeError("the profiler takes other settings only while it is off")
        self._start_over(config, role or self.role)

    def after_fork(self) -> None:
        """In a forked child: turns it off, as what is under way is the parent's to record."""
        self._start_over(self.config, self.role)

    def _start_over(self, config: ProfilingConfig, role: str) -> None:
        for source in self._sources:
            source.forget()
        self._begin(config, role)

    # Results

    def for_workers(self) -> WorkerProfiling:
        """What to hand to worker processes, so that what they record becomes part of this."""
        return self._parts.invitation(self.config)

    def has_invited(self, invited: WorkerProfiling) -> bool:
        return self._parts.has_made(invited)

    def session(
        self,
        name: str = "session",
        *,
        settings: Mapping[str, Any] | None = None,
        trace: bool = True,
    ) -> Session:
        """All that was recorded, also by workers, as plain data; with the settings of the run.

        Without the `trace`, the calls one by one are left out, which are most of it.
        """
        return self._parts.join(self.own_session(name, settings=settings, trace=trace))

    def own_session(
        self,
        name: str,
        *,
        fresh: bool = True,
        whole: bool = True,
        settings: Mapping[str, Any] | None = None,
        trace: bool = True,
    ) -> Session:
        """What this process has recorded; `fresh` says that sources may be asked from here.

        It is not the `whole` of it if there is more to come that may be lost.
        """
        recorded = self._recording.describe(trace=trace)
        if fresh:
            for source in tuple(self._sources):
                source.read(trips=trace)
        told = [feed for source in self._sources for feed in source.feeds()]
        feeds = join_feeds([*self._past_feeds, *told], self.config.trace_calls)
        if not trace:
            feeds = [msgspec.structs.replace(feed, node_work=None) for feed in feeds]
        with self._lock:
            described = {name: values.describe() for name, values in self._metrics.items()}
            counts = dict(self._counts)
        part = ProcessPart(
            role=self.role,
            pid=os.getpid(),
            born=birth(psutil.Process()),
            metrics={name: metric for name, metric in described.items() if metric is not None},
            counts=counts,
            feeds=feeds,
            whole=whole,
            **recorded,
        )
        machine = describe_machine()
        began = recorded["windows"][0][0] if recorded["windows"] else self._clock()
        seen = self._watch.describe() if self._watch else Seen([], None, [], [])
        return Session(
            name=name,
            began=datetime.fromtimestamp((machine.epoch + began) / 1e9, UTC)
            .astimezone()
            .isoformat(timespec="seconds"),
            command=_command(),
            machine=machine,
            categories=self.config.categories,
            settings=plain(settings or {}),
            processes=[part],
            **seen._asdict(),
            overhead=self._overhead(),
            torch_events=self._torch_events,
        )

    def summary(self) -> str:
        """How things stand, as text: per episode, and a table of all operations."""
        session = self.session(trace=False)
        if not session.has_recorded:
            return f"{_NOTHING}\n"
        return render_summary(analyse(session))

    def save(
        self,
        name: str = "session",
        folder: str | Path | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
    ) -> Saved:
        """Writes the session and its summary, named by the moment."""
        session = self.session(name, settings=settings)
        if not session.has_recorded:
            raise NothingRecorded(f"there is nothing to save: {_NOTHING}")
        return save_session(session, Path(folder or self.config.folder))

    def _overhead(self) -> Overhead:
        return Overhead(
            **_measure_costs(),
            sampling_cpu=self._watch.cpu if self._watch else None,
            samples=self._watch.looks if self._watch else 0,
        )


def _name_of(function: Callable[..., Any]) -> str:
    """Its own, or that of its class for an object that can be called."""
    function = _given(function)
    return getattr(function, "__qualname__", type(function).__qualname__)


def _is_any(function: Callable[..., Any], *kinds: Callable[[object], bool]) -> bool:
    """Whether a call of it is of any of these kinds, also if it is an object."""
    function = _given(function)
    return any(kind(one) for kind in kinds for one in (function, type(function).__call__))


def _given(function: Callable[..., Any]) -> Callable[..., Any]:
    """What some of its arguments were given for already, if that is all it is."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


@functools.cache
def _measure_costs() -> dict[str, float]:
    """What a `with` costs in this process, measured once, in a few hundredths of a second."""
    scratch = Profiler(ProfilingConfig(trace_calls=0))
    disabled = cost_of_calls(scratch.profile, _CALLS)
    scratch._start()
    measuring = functools.partial(scratch.profile, track_memory=True)
    return {
        "disabled": disabled,
        "enabled": cost_of_calls(scratch.profile, _CALLS),
        "measured": cost_of_calls(measuring, _MEASURED_CALLS),
    }


def _command() -> str:
    """How this program was called; names of files may hold what is no text."""
    words = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return words.encode(errors="backslashreplace").decode()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
