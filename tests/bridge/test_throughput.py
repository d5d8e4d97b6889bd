"""The report of a measurement: what it covers, what it leaves open, and how it is drawn."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import pytest
from aiohttp import web
from rich.console import Console

from bridge import BridgeConfig, ControllerRegistry
from bridge.histogram import Histogram
from bridge.serve.endpoints import build_app
from bridge.serve.service import Phase, Service
from bridge.throughput import Report, Schedule, measure_server, render, render_page
from bridge.throughput.attach import NotAServer, ServerGone, stats_url
from bridge.throughput.console import Blocks
from bridge.throughput.measurement import Measurement, Subject
from bridge.throughput.quantities import MISSING, duration, number, percent, seconds, size
from bridge.throughput.reading import ProcessWatch, Reading, Use
from bridge.throughput.report import UnreadableReport
from bridge.timing import PHASES, RoundTrip, RoundTrips
from bridge.workload import Workload, play_battles

MB = 1_000_000
PYTHON = 1
NODES = (11, 12)


def trip(simulate: int) -> RoundTrip:
    """Phases of 1 to 8 ms, but for the time in the simulator."""
    ms = 1_000_000
    received = 3 * ms
    finished = received + 3 * ms + simulate + 5 * ms
    arrived = finished + 6 * ms
    return RoundTrip(
        0, ms, received, 3 * ms, simulate, 5 * ms, arrived, arrived + 7 * ms, arrived + 15 * ms
    )


class Registry:
    """A registry whose figures are made up."""

    def __init__(self, nodes: tuple[int, ...] = NODES) -> None:
        self.uptime = 100.0
        self.trips = RoundTrips()
        self.nodes = list(nodes)
        self.rooms = 0
        self.extra: dict[str, Any] = {}
        self.counters = dict.fromkeys(
            (
                *("starts", "failed_starts", "deaths", "battles_opened", "battles_ended"),
                *("battles_moved", "battles_poisoned", "decisions", "turns"),
            ),
            0,
        )
        self.traffic = dict.fromkeys(
            ("commands", "frames", "bytes_out", "bytes_in", "writes", "reads"), 0
        )
        self.cpu = {PYTHON: 50.0, **dict.fromkeys(nodes, 20.0)}
        self.rss = {PYTHON: 60 * MB, **dict.fromkeys(nodes, 200 * MB)}

    def play(self, elapsed: float, battles: int = 1) -> None:
        """Something of everything happens."""
        self.uptime += elapsed
        self._count(
            self.counters, battles, battles_opened=1, battles_ended=1, decisions=120, turns=50
        )
        self._count(self.traffic, battles, commands=121, frames=121, writes=60, reads=30)
        self._count(self.traffic, battles, bytes_out=12_000, bytes_in=360_000)
        for _ in range(120 * battles):
            self.trips.add("choose", trip(4_000_000))
        for pid in self.cpu:
            self.cpu[pid] += elapsed / 2

    def _count(self, counts: dict[str, int], times: int, **each: int) -> None:
        for name, change in each.items():
            counts[name] += change * times

    def stats(self) -> dict[str, Any]:
        return {
            "uptime": self.uptime,
            "pool": {"size": len(self.nodes), "ready": len(self.nodes), "rooms": self.rooms},
            "controllers": [self._controller(pid) for pid in self.nodes],
            "counters": dict(self.counters) | {"recycled": {}},
            "traffic": dict(self.traffic),
            "round_trips": self.trips.summary(),
            **self.extra,
        }

    def _controller(self, pid: int) -> dict[str, Any]:
        return {
            "pid": pid,
            "state": "ready",
            "rooms": self.rooms // len(self.nodes),
            "age": 90.0,
            "rss": self.rss[pid],
            "cpu": self.cpu[pid],
            "node": "v22.1.0",
            "simulator": "0.11.11",
            "turbo": True,
            "left": [],
            "warm": [100, 100],
        }

    def reading(self) -> Reading:
        uses = {pid: Use(self.cpu[pid], self.rss[pid], "system") for pid in (PYTHON, *self.nodes)}
        return Reading(self.stats(), uses, PYTHON)

    def measurement(self, kind: Literal["run", "attach"] = "run") -> Measurement:
        subject = Subject(kind, "made-up battles", "ipc_stats.py --battles 3", {"battles": 3})
        return Measurement(subject, self.reading(), load=0.5)


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def report(registry: Registry) -> Report:
    """Three battles in six seconds."""
    measurement = registry.measurement()
    for _ in range(3):
        registry.play(2.0)
        measurement.add(registry.reading())
    return measurement.report(looking_cpu=0.05)


def text_of(report: Report, width: int = 110) -> str:
    console = Console(width=width, file=StringIO())
    console.print(render(report), highlight=False)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


# What it covers


def test_what_happened_before_the_first_reading_is_not_in_the_report(registry: Registry) -> None:
    registry.trips.add("warm", trip(900_000_000))
    registry.trips.add("choose", trip(900_000_000))
    registry.play(10.0, battles=7)
    registry.counters["starts"] = 4
    measurement = registry.measurement()
    registry.play(2.0)
    measurement.add(registry.reading())
    report = measurement.report()

    assert report.seconds == 2.0
    assert (report.counts.battles_ended, report.counts.decisions) == (1, 120)
    assert (report.counts.starts, report.ever.starts) == (0, 4)
    (choose,) = report.operations
    assert choose.name == "choose"
    assert choose.total["count"] == 120
    assert choose.total["max"] < 40_000_000
    assert Histogram.decode(choose.phases["simulate"]["hdr"]).count == 120
    assert choose.phases["simulate"]["max"] == pytest.approx(4_000_000, rel=0.01)


def test_phases_add_up_to_the_whole_and_no_figure_exceeds_the_longest(report: Report) -> None:
    (choose,) = report.operations
    assert tuple(choose.phases) == PHASES
    means = [phase["mean"] for phase in choose.phases.values()]
    assert sum(means) == pytest.approx(choose.total["mean"], rel=0.01)
    for distribution in (choose.total, *choose.phases.values()):
        longest = distribution["max"]
        assert all(distribution[name] <= longest for name in ("mean", "p50", "p90", "p99", "p99.9"))


def test_rates_times_seconds_are_the_counts(report: Report) -> None:
    rates = report.rates
    assert rates["decisions_per_s"] == 60
    assert rates["battles_per_s"] == 0.5
    assert rates["bytes_in_per_decision"] == 3000
    assert rates["frames_in_per_turn"] == 2.42
    assert (rates["frames_per_write"], rates["frames_per_read"]) == pytest.approx(
        (2.017, 4.033), abs=1e-3
    )


def test_a_mean_over_turns_is_not_told_while_most_battles_are_cut(registry: Registry) -> None:
    measurement = registry.measurement("attach")
    registry.play(2.0)
    registry.rooms = 16
    measurement.add(registry.reading())
    rates = measurement.report().rates
    assert rates["frames_in_per_turn"] is None
    assert rates["decisions_per_battle"] is None
    assert rates["turns_per_battle"] == 50
    assert rates["decisions_per_s"] == 60


def test_a_count_that_went_backwards_is_unknown(registry: Registry) -> None:
    registry.play(1.0)
    measurement = registry.measurement()
    registry.play(1.0)
    registry.traffic["bytes_in"] = 5
    measurement.add(registry.reading())
    report = measurement.report()
    assert report.counts.bytes_in is None
    assert report.rates["bytes_in_per_decision"] is None
    assert re.search(rf"bytes from Node +{MISSING} +{MISSING} *\n", text_of(report))


def test_a_thinned_timeline_still_counts_everything(registry: Registry) -> None:
    measurement = registry.measurement()
    for _ in range(2000):
        registry.play(1.0, battles=0)
        registry.counters["decisions"] += 1
        measurement.add(registry.reading())
    timeline = measurement.report().timeline
    assert 200 < len(timeline) <= 601
    assert timeline[0].decisions == 0
    assert (timeline[-1].seconds, timeline[-1].decisions) == (2000, 2000)
    assert all(moment.seconds == moment.decisions for moment in timeline)
    assert [moment.seconds for moment in timeline] == sorted({m.seconds for m in timeline})


# Processes


def test_each_process_is_charged_what_it_used_meanwhile(report: Report) -> None:
    python, *nodes = report.processes
    assert (python.role, python.pid, python.cpu_seconds) == ("python", PYTHON, 3.0)
    assert [node.pid for node in nodes] == list(NODES)
    assert [node.cpu_share for node in nodes] == [0.5, 0.5]
    assert report.cpu_seconds("node") == 6.0
    assert report.rates["node_cpu_ms_per_decision"] == pytest.approx(6000 / 360)


def test_a_process_that_died_keeps_what_it_used_and_its_successor_starts_from_nothing(
    registry: Registry,
) -> None:
    measurement = registry.measurement()
    registry.play(2.0)
    measurement.add(registry.reading())
    registry.nodes = [12, 13]
    registry.cpu[13], registry.rss[13] = 0.0, 150 * MB
    registry.play(2.0)
    measurement.add(registry.reading())
    report = measurement.report()

    states = {process.pid: process.state for process in report.processes}
    used = {process.pid: process.cpu_seconds for process in report.processes}
    assert states == {PYTHON: "running", 11: "gone", 12: "ready", 13: "ready"}
    assert used == {PYTHON: 2.0, 11: 1.0, 12: 2.0, 13: 1.0}
    assert [process.pid for process in report.processes if process.born] == [13]
    text = text_of(report)
    assert re.search(r"all 3 Nodes .* 400 MB +350 MB", text)
    assert "is not known" in text
    assert "has its warm-up in it" in text


def test_what_nobody_measured_is_a_dash_and_never_nothing(registry: Registry) -> None:
    def elsewhere() -> Reading:
        return ProcessWatch().look(registry.stats())

    registry.nodes = [99_999_999]
    registry.cpu[99_999_999], registry.rss[99_999_999] = 0.0, 0
    subject = Subject("attach", "the server", "", {})
    measurement = Measurement(subject, elsewhere(), local=False)
    registry.play(30.0)
    measurement.add(elsewhere())
    report = measurement.report()

    python, node = report.processes
    assert python.pid is None
    assert python.cpu_seconds is None
    assert node.rss_after is None
    assert report.cpu_seconds("python") is None
    assert report.machine.cpus is None
    assert report.machine.python is None
    text = text_of(report)
    assert re.search(rf"Python +elsewhere( +{MISSING}){{7}}", text)
    assert "0 %" not in text.replace("100 %", "")


def test_cpu_time_that_a_server_tells_counts_after_some_heartbeats(registry: Registry) -> None:
    registry.nodes = [99_999_999]
    registry.cpu[99_999_999], registry.rss[99_999_999] = 10.0, 100 * MB
    registry.extra = {"config": {"heartbeat": 5.0}}
    subject = Subject("attach", "the server", "", {})
    measurement = Measurement(subject, ProcessWatch().look(registry.stats()), local=False)
    registry.play(10.0)
    measurement.add(ProcessWatch().look(registry.stats()))
    assert measurement.report().processes[1].cpu_seconds is None
    registry.play(10.0)
    measurement.add(ProcessWatch().look(registry.stats()))
    node = measurement.report().processes[1]
    assert (node.cpu_seconds, node.source) == (10.0, "server")


def test_it_is_said_what_turbo_left_to_vanilla_and_who_was_still_warming(
    registry: Registry,
) -> None:
    def told() -> dict[str, Any]:
        stats = registry.stats()
        for controller in stats["controllers"]:
            controller |= {"left": ["stats: it is not there"], "warm": [25, 100]}
        return stats

    measurement = registry.measurement()
    registry.play(2.0)
    reading = registry.reading()
    measurement.add(Reading(told(), reading.uses, reading.python))
    report = measurement.report()
    assert Report.from_dict(json.loads(report.to_json())) == report
    text = text_of(report)
    assert "pokemon-showdown 0.11.11, turbo" in text
    assert "Turbo left to vanilla: stats: it is not there." in text
    assert "Some processes were still warming" in text
    assert re.search(r"Node 11 +ready +25 %", text)


def test_less_cpu_time_than_a_tick_is_not_none(registry: Registry) -> None:
    measurement = registry.measurement()
    registry.uptime += 1.0
    measurement.add(registry.reading())
    assert re.search(r"Node 11 +ready +100 % +<10.0 ms +<1.0 %", text_of(measurement.report()))


def test_memory_a_room_is_told_when_there_are_enough_rooms(registry: Registry) -> None:
    measurement = registry.measurement()
    registry.play(1.0)
    registry.rooms = 200
    registry.rss |= {11: 250 * MB, PYTHON: 80 * MB}
    measurement.add(registry.reading())
    registry.rooms = 10
    registry.rss[11] = 300 * MB
    measurement.add(registry.reading())
    python, node, _ = measurement.report().processes
    assert (node.rooms_peak, node.rss_per_room, node.rss_peak) == (100, 0.5 * MB, 300 * MB)
    assert (python.rooms_peak, python.rss_per_room) == (200, 0.1 * MB)


def test_few_rooms_or_rooms_from_before_say_nothing_of_memory_a_room(registry: Registry) -> None:
    registry.rooms = 200
    measurement = registry.measurement()
    registry.rss[11] = 250 * MB
    measurement.add(registry.reading())
    assert all(process.rss_per_room is None for process in measurement.report().processes)


def test_the_processes_of_a_registry_here_are_found() -> None:
    watch = ProcessWatch(os.getpid())
    reading = watch.look(Registry((99_999_999,)).stats() | {"controllers": []})
    use = reading.uses[os.getpid()]
    assert use.source == "system"
    assert use.cpu is not None
    assert use.rss is not None
    assert use.rss > MB


# Plain data


def test_a_report_is_the_same_after_it_was_saved_and_loaded(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(report.to_json(), encoding="utf-8")
    assert Report.load(path) == report
    assert json.loads(path.read_text(encoding="utf-8"))["rates"] == report.rates


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 99}', '{"schema": 1}'])
def test_what_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableReport):
        Report.load(path)


# How it is drawn


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (duration, 0, "0 ns"),
        (duration, 850, "850 ns"),
        (duration, 1_234_567, "1.23 ms"),
        (duration, 999_999, "1.00 ms"),
        (duration, 61e9, "61.0 s"),
        (duration, None, MISSING),
        (seconds, 0.25, "250 ms"),
        (size, 21, "21 B"),
        (size, 3220.4, "3.22 kB"),
        (size, 25_000_000_000, "25.0 GB"),
        (number, 12_345, "12,345"),
        (number, 16.23, "16.2"),
        (number, 0.0312, "0.0312"),
        (number, 2034.4, "2,034"),
        (number, 0, "0"),
        (number, None, MISSING),
        (percent, 0.873, "87 %"),
        (percent, 0.031, "3.1 %"),
        (percent, 0.0001, "<0.1 %"),
        (percent, 1.3, "130 %"),
        (percent, None, MISSING),
    ],
)
def test_quantities_have_three_digits_and_a_unit(
    write: Callable[[Any], str], value: float | None, text: str
) -> None:
    assert write(value) == text


@pytest.mark.parametrize("width", [80, 110, 200])
def test_a_printed_report_fits_the_terminal_with_every_phase_side_by_side(
    report: Report, width: int
) -> None:
    text = text_of(report, width)
    assert max(map(len, text.splitlines())) <= width
    flat = " ".join(text.split())
    for word in ("encode", "simulate", "dispatch", "decode", "p50", "p90", "p99", "max"):
        assert word in flat
    (mean,) = [line for line in text.splitlines() if line.startswith("mean")]
    assert len(re.findall(r"[\d.]+ ms", mean)) == len(PHASES) + 1
    assert re.search(r"Node deaths +0 +0", text)


def test_a_percentile_beyond_which_nothing_lies_is_not_shown(report: Report) -> None:
    lines = text_of(report).splitlines()
    assert any(line.startswith("p99 ") for line in lines)
    assert not any(line.startswith("p99.9") for line in lines)


def embedded(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_a_page_needs_nothing_else_and_carries_its_data(report: Report) -> None:
    page = render_page(report)
    assert not re.search(r"https?://|//[a-z]|src=|<link|@import|url\(", page)
    data = embedded(page)
    assert Report.from_dict(data["report"]) == report
    curve = data["curves"]["choose"]
    assert curve[0][0] == 0
    assert curve[-1] == [100.0, report.operations[0].total["max"]]
    assert curve == sorted(curve)
    for table in ("Throughput over 6.00 s", "Processes", "Starts and deaths", "Round trips and"):
        assert table in page
    assert "$" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_nothing_in_a_report_can_break_out_of_its_page(registry: Registry) -> None:
    evil = "</script><script>alert('$title')</script><img onerror=alert(1)>&amp;"
    measurement = Measurement(Subject("run", evil, evil, {"format": evil}), registry.reading())
    registry.play(1.0)
    registry.trips.add(evil, trip(1))
    measurement.add(registry.reading())
    page = render_page(measurement.report(ending="failed", failure=evil))
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert embedded(page)["report"]["subject"] == evil


def test_a_report_without_round_trips_is_drawn_without_them(registry: Registry) -> None:
    measurement = registry.measurement()
    registry.uptime += 1.0
    measurement.add(registry.reading())
    report = measurement.report(ending="interrupted")
    assert "There was no round trip" in text_of(report)
    assert "It was interrupted" in text_of(report)
    assert 'class="banner interrupted"' in render_page(report)


# Attached to a server


class Witness:
    """An onlooker that remembers, and does something at each look."""

    def __init__(self, then: Callable[[int], None] = lambda _: None) -> None:
        self.notes: list[str] = []
        self.looks: list[tuple[Report, Report]] = []
        self._then = then

    def note(self, line: str) -> None:
        self.notes.append(line)

    def looked(self, last: Report, whole: Report) -> None:
        self.looks.append((last, whole))
        self._then(len(self.looks))


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def app_of(answers: Iterator[object]) -> web.Application:
    async def stats(_request: web.Request) -> web.Response:
        return web.json_response(next(answers))

    app = web.Application()
    app.router.add_get("/api/stats", stats)
    return app


def endless(registry: Registry) -> Iterator[dict[str, Any]]:
    while True:
        yield registry.stats()
        registry.play(2.0)


async def test_a_running_server_is_measured_from_when_one_attached(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as pool:
        await play_battles(pool, Workload(1, 1))
        service = Service(pool, "")
        service.become(Phase.SERVING)
        async with served(build_app(service)) as url:
            playing = asyncio.create_task(play_battles(pool, Workload(400, 4, first_seed=1)))
            witness = Witness()
            report = await measure_server(
                url, Schedule(0.3, count=3), onlooker=witness, stop=asyncio.Event(), command="x"
            )
            playing.cancel()
    assert len(witness.looks) == 3
    assert report == witness.looks[-1][1]
    decisions = [last.counts.decisions or 0 for last, _ in witness.looks]
    assert report.counts.decisions == sum(decisions) > 0
    assert report.seconds == pytest.approx(sum(last.seconds for last, _ in witness.looks))
    assert report.ever.decisions is not None
    assert report.ever.decisions > report.counts.decisions
    assert "choose" in [operation.name for operation in report.operations]
    python, node = report.processes
    assert (python.pid, python.source) == (os.getpid(), "system")
    assert node.source == "system"
    assert node.rss_after is not None
    assert report.machine.simulator == "0.11.11"
    assert report.settings["pool"] == 1
    assert report.rooms_before + report.rooms_after > 0


async def test_what_a_registry_told_does_not_change_afterwards(settings: BridgeConfig) -> None:
    config = settings.replace(recycle_battles=1, recycle_jitter=0.0)
    async with ControllerRegistry(config) as pool:
        before = pool.stats()
        copied = json.loads(json.dumps(before))
        async with asyncio.timeout(30):
            while not pool.stats()["counters"]["recycled"]:
                await play_battles(pool, Workload(1, 1))
        assert json.loads(json.dumps(before)) == copied
        assert pool.stats()["counters"]["recycled"] == {"battles": 1}


async def test_stopping_takes_a_last_look_and_is_not_a_failure(registry: Registry) -> None:
    stop = asyncio.Event()
    witness = Witness(lambda looks: stop.set() if looks == 2 else None)
    async with served(app_of(endless(registry))) as url:
        report = await measure_server(url, Schedule(0.05), onlooker=witness, stop=stop)
    assert (report.ending, report.counts.battles_ended) == ("complete", 2)


async def test_a_duration_ends_with_a_last_look(registry: Registry) -> None:
    witness = Witness()
    async with served(app_of(endless(registry))) as url:
        schedule = Schedule(interval=0.1, duration=0.15)
        await measure_server(url, schedule, onlooker=witness, stop=asyncio.Event())
    assert len(witness.looks) == 2


async def test_a_server_that_was_started_anew_is_measured_anew(registry: Registry) -> None:
    fresh = Registry()
    fresh.uptime = 1.0

    def answers() -> Iterator[dict[str, Any]]:
        yield registry.stats()
        registry.play(2.0, battles=5)
        yield registry.stats()
        yield from endless(fresh)

    witness = Witness()
    async with served(app_of(answers())) as url:
        report = await measure_server(
            url, Schedule(0.02, count=3), onlooker=witness, stop=asyncio.Event()
        )
    assert witness.notes == ["the server was started anew, and so is the measurement"]
    assert report.counts.battles_ended == 1


async def test_a_server_of_another_version_is_measured_as_far_as_it_is_known(
    registry: Registry,
) -> None:
    def answers() -> Iterator[dict[str, Any]]:
        for stats in endless(registry):
            stats["counters"]["battles_admired"] = 3
            stats["traffic"]["smoke_signals"] = 1
            del stats["counters"]["turns"], stats["counters"]["recycled"]
            for trips in stats["round_trips"].values():
                del trips["phases"]["node_wait"]
            yield stats

    async with served(app_of(answers())) as url:
        report = await measure_server(
            url, Schedule(0.02, count=2), onlooker=Witness(), stop=asyncio.Event()
        )
    assert (report.counts.battles_ended, report.counts.turns) == (2, None)
    assert re.search(rf"^turns +{MISSING} +{MISSING}", text_of(report), re.MULTILINE)
    assert re.search(rf"^mean .* {MISSING} ", text_of(report), re.MULTILINE)
    assert render_page(report)


async def test_a_server_that_goes_away_leaves_what_was_measured(registry: Registry) -> None:
    async with served(app_of(endless(registry))) as url:
        gone = asyncio.Event()
        witness = Witness(lambda looks: gone.set() if looks == 1 else None)
        measuring = asyncio.create_task(
            measure_server(url, Schedule(0.05), onlooker=witness, stop=asyncio.Event())
        )
        await gone.wait()
    report = await measuring
    assert report.ending == "failed"
    assert report.failure is not None
    assert url in report.failure
    assert report.counts.battles_ended == len(witness.looks)
    assert report.failure in text_of(report, width=200)


async def test_nothing_listens_is_said_so() -> None:
    with pytest.raises(ServerGone, match=r"nothing listens at http://127\.0\.0\.1:9: "):
        await measure_server("127.0.0.1:9", Schedule(), onlooker=Witness(), stop=asyncio.Event())


@pytest.mark.parametrize("answer", [[], {"uptime": 3}, "Welcome", None])
async def test_what_is_not_maple_is_said_so(answer: object) -> None:
    async with served(app_of(iter([answer]))) as url:
        with pytest.raises(NotAServer, match=f"{url} is not a Maple server"):
            await measure_server(url, Schedule(), onlooker=Witness(), stop=asyncio.Event())


async def test_a_page_that_is_not_there_is_said_so() -> None:
    async with served(web.Application()) as url:
        with pytest.raises(NotAServer, match="/api/stats answers 404"):
            await measure_server(url, Schedule(), onlooker=Witness(), stop=asyncio.Event())


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000/api/stats"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/api/stats"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/api/stats"),
        ("http://127.0.0.1:8000/api/stats", "http://127.0.0.1:8000/api/stats"),
        ("https://maple.example/pool/?a=b#c", "https://maple.example/pool/api/stats?a=b"),
        ("http://h:1/api/stats?token=x", "http://h:1/api/stats?token=x"),
        ("http://[::1]:8000", "http://[::1]:8000/api/stats"),
    ],
)
def test_an_address_leads_to_the_stats(text: str, url: str) -> None:
    assert str(stats_url(text)) == url


@pytest.mark.parametrize("text", ["", "ftp://127.0.0.1", "http://", "http://127.0.0.1:port", "::"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(NotAServer):
        stats_url(text)


def test_each_interval_is_a_block_where_there_is_no_terminal(registry: Registry) -> None:
    registry.counters |= {"starts": 3, "deaths": 1}
    whole = registry.measurement("attach")
    registry.play(2.0)
    registry.counters["deaths"] += 1
    before = registry.reading()
    whole.add(before)
    last = Measurement(whole.subject, before)
    registry.play(2.0, battles=2)
    for measurement in (whole, last):
        measurement.add(registry.reading())
    console = Console(width=110, file=StringIO())
    with Blocks(console) as blocks:
        blocks.looked(last.report(), whole.report())
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert "pokemon-showdown 0.11.11, turbo\n" in text
    assert re.search(r"decisions +120 +90.0 +360", text)
    assert "Round trips and their phases, last 2.00 s" in text
    assert re.search(r"choose +240 *\n", text)
    (median,) = [line for line in text.splitlines() if line.startswith("p50")]
    assert len(re.findall(r"[\d.]+ ms", median)) == len(PHASES) + 1
    assert re.search(r"Node starts +0 +3", text)
    assert re.search(r"Node deaths +1 +2", text)
