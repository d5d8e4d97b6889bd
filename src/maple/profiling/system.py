"""What our processes and GPUs use, whenever somebody looks."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import psutil

from .gauges import Level, ProcessMemory
from .session import GpuSample, MachineCpu, Sample, Usage

__all__ = ["GpuWatch", "ProcessWatch", "Seen", "SystemWatch", "birth", "most_together"]

K = TypeVar("K")

_CONTROLLER = "controller.js"
_MOST_SAMPLES = 2048
_MOST_PROCESSES = 256


class Seen(NamedTuple):
    """What was seen of processes, the most memory of all together, the machine, and of GPUs."""

    usages: list[Usage]
    rss_peak: int | None
    machine_cpu: list[MachineCpu]
    gpus: list[GpuSample]


class SystemWatch:
    """Every process of ours, and the GPUs, at the moments when somebody looks, from any thread."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._processes = ProcessWatch(clock)
        self._gpus = GpuWatch(clock)
        self.clear()

    def clear(self) -> None:
        """Counts from here on."""
        with self._lock:
            self._processes.clear()
            self._gpus.samples.clear()
            self.cpu = 0
            """Nanoseconds of CPU time that looking took."""
            self.looks = 0

    def begin(self) -> None:
        """Looks for the first time, or again after nobody did for a while."""
        with self._lock:
            self._processes.forget_levels()
            self.look()

    def look(self, *, wait: bool = True) -> None:
        """Unless it is to wait, it does nothing while another thread looks."""
        if not self._lock.acquire(blocking=wait):
            return
        try:
            began = time.thread_time_ns()
            self._processes.look()
            self._gpus.look()
            self.looks += 1
            self.cpu += time.thread_time_ns() - began
        finally:
            self._lock.release()

    def describe(self) -> Seen:
        with self._lock:
            return Seen(
                usages=self._processes.usages(),
                rss_peak=self._processes.rss_peak,
                machine_cpu=list(self._processes.machine_cpu),
                gpus=list(self._gpus.samples),
            )


@dataclass(slots=True)
class _Watched:
    """One process, and what was seen of it."""

    role: str
    born: int
    memory: ProcessMemory
    rss_peak: int = 0
    samples: list[Sample] = field(default_factory=list)


class ProcessWatch:
    """This process and all that it has started, directly or not, as long as each is there.

    Where the system keeps count of the most memory that a process had, no rise between two looks is
    missed, but for what comes after the last look at a process.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._self = psutil.Process()
        self.clear()

    def clear(self) -> None:
        """Forgets all; of whoever is still there, the next look is the first."""
        self._watched: dict[psutil.Process, _Watched] = {}
        self.rss_peak: int | None = None
        """The most that all of them had together, at least: see `most_together`."""
        self.machine_cpu: list[MachineCpu] = []
        """What they took together, and what any program of the machine did."""
        self.forget_levels()

    def forget_levels(self) -> None:
        """What memory has reached until the next look counts for nothing."""
        self._levels: dict[psutil.Process, Level] | None = None

    def look(self) -> None:
        look, before, levels = self._clock(), self._levels, {}
        ours, is_whole = 0, True
        # Each before its children: what one took that ends meanwhile is not counted twice.
        for process in (self._self, *self._self.children(recursive=True)):
            try:
                with process.oneshot():
                    ours += _cpu_with_ended(process)
                    level = None
                    if process.status() != psutil.STATUS_ZOMBIE:
                        level = self._sample(process, look)
                    if level is not None:
                        levels[process] = level
            except psutil.Error:
                # It has gone since it was listed, and what it took is nowhere in what was read.
                is_whole = False
        if is_whole:
            self._note_machine(look, ours)
        for process, peak in _peaks(before, levels).items():
            seen = self._watched[process]
            seen.rss_peak = max(seen.rss_peak, peak)
        self.rss_peak = max(self.rss_peak or 0, most_together(before, levels))
        self._levels = levels
        if len(self._watched[self._self].samples) > _MOST_SAMPLES:
            self._thin()
        if len(self._watched) > _MOST_PROCESSES:
            self._forget_the_gone(look)

    def usages(self) -> list[Usage]:
        return [
            Usage(
                pid=process.pid,
                role=seen.role,
                born=seen.born,
                rss_peak=seen.rss_peak,
                samples=list(seen.samples),
            )
            for process, seen in self._watched.items()
            if seen.samples
        ]

    def _sample(self, process: psutil.Process, look: int) -> Level | None:
        seen = self._watched.get(process)
        if seen is None:
            role = _role(process, self._self)
            seen = _Watched(role, birth(process), ProcessMemory(process))
        level = seen.memory.read()
        if not level.now:
            # It is about to end, and has given its memory back.
            return None
        cpu = time.process_time_ns() if process == self._self else _cpu(process)
        seen.samples.append(Sample(look=look, at=self._clock(), cpu=cpu, rss=level.now))
        self._watched[process] = seen
        return level

    def _note_machine(self, look: int, ours: int) -> None:
        times = psutil.cpu_times()
        stolen = getattr(times, "steal", None)
        # Guests of this machine are in what users took.
        apart = ("idle", "iowait", "steal", "guest", "guest_nice")
        busy = sum(times) - sum(getattr(times, name, 0.0) for name in apart)
        self.machine_cpu.append(
            MachineCpu(
                pid=self._self.pid,
                look=look,
                at=self._clock(),
                busy=_nanoseconds(busy),
                ours=ours,
                steal=None if stolen is None else _nanoseconds(stolen),
            )
        )

    def _thin(self) -> None:
        """Keeps every other look: CPU time counts from the start of a process and loses nothing."""
        kept = {sample.look for sample in self._watched[self._self].samples[::2]}
        for seen in self._watched.values():
            first, *between, last = seen.samples if len(seen.samples) > 1 else (*seen.samples,) * 2
            between = [sample for sample in between if sample.look in kept]
            seen.samples = [first, *between, last] if first is not last else [first]
        self.machine_cpu[1:-1] = [one for one in self.machine_cpu[1:-1] if one.look in kept]

    def _forget_the_gone(self, look: int) -> None:
        """Drops half of those that are no longer there, the oldest first."""
        gone = [one for one, seen in self._watched.items() if seen.samples[-1].look < look]
        for process in gone[: -(-len(gone) // 2)]:
            del self._watched[process]


def most_together(before: Mapping[K, Level] | None, now: Mapping[K, Level]) -> int:
    """The most memory that all had together since the look before, as far as somebody saw it.

    That is what all have now. Where one had more in between, it is that and, of each of the others,
    what it had at both looks: it takes these to have had that much all the time. Two that rose may
    have done so one after the other, and are not added up. So it may have been more, but for
    pages that processes share, which count for each of them.
    """
    peaks = _peaks(before, now)
    kept = {
        key: min(level.now, before[key].now) if before is not None and key in before else 0
        for key, level in now.items()
    }
    one_rose = (sum(kept.values()) - kept[key] + peak for key, peak in peaks.items())
    return max(sum(level.now for level in now.values()), *one_rose)


def _peaks(before: Mapping[K, Level] | None, now: Mapping[K, Level]) -> dict[K, int]:
    """The most that each had since the look before, if there was one.

    Who was not there then has come since, and its whole life counts. A count that has fallen was
    begun anew, by a process that became another program, and has all that came since as well.
    """
    if before is None:
        return {key: level.now for key, level in now.items()}
    return {
        key: level.now if key in before and before[key].highest == level.highest else level.highest
        for key, level in now.items()
    }


class _Nvml(Protocol):
    """What is used of the package nvidia-ml-py."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None: ...  # noqa: N802
    def nvmlDeviceGetCount(self) -> int: ...  # noqa: N802
    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any: ...  # noqa: N802, ANN401
    def nvmlDeviceGetName(self, handle: Any) -> str: ...  # noqa: N802, ANN401
    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> Any: ...  # noqa: N802, ANN401
    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any: ...  # noqa: N802, ANN401


class GpuWatch:
    """The GPUs that NVIDIA's library tells of; none where there is no such library or no GPU."""

    def __init__(self, clock: Callable[[], int], nvml: _Nvml | None = None) -> None:
        self._clock = clock
        self._nvml = nvml or _find_nvml()
        self._gpus = dict(self._find())
        self.samples: list[GpuSample] = []

    def look(self) -> None:
        for name, gpu in self._gpus.items():
            assert self._nvml is not None
            memory = self._ask(self._nvml.nvmlDeviceGetMemoryInfo, gpu)
            rates = self._ask(self._nvml.nvmlDeviceGetUtilizationRates, gpu)
            self.samples.append(
                GpuSample(
                    at=self._clock(),
                    gpu=name,
                    busy=None if rates is None else rates.gpu / 100,
                    memory=None if memory is None else int(memory.used),
                    capacity=None if memory is None else int(memory.total),
                )
            )
        if len(self.samples) > _MOST_SAMPLES * len(self._gpus):
            kept = [one for name in self._gpus for one in _thinned(name, self.samples)]
            self.samples = sorted(kept, key=lambda sample: sample.at)

    def _find(self) -> Iterator[tuple[str, Any]]:
        """Those that can be asked, by name: one that was lost, or that is not ours, cannot."""
        if self._nvml is None:
            return
        for index in range(self._ask(self._nvml.nvmlDeviceGetCount) or 0):
            gpu = self._ask(self._nvml.nvmlDeviceGetHandleByIndex, index)
            name = None if gpu is None else self._ask(self._nvml.nvmlDeviceGetName, gpu)
            if name is not None:
                yield f"{index}: {name}", gpu

    def _ask(self, question: Callable[..., Any], *about: Any) -> Any:  # noqa: ANN401
        """What it answers; None if it does not tell that, as some cards do not."""
        assert self._nvml is not None
        try:
            return question(*about)
        except self._nvml.NVMLError:
            return None


def _thinned(gpu: str, samples: Sequence[GpuSample]) -> list[GpuSample]:
    """Every other look at a GPU, the last, and the one at which most of its memory was in use."""
    own = [sample for sample in samples if sample.gpu == gpu]
    fullest = max(own, key=lambda sample: sample.memory or 0)
    return [one for place, one in enumerate(own) if place % 2 == 0 or one in (fullest, own[-1])]


@functools.cache
def _find_nvml() -> _Nvml | None:
    """The library, set up once for all watches. It stays so until the process ends."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml  # type: ignore[no-any-return]


def birth(process: psutil.Process) -> int:
    """When a process began, in milliseconds since 1970: with the pid, it names one and no other."""
    return round(process.create_time() * 1e3)


def _cpu(process: psutil.Process) -> int:
    times = process.cpu_times()
    return _nanoseconds(times.user + times.system)


def _cpu_with_ended(process: psutil.Process) -> int:
    """What it took, and all that it has started and that has ended, where the system tells that."""
    times = process.cpu_times()
    return _cpu(process) + _nanoseconds(times.children_user + times.children_system)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _role(process: psutil.Process, own: psutil.Process) -> str:
    if process == own:
        return "main"
    words = process.cmdline()
    if any(word.endswith(_CONTROLLER) for word in words):
        return "node"
    return "worker" if "spawn_main" in " ".join(words) else "other"
