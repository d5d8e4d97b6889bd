"""Turns readings into a report: what changed from the first to the last. Takes none itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from ..controller import warmth
from .difference import operations_between
from .machine import machine_of
from .reading import Reading, Use
from .report import Counts, Ending, Moment, ProcessUse, Report

__all__ = ["Measurement", "Subject"]

# Below this many rooms, what a process grows by is mostly garbage that was not yet collected.
_ENOUGH_ROOMS = 64
_MOMENTS_KEPT = 600
# CPU time that the server tells is up to a heartbeat old; over this many of them it is near enough.
_HEARTBEATS_TO_TRUST = 4


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, in words and settings, and the command line that asked for it."""

    kind: Literal["run", "attach"]
    text: str
    command: str
    settings: dict[str, Any]


@dataclass(slots=True)
class _Track:
    """One process through all readings."""

    role: Literal["python", "node"]
    pid: int
    first: Use
    last: Use
    born: bool
    rooms_at_first: int
    seen_from: float
    seen_until: float
    warmth: float | None = None
    rss_peak: int | None = None
    rooms_peak: int = 0
    rss_when_fullest: int | None = None

    def follow(self, use: Use, rooms: int, warmth: float | None, at: float) -> None:
        self.last = use
        self.warmth = warmth
        self.seen_until = at
        if use.rss is not None:
            self.rss_peak = max(self.rss_peak or 0, use.rss)
        if rooms >= self.rooms_peak:
            self.rooms_peak = rooms
            self.rss_when_fullest = use.rss

    @property
    def cpu(self) -> float | None:
        if self.last.cpu is None:
            return None
        if self.born:
            return self.last.cpu
        if self.first.cpu is None or self.first.source != self.last.source:
            return None
        return max(0.0, self.last.cpu - self.first.cpu)

    @property
    def rss_per_room(self) -> float | None:
        """Growth from no room to the most; more than a room holds, by the garbage of the others."""
        before, fullest = self.first.rss, self.rss_when_fullest
        if before is None or fullest is None or self.rooms_at_first or self.born:
            return None
        return (
            max(0, fullest - before) / self.rooms_peak if self.rooms_peak >= _ENOUGH_ROOMS else None
        )


class Measurement:
    """An interval from a first reading to the latest one, and the processes seen in between."""

    def __init__(
        self, subject: Subject, first: Reading, *, local: bool = True, load: float | None = None
    ) -> None:
        self.subject = subject
        self.first = first
        self.latest = first
        self.looks = 1
        self._began = datetime.now(UTC).astimezone()
        self._local = local
        self._load = load
        self._tracks: dict[int, _Track] = {}
        self._moments: list[Moment] = []
        self._spacing = 0.0
        self._follow(first)

    @property
    def seconds(self) -> float:
        return self.latest.uptime - self.first.uptime

    @property
    def moments(self) -> tuple[Moment, ...]:
        return tuple(self._moments)

    def add(self, reading: Reading) -> None:
        self.latest = reading
        self.looks += 1
        self._follow(reading)

    def report(
        self,
        *,
        ending: Ending = "complete",
        failure: str | None = None,
        looking_cpu: float | None = None,
    ) -> Report:
        before, after = self.first.stats, self.latest.stats
        counts = _difference(_counts(before), _counts(after))
        return Report(
            kind=self.subject.kind,
            subject=self.subject.text,
            command=self.subject.command,
            began=self._began.isoformat(timespec="seconds"),
            seconds=self.seconds,
            ending=ending,
            failure=failure,
            settings=self.subject.settings,
            machine=machine_of(
                after, own=self.subject.kind == "run", local=self._local, load=self._load
            ),
            counts=counts,
            ever=_counts(after),
            rooms_before=before["pool"]["rooms"],
            rooms_after=after["pool"]["rooms"],
            processes=tuple(self._process_uses(counts.decisions)),
            operations=tuple(operations_between(before["round_trips"], after["round_trips"])),
            timeline=self._timeline(),
            looks=self.looks,
            looking_cpu=looking_cpu,
        )

    # Processes

    def _follow(self, reading: Reading) -> None:
        at = reading.uptime - self.first.uptime
        rooms = {c["pid"]: c["rooms"] for c in reading.stats["controllers"]}
        if reading.python is not None:
            rooms[reading.python] = reading.stats["pool"]["rooms"]
        warmths = {c["pid"]: warmth(c["warm"]) for c in reading.stats["controllers"] if "warm" in c}
        for pid, use in reading.uses.items():
            track = self._tracks.get(pid)
            if track is None:
                track = self._tracks[pid] = _Track(
                    role="python" if pid == reading.python else "node",
                    pid=pid,
                    first=use,
                    last=use,
                    # A process that was not there at first has done all it did meanwhile.
                    born=reading is not self.first and pid != reading.python,
                    rooms_at_first=rooms.get(pid, 0),
                    seen_from=at,
                    seen_until=at,
                )
            track.follow(use, rooms.get(pid, 0), warmths.get(pid, track.warmth), at)
        self._note_moment(at)

    def _process_uses(self, decisions: int | None) -> list[ProcessUse]:
        states = {c["pid"]: c["state"] for c in self.latest.stats["controllers"]}
        tracks = sorted(
            self._tracks.values(), key=lambda track: (track.role != "python", track.seen_from)
        )
        uses = [self._process_use(track, states, decisions) for track in tracks]
        if not any(use.role == "python" for use in uses):
            uses.insert(0, _unknown_python(self.seconds))
        return uses

    def _process_use(
        self, track: _Track, states: Mapping[int, str], decisions: int | None
    ) -> ProcessUse:
        watched = track.seen_until - track.seen_from
        cpu = track.cpu if self._trusts(track) else None
        return ProcessUse(
            role=track.role,
            pid=track.pid,
            state=self._state(track, states),
            born=track.born,
            source=track.last.source,
            watched=watched,
            cpu_seconds=cpu,
            cpu_share=cpu / self.seconds if cpu is not None and self.seconds else None,
            cpu_ms_per_decision=cpu * 1000 / decisions if cpu is not None and decisions else None,
            rss_before=None if track.born else track.first.rss,
            rss_peak=track.rss_peak,
            rss_after=track.last.rss if track.pid in self.latest.uses else None,
            rooms_peak=track.rooms_peak,
            rss_per_room=track.rss_per_room,
            warmth=track.warmth,
        )

    def _state(self, track: _Track, states: Mapping[int, str]) -> str:
        if track.role == "python":
            return "running"
        if track.pid in states:
            return states[track.pid]
        return "leaving" if track.pid in self.latest.uses else "gone"

    def _trusts(self, track: _Track) -> bool:
        if track.last.source == "system":
            return True
        heartbeat = self.latest.stats.get("config", {}).get("heartbeat")
        return heartbeat is not None and self.seconds >= _HEARTBEATS_TO_TRUST * heartbeat

    # Time

    def _note_moment(self, at: float) -> None:
        moments = self._moments
        if moments and at - moments[-1].seconds < self._spacing:
            return
        moments.append(self._moment(at))
        if len(moments) > _MOMENTS_KEPT:
            # Everything in a moment counts from the start, so that leaving some out loses no event.
            self._moments = moments[::2]
            self._spacing = 1.5 * at / len(moments)

    def _moment(self, at: float) -> Moment:
        counts = _difference(_counts(self.first.stats), _counts(self.latest.stats))
        return Moment(
            seconds=at,
            battles=counts.battles_ended,
            decisions=counts.decisions,
            rooms=self.latest.stats["pool"]["rooms"],
            python_cpu=self._cpu("python"),
            node_cpu=self._cpu("node"),
        )

    def _cpu(self, role: str) -> float | None:
        tracks = [track for track in self._tracks.values() if track.role == role]
        if not tracks or any(t.cpu is None or t.last.source != "system" for t in tracks):
            return None
        return sum(track.cpu or 0.0 for track in tracks)

    def _timeline(self) -> tuple[Moment, ...]:
        end = self._moment(self.seconds)
        kept = [moment for moment in self._moments if moment.seconds < end.seconds]
        if (
            len(kept) > 1
            and end.seconds - kept[-1].seconds < (kept[-1].seconds - kept[-2].seconds) / 2
        ):
            # A rate over the short rest of an interval would be mostly chance.
            kept.pop()
        return (*kept, end)


def _unknown_python(seconds: float) -> ProcessUse:
    nothing = dict.fromkeys(
        ("cpu_seconds", "cpu_share", "cpu_ms_per_decision", "rss_before", "rss_peak", "rss_after")
    )
    return ProcessUse(
        role="python",
        pid=None,
        state="elsewhere",
        born=False,
        source=None,
        watched=seconds,
        rooms_peak=None,
        rss_per_room=None,
        **nothing,
    )


def _counts(stats: Mapping[str, Any]) -> Counts:
    """The counts that we know; a server of another version may have others, and lack some."""
    told = {**stats["counters"], **stats["traffic"]}
    known = {name: told.get(name) for name in Counts.__slots__ if name != "recycled"}
    return Counts(**known, recycled=told.get("recycled", {}))


def _difference(before: Counts, after: Counts) -> Counts:
    changes: dict[str, Any] = {}
    for name in Counts.__slots__:
        if name != "recycled":
            earlier, later = getattr(before, name), getattr(after, name)
            known = earlier is not None and later is not None and later >= earlier
            changes[name] = later - earlier if known else None
    recycled = {
        reason: count - before.recycled.get(reason, 0)
        for reason, count in after.recycled.items()
        if count > before.recycled.get(reason, 0)
    }
    return replace(after, **changes, recycled=recycled)
