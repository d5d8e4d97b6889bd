"""The calls of this process, added up as they come, from any of its threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypedDict

import numpy as np

from .calls import Lane, MeasuredCall, Recorder
from .history import History
from .intervals import join_nearest, length
from .laps import Laps, Tallies
from .session import Allocation, Bounds, Lap, Operation, Trace, Track
from .tree import Node, Tree

__all__ = ["Recorded", "Recording"]

# Numbers that a lane puts aside before they are folded: those of 4096 calls.
_ENOUGH = 4 * 4096
_MANY = 4096
_MOST_WINDOWS = 2048


class Recorded(TypedDict):
    """What there is to tell, as plain data."""

    windows: Bounds
    tracks: list[Track]
    operations: list[Operation]
    laps: list[Lap]
    by_hand: bool
    trace: Trace | None


class Recording:
    """Holds the recorder that calls are made with, and all that became of them.

    It can be off for a while. A call that was under way then did not take any longer for that.
    """

    def __init__(self, clock: Callable[[], int], trace_calls: int) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self.recorder = Recorder(clock, self._make_room)
        now = clock()
        self._tree = Tree(now)
        self._laps = Laps()
        self._history = History(trace_calls)
        self._windows: Bounds = []
        self._is_on = False
        self._is_folding = False

    def __repr__(self) -> str:
        return f"<Recording: {'on' if self._is_on else 'off'}, {self._tree!r}>"

    def turn_on(self) -> None:
        with self._lock:
            if self._is_on:
                return
            now, stopped = self._clock(), self._tree.since
            for lane in self.recorder.lanes:
                for call in lane:
                    # Those that had ended when it was turned off were put aside.
                    call.start = min(call.start + now - stopped, now)
                    if call.end:
                        # What it was around goes on from now, when there is nothing around that.
                        call.end = now
            self._tree.resume(now)
            if len(self._windows) >= _MOST_WINDOWS:
                joined = join_nearest(np.array(self._windows), _MOST_WINDOWS // 2)
                self._windows = [(since, until) for since, until in joined.tolist()]
            self._windows.append((now, now))
            self._is_on = True

    def turn_off(self) -> None:
        with self._lock:
            if self._is_on:
                self.fold()
                self._is_on = False

    def clear(self) -> None:
        """Forgets all; calls that are under way count from here on."""
        with self._lock:
            self.fold()
            now = self._clock()
            kept = [call for lane in self.recorder.lanes for call in lane.forget(now)]
            self._tree.clear(now, [call.node for call in kept if call.node is not None])
            self._laps.clear()
            self._history.clear()
            self._windows = [(now, now)] if self._is_on else []

    def fold(self) -> None:
        """Adds up all that has happened until now."""
        with self._lock:
            # A signal may have come in the middle of it, to somebody who wants to save things.
            if self._is_on and not self._is_folding:
                self._is_folding = True
                try:
                    self._fold()
                finally:
                    self._is_folding = False

    def _fold(self) -> None:
        now = self._clock()
        self._place_all()
        lanes = tuple(self.recorder.lanes)
        self._history.add(self._tree.fold(lanes, now))
        self._note_growths()
        # By position: lanes are lists, and empty ones are equal to each other.
        for position in reversed(range(len(lanes))):
            if lanes[position].is_over:
                del self.recorder.lanes[position]
        self.recorder.limit = max(self.recorder.LIMIT, 2 * len(self.recorder.lanes))
        self._windows[-1] = (self._windows[-1][0], now)

    def _note_growths(self) -> None:
        for lane in tuple(self.recorder.lanes):
            self._tree.note_growths(lane)

    def _place_all(self) -> None:
        """Gives every call a place: parents may be in lanes that come later, and then theirs."""
        self._tree.follow(tuple(self.recorder.lanes))
        before = -1
        while True:
            lanes = tuple(self.recorder.lanes)
            waiting = sum(self._tree.place(lane) for lane in lanes)
            if not waiting:
                return
            if waiting == before:
                break
            before = waiting
        for lane in lanes:
            self._tree.place(lane, force=True)

    def mark(
        self, tallies: Tallies | None = None, *, by_hand: bool = False, wait: bool = True
    ) -> None:
        """Ends a lap, by the end of which so much else was counted.

        Unless it is to wait, it does nothing while another thread adds up.
        """
        if not self._lock.acquire(blocking=wait):
            return
        try:
            if self._is_on:
                self.fold()
                self._laps.mark(self._tree.elapsed, self._tree.nodes, tallies, by_hand=by_hand)
        finally:
            self._lock.release()

    def look_at_memory(self) -> None:
        """Lets the calls that are under way note how far memory has risen by now."""
        for lane in tuple(self.recorder.lanes):
            for call in tuple(lane):
                if isinstance(call, MeasuredCall) and not call.end:
                    call.look()

    def describe(self, *, trace: bool = True) -> Recorded:
        """All of it up to now, or up to when it was turned off; the calls one by one if wanted."""
        with self._lock:
            self.fold()
            if not self._is_folding:
                # A call that ended before it was turned off may have looked at memory since.
                self._note_growths()
                self._tree.flush()
            tracks = list(self._tree.tracks.values())
            leasts = self._tree.leasts(self._tree.since)
            numbers = {track.thread: number for number, track in enumerate(tracks)}
            return Recorded(
                windows=list(self._windows),
                tracks=[
                    Track(
                        thread=track.thread,
                        capacities=self._tree.capacities(track),
                    )
                    for track in tracks
                ],
                operations=[
                    _describe(node, numbers[node.track.thread], round(least))
                    for node, least in zip(self._tree.nodes, leasts, strict=True)
                ],
                laps=self._laps.describe(),
                by_hand=self._laps.by_hand,
                trace=self._history.describe() if trace else None,
            )

    def _make_room(self, lane: Lane) -> None:
        with self._lock:
            if self._is_folding:
                # Begun by a signal or a finalizer, in the middle of it: this is not its turn.
                lane.limit += lane.LIMIT
                return
            self._is_folding = True
            try:
                waiting = self._tree.place(lane)
            finally:
                self._is_folding = False
            crowd = len(self.recorder.lanes)
            if len(lane.rows) >= _ENOUGH or waiting >= _MANY or crowd >= self.recorder.limit:
                self.fold()


def _describe(node: Node, track: int, least: int) -> Operation:
    histogram = node.histogram
    return Operation(
        track=track,
        path=node.path,
        calls=node.calls,
        ended=node.ended,
        busy=node.busy,
        own=node.own,
        least=least,
        covered=node.covered,
        shortest=histogram.min if node.calls else None,
        longest=histogram.max if node.calls else None,
        hdr=histogram.encode() if node.calls else None,
        intervals=[(low, high) for low, high in node.intervals.tolist()],
        rough=length(node.intervals) > node.covered,
        allocations={
            gauge: Allocation(**growth._asdict()) for gauge, growth in node.growths.items()
        },
    )
