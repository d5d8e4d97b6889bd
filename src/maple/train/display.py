"""Shows how a run is doing: a table that stays in its place on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bridge.throughput.quantities import number, percent

from .status import Standing, Status

__all__ = ["Display", "clock_time", "describe"]

_LINE_SECONDS: Final = 10.0
_WIDTH: Final = 60
_MARGIN: Final = 3


class Display:
    """Hears the status of every update, and shows it now and then.

    Args:
        console: Where; if that is no terminal, a line is written every ten seconds.
        clock: Tells seconds.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._live: Live | None = None
        self._next = clock()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leaves what was shown last where it is."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, status: Status) -> None:
        if self._live is not None:
            # Ctrl-C writes two letters behind the last line, which must not become another one.
            width = self._console.width - _MARGIN
            self._live.update(Constrain(render(status), width), refresh=True)
        elif self._clock() >= self._next:
            self._next = self._clock() + _LINE_SECONDS
            self.say(describe(status))

    def say(self, line: str) -> None:
        """A line by itself, above the table if there is one."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def describe(status: Status) -> str:
    """A status in one line."""
    figures, counters = status.figures, status.counters
    parts = [
        f"{percent(status.progress)} after {clock_time(counters.seconds)}",
        *_left(status),
        f"update {number(counters.updates)}",
        f"{number(round(status.decisions_per_s))} decisions/s",
        f"{status.battles_per_s:.1f} battles/s",
        *(f"{name} {_rate(standing)}" for name, standing in status.standings.items()),
        f"loss {figures.policy_loss:+.4f} policy {figures.value_loss:.3f} value",
        f"entropy {figures.entropy:.2f}",
        *_troubles(status),
    ]
    return ", ".join(parts)


def render(status: Status) -> Group:
    """A status as a few tables."""
    figures, counters = status.figures, status.counters
    bar = ProgressBar(total=1.0, completed=status.progress, width=_WIDTH)
    head = f"{percent(status.progress)} after {clock_time(counters.seconds)}"
    grid = Table.grid(padding=(0, 2))
    grid.add_row("speed", _speed(status))
    grid.add_row(
        "so far",
        f"{number(counters.decisions)} decisions, {number(counters.battles)} battles, "
        f"{number(counters.updates)} updates",
    )
    # A path may have brackets, which are no markup.
    grid.add_row("against", Text(_mix(status)))
    for name, standing in status.standings.items():
        grid.add_row(
            Text(f"  {name}"), f"won {_rate(standing)} of the last {number(standing.battles)}"
        )
    grid.add_row(
        "losses",
        f"policy {figures.policy_loss:+.4f}, value {figures.value_loss:.4f}, "
        f"entropy {figures.entropy:.3f}",
    )
    grid.add_row(
        "learning",
        f"rate {figures.rate:.2g}, KL {figures.divergence:.4f}, clipped "
        f"{percent(figures.clipped)}, values explain {percent(figures.explained)}",
    )
    if status.returns is not None:
        parts = ", ".join(f"{name} {value:+.3f}" for name, value in status.parts.items())
        grid.add_row("reward", f"{status.returns:+.3f} a battle: {parts}")
    if status.turns is not None:
        grid.add_row("turns", f"{status.turns:.1f} a battle")
    for trouble in _troubles(status):
        grid.add_row("", Text(trouble, style="yellow"))
    top = Table.grid()
    top.add_row(", ".join([head, *_left(status)]))
    top.add_row(bar)
    return Group(top, grid)


def _speed(status: Status) -> str:
    lag = f", network {status.lag:.1f} updates ahead" if status.lag else ""
    return (
        f"{number(round(status.decisions_per_s))} decisions/s, "
        f"{status.battles_per_s:.1f} battles/s, {percent(status.collecting)} of the time waiting "
        f"for them{lag}"
    )


def _mix(status: Status) -> str:
    stage = f", stage {status.stage + 1} of {status.stages + 1}" if status.stages else ""
    league = f", {status.league} in the league" if status.league else ""
    return f"{status.mix}{stage}{league}"


def clock_time(seconds: float) -> str:
    """4,210 seconds are "1:10:10", and 65 are "1:05"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _left(status: Status) -> list[str]:
    return [] if status.left is None else [f"{clock_time(status.left)} left"]


def _rate(standing: Standing) -> str:
    return f"{percent(standing.rate)} ({percent(standing.low)} to {percent(standing.high)})"


def _troubles(status: Status) -> list[str]:
    found = []
    if status.workers_lost:
        found.append(f"{status.workers_lost} workers died and were replaced")
    if status.controllers_lost:
        found.append(f"{status.controllers_lost} Node processes died and were replaced")
    if status.dropped:
        found.append(f"{number(status.dropped)} decisions were too old to learn from")
    if status.cut_short:
        found.append(f"{number(status.cut_short)} battles were cut short")
    return found
