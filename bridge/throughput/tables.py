"""The tables of a report, filled in for people. Says what is shown, not how it is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..histogram import PERCENTILES
from ..timing import PHASES
from .quantities import duration, number, percent, seconds, size
from .report import Counts, Operation, ProcessUse, Report

__all__ = [
    "Row",
    "Table",
    "facts",
    "life",
    "notes",
    "processes",
    "round_trips",
    "throughput",
]

_TICK = 0.01
STATISTICS = ("mean", *(f"p{p:g}" for p in PERCENTILES), "max")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table; `strong` for what sums up, or matters more than the others."""

    cells: tuple[str, ...]
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns. The first names the row; others, unless `worded`, hold quantities."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    worded: tuple[str, ...] = ()
    note: str = ""


def throughput(report: Report, last: Report | None = None) -> Table:
    """What happened, a second and in all; with the last interval beside it, where there is one."""
    rates, counts = report.rates, report.counts
    recent = last.rates if last else {}
    lines: list[tuple[str, str, int | None, str]] = [
        ("battles", "battles", counts.battles_ended, _of(rates["turns_per_battle"], "turns each")),
        (
            "decisions",
            "decisions",
            counts.decisions,
            _of(rates["decisions_per_battle"], "a battle"),
        ),
        ("turns", "turns", counts.turns, ""),
        (
            "frames to Node",
            "frames_out",
            counts.commands,
            _of(rates["frames_out_per_turn"], "a turn"),
        ),
        (
            "frames from Node",
            "frames_in",
            counts.frames,
            _of(rates["frames_in_per_turn"], "a turn"),
        ),
        ("writes", "writes", counts.writes, _of(rates["frames_per_write"], "frames each")),
        ("reads", "reads", counts.reads, _of(rates["frames_per_read"], "frames each")),
        ("bytes to Node", "bytes_out", counts.bytes_out, _sized(rates["bytes_out_per_decision"])),
        ("bytes from Node", "bytes_in", counts.bytes_in, _sized(rates["bytes_in_per_decision"])),
    ]
    rows = []
    for name, rate, total, which in lines:
        write = size if rate.startswith("bytes") else number
        now = (write(recent[f"{rate}_per_s"]),) if last else ()
        each = write(rates[f"{rate}_per_s"])
        rows.append(Row((name, *now, each, write(total), which), strong=name == "decisions"))
    columns: tuple[str, ...] = ("a second", "in all", "which is")
    if last:
        columns = (
            f"a second, last {seconds(last.seconds)}",
            "since attached",
            "in all",
            "which is",
        )
    note = ""
    if report.cuts_battles:
        note = (
            "Turns and battles count when a battle ends, all else at once. "
            "Too few have ended for a mean of frames a turn."
        )
    return Table(
        f"Throughput over {seconds(report.seconds)}",
        ("", *columns),
        tuple(rows),
        ("which is",),
        note,
    )


def _of(value: float | None, unit: str) -> str:
    return f"{number(value)} {unit}" if value is not None else ""


def _sized(value: float | None) -> str:
    return f"{size(value)} a decision" if value is not None else ""


def round_trips(report: Report, *, is_interval: bool = False) -> Table:
    """Percentiles by operation, of the whole trip and of each phase beside it."""
    rows: list[Row] = []
    for operation in report.operations:
        count = operation.total["count"]
        heading = (operation.name, number(count), *[""] * len(PHASES))
        rows.append(Row(heading, strong=True))
        rows += [_statistic(operation, name) for name in STATISTICS if _is_sampled(name, count)]
    when = f", last {seconds(report.seconds)}" if is_interval else ""
    return Table(
        f"Round trips and their phases{when}",
        ("", "whole", *map(_spaced, PHASES)),
        tuple(rows),
        note=(
            "Beside its name stands how often an operation was timed. "
            "Means of phases add up to the mean of the whole; percentiles do not."
        ),
    )


def _statistic(operation: Operation, name: str) -> Row:
    # A server of another version may not know all phases.
    parts = (operation.phases.get(phase, {}) for phase in PHASES)
    cells = (duration(distribution.get(name)) for distribution in (operation.total, *parts))
    return Row((name, *cells))


def _is_sampled(name: str, count: int) -> bool:
    """Whether there are values beyond a percentile; else it would only repeat the maximum."""
    return not name.startswith("p") or round(count * (100 - float(name[1:])), 6) >= 100


def _spaced(phase: str) -> str:
    return phase.replace("_", " ")


def processes(report: Report) -> Table:
    """What each process used, and all Node processes together."""
    columns = [
        "",
        "state",
        "warm",
        "CPU",
        "of a core",
        "a decision",
        "RSS before",
        "at most",
        "after",
        "rooms",
    ]
    per_room = any(process.rss_per_room is not None for process in report.processes)
    if per_room:
        columns.append("a room")
    rows = [Row(tuple(_process(report, process, per_room))) for process in report.processes]
    nodes = [process for process in report.processes if process.role == "node"]
    if len(nodes) > 1:
        rows.append(Row(tuple(_all_nodes(report, nodes, per_room)), strong=True))
    return Table(
        "Processes", tuple(columns), tuple(rows), ("state",), _process_note(report, per_room)
    )


def _process(report: Report, process: ProcessUse, per_room: bool) -> Iterator[str]:
    name = "Python" if process.role == "python" else "Node"
    yield name if process.pid is None else f"{name} {process.pid}"
    yield process.state
    yield "" if process.role == "python" else percent(process.warmth)
    yield from _cpu(process.cpu_seconds, report.seconds)
    yield _milliseconds(process.cpu_ms_per_decision)
    yield from (size(rss) for rss in (process.rss_before, process.rss_peak, process.rss_after))
    yield number(process.rooms_peak)
    if per_room:
        yield size(process.rss_per_room)


def _all_nodes(report: Report, nodes: list[ProcessUse], per_room: bool) -> Iterator[str]:
    cpu = report.cpu_seconds("node")
    yield f"all {len(nodes)} Nodes"
    yield ""
    yield ""
    yield from _cpu(cpu, report.seconds)
    yield _milliseconds(report.cpu_ms_per_decision("node"))
    yield size(_sum([node.rss_before for node in nodes if not node.born]))
    # Peaks at different times do not add up to a peak.
    yield ""
    yield size(_sum([node.rss_after for node in nodes if node.state != "gone"]))
    yield ""
    if per_room:
        yield ""


def _cpu(used: float | None, elapsed: float) -> Iterator[str]:
    """CPU time and its share; less than the system's clock ticks is not the same as none."""
    below = "<" if used is not None and used < _TICK else ""
    shown = _TICK if below else used
    yield f"{below}{seconds(shown)}"
    yield f"{below}{percent(shown / elapsed if shown is not None and elapsed else None)}"


def _milliseconds(value: float | None) -> str:
    return seconds(None if value is None else value / 1000)


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _process_note(report: Report, per_room: bool) -> str:
    sentences = ["Rooms are the most seen open at a look."]
    if report.kind == "run":
        sentences.insert(0, "Python plays both sides of every battle here, at random.")
    if any(process.state in ("gone", "leaving") for process in report.processes):
        sentences.append(
            "Of a process that is gone, what it used after the last look is not known."
        )
    if any(process.born for process in report.processes):
        sentences.append("The CPU time of one that was started meanwhile has its warm-up in it.")
    if any(process.source == "server" for process in report.processes):
        sentences.append("CPU and memory of Node are as the server tells them, a heartbeat old.")
    if per_room:
        sentences.append(
            "RSS a room is the growth with all rooms open, uncollected garbage included."
        )
    return " ".join(sentences)


def life(report: Report) -> Table:
    """Starts and deaths of processes, and what became of battles."""
    lines = (
        ("Node starts", "starts"),
        ("Node starts failed", "failed_starts"),
        ("Node deaths", "deaths"),
        ("Node recycled", "recycled"),
        ("battles opened", "battles_opened"),
        ("battles ended", "battles_ended"),
        ("battles moved", "battles_moved"),
        ("battles poisoned", "battles_poisoned"),
    )
    rows = (
        Row((name, _happened(report.counts, field), _happened(report.ever, field)))
        for name, field in lines
    )
    return Table("Starts and deaths", ("", "while measured", "since the start"), tuple(rows))


def _happened(counts: Counts, field: str) -> str:
    if field != "recycled":
        return number(getattr(counts, field))
    reasons = ", ".join(f"{reason} {times}" for reason, times in counts.recycled.items())
    return f"{sum(counts.recycled.values())} ({reasons})" if reasons else "0"


def facts(report: Report) -> list[tuple[str, str]]:
    """Where and with what it was measured; what is not known is left out."""
    machine = report.machine
    known: list[tuple[str, str | None]] = [
        ("measured", report.began.replace("T", " ")),
        ("CPUs", _cpus(report)),
        ("memory", size(machine.memory) if machine.memory else None),
        ("load before", number(machine.load) if machine.load is not None else None),
        ("system", machine.system),
        ("Python", machine.python),
        ("Node", machine.node),
        ("simulator", simulator(report)),
        ("Maple", machine.maple),
        ("command", report.command or None),
    ]
    return [(name, value) for name, value in known if value]


def _cpus(report: Report) -> str | None:
    machine = report.machine
    if machine.cpus is None:
        return None
    return (
        f"{machine.cpus} \N{MULTIPLICATION SIGN} {machine.cpu_model}"
        if machine.cpu_model
        else str(machine.cpus)
    )


def simulator(report: Report) -> str | None:
    """Which simulator ran, and whether with turbo; None if nothing said so."""
    if report.machine.simulator is None:
        return None
    kind = {True: ", turbo", False: ", vanilla", None: ""}[report.machine.turbo]
    return f"pokemon-showdown {report.machine.simulator}{kind}"


def notes(report: Report) -> list[str]:
    """What a reader has to know to judge the figures."""
    said = []
    if report.ending == "interrupted":
        said.append(f"It was interrupted, with {number(report.rooms_after)} battles under way.")
    if report.ending == "failed":
        said.append(f"It ended early: {report.failure}")
    if not report.operations:
        said.append(
            "No round trip was timed: timing is off."
            if report.settings.get("timing") is False
            else "There was no round trip."
        )
    if report.machine.left:
        said.append(f"Turbo left to vanilla: {'; '.join(report.machine.left)}.")
    if any(process.warmth is not None and process.warmth < 1 for process in report.processes):
        said.append("Some processes were still warming, which is in their CPU time.")
    python = report.cpu_seconds("python")
    if report.looking_cpu is not None and python:
        share = percent(report.looking_cpu / python)
        said.append(
            f"Of Python's CPU time, {share} went into the {report.looks} readings themselves."
        )
    return said
