"""Calls under way: when each began and ended, and in which other. Adds nothing up.

This is the hot path. A call is one object, made by `with profile("name")`, that notes two times and
is put aside. Its parent is found later, by the context that it was begun in: asyncio keeps these
apart for every task, and hands them on to the tasks and threads that a task starts.
"""

from __future__ import annotations

import contextvars
import re
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .gauges import Gauge, Level, read_gauges

if TYPE_CHECKING:
    from .tree import Node

__all__ = ["NOTHING", "Call", "Lane", "MeasuredCall", "NoCall", "Recorder"]

_NUMBER = re.compile(r"[-_ ]\d+|\d+$")


class Lane(list["Call"]):
    """The calls that a thread has begun and that were not put aside yet, in their order."""

    __slots__ = ("_thread", "limit", "measured", "rows", "thread")

    LIMIT = 256
    """How many calls are kept before those that have ended are put aside.

    So few that the garbage collector, which looks at new objects by the 700, hardly meets them.
    """

    def __init__(self, thread: threading.Thread) -> None:
        super().__init__()
        self._thread = thread
        self.thread = _NUMBER.sub("", thread.name) or thread.name
        """Its name, less the number that threads of a pool have: they count together."""
        self.limit = self.LIMIT
        self.rows: list[int] = []
        """The calls that were put aside, in a few numbers each."""
        self.measured: list[MeasuredCall] = []
        """The calls that have looked at memory after their end, which may be added up before."""

    @property
    def is_alive(self) -> bool:
        """Whether its thread goes on."""
        return self._thread.is_alive()

    @property
    def is_over(self) -> bool:
        """Whether its thread has ended, and nothing is left to be looked at."""
        return not (self or self.rows or self.measured or self.is_alive)

    def forget(self, until: int) -> list[Call]:
        """Forgets what has ended by then. Returns what is left, which counts from then on."""
        count = len(self)
        kept = [call for call in self[:count] if not 0 < call.end <= until]
        for call in kept:
            call.start = max(call.start, until)
        self[:count] = kept
        self.rows.clear()
        self.measured.clear()
        return kept


class _OwnLane(threading.local):
    """Where a thread finds its own lane; made when it first looks."""

    def __init__(self, recorder: Recorder) -> None:
        self.lane = Lane(threading.current_thread())
        recorder.lanes.append(self.lane)
        if len(recorder.lanes) >= recorder.limit:
            recorder.when_full(self.lane)


class Recorder:
    """What calls need on their way in and out."""

    __slots__ = ("clock", "enter", "failed", "lanes", "leave", "limit", "own", "when_full")

    LIMIT = 256
    """How many lanes there are before those of threads that have ended are dropped."""

    def __init__(self, clock: Callable[[], int], when_full: Callable[[Lane], None]) -> None:
        self.clock = clock
        self.when_full = when_full
        self.lanes: list[Lane] = []
        self.limit = self.LIMIT
        self.own = _OwnLane(self)
        current: contextvars.ContextVar[Call] = contextvars.ContextVar("call")
        self.enter = current.set
        self.leave = current.reset
        self.failed: set[str] = set()
        """The gauges that the log was told of."""


class Call:
    """One execution of an operation, from the beginning of a `with` to its end."""

    __slots__ = ("above", "before", "end", "node", "operation", "recorder", "start")

    start: int
    end: int
    """0 while it is under way, and less before that."""
    before: contextvars.Token[Call] | None
    """Its `old_value` is the call in whose context this one began, if there was one."""
    node: Node | None
    """Its place in the tree, once it was given one."""
    above: Call | None
    """Its parent, once it was given a place."""

    # There is no __init__: to call one takes longer than all that it would do.
    recorder: Recorder
    operation: str

    def __repr__(self) -> str:
        state = "ended" if self.end > 0 else "under way" if self.end == 0 else "not begun"
        return f"<Call: {self.operation}, {state}>"

    def __enter__(self) -> Self:
        if self.end >= 0:
            raise RuntimeError(f"this call of {self.operation!r} was begun before: make another")
        recorder = self.recorder
        lane = recorder.own.lane
        if len(lane) >= lane.limit:
            recorder.when_full(lane)
        # As variables, since Python looks methods up in a slower way.
        enter, clock = recorder.enter, recorder.clock
        self.end = 0
        self.before = enter(self)
        self.start = clock()
        lane.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        recorder = self.recorder
        # Once it has an end, another thread may put it aside, and takes this from it.
        before, leave, clock = self.before, recorder.leave, recorder.clock
        self.end = clock()
        try:  # noqa: SIM105 - suppress would cost more than all the rest
            leave(before)  # type: ignore[arg-type]
        except ValueError:
            # It ends in another context than it began in, as in a generator that somebody else
            # closes: there is nothing to be put back.
            pass

    def parent_at(self, moment: int) -> Call | None:
        """The innermost call around it that had not ended by then."""
        around = self._outer()
        while around is not None and 0 < around.end < moment:
            around = around._outer()
        return around

    def outlasting(self, moment: int) -> Call | None:
        """The innermost call, of itself and those around it, that goes on after that moment."""
        call: Call | None = self
        while call is not None and 0 < call.end <= moment:
            call = call._outer()
        return call

    def placed_parent(self) -> Call | None:
        """The innermost call around it that has a place."""
        around = self._outer()
        while around is not None and around.node is None:
            around = around._outer()
        return around

    def _outer(self) -> Call | None:
        if self.node is not None:
            return self.above
        # If somebody interrupted it when it had just begun, it never came to this.
        before = getattr(self, "before", None)
        around = None if before is None else before.old_value
        return around if isinstance(around, Call) else None


class MeasuredCall(Call):
    """A call that looks at memory too, at its beginning and its end.

    Memory is that of the whole process: calls side by side are charged for each other's.
    """

    __slots__ = ("_gauges", "_levels", "growth")

    def __init__(self, recorder: Recorder, operation: str, gauges: Mapping[str, Gauge]) -> None:
        self.recorder = recorder
        self.operation = operation
        self.end = -1
        self.node = None
        self._gauges = gauges
        self._levels: dict[str, Level] = {}
        self.growth: dict[str, int] = {}
        """By gauge, how far it rose above where it stood, in bytes, at the most that was seen."""

    def __enter__(self) -> Self:
        self._levels = read_gauges(self._gauges, self.recorder.failed)
        return super().__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self.look()
        self.recorder.own.lane.measured.append(self)

    def look(self) -> None:
        """Notes how far the gauges have risen. If one was never higher, that was just now."""
        levels = read_gauges(self._gauges, self.recorder.failed)
        for name in levels.keys() & self._levels.keys():
            level, before = levels[name], self._levels[name]
            peak = level.highest if level.highest > before.highest else level.now
            self.growth[name] = max(self.growth.get(name, 0), peak - before.now)


class NoCall:
    """What a profiler that is off returns."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


NOTHING = NoCall()
