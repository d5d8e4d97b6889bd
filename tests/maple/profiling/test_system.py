"""What processes use: CPU and memory of ours, and nothing said of what was not measured."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from subprocess import PIPE
from typing import Self

import msgspec
import numpy as np
import psutil
import pytest

from maple.profiling import Profiler, ProfilingConfig
from maple.profiling.analysis import analyse
from maple.profiling.gauges import Level
from maple.profiling.intervals import Intervals
from maple.profiling.renderers.text import render_summary
from maple.profiling.session import MachineCpu, Sample, Usage
from maple.profiling.system import GpuWatch, ProcessWatch, SystemWatch, most_together
from maple.profiling.usage import measure_gpus, measure_machine, stretches
from tests.maple.profiling.sessions import typical_session
from tests.maple.profiling.stage import SECOND, FakeClock

ALL = np.array([[0, 1000 * SECOND]])
BUSY = "import time\nprint('on', flush=True)\nwhile True: pass"
SPIN = "import time\nwhile time.process_time() < 60: pass"
BLOCK = 200_000_000
KEEPS_COUNT = pytest.mark.skipif(sys.platform != "linux", reason="Linux keeps count of the most")
RISING = f"""
import sys
print("on", flush=True)
for line in sys.stdin:
    b"x" * {BLOCK}
    print("fallen", flush=True)
"""


def usage(pid: int, role: str, *samples: tuple[int, float, float, int]) -> Usage:
    """Samples are (look, seconds, CPU seconds, bytes)."""
    taken = [
        Sample(look=look, at=round(at * SECOND), cpu=round(cpu * SECOND), rss=rss)
        for look, at, cpu, rss in samples
    ]
    return Usage(
        pid=pid, role=role, born=0, rss_peak=max(rss for *_, rss in samples), samples=taken
    )


def test_cpu_is_a_share_of_the_machine_and_memory_adds_up_where_it_was_most() -> None:
    machine = measure_machine(
        [
            usage(1, "main", (1, 0, 5, 100), (2, 10, 10, 300), (3, 20, 15, 200)),
            usage(2, "node", (1, 0, 0, 1000), (2, 10, 10, 1000), (3, 20, 20, 1500)),
        ],
        4,
        ALL,
    )
    assert machine.cpu_share == pytest.approx(30 / 80)
    assert machine.rss_peak == 1700
    main, node = machine.processes
    assert main.cpu == 10 * SECOND
    assert main.cpu_share == pytest.approx(10 / 80)
    assert node.cpu_share == pytest.approx(20 / 80)
    assert node.rss_peak == 1500
    both = {"main": 0.5, "node": 1.0}
    assert [moment.cores for moment in machine.timeline] == [{}, both, both]


def test_a_process_that_came_later_counts_for_the_time_it_was_seen() -> None:
    machine = measure_machine(
        [
            usage(1, "main", (1, 0, 0, 1), (2, 10, 0, 1), (3, 20, 0, 1)),
            usage(2, "node", (2, 10, 3, 5), (3, 20, 8, 5)),
        ],
        1,
        ALL,
    )
    assert machine.processes[1].cpu == 5 * SECOND
    assert machine.processes[1].cpu_share == pytest.approx(0.5)
    assert machine.timeline[1].cores == {"main": 0.0}
    assert machine.timeline[2].cores == {"main": 0.0, "node": 0.5}


def test_what_was_used_while_the_profiler_was_off_is_not_counted() -> None:
    machine = measure_machine(
        [usage(1, "main", (1, 0, 0, 1), (2, 10.1, 5, 1), (3, 50, 45, 1), (4, 60.1, 48, 1))],
        1,
        np.array([[0, 10], [50, 60]]) * SECOND,
    )
    assert machine.processes[0].cpu == 8 * SECOND
    assert machine.processes[0].watched == pytest.approx(20.2 * SECOND)
    assert [moment.cores.get("main") for moment in machine.timeline][2] is None


def test_what_one_look_alone_cannot_tell_is_unknown_and_not_zero() -> None:
    machine = measure_machine([usage(1, "main", (1, 0, 5, 100))], 2, ALL)
    assert machine.cpu_share is None
    assert machine.processes[0].cpu is None
    assert machine.processes[0].cpu_share is None
    assert machine.rss_peak == 100
    nothing = measure_machine([], 2, ALL)
    assert (nothing.cpu_share, nothing.rss_peak, nothing.processes) == (None, None, ())


def test_steps_of_the_system_are_no_measure_of_a_moment_that_is_as_short() -> None:
    """It counts CPU time by hundredths of a second; our own is known to the nanosecond."""
    node = usage(2, "node", (1, 0, 5, 1), (2, 0.013, 5.01, 1))
    machine = measure_machine(
        [usage(1, "main", (1, 0, 1.000001, 1), (2, 0.013, 1.013, 1)), node], 2, ALL
    )
    assert [one.cpu is None for one in machine.processes] == [False, True]
    longer = usage(2, "node", (1, 0, 5, 1), (2, 0.102, 5.11, 1))
    machine = measure_machine([longer], 1, ALL)
    assert (machine.processes[0].cpu_share, machine.cpu_share) == (1.0, 1.0)


def test_what_was_seen_at_a_look_stands_for_the_time_around_it() -> None:
    machine = measure_machine(
        [usage(1, "main", (1, 0, 0, 100), (2, 10, 0, 300), (3, 20, 0, 200))], 1, ALL
    )
    halves = [(0, 5), (5, 15), (15, 20)]
    assert stretches(machine.timeline) == [(low * SECOND, high * SECOND) for low, high in halves]


def test_children_are_seen_with_their_role_as_long_as_they_live() -> None:
    watch = ProcessWatch(time.monotonic_ns)
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        watch.look()
        busy = psutil.Process(child.pid)
        begun = busy.cpu_times().user
        while busy.cpu_times().user < begun + 0.1:
            time.sleep(0.01)
        watch.look()
        child.kill()
        child.wait()
        watch.look()
    found = {one.pid: one for one in watch.usages()}
    assert len(found[child.pid].samples) == 2
    first, last = found[child.pid].samples
    assert last.cpu - first.cpu >= 0.09 * SECOND
    assert last.rss > 0
    assert found[child.pid].role == "other"
    assert found[psutil.Process().pid].role == "main"


def test_of_a_long_run_every_other_look_is_kept_and_the_peak_stays() -> None:
    clock = FakeClock(0)
    watch = ProcessWatch(clock)
    for _ in range(2100):
        clock.now += 1
        watch.look()
    [own] = [one for one in watch.usages() if one.role == "main"]
    looks = [sample.look for sample in own.samples]
    assert len(looks) < 1200
    assert (looks[0], looks[-1]) == (1, 2100)
    assert [one.look for one in watch.machine_cpu] == looks
    assert watch.rss_peak is not None
    assert watch.rss_peak >= own.rss_peak
    assert own.rss_peak >= max(sample.rss for sample in own.samples)


def test_a_process_that_left_at_a_look_that_was_dropped_leaves_no_hole() -> None:
    machine = measure_machine(
        [
            usage(1, "main", (1, 0, 0, 100), (3, 20, 10, 100), (5, 40, 20, 100)),
            usage(2, "node", (2, 10, 0, 7), (3, 20, 5, 7), (4, 30, 9, 7)),
        ],
        1,
        ALL,
    )
    assert [moment.rss.get("main") for moment in machine.timeline] == [100, 100, 100]
    assert [moment.rss.get("node") for moment in machine.timeline] == [None, 7, None]


def test_looking_costs_cpu_time_that_is_counted() -> None:
    watch = SystemWatch(time.monotonic_ns)
    watch.look()
    assert (watch.looks, watch.cpu > 0) == (1, True)


def test_the_profiler_looks_from_time_to_time_and_no_thread_is_left() -> None:
    before = threading.active_count()
    profiler = Profiler(ProfilingConfig(sample_interval=0.01))
    profiler.enable()
    assert threading.active_count() == before + 1
    watch = profiler._watch
    assert watch is not None
    with profiler.profile("env_step"):
        while watch.looks < 12:
            time.sleep(0.01)
    profiler.disable()
    assert threading.active_count() == before
    session = profiler.session("test")
    text = render_summary(analyse(session))
    assert "Average CPU Usage" in text
    assert "GPU: not measured" in text
    # A lap for each time it looked: what varies can be told.
    assert len(session.processes[0].laps) >= 10


# What else the machine does


def looks(*taken: tuple[float, float, float, float | None], pid: int = 1) -> list[MachineCpu]:
    """Looks are seconds, and seconds of CPU: of any program, of ours, stolen."""
    return [
        MachineCpu(
            pid=pid,
            look=number,
            at=round(at * SECOND),
            busy=round(busy * SECOND),
            ours=round(ours * SECOND),
            steal=None if steal is None else round(steal * SECOND),
        )
        for number, (at, busy, ours, steal) in enumerate(taken)
    ]


def beside(
    seen: list[MachineCpu], cores: int = 2, windows: Intervals = ALL
) -> tuple[float | None, float | None]:
    machine = measure_machine([], 1, windows, machine_cpu=seen, all_cores=cores)
    return machine.others_share, machine.stolen_share


def test_what_others_took_is_a_share_of_the_machine_and_so_is_what_was_stolen() -> None:
    others, stolen = beside(looks((10, 500, 90, 7), (20, 510, 92, 8), (30, 520, 98, 9)))
    assert others == pytest.approx(12 / 40)
    assert stolen == pytest.approx(2 / 40)


def test_where_we_are_alone_nothing_was_taken_by_others() -> None:
    # The machine counts by other means than a process does: a little less than we took.
    assert beside(looks((0, 50, 0, 0), (10, 59.9, 10, 0), (20, 69.9, 20, 0))) == (0, 0)


def test_a_child_that_nobody_waited_for_is_no_program_of_others() -> None:
    others, _ = beside(looks((0, 0, 100, 0), (10, 10, 110, 0), (20, 20, 70, 0), (30, 30, 80, 0)))
    assert others == pytest.approx(10 / 60)


def test_what_others_took_while_the_profiler_was_off_does_not_count() -> None:
    windows = np.array([[0, 10], [50, 60]]) * SECOND
    seen = looks((0, 0, 0, 0), (10, 5, 0, 0), (50, 85, 20, 80), (60, 90, 25, 80))
    assert beside(seen, 1, windows) == (5 / 20, 0)


def test_less_than_a_second_tells_nothing_of_others() -> None:
    assert beside(looks((0, 0, 0, 0), (0.9, 1, 0, 0))) == (None, None)
    assert beside(looks((0, 0, 0, 0))) == (None, None)
    assert beside([]) == (None, None)


def test_where_nobody_tells_what_was_stolen_it_is_unknown() -> None:
    assert beside(looks((0, 0, 0, None), (10, 5, 0, None))) == (0.25, None)


def test_others_are_none_of_those_that_look_at_the_same_time() -> None:
    one = looks((0, 0, 0, 0), (10, 20, 8, 0), (20, 40, 16, 0))
    other = looks((5, 10, 100, 0), (15, 30, 110, 0), pid=2)
    assert beside([*one, *other])[0] == pytest.approx((40 - 16 - 10) / 40)


def test_nobody_knows_what_others_took_while_nobody_looked() -> None:
    one = looks((0, 0, 0, 0), (10, 10, 5, 0))
    other = looks((50, 90, 0, 0), (60, 110, 15, 0), pid=2)
    assert beside([*one, *other])[0] == pytest.approx((5 + 5) / 40)


def test_what_others_took_is_shown_where_it_was_measured() -> None:
    session = typical_session()
    shown = "Other programs took 15 % of 2 cores; stolen by the hypervisor: 3.0 %\n"
    assert shown in render_summary(analyse(session))
    one_look = msgspec.structs.replace(session, machine_cpu=session.machine_cpu[:1])
    assert "Other programs" not in render_summary(analyse(one_look))


def test_what_ended_processes_took_is_ours_though_nobody_saw_them() -> None:
    watch = ProcessWatch(time.monotonic_ns)
    watch.look()
    program = "import time\nwhile time.process_time() < 0.5: pass"
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        assert child.wait(60) == 0
    watch.look()
    first, last = watch.machine_cpu
    assert child.pid not in {one.pid for one in watch.usages()}
    assert last.ours - first.ours >= 0.45 * SECOND
    assert last.busy - first.busy >= 0.3 * SECOND


def test_a_program_that_is_not_ours_is_another() -> None:
    # Its parent ends, and it is nobody's here.
    popen = f"Popen([sys.executable, '-c', {SPIN!r}], stdout=DEVNULL)"
    start = f"import sys; from subprocess import DEVNULL, Popen; print({popen}.pid)"
    watch = ProcessWatch(time.monotonic_ns)
    pid = int(subprocess.run([sys.executable, "-c", start], check=True, stdout=PIPE).stdout)
    program = psutil.Process(pid)
    try:
        watch.look()
        begun, before = time.monotonic_ns(), program.cpu_times()
        while time.monotonic_ns() < begun + 2 * SECOND:
            time.sleep(0.1)
        took = sum(program.cpu_times()[:2]) - sum(before[:2])
        watch.look()
    finally:
        program.kill()
    others, stolen = beside(watch.machine_cpu, psutil.cpu_count() or 1, np.array([[0, 2**62]]))
    first, last = watch.machine_cpu
    assert took > 0.2
    assert others is not None
    assert others * (last.at - first.at) * (psutil.cpu_count() or 1) > 0.6 * took * SECOND
    assert others <= 1.05
    assert (stolen is None) == (sys.platform != "linux")


def test_a_look_at_which_a_process_vanished_says_nothing_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = ProcessWatch(time.monotonic_ns)
    watch.look()
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        gone = psutil.Process(child.pid)
    monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [gone])
    watch.look()
    assert len(watch.machine_cpu) == 1


# The most memory


class Rising:
    """A process that rises by a block, and falls again, whenever it is told to."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", RISING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid
        self._listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def rise(self) -> None:
        assert self._process.stdin is not None
        print("rise", file=self._process.stdin, flush=True)
        self._listen()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline()


def peaks(watch: ProcessWatch) -> dict[int, int]:
    return {one.pid: one.rss_peak for one in watch.usages()}


@KEEPS_COUNT
def test_memory_that_rose_and_fell_between_two_looks_is_seen() -> None:
    watch = ProcessWatch(time.monotonic_ns)
    with Rising() as child:
        watch.look()
        child.rise()
        watch.look()
        [usage] = [one for one in watch.usages() if one.pid == child.pid]
        # And so it is of one that nobody has seen before it fell.
        with Rising() as other:
            other.rise()
            watch.look()
    assert max(sample.rss for sample in usage.samples) < BLOCK
    assert usage.rss_peak > BLOCK
    assert peaks(watch)[other.pid] > BLOCK
    own = min(sample.rss for one in watch.usages() if one.role == "main" for sample in one.samples)
    assert watch.rss_peak is not None
    assert watch.rss_peak >= usage.rss_peak + own


@KEEPS_COUNT
def test_what_memory_had_reached_before_a_reset_does_not_count() -> None:
    watch = ProcessWatch(time.monotonic_ns)
    with Rising() as child:
        watch.look()
        child.rise()
        watch.look()
        watch.clear()
        watch.look()
        watch.look()
    assert peaks(watch)[child.pid] < BLOCK


@KEEPS_COUNT
def test_what_memory_reached_while_the_profiler_was_off_does_not_count() -> None:
    profiler = Profiler(ProfilingConfig(sample_interval=60))
    with Rising() as child:
        profiler.enable()
        profiler.disable()
        child.rise()
        profiler.enable()
        profiler.disable()
    [usage] = [one for one in profiler.session("test").usages if one.pid == child.pid]
    assert usage.rss_peak < BLOCK


def test_all_together_had_at_least_what_one_of_them_had() -> None:
    one = msgspec.structs.replace(usage(1, "main", (1, 0, 0, 100), (2, 10, 0, 100)), rss_peak=900)
    assert measure_machine([one, usage(2, "node", (1, 0, 0, 50))], 1, ALL).rss_peak == 900


def test_of_all_together_the_most_is_at_a_look_or_when_one_of_them_rose() -> None:
    before = {"main": Level(100, 500), "node": Level(50, 60)}
    assert most_together(None, before) == 150
    assert most_together(before, before) == 150
    # One rose and fell again: of the other it is certain what it had at both looks.
    assert most_together(before, {"main": Level(90, 700), "node": Level(40, 60)}) == 740
    assert most_together(before, {"main": Level(90, 700), "node": Level(80, 80)}) == 750
    # Two did, and nobody knows whether at once.
    assert most_together(before, {"main": Level(90, 700), "node": Level(40, 900)}) == 990
    # One has gone, and one has come.
    assert most_together(before, {"main": Level(90, 500), "new": Level(10, 300)}) == 390
    # One has become another program, whose count began anew.
    assert most_together(before, {"main": Level(10, 200), "node": Level(50, 60)}) == 250


# GPUs


_BURN = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def test_what_processes_took_counts_although_they_ended_between_two_looks() -> None:
    profiler = Profiler(ProfilingConfig(sample_interval=60))
    profiler.enable()
    for _ in range(4):
        subprocess.run([sys.executable, "-c", _BURN], check=True)
    profiler.disable()
    machine = analyse(profiler.session("test")).machine
    assert machine.cpu_share is not None
    assert machine.unseen is not None
    # They took 0.3 s each, beside what it takes to start them.
    assert machine.unseen > 1.1e9
    own = next(process for process in machine.processes if process.role == "main")
    assert own.cpu_share is not None
    assert machine.cpu_share > own.cpu_share


@dataclass
class FakeNvml:
    """A machine with one GPU, or more. Those that are lost fail at what `fails` names."""

    busy: int = 50
    hides: bool = False
    gpus: int = 1
    lost: tuple[int, ...] = ()
    fails: str = ""
    NVMLError: type[Exception] = LookupError

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        if self.fails == "count":
            raise self.NVMLError
        return self.gpus

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        if self.fails == "handle" and index in self.lost:
            raise self.NVMLError
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        if self.fails == "name" and handle in self.lost:
            raise self.NVMLError
        return "a card"

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> object:  # noqa: N802
        if self.hides:
            raise self.NVMLError
        return type("Rates", (), {"gpu": self.busy})

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> object:  # noqa: N802
        return type("Memory", (), {"used": self.busy * 1000, "total": 10**6})


def test_a_gpu_is_measured_where_there_is_one() -> None:
    nvml = FakeNvml()
    watch = GpuWatch(FakeClock(), nvml)
    watch.look()
    nvml.busy = 100
    watch.look()
    [gpu] = measure_gpus(watch.samples)
    assert (gpu.name, gpu.busy, gpu.memory_peak) == ("0: a card", 0.75, 100_000)


def test_of_a_long_run_every_gpu_keeps_its_looks_and_its_peak() -> None:
    clock = FakeClock()
    nvml = FakeNvml(gpus=2)
    watch = GpuWatch(clock, nvml)
    for look in range(5000):
        nvml.busy = 100 if look == 777 else 50 if look < 2500 else 0
        watch.look()
        clock.go(0.5)
    assert len(watch.samples) < 5000
    used = measure_gpus(watch.samples)
    assert [gpu.name for gpu in used] == ["0: a card", "1: a card"]
    assert [gpu.memory_peak for gpu in used] == [100_000, 100_000]
    assert [gpu.busy for gpu in used] == pytest.approx([0.25, 0.25], abs=0.01)


def test_what_a_gpu_does_not_tell_is_unknown_and_stops_nobody() -> None:
    watch = GpuWatch(FakeClock(), FakeNvml(hides=True))
    watch.look()
    [gpu] = measure_gpus(watch.samples)
    assert (gpu.busy, gpu.memory_peak) == (None, 50_000)


@pytest.mark.parametrize("fails", ["handle", "name"])
def test_a_gpu_that_is_lost_is_not_measured_and_the_others_are(fails: str) -> None:
    watch = GpuWatch(FakeClock(), FakeNvml(gpus=3, lost=(1,), fails=fails))
    watch.look()
    assert [gpu.name for gpu in measure_gpus(watch.samples)] == ["0: a card", "2: a card"]


def test_gpus_that_cannot_be_counted_keep_no_profiler_from_being_turned_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("maple.profiling.system._find_nvml", lambda: FakeNvml(fails="count"))
    profiler = Profiler()
    profiler.enable()
    profiler.disable()
    assert profiler.session("test").gpus == []
