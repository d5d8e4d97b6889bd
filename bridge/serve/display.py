"""How a service shows itself: a live table on a terminal, log lines elsewhere. Measures nothing."""

from __future__ import annotations

import datetime
from typing import Any, Final, Protocol

import structlog
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..controller import warmth
from .figures import Figures
from .websocket import websocket_url

__all__ = ["Display", "LogDisplay", "TerminalDisplay", "choose_display"]

log = structlog.get_logger("bridge.serve")

_NONE: Final = "-"
_MEGABYTE: Final = 1_000_000
_MILLISECOND: Final = 1_000_000


class Display(Protocol):
    """Where a service shows how it is doing, every `interval` seconds."""

    interval: float

    def open(self) -> None: ...

    def close(self) -> None:
        """Leaves the terminal as it was; may be called twice."""

    def progress(self, line: str) -> None:
        """Says what the service is waiting for."""

    def show(self, figures: Figures) -> None: ...


def choose_display(interval: float | None) -> Display:
    """A table if stderr is a terminal, else lines; each has its usual interval."""
    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        return TerminalDisplay(console, interval or 1.0)
    return LogDisplay(interval or 10.0)


class LogDisplay:
    """One line for every step and one for every interval."""

    def __init__(self, interval: float) -> None:
        self.interval = interval

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def progress(self, line: str) -> None:
        log.info(line)

    def show(self, figures: Figures) -> None:
        if figures.status != "starting":
            log.info("status", **summary(figures))


def summary(figures: Figures) -> dict[str, Any]:
    """The figures that go into one line."""
    pool, rates = figures.stats["pool"], figures.rates
    controllers = figures.stats["controllers"]
    line = {
        "state": figures.status,
        "ready": f"{pool['ready']}/{pool['size']}",
        "turbo": ", ".join(dict.fromkeys(map(_turbo, controllers))),
        "warm": f"{pool['warmth']:.0%}",
        "rooms": pool["rooms"],
        "users": figures.lobby["users"],
        "connections": figures.lobby["connections"],
        "games": figures.lobby["games"],
        "battles": figures.stats["counters"]["battles_ended"],
        "battles_per_s": round(rates.battles_per_s, 1),
        "decisions_per_s": round(rates.decisions_per_s),
        "node_memory_mb": round(sum(c["rss"] for c in controllers) / _MEGABYTE),
        "node_cpu_percent": round(sum(figures.cpu.values())),
        "deaths": figures.stats["counters"]["deaths"],
    }
    if rates.p50 is not None and rates.p99 is not None:
        line["p50_ms"] = round(rates.p50 / _MILLISECOND, 2)
        line["p99_ms"] = round(rates.p99 / _MILLISECOND, 2)
    return line


class TerminalDisplay:
    """A table that is drawn anew, below whatever is logged."""

    def __init__(self, console: Console, interval: float) -> None:
        self.interval = interval
        self._console = console
        self._waiting_for = ""
        self._figures: Figures | None = None
        # No thread of its own draws it: the event loop does.
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def open(self) -> None:
        self._live.start()

    def close(self) -> None:
        self._live.stop()

    def progress(self, line: str) -> None:
        if self._figures is not None and self._figures.status == "starting":
            self._waiting_for = line
            self.show(self._figures)
        else:
            log.info(line)

    def show(self, figures: Figures) -> None:
        self._figures = figures
        # The lines above the rows, the line below, and one for what is left out.
        rows = max(1, self._console.height - 9)
        self._live.update(draw(figures, waiting_for=self._waiting_for, rows=rows), refresh=True)


_COLOURS: Final = {
    "ready": "green",
    "starting": "yellow",
    "warming": "yellow",
    "recovering": "red",
    "stopping": "yellow",
    "draining": "yellow",
}


def draw(figures: Figures, *, waiting_for: str, rows: int) -> RenderableType:
    """The status as one would like to read it, with at most so many controllers."""
    heading = _heading(figures)
    if figures.status == "starting":
        return Group(heading, Text(f" {waiting_for}" if waiting_for else " starting", style="dim"))
    controllers = figures.stats["controllers"]
    left_out = len(controllers) - rows
    table = _table(controllers[:rows], figures.cpu)
    more = [Text(f" and {left_out} more controllers", style="dim")] if left_out > 0 else []
    way_out = "Ctrl-C again ends it at once" if figures.status == "stopping" else "Ctrl-C ends it"
    lines = (heading, _lobby(figures), _work(figures))
    return Group(*lines, table, *more, Text(f" {way_out}", style="dim"))


def _heading(figures: Figures) -> Text:
    pool = figures.stats["pool"]
    uptime = datetime.timedelta(seconds=int(figures.stats["uptime"]))
    return Text.assemble(
        (" Maple ", "bold"),
        (figures.url, "underline"),
        "  ",
        (figures.status, _COLOURS[figures.status]),
        f"  {pool['ready']}/{pool['size']} controllers",
        f"  {pool['rooms']}/{pool['capacity']} rooms",
        (f"  {uptime}", "dim"),
        no_wrap=True,
        overflow="ellipsis",
    )


def _lobby(figures: Figures) -> Text:
    lobby = figures.lobby
    return Text.assemble(
        " ",
        (websocket_url(figures.url), "underline"),
        f"  {lobby['connections']:,} connections  {lobby['users']:,} users",
        f"  {lobby['games']:,} games",
        no_wrap=True,
        overflow="ellipsis",
    )


def _work(figures: Figures) -> Text:
    rates = figures.rates
    return Text.assemble(
        (f" {rates.battles_per_s:,.1f}", "bold"),
        " battles/s  ",
        (f"{rates.decisions_per_s:,.0f}", "bold"),
        " decisions/s  round trip p50 ",
        (_milliseconds(rates.p50), "bold"),
        " p99 ",
        (_milliseconds(rates.p99), "bold"),
        no_wrap=True,
        overflow="ellipsis",
    )


def _milliseconds(nanoseconds: int | None) -> str:
    return _NONE if nanoseconds is None else f"{nanoseconds / _MILLISECOND:.3g} ms"


def _turbo(controller: dict[str, Any]) -> str:
    if not controller["turbo"]:
        return "no"
    return "in part" if controller["left"] else "yes"


def _table(controllers: list[dict[str, Any]], cpu: dict[int, float]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, show_edge=False)
    table.add_column("pid", justify="right")
    table.add_column("state")
    table.add_column("turbo")
    for name in ("warm", "rooms", "battles", "memory", "cpu", "age"):
        table.add_column(name, justify="right")
    for controller in controllers:
        load = cpu.get(controller["pid"])
        state = controller["state"]
        table.add_row(
            str(controller["pid"]),
            Text(state, style=_COLOURS.get(state, "")),
            _turbo(controller),
            f"{warmth(controller['warm']):.0%}",
            f"{controller['rooms']:,}",
            f"{controller['battles']:,}",
            f"{controller['rss'] / _MEGABYTE:,.0f} MB" if controller["rss"] else _NONE,
            _NONE if load is None else f"{load:.0f} %",
            str(datetime.timedelta(seconds=int(controller["age"]))),
        )
    return table
