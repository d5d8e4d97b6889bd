"""Draws reports, and the way to them, on a terminal or as plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from rich import box
from rich.console import (
    Console,
    ConsoleOptions,
    Group,
    JustifyMethod,
    RenderableType,
    RenderResult,
)
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

from . import tables
from .attach import Onlooker
from .measurement import Measurement
from .quantities import number
from .report import Report
from .run import Watcher
from .tables import Table

__all__ = ["Display", "onlooker_for", "render", "watcher_for"]

# The width of what is printed where there is no terminal to measure.
PLAIN_WIDTH = 110
_UNBOUNDED = 1000
_LINE_EVERY = 5.0


class Display(Protocol):
    """Something on the screen, for as long as its context lasts."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class WatchingDisplay(Display, Watcher, Protocol):
    """Shows how battles come along."""


class OnlookingDisplay(Display, Onlooker, Protocol):
    """Shows a server at work."""


def watcher_for(console: Console, battles: int) -> WatchingDisplay:
    """A progress bar on a terminal, lines elsewhere."""
    return ProgressBar(console, battles) if console.is_terminal else ProgressLines(console, battles)


def onlooker_for(console: Console) -> OnlookingDisplay:
    """A table that is drawn anew on a terminal, a block for every interval elsewhere."""
    return LiveTables(console) if console.is_terminal else Blocks(console)


def render(report: Report) -> RenderableType:
    """The whole report, as a console of 80 columns or more can show it."""
    parts: list[RenderableType] = [_heading(report), _Drawn(tables.throughput(report))]
    if report.operations:
        parts.append(_Drawn(tables.round_trips(report)))
    parts += [_Drawn(tables.processes(report)), _Drawn(tables.life(report))]
    return Group(*parts, *(Text(f"  {note}") for note in tables.notes(report)))


def _render_interval(last: Report, whole: Report) -> RenderableType:
    """What a glance at a running server should tell."""
    title = _title(whole)
    if (simulator := tables.simulator(whole)) is not None:
        title.append(f"{simulator}\n", style="dim")
    parts: list[RenderableType] = [title, _Drawn(tables.throughput(whole, last))]
    # A terminal that is too low cuts off the end, so what somebody has to act on is not there.
    parts.append(_Drawn(tables.life(whole)))
    if last.operations:
        parts.append(_Drawn(tables.round_trips(last, is_interval=True)))
    return Group(*parts, _Drawn(tables.processes(last)))


def _title(report: Report) -> Text:
    return Text.assemble(("Maple IPC throughput", "bold"), f": {report.subject}", "\n")


def _heading(report: Report) -> Text:
    lines = _title(report)
    pairs = tables.facts(report)
    inline = ", ".join(
        f"{name} {value}" for name, value in pairs if name not in ("command", "measured")
    )
    lines.append(f"{dict(pairs)['measured']}, {inline}\n", style="dim")
    if report.command:
        lines.append(f"$ {report.command}\n", style="dim")
    return lines


@dataclass(frozen=True)
class _Drawn:
    """A table with space between its columns, or with less where the console is narrow."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        roomy = self._draw(padding=1, heading=str)
        unbounded = options.update(max_width=_UNBOUNDED)
        fits = console.measure(roomy, options=unbounded).maximum <= options.max_width
        yield roomy if fits else self._draw(padding=0, heading=_broken)
        yield Text(f"{self.table.note}\n" if self.table.note else "", style="dim")

    def _draw(self, *, padding: int, heading: Callable[[str], str]) -> RichTable:
        table = self.table
        drawn = RichTable(
            title=table.title,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, padding),
            show_edge=False,
            header_style="dim",
        )
        for position, name in enumerate(table.columns):
            worded = not position or name in table.worded
            justify: JustifyMethod = "left" if worded else "right"
            drawn.add_column(heading(name), justify=justify, vertical="bottom", overflow="fold")
        for row in table.rows:
            drawn.add_row(*row.cells, style="bold" if row.strong else "")
        return drawn


def _broken(heading: str) -> str:
    """A heading on two lines, so that it takes no more room than the quantities under it."""
    before, _, after = heading.rpartition(" ")
    return f"{before}\n{after}"


class ProgressBar:
    """A bar with battles and decisions a second beside it."""

    def __init__(self, console: Console, battles: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rates]}", style="dim"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("warming up", total=battles, start=False, rates="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def note(self, line: str) -> None:
        self._bar.update(self._task, description=line)

    def battle_ended(self, ended: int) -> None:
        if ended == 1:
            self._bar.start_task(self._task)
        self._bar.update(self._task, completed=ended, description="battles")

    def looked(self, measurement: Measurement) -> None:
        self._bar.update(self._task, description="battles", rates=_rates(measurement))


class ProgressLines:
    """A line every few seconds."""

    def __init__(self, console: Console, battles: int) -> None:
        self._console = console
        self._battles = battles
        self._ended = 0
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def note(self, line: str) -> None:
        self._console.print(line, highlight=False)

    def battle_ended(self, ended: int) -> None:
        self._ended = ended

    def looked(self, measurement: Measurement) -> None:
        if time.monotonic() - self._said >= _LINE_EVERY:
            self._said = time.monotonic()
            self.note(f"{self._ended} of {self._battles} battles, {_rates(measurement)}")


def _rates(measurement: Measurement) -> str:
    """How fast it went between the last two looks."""
    before, now = measurement.moments[-2:]
    elapsed = now.seconds - before.seconds
    if elapsed <= 0 or now.decisions is None or before.decisions is None:
        return ""
    decisions = (now.decisions - before.decisions) / elapsed
    return f"{number(round(decisions))} decisions/s"


class LiveTables:
    """The tables of the last interval, drawn anew in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def note(self, line: str) -> None:
        self._console.print(line, highlight=False)

    def looked(self, last: Report, whole: Report) -> None:
        hint = Text("Ctrl-C ends it with the whole report", style="dim")
        self._live.update(Group(_render_interval(last, whole), hint), refresh=True)


class Blocks:
    """The tables of every interval, one below the other."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def note(self, line: str) -> None:
        self._console.print(line, highlight=False)

    def looked(self, last: Report, whole: Report) -> None:
        self._console.print(_render_interval(last, whole), highlight=False)
