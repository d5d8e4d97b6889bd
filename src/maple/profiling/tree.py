"""Adds up calls into a tree of operations: how often, how long, how much of it by themselves.

Calls are folded in by windows of time, thousands at once. It does not matter where windows end, as
calls that are under way then are counted up to there. Of calls that another thread makes meanwhile,
times are right but for what passes between its look at the clock and its note of that.

A call is where the calls around it are that are under way. When one of these ends before it, it
moves to the level above, and what is inside of it along with it.
"""

from __future__ import annotations

import contextvars
import itertools
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from bridge.histogram import Histogram

from .calls import Call, Lane
from .intervals import Intervals, Times, added_lengths, most_at_once, union_of

__all__ = ["TOO_MANY", "Capacity", "Ended", "Growth", "Node", "Track", "Tree"]

TOO_MANY = "(too many)"
"""Stands for operations and threads that come when there are very many of other names already."""

_COLUMNS = 4
_NODE, _FAMILY, _START, _END = range(_COLUMNS)  # of a row, as calls are put aside
_FLUSH = 65_536
_FLUSH_OF_A_NODE = 2048
_WINDOW = 20  # calls that would fill the memory that a window takes beside its calls
_INTERVALS_KEPT = 512
_MOST_NODES = 1000
_MOST_LEVELS = 64
_LONGEST_NAME = 200
_MOST_TRACKS = 100
_LONGEST = 400 * 86_400 * 1_000_000_000  # more than a year
_STRETCH = 1_000_000_000
_MOST_STRETCHES = 64
_MISSING = contextvars.Token.MISSING
_NO_FAMILY = 0
_INSIDE = -1  # the family of a call in another of its own node, which adds no time to that
_FORGOTTEN = -1  # the number of a node that is in no tree any more
_NO_CALLS = np.empty((_COLUMNS, 0), np.int64)
_NEVER = np.iinfo(np.int64).max


class Track:
    """Threads of the same name: what they began outside of any call, and all that is below it."""

    def __init__(self, thread: str, before: int) -> None:
        self.thread = thread
        self.children: dict[str, Node] = {}
        self.capacity = Capacity(before)


class Capacity:
    """How much time the levels of a track could have used: nanoseconds × calls at once.

    In a stretch of a second or so, a level could use as many calls at once as there were at the
    most; as many as the level above it, or as there were threads, if those were more; and one at
    least. Tasks that ran beside each other for a moment do not make the rest of a run look idle.
    """

    def __init__(self, before: int) -> None:
        """Made when so many nanoseconds are over already."""
        self._levels = [before]
        self._threads = 1
        self._peaks: dict[int, int] = {}

    def note_threads(self, count: int) -> None:
        """So many threads go on, in the stretch that is not over."""
        self._threads = max(self._threads, count)

    def note(self, depth: int, peak: int) -> None:
        """So many calls of a depth were under way at once, in the stretch that is not over."""
        self._peaks[depth] = max(self._peaks.get(depth, 0), peak)

    @property
    def most_calls(self) -> int:
        """How many calls of a level were under way at once in the stretch that is not over."""
        return max(self._peaks.values(), default=1)

    def end_stretch(self, length: int) -> None:
        self._levels = self.levels(length)
        self._threads = 1
        self._peaks.clear()

    def levels(self, length: int) -> list[int]:
        """By depth, what could be used until now, which is so long after the last stretch."""
        levels = []
        at_once = self._threads
        for depth in range(max(len(self._levels), *(depth + 1 for depth in self._peaks), 1)):
            at_once = max(at_once, self._peaks.get(depth, 0))
            # A level that is new had what the one above it had.
            before = self._levels[min(depth, len(self._levels) - 1)]
            levels.append(before + at_once * length)
        return levels


class Growth(NamedTuple):
    """How far memory rose in calls that looked at it: how many, all together, the most; bytes."""

    calls: int = 0
    total: int = 0
    peak: int = 0


class Node:
    """An operation where it stands in the tree, and what its calls add up to, in nanoseconds."""

    __slots__ = (
        "busy",
        "calls",
        "children",
        "covered",
        "depth",
        "ended",
        "growths",
        "histogram",
        "intervals",
        "least",
        "level",
        "number",
        "operation",
        "own",
        "own_before",
        "parent",
        "path",
        "track",
    )

    def __init__(self, number: int, level: int, operation: str, above: Track | Node) -> None:
        self.number = number
        self.level = level
        self.operation = operation
        self.track: Track = above if isinstance(above, Track) else above.track
        self.parent = above if isinstance(above, Node) else None
        self.path: tuple[str, ...] = (*(self.parent.path if self.parent else ()), operation)
        self.depth = len(self.path) - 1
        self.children: dict[str, Node] = {}
        self.clear()

    def __repr__(self) -> str:
        return f"<Node: {'/'.join(self.path)}, {self.calls} calls>"

    def clear(self) -> None:
        self.calls = 0
        """That have ended."""
        self.ended = 0
        """How long those took together."""
        self.busy = 0
        """Of all calls together, those under way included."""
        self.own = 0
        """Of all calls together, while no child of theirs was under way."""
        self.own_before = 0
        """That of the stretches that are over."""
        self.least = 0.0
        """How long that took at least, of the stretches that are over: see `Tree.leasts`."""
        self.covered = 0
        """While at least one call was under way."""
        self.histogram = Histogram(longest=_LONGEST)
        """How long each of them took."""
        self.intervals: Intervals = np.empty((0, 2), np.int64)
        """When calls were under way; roughly, where there are too many to remember."""
        self.growths: dict[str, Growth] = {}


class Move(NamedTuple):
    """Where a call was until its parent had ended or moved: the part before is not its end."""

    node: Node
    family: int
    since: int
    until: int


class Levels(NamedTuple):
    """Calls by the number of their level, and of each level in the order in which they came."""

    numbers: Times
    lows: Times
    highs: Times
    overlap: bool
    """Whether two of the same level were ever under way at once."""

    def peaks(self) -> dict[int, int]:
        """How many were under way at once at the most, by level."""
        peaks = dict.fromkeys(np.flatnonzero(np.bincount(self.numbers)).tolist(), 1)
        if self.overlap:
            lengths = added_lengths(self.numbers, self.lows, self.highs)
            beside = self.numbers[lengths < self.highs - self.lows]
            for level in np.unique(beside).tolist():
                own = self.numbers == level
                peaks[level] = most_at_once(self.lows[own], self.highs[own])
        return peaks


class Ended(NamedTuple):
    """Calls that have ended: the name of their track, the numbers of their nodes, and when."""

    thread: str
    nodes: Times
    starts: Times
    ends: Times


class Tree:
    """All calls of a process since it was last cleared."""

    def __init__(self, since: int) -> None:
        self.since = self._began = since
        """Up to when all is accounted for."""
        self.nodes: list[Node] = []
        self.tracks: dict[str, Track] = {}
        self._stretch, self._stretches = since, 0
        """When the stretch began that is not over, and how long those before were."""
        self._levels: dict[tuple[str, int], int] = {}
        self._moves: dict[Call, list[Move]] = {}
        """Of calls that have outlived their parents since calls were last folded."""
        self._durations: list[tuple[Times, ...]] = []
        self._intervals: list[tuple[Times, ...]] = []
        self._put_aside = 0

    def __repr__(self) -> str:
        return f"<Tree: {len(self.nodes)} nodes>"

    def clear(self, since: int, under_way: Iterable[Node]) -> None:
        """Forgets all but the places of what is under way, which counts from here on."""
        self.since = self._began = since
        self._stretch, self._stretches = since, 0
        kept: dict[Node, None] = {}
        for node in under_way:
            above: Node | None = node
            while above is not None:
                kept[above] = None
                above = above.parent
        for node in self.nodes:
            if node not in kept:
                node.number = _FORGOTTEN
                node.children = {}
        self.nodes = sorted(kept, key=lambda node: node.number)
        for number, node in enumerate(self.nodes):
            node.clear()
            node.number = number
            node.children = {name: child for name, child in node.children.items() if child in kept}
        self.tracks = {node.track.thread: node.track for node in self.nodes}
        for track in self.tracks.values():
            track.capacity = Capacity(0)
            track.children = {n: child for n, child in track.children.items() if child in kept}
        self._moves.clear()
        self._durations.clear()
        self._intervals.clear()
        self._put_aside = 0

    @property
    def elapsed(self) -> int:
        """For how long there was no pause."""
        return self._stretches + self.since - self._stretch

    def resume(self, now: int) -> None:
        """Goes on after a pause, which began when calls were last folded."""
        self._end_stretch(self.since)
        self.since = self._stretch = now

    def capacities(self, track: Track) -> list[int]:
        """By level, what a track could have used: nanoseconds × calls at once."""
        return track.capacity.levels(self.since - self._stretch)

    # Placing calls

    def follow(self, lanes: Sequence[Lane]) -> None:
        """Moves calls that had a place before and have outlived their parents, in any lane."""
        placed = [
            (call.start, call.node.depth, call, lane)
            for lane in lanes
            for call in lane[:]
            if call.node is not None and call.above is not None
        ]
        # Parents come before their children, which have begun later.
        for *_, call, lane in sorted(placed, key=itemgetter(0, 1)):
            self._follow(call, self._track(lane.thread))

    def place(self, lane: Lane, *, force: bool = False) -> int:
        """Gives calls a place in the tree, and puts those aside that have ended, in few numbers.

        It is below the innermost call around them that is under way. Those whose parent has no
        place yet wait for it, unless they are forced to do without it. Returns how many wait.
        """
        track = self._track(lane.thread)
        moves = self._moves
        rows: list[int] = []
        kept: list[Call] = []
        count = len(lane)
        waiting = 0
        above: Track | Node | None
        outermost = track.children
        for call in lane[:count]:
            node, end = call.node, call.end
            if node is not None:
                parent = call.above
                is_outlived = parent is not None and (
                    0 < parent.end < (end or _NEVER) or (moves and parent in moves)
                )
            else:
                around = call.before.old_value  # type: ignore[union-attr]
                if around is _MISSING:
                    parent, above, children, is_outlived = None, track, outermost, False
                else:
                    parent, above = around, around.node
                    is_outlived = (
                        above is None
                        or 0 < around.end < (end or _NEVER)
                        or (moves and around in moves)
                    )
                    if is_outlived:
                        parent, above = self._look_for_parent(call, track, force=force)
                        if above is None:
                            waiting += 1
                            kept.append(call)
                            continue
                    children = above.children
                try:
                    node = children[call.operation]
                except (KeyError, TypeError):
                    call.operation = _as_text(call.operation)
                    node = self._grow(call.operation, above)
                call.above = parent
                call.node = node
            if is_outlived:
                node, parent = self._follow(call, track)
            if end:
                if parent is None:
                    family = _NO_FAMILY
                else:
                    family = id(parent) if node is not parent.node else _INSIDE
                rows += (node.number, family, call.start, end)
                # Else whoever began in its context would keep all calls before it, one by one.
                call.before = None
            else:
                kept.append(call)
        lane.limit = max(lane.LIMIT, 2 * len(kept))
        # Its thread may have begun others meanwhile. An interrupt does not come in between.
        lane[:count] = kept
        lane.rows += rows
        return waiting

    def _look_for_parent(
        self, call: Call, track: Track, *, force: bool
    ) -> tuple[Call | None, Track | Node | None]:
        """The call that was around another when that began, and its place if it has one."""
        parent = call.parent_at(call.start)
        if force and parent is not None and parent.node is None:
            # An interrupt kept the parent from beginning: it will never have a place.
            parent = parent.placed_parent()
        if parent is None:
            return None, track
        return parent, self._place_at(parent, call.start)

    def _place_at(self, call: Call, moment: int) -> Node | None:
        """The place of a call from that moment on."""
        return next((m.node for m in self._moves.get(call, ()) if moment < m.until), call.node)

    def _follow(self, call: Call, track: Track) -> tuple[Node, Call | None]:
        """Moves a call that outlives its parent to the level above, or along with its parent."""
        moves = self._moves
        assert call.node is not None
        while (parent := call.above) is not None:
            # Its parent may have moved just when it began, and then it has not followed it yet.
            since = moves[call][-1].until if call in moves else call.start - 1
            moment = next((m.until for m in moves.get(parent, ()) if m.until > since), parent.end)
            if not 0 < moment < (call.end or _NEVER):
                break
            around = parent.outlasting(moment)
            above = track if around is None else self._place_at(around, moment)
            assert above is not None
            node = above.children.get(call.operation) or self._grow(call.operation, above)
            move = Move(call.node, _family(call), max(since, call.start), moment)
            call.above = around
            call.node = node
            moves.setdefault(call, []).append(move)
        return call.node, call.above

    def _track(self, thread: str) -> Track:
        track = self.tracks.get(thread)
        if track is None:
            if len(self.tracks) >= _MOST_TRACKS and thread != TOO_MANY:
                return self._track(TOO_MANY)
            track = self.tracks[thread] = Track(thread, self._stretches)
        return track

    def _grow(self, operation: str, above: Track | Node) -> Node:
        while isinstance(above, Node) and above.number == _FORGOTTEN:
            # The call above has ended just when all was forgotten.
            above = above.parent or self._track(above.track.thread)
        if isinstance(above, Node) and above.operation == TOO_MANY:
            return above
        track, depth = (above, 0) if isinstance(above, Track) else (above.track, above.depth + 1)
        if len(self.nodes) >= _MOST_NODES or depth >= _MOST_LEVELS:
            # Names that are made up for every call would take all the memory there is.
            operation = TOO_MANY
        if operation in above.children:
            return above.children[operation]
        level = self._levels.setdefault((track.thread, depth), len(self._levels))
        node = Node(len(self.nodes), level, operation, above)
        self.nodes.append(node)
        above.children[operation] = node
        return node

    # Adding up

    def fold(self, lanes: Sequence[Lane], until: int) -> list[Ended]:
        """Adds what happened from `since` until then, and returns the calls that have ended."""
        since, self.since = self.since, until
        taken = [self._take(lane) for lane in lanes]
        ended = [self._ended(lane, columns) for lane, columns in zip(lanes, taken, strict=True)]
        nodes, families, sinces, ends = _joined(taken or [_NO_CALLS])
        if self._moves:
            nodes, families, sinces, ends = self._take_moves(nodes, families, sinces, ends)
        inside = families == _INSIDE
        if inside.any():
            sinces = np.where(inside, ends, sinces)
        if (sinces[1:] < sinces[:-1]).any():
            # From here on all is in the order in which calls came.
            order = np.argsort(sinces, kind="stable")
            nodes, families, sinces, ends = (
                column[order] for column in (nodes, families, sinces, ends)
            )
        lows = np.minimum(np.maximum(sinces, since), until)
        highs = np.maximum(np.minimum(ends, until), lows)
        threads = Counter(self._track(lane.thread).thread for lane in lanes if lane.is_alive)
        parts = min(_MOST_STRETCHES, max(1, (until - since) // _STRETCH))
        if parts == 1:
            self._add(nodes, families, lows, highs, threads, until)
        else:
            # How many calls there were at once is noted stretch by stretch.
            bounds = [since + (until - since) * part // parts for part in range(parts + 1)]
            for low, high in itertools.pairwise(bounds):
                own = (lows < high) & (highs > low)
                within = np.maximum(lows[own], low), np.minimum(highs[own], high)
                self._add(nodes[own], families[own], *within, threads, high)
        self._end(ended)
        self._put_intervals_aside(nodes, lows, highs)
        if self._put_aside >= min(_FLUSH, _FLUSH_OF_A_NODE * len(self.nodes)):
            self.flush()
        return ended

    def _add(
        self,
        nodes: Times,
        families: Times,
        lows: Times,
        highs: Times,
        threads: Mapping[str, int],
        until: int,
    ) -> None:
        """Adds the times of calls, and notes how many there were at once until then."""
        levels = self._by_level(nodes, lows, highs)
        if levels.overlap:
            self._add_times(nodes, lows, highs)
            self._explain(nodes, families, lows, highs)
        else:
            self._add_one_by_one(nodes, lows, highs)
        for thread, count in threads.items():
            self._track(thread).capacity.note_threads(count)
        peaks = levels.peaks()
        for (thread, depth), level in self._levels.items():
            if level in peaks:
                self.tracks[thread].capacity.note(depth, peaks[level])
        if until - self._stretch >= _STRETCH:
            self._end_stretch(until)

    def _put_intervals_aside(self, nodes: Times, lows: Times, highs: Times) -> None:
        took_time = highs > lows
        if not took_time.all():
            nodes, lows, highs = nodes[took_time], lows[took_time], highs[took_time]
        if len(nodes):
            self._intervals.append((nodes, lows, highs))
        self._put_aside += len(nodes) + _WINDOW

    def note_growths(self, lane: Lane) -> None:
        """Adds what was said of memory by calls that were added up."""
        for call in lane.measured[:]:
            node = call.node
            if node is None or call.end > self.since:
                continue
            lane.measured.remove(call)
            if call.end < self._began:
                continue
            for gauge, growth in tuple(call.growth.items()):
                before = node.growths.get(gauge, Growth())
                node.growths[gauge] = Growth(
                    before.calls + 1, before.total + growth, max(before.peak, growth)
                )

    def flush(self) -> None:
        """Brings histograms and intervals up to date, for which folding puts things aside."""
        for number, (durations,) in _by_node(self._durations):
            self.nodes[number].histogram.record(durations)
        for number, bounds in _by_node(self._intervals):
            node = self.nodes[number]
            lows, highs = map(np.concatenate, zip(node.intervals.T, bounds, strict=True))
            node.intervals = union_of(lows, highs, _INTERVALS_KEPT)
        self._durations.clear()
        self._intervals.clear()
        self._put_aside = 0

    def _take(self, lane: Lane) -> Times:
        """The calls of a lane, by the column; those that are under way end never."""
        count = len(lane.rows)
        rows = np.fromiter(lane.rows, np.int64, count).reshape(-1, _COLUMNS)
        del lane.rows[:count]
        under_way = [
            (call.node.number, _family(call), call.start, _NEVER)
            for call in lane[:]
            if call.node is not None
        ]
        if under_way:
            rows = np.concatenate((rows, np.array(under_way, np.int64)))
        columns = np.ascontiguousarray(rows.T)
        if count and columns[_END].min() < self._began:
            # A thread says only now that a call had ended before all was forgotten.
            columns = columns[:, columns[_END] >= self._began]
        return columns

    def _ended(self, lane: Lane, columns: Times) -> Ended:
        """The calls of a lane that have ended. Those that did since are for the next window."""
        is_late = columns[_END] > self.since
        if is_late.any():
            late = columns[:, is_late & (columns[_END] < _NEVER)]
            lane.rows += late.T.ravel().tolist()
            columns = columns[:, ~is_late]
        return Ended(self._track(lane.thread).thread, *columns[[_NODE, _START, _END]])

    def _take_moves(self, *columns: Times) -> Times:
        """Adds the rows of calls where they were before, and since when they are where they are."""
        since: dict[tuple[int, ...], list[int]] = defaultdict(list)
        before = []
        for call, moves in self._moves.items():
            since[_row(call)].append(moves[-1].until)
            before += [(m.node.number, m.family, m.since, m.until) for m in moves]
        joined = np.stack(columns)
        starts = [row[_START] for row in since]
        for position in np.flatnonzero(np.isin(joined[_START], starts)).tolist():
            # After a reset several may have begun at once: as many rows as moved, of those alike.
            moved = since.get(tuple(joined[:, position].tolist()))
            if moved:
                joined[_START, position] = moved.pop()
        # Those that come after the end of the window matter to the next one too.
        self._moves = {
            call: moves for call, moves in self._moves.items() if moves[-1].until > self.since
        }
        return np.concatenate((np.array(before, np.int64).T, joined), axis=1)

    def _by_level(self, nodes: Times, lows: Times, highs: Times) -> Levels:
        """The calls of each level together, in the order in which they came."""
        levels = np.array([node.level for node in self.nodes], np.int64)[nodes]
        order = _grouped(levels)
        levels, lows, highs = levels[order], lows[order], highs[order]
        overlaps = (lows[1:] < highs[:-1]) & (levels[1:] == levels[:-1])
        return Levels(levels, lows, highs, bool(overlaps.any()))

    def _add_one_by_one(self, nodes: Times, lows: Times, highs: Times) -> None:
        """Adds the times of calls of which no two of the same level were under way at once."""
        for node, time in zip(self.nodes, _sums(nodes, highs - lows), strict=False):
            node.busy += time
            node.own += time
            node.covered += time
            if node.parent is not None:
                node.parent.own -= time

    def _add_times(self, nodes: Times, lows: Times, highs: Times) -> None:
        order = _grouped(nodes)
        numbers, lows, highs = nodes[order], lows[order], highs[order]
        busy = _sums(numbers, highs - lows)
        covered = _sums(numbers, added_lengths(numbers, lows, highs))
        for node, time, cover in zip(self.nodes, busy, covered, strict=False):
            node.busy += time
            node.own += time
            node.covered += cover

    def _explain(self, nodes: Times, families: Times, lows: Times, highs: Times) -> None:
        """Takes from what calls did by themselves the time when children were under way."""
        above = np.array([-1 if n.parent is None else n.parent.number for n in self.nodes])
        is_child = (families > _NO_FAMILY) & (above[nodes] >= 0)
        if not is_child.any():
            return
        parents, lows, highs = above[nodes[is_child]], lows[is_child], highs[is_child]
        order = _grouped(parents)
        added = added_lengths(parents[order], lows[order], highs[order])
        if (added < (highs - lows)[order]).any():
            # Children overlap: of the same parent, or of several at once. Two parents may have had
            # the same address one after the other, which harms nothing since they did not overlap.
            families = families[is_child]
            order = np.lexsort((families, parents))
            changes = np.diff(parents[order]).astype(bool) | np.diff(families[order]).astype(bool)
            groups = np.concatenate(([0], np.cumsum(changes)))
            added = added_lengths(groups, lows[order], highs[order])
        for node, time in zip(self.nodes, _sums(parents[order], added), strict=False):
            node.own -= time

    def leasts(self, until: int) -> list[float]:
        """By node, how long its own time would take with as many at once as there were then.

        That is as many calls as there were on any level of the track, at the most of each stretch.
        """
        length = max(1, until - self._stretch)
        done = [node.own - node.own_before for node in self.nodes]
        together: Counter[str] = Counter()
        for node, own in zip(self.nodes, done, strict=True):
            together[node.track.thread] += own
        # Calls of several levels may go on by themselves, more than there were of any.
        at_once = {
            thread: max(self.tracks[thread].capacity.most_calls, own / length)
            for thread, own in together.items()
        }
        return [
            node.least + own / at_once[node.track.thread]
            for node, own in zip(self.nodes, done, strict=True)
        ]

    def _end_stretch(self, until: int) -> None:
        for node, least in zip(self.nodes, self.leasts(until), strict=True):
            node.least, node.own_before = least, node.own
        length = until - self._stretch
        for track in self.tracks.values():
            track.capacity.end_stretch(length)
        self._stretch, self._stretches = until, self._stretches + length

    def _end(self, ended: Sequence[Ended]) -> None:
        nodes = _joined([_NO_CALLS[_NODE], *(part.nodes for part in ended)])
        durations = _joined([_NO_CALLS[_END], *(part.ends - part.starts for part in ended)])
        counts = np.bincount(nodes).tolist()
        for node, count, time in zip(self.nodes, counts, _sums(nodes, durations), strict=False):
            node.calls += count
            node.ended += time
        self._durations.append((nodes, durations))


def _joined(parts: Sequence[Times]) -> Times:
    """Columns one after the other, or several of them at once."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def _family(call: Call) -> int:
    """What calls have in common that explain the same call."""
    parent = call.above
    if parent is None:
        return _NO_FAMILY
    return id(parent) if call.node is not parent.node else _INSIDE


def _row(call: Call) -> tuple[int, int, int, int]:
    """The numbers that a call with a place is to be found by, in what was taken of its lane."""
    assert call.node is not None
    is_put_aside = call.before is None
    return call.node.number, _family(call), call.start, call.end if is_put_aside else _NEVER


def _as_text(operation: object) -> str:
    """What a file and a terminal take as a name, whatever somebody has given as one."""
    text = str(operation)
    if not text.isprintable():
        text = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    if len(text) <= _LONGEST_NAME:
        return text
    # What tells it from others may come later.
    return f"{text[: _LONGEST_NAME - 9]}…{zlib.crc32(text.encode()):08x}"


def _grouped(groups: Times) -> Times:
    """An order in which groups stand together, each as it stands."""
    # Numbers of sixteen bits are sorted by their digits, in a tenth of the time.
    small = groups.astype(np.uint16) if groups.max(initial=0) < 1 << 16 else groups
    return np.argsort(small, kind="stable")


def _sums(groups: Times, lengths: Times) -> list[int]:
    """The sum of each group, by its number."""
    # A window is far shorter than what a float counts exactly.
    sums: list[int] = np.bincount(groups, lengths).astype(np.int64).tolist()
    return sums


def _by_node(put_aside: list[tuple[Times, ...]]) -> Iterator[tuple[int, tuple[Times, ...]]]:
    """The columns of each node, of several whose first is the number of the node."""
    if not any(len(columns[0]) for columns in put_aside):
        return
    numbers, *columns = (np.concatenate(parts) for parts in zip(*put_aside, strict=True))
    order = _grouped(numbers)
    columns = [column[order] for column in columns]
    bounds = np.concatenate(([0], np.cumsum(np.bincount(numbers)))).tolist()
    for number, (low, high) in enumerate(itertools.pairwise(bounds)):
        if low < high:
            yield number, tuple(column[low:high] for column in columns)
