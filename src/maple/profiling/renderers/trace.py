"""Writes a session as a trace that Perfetto and speedscope open: when what was under way.

Every lane nests: calls of one thread that overlap otherwise, as those of asyncio tasks do, are
given lanes of their own.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from ..session import MAIN_THREAD, Feed, ProcessPart, Session, Usage

__all__ = ["render_trace"]

_TORCH_THREAD = "torch"
_NODE_THREAD = "commands"

Event = dict[str, Any]
Path = tuple[str, ...]


class _Span(NamedTuple):
    """Something that took its time. Below whom it may be drawn, `above` says, the nearest first."""

    start: int
    end: int
    name: str
    path: Path
    above: Sequence[Path]
    category: str


def render_trace(session: Session) -> bytes:
    """JSON in the Trace Event Format."""
    dropped = sum(part.trace.dropped for part in session.processes if part.trace)
    commands = sum(_not_kept(feed) for part in session.processes for feed in part.feeds)
    return orjson.dumps(
        {
            "traceEvents": list(_Events(session)),
            "displayTimeUnit": "ns",
            "otherData": {
                "name": session.name,
                "began": session.began,
                "command": session.command,
                "calls_not_kept": dropped,
                "commands_not_kept": commands,
            },
        }
    )


class _Events:
    """The events of a session, process by process: its threads, then its counters."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._parts: dict[int, list[ProcessPart]] = defaultdict(list)
        for part in session.processes:
            self._parts[part.pid].append(part)
        self._usages: dict[int, list[Usage]] = defaultdict(list)
        for usage in session.usages:
            self._usages[usage.pid].append(usage)
        looks = (sample.look for usage in session.usages for sample in usage.samples)
        self._latest_look = max(looks, default=0)
        self._torch: dict[int, dict[int, list[_Span]]] = defaultdict(lambda: defaultdict(list))
        for event in session.torch_events or ():
            span = _torch_span(event, session.machine.epoch)
            self._torch[event["pid"]][event["tid"]].append(span)
        self._node: dict[int, list[_Span]] = defaultdict(list)
        for part in session.processes:
            for feed in part.feeds:
                for pid, span in _node_spans(feed):
                    self._node[pid].append(span)
        found = (*self._parts, *self._usages, *self._node, *self._torch)
        self._pids = list(dict.fromkeys(found))
        # The first lane of a main thread has the number of its process, which marks it as such.
        taken = set(self._pids)
        self._free = (number for number in itertools.count(1) if number not in taken)
        self._since = min(self._moments(), default=0)

    def __iter__(self) -> Iterator[Event]:
        for position, pid in enumerate(self._pids):
            yield from self._process(pid, position)
        if self._session.gpus:
            yield from self._gpus(max(self._pids, default=0) + 1, len(self._pids))

    def _moments(self) -> Iterator[int]:
        """What the first of all is among."""
        for part in self._session.processes:
            yield from (start for start, _ in part.windows)
            yield from part.trace.start if part.trace else ()
        for usage in self._session.usages:
            yield from (sample.at for sample in usage.samples)
        for sample in self._session.gpus:
            yield sample.at
        for threads in self._torch.values():
            yield from (span.start for spans in threads.values() for span in spans)
        for spans in self._node.values():
            yield from (span.start for span in spans)

    def _process(self, pid: int, position: int) -> Iterator[Event]:
        yield from _process_names(pid, self._name(pid), position)
        lanes = itertools.count()
        for thread, spans in _calls(self._parts[pid]).items():
            first = pid if thread == MAIN_THREAD else None
            yield from self._thread(pid, thread, spans, lanes, first)
        if pid in self._node:
            yield from self._thread(pid, _NODE_THREAD, self._node[pid], lanes, pid)
        threads = self._torch[pid]
        for number, tid in enumerate(sorted(threads), 1):
            name = f"{_TORCH_THREAD} {number}" if len(threads) > 1 else _TORCH_THREAD
            yield from self._thread(pid, name, threads[tid], lanes, None)
        for part in self._parts[pid]:
            yield from self._dropped(part)
        for usage in self._usages[pid]:
            yield from self._use(usage)

    def _name(self, pid: int) -> str:
        roles = [part.role for part in self._parts[pid]] or [u.role for u in self._usages[pid]]
        if not roles and pid in self._node:
            return "node"
        return " / ".join(dict.fromkeys(roles)) or f"torch, device {pid}"

    def _thread(
        self,
        pid: int,
        name: str,
        spans: Sequence[_Span],
        positions: Iterator[int],
        first: int | None,
    ) -> Iterator[Event]:
        for number, lane in enumerate(_lanes(spans), 1):
            tid = next(self._free) if first is None or number > 1 else first
            title = f"{name} ({number})" if number > 1 else name
            yield _named("thread_name", pid, tid, name=title)
            yield _named("thread_sort_index", pid, tid, sort_index=next(positions))
            for span in lane:
                event = {
                    "ph": "X",
                    "pid": pid,
                    "tid": tid,
                    "ts": self._at(span.start),
                    "dur": (span.end - span.start) / 1000,
                    "name": span.name,
                    "cat": span.category,
                }
                if span.path:
                    event["args"] = {"path": " / ".join(span.path)}
                yield event

    def _dropped(self, part: ProcessPart) -> Iterator[Event]:
        if part.trace is not None and part.trace.dropped:
            name = f"{part.trace.dropped:,} calls that ended before were not kept"
            yield self._note(part.pid, name, min(part.trace.start, default=self._since))
        for feed in part.feeds:
            if feed.node_work is not None and _not_kept(feed):
                name = f"{_not_kept(feed):,} commands to Node were not kept"
                yield self._note(part.pid, name, min(feed.node_work.start, default=self._since))

    def _note(self, pid: int, name: str, at: int) -> Event:
        return {"ph": "i", "s": "p", "pid": pid, "tid": pid, "ts": self._at(at), "name": name}

    def _use(self, usage: Usage) -> Iterator[Event]:
        """A counter stands for the time after it: the CPU of an interval is told at its start."""
        for before, now in itertools.pairwise(usage.samples):
            if now.at > before.at:
                percent = 100 * (now.cpu - before.cpu) / (now.at - before.at)
                yield self._counter(usage.pid, "CPU, % of a core", before.at, round(percent, 1))
        for sample in usage.samples:
            yield self._counter(usage.pid, "memory, MB", sample.at, sample.rss / 1e6)
        if usage.samples and usage.samples[-1].look < self._latest_look:
            # It was gone at the next look; else its last values would go on to the end.
            for name in ("CPU, % of a core", "memory, MB"):
                yield self._counter(usage.pid, name, usage.samples[-1].at + 1, 0)

    def _gpus(self, pid: int, position: int) -> Iterator[Event]:
        yield from _process_names(pid, "GPU", position)
        for sample in self._session.gpus:
            if sample.busy is not None:
                busy = round(100 * sample.busy, 1)
                yield self._counter(pid, f"{sample.gpu}, busy %", sample.at, busy)
            if sample.memory is not None:
                memory = sample.memory / 1e6
                yield self._counter(pid, f"{sample.gpu}, memory MB", sample.at, memory)

    def _counter(self, pid: int, name: str, at: int, value: float) -> Event:
        return {
            "ph": "C",
            "pid": pid,
            "ts": self._at(at),
            "name": name,
            "args": {"value": value},
        }

    def _at(self, moment: int) -> float:
        """Microseconds since the session began."""
        return (moment - self._since) / 1000


def _calls(parts: Sequence[ProcessPart]) -> dict[str, list[_Span]]:
    """Those of a process, by thread."""
    threads: dict[str, list[_Span]] = defaultdict(list)
    for part in parts:
        trace = part.trace
        if trace is None:
            continue
        paths = [operation.path for operation in part.operations]
        prefixes = [[path[:depth] for depth in range(len(path) - 1, 0, -1)] for path in paths]
        for thread, number, start, duration in zip(
            trace.thread, trace.operation, trace.start, trace.duration, strict=True
        ):
            path = paths[number]
            span = _Span(start, start + duration, path[-1], path, prefixes[number], "call")
            threads[trace.threads[thread]].append(span)
    return threads


def _not_kept(feed: Feed) -> int:
    """How many commands were timed and are not there one by one, where any are."""
    if feed.node_work is None:
        return 0
    timed = sum(one.total["count"] for one in feed.operations if one.total is not None)
    return max(0, int(timed) - len(feed.node_work.start))


def _node_spans(feed: Feed) -> Iterator[tuple[int, _Span]]:
    """What Node worked on, and by the end of each how long it took to write the answer."""
    work = feed.node_work
    if work is None:
        return
    for operation, pid, start, simulate, encode in zip(
        work.operation, work.pid, work.start, work.simulate, work.node_encode, strict=True
    ):
        answer = start + simulate
        yield pid, _Span(start, answer + encode, operation, (operation,), (), "node")
        path = (operation, "encode")
        yield pid, _Span(answer, answer + encode, "encode", path, [(operation,)], "node")


def _torch_span(event: dict[str, Any], epoch: int) -> _Span:
    start = event["start"] - epoch
    # Torch does not say what is part of what, so that all may be drawn below all.
    return _Span(
        start, start + event["duration"], event["name"], (), [()], event["category"] or "torch"
    )


def _process_names(pid: int, name: str, position: int) -> Iterator[Event]:
    yield _named("process_name", pid, None, name=name)
    yield _named("process_sort_index", pid, None, sort_index=position)


def _named(what: str, pid: int, tid: int | None, **args: str | int) -> Event:
    event: Event = {"ph": "M", "pid": pid, "name": what, "args": args}
    return event if tid is None else event | {"tid": tid}


# Lanes


def _lanes(spans: Sequence[_Span]) -> list[list[_Span]]:
    """Divides spans so that those of a lane are apart or inside of each other.

    A span goes below an open one that it may be drawn below, and of several below that which ends
    first: a task mostly ends soon after its last part. Else it goes to the first lane that is free.
    """
    lanes: list[list[_Span]] = []
    stacks: list[list[_Span]] = []
    free: list[int] = []
    ends: list[tuple[int, int, int]] = []
    tops: dict[Path, list[tuple[int, int]]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start, -span.end, len(span.path))):
        while ends and ends[0][0] <= span.start:
            *_, lane = heapq.heappop(ends)
            _take(tops, stacks[lane].pop(), lane)
            if stacks[lane]:
                _put(tops, stacks[lane][-1], lane)
            else:
                heapq.heappush(free, lane)
        found = _find(tops, span)
        if found is not None:
            lane = found
            _take(tops, stacks[lane][-1], lane)
        elif free:
            lane = heapq.heappop(free)
        else:
            lane = len(lanes)
            lanes.append([])
            stacks.append([])
        lanes[lane].append(span)
        stacks[lane].append(span)
        _put(tops, span, lane)
        # Of those that end together, the innermost is the first to go.
        heapq.heappush(ends, (span.end, -len(stacks[lane]), lane))
    return lanes


def _find(tops: dict[Path, list[tuple[int, int]]], span: _Span) -> int | None:
    """The lane whose innermost open span this one may go below."""
    for path in span.above:
        open_ones = tops.get(path, ())
        position = bisect.bisect_left(open_ones, (span.end, 0))
        if position < len(open_ones):
            return open_ones[position][1]
    return None


def _put(tops: dict[Path, list[tuple[int, int]]], span: _Span, lane: int) -> None:
    bisect.insort(tops[span.path], (span.end, lane))


def _take(tops: dict[Path, list[tuple[int, int]]], span: _Span, lane: int) -> None:
    open_ones = tops[span.path]
    del open_ones[bisect.bisect_left(open_ones, (span.end, lane))]
