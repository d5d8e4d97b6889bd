"""What processes and GPUs have used, from samples of them. Pure, and takes no samples itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .intervals import Intervals, length, union
from .session import GpuSample, MachineCpu, Sample, Usage

__all__ = [
    "GpuUse",
    "MachineUse",
    "Moment",
    "ProcessUse",
    "measure_gpus",
    "measure_machine",
    "stretches",
]

_TICK = 10_000_000  # nanoseconds: the steps in which the system counts the CPU time of others
_FINE = 1000
_ENOUGH = 100
_FEW = 10
_MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUse:
    """One process while it was watched: CPU nanoseconds, share of the machine, bytes.

    None is what one look alone, or looks that follow at once, cannot tell.
    """

    pid: int
    role: str
    watched: int
    cpu: int | None
    cpu_share: float | None
    rss_first: int
    rss_peak: int
    rss_last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineUse:
    """All processes of ours, and what they used together. None is what was not measured.

    `cpu_share` has what processes took too that ended between two looks: `unseen`, in nanoseconds.
    `others_share` is what other programs took of all cores that the machine has, which may be more
    than those that are ours to use; `stolen_share` is what the hypervisor gave to other machines.
    """

    cores: int
    all_cores: int
    processes: tuple[ProcessUse, ...]
    cpu_share: float | None
    unseen: int | None
    others_share: float | None
    stolen_share: float | None
    rss_peak: int | None
    timeline: tuple[Moment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A look: bytes by role, and the CPU cores in use since the look before, if there was one."""

    at: int
    cores: dict[str, float]
    rss: dict[str, int]


def stretches(moments: Sequence[Moment]) -> list[tuple[int, int]]:
    """From when to when each look stands for what it saw: halfway to those beside it."""
    at = [moment.at for moment in moments]
    halves = [(one + other) // 2 for one, other in itertools.pairwise(at)]
    return list(itertools.pairwise((at[0], *halves, at[-1])))


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUse:
    """One GPU: how busy it was on average, from 0 to 1, and the most memory that was in use."""

    name: str
    busy: float | None
    memory_peak: int | None
    capacity: int | None


def measure_machine(
    usages: Sequence[Usage],
    cores: int,
    windows: Intervals,
    rss_peak: int | None = None,
    *,
    machine_cpu: Sequence[MachineCpu] = (),
    all_cores: int | None = None,
) -> MachineUse:
    """What was used while the profiler was on, which is in these windows.

    `rss_peak` is the most memory of all together that anybody saw, also at looks that were dropped.
    `all_cores` is how many the machine has, if that is not as many as we may use.
    """
    all_cores = all_cores or cores
    processes = tuple(_process(usage, cores, windows) for usage in usages if usage.samples)
    timeline = _timeline(usages, windows)
    known = [process.cpu for process in processes if process.cpu is not None]
    watched = _watched(usages, windows)
    peaks = [sum(moment.rss.values()) for moment in timeline]
    peaks += [process.rss_peak for process in processes]
    if rss_peak is not None:
        peaks.append(rss_peak)
    shares = _shares(machine_cpu, cores, all_cores, windows)
    # What is counted in steps may come to a little more than there is.
    seen = min(1.0, sum(known) / (watched * cores)) if known and watched else None
    cpu_share, unseen = seen, None
    if shares.ours is not None:
        cpu_share = min(1.0, max(shares.ours, seen or 0.0))
        unseen = round((cpu_share - (seen or 0.0)) * watched * cores)
    return MachineUse(
        cores=cores,
        all_cores=all_cores,
        processes=processes,
        cpu_share=cpu_share,
        unseen=unseen,
        others_share=shares.others,
        stolen_share=shares.stolen,
        rss_peak=max(peaks, default=None),
        timeline=timeline,
    )


def _watched(usages: Sequence[Usage], windows: Intervals) -> int:
    """For how long at least one process was looked at."""
    pairs = [
        (before.at, now.at)
        for usage in usages
        for before, now in itertools.pairwise(usage.samples)
        if _is_within(before, now, windows)
    ]
    return length(union(np.array(pairs, np.int64).reshape(-1, 2)))


class _Shares(NamedTuple):
    """Of the machine, or for `ours` of the part that we may use; None is not measured."""

    ours: float | None = None
    others: float | None = None
    stolen: float | None = None


def _shares(looks: Sequence[MachineCpu], cores: int, all_cores: int, windows: Intervals) -> _Shares:
    """What we took, what other programs did, and what was stolen, while somebody looked.

    The machine counts in the same steps as a process: less than so many of them tell nothing. The
    two are not counted alike, and what others took may come out a little less than nothing.
    """
    # Whoever looked has read the same counts of the machine, and each those of its own processes.
    looks = sorted({one.at: one for one in looks}.values(), key=lambda one: one.at)
    at = np.array([one.at for one in looks], np.int64)
    ours, is_watched = np.zeros(len(at)), np.zeros(max(0, len(at) - 1), bool)
    for pid in {one.pid for one in looks}:
        own = [one for one in looks if one.pid == pid]
        # It falls if somebody was not waited for by who had started it, and is no longer ours.
        grown = np.maximum(np.diff([one.ours for one in own], prepend=own[0].ours), 0)
        ours += np.interp(at, [one.at for one in own], np.cumsum(grown))
        is_watched |= (own[0].at <= at[:-1]) & (at[1:] <= own[-1].at)
    middle = (at[:-1] + at[1:]) // 2
    for number in np.flatnonzero(is_watched):
        is_watched[number] = _is_inside(int(middle[number]), windows)
    watched = int(np.diff(at)[is_watched].sum())
    if watched < _ENOUGH * _TICK:
        return _Shares()
    busy = np.diff([one.busy for one in looks])
    others = float((busy - np.diff(ours))[is_watched].sum())
    stolen = [one.steal for one in looks if one.steal is not None]
    stolen_share = None
    if len(stolen) == len(looks):
        stolen_share = max(0, int(np.diff(stolen)[is_watched].sum())) / (watched * all_cores)
    return _Shares(
        ours=float(np.diff(ours)[is_watched].sum()) / (watched * cores),
        others=max(0.0, others) / (watched * all_cores),
        stolen=stolen_share,
    )


def measure_gpus(samples: Sequence[GpuSample]) -> tuple[GpuUse, ...]:
    names = dict.fromkeys(sample.gpu for sample in samples)
    return tuple(_gpu(name, [one for one in samples if one.gpu == name]) for name in names)


def _gpu(name: str, samples: Sequence[GpuSample]) -> GpuUse:
    return GpuUse(
        name=name,
        busy=_busy([sample for sample in samples if sample.busy is not None]),
        memory_peak=max((s.memory for s in samples if s.memory is not None), default=None),
        capacity=max((s.capacity for s in samples if s.capacity is not None), default=None),
    )


def _busy(samples: Sequence[GpuSample]) -> float | None:
    """On average over the time: of a long run, older looks are fewer."""
    if not samples:
        return None
    lasted = np.diff([sample.at for sample in samples])
    # The first stands for as long as the next.
    weights = np.concatenate((lasted[:1], lasted)) if lasted.any() else None
    return float(np.average([sample.busy or 0.0 for sample in samples], weights=weights))


def _process(usage: Usage, cores: int, windows: Intervals) -> ProcessUse:
    pairs = [
        (before, now)
        for before, now in itertools.pairwise(usage.samples)
        if _is_within(before, now, windows)
    ]
    watched = sum(now.at - before.at for before, now in pairs)
    cpu: int | None = sum(now.cpu - before.cpu for before, now in pairs)
    steps = watched // _TICK
    is_exact = any(sample.cpu % _TICK for sample in usage.samples)
    if (not cpu and steps < _FINE) or (not is_exact and steps < _FEW):
        # Less than a step of the system's clock, but nobody knows how much; or a step is much.
        cpu = None
    return ProcessUse(
        pid=usage.pid,
        role=usage.role,
        watched=watched,
        cpu=cpu,
        cpu_share=None if cpu is None else min(1.0, cpu / (watched * cores)),
        rss_first=usage.samples[0].rss,
        rss_peak=usage.rss_peak,
        rss_last=usage.samples[-1].rss,
    )


def _is_within(before: Sample, now: Sample, windows: Intervals) -> bool:
    """Whether the profiler was on between two looks, of which the last comes after it was."""
    return _is_inside((before.at + now.at) // 2, windows)


def _is_inside(moment: int, windows: Intervals) -> bool:
    return bool(((windows[:, 0] <= moment) & (moment <= windows[:, 1])).any())


def _timeline(usages: Sequence[Usage], windows: Intervals) -> tuple[Moment, ...]:
    """Who was there at a look and the one before has a CPU time in between."""
    # Of a long run some looks were dropped, but for the first and last of each process: main
    # processes, which were there all the time, have those that others have too.
    main = [usage for usage in usages if usage.role == _MAIN] or usages
    looks = sorted({sample.look for usage in main for sample in usage.samples})
    seen = [(usage.role, {sample.look: sample for sample in usage.samples}) for usage in usages]
    moments = []
    for before, look in zip((None, *looks), looks, strict=False):
        cores: dict[str, float] = {}
        rss: dict[str, int] = {}
        at = 0
        for role, samples in seen:
            now = samples.get(look)
            if now is None:
                continue
            at = max(at, now.at)
            rss[role] = rss.get(role, 0) + now.rss
            last = None if before is None else samples.get(before)
            if last is not None and now.at > last.at and _is_within(last, now, windows):
                used = (now.cpu - last.cpu) / (now.at - last.at)
                cores[role] = cores.get(role, 0.0) + used
        moments.append(Moment(at=at, cores=cores, rss=rss))
    return tuple(moments)
