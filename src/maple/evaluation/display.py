"""Shows how an evaluation comes along: in its place on a terminal, as lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bridge.throughput.quantities import MISSING, number, seconds

from .report import Pair
from .results import Played, Result
from .tables import interval, share

__all__ = ["Display"]

_LINE_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.25
_WIDTH: Final = 30
_MOST_PAIRS: Final = 12
"""That are shown while they play; a terminal has no room for many more."""


class Display:
    """Hears of every battle that has ended.

    Args:
        console: Where it is shown; if that is no terminal, a line is written every ten seconds.
        pairs: Who plays whom.
        battles: How many each pair plays.
        clock: Tells seconds.
    """

    def __init__(
        self,
        console: Console,
        pairs: Sequence[Pair],
        battles: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._results = {pair: Result(*pair) for pair in pairs}
        self._wanted = battles * len(pairs)
        self._clock = clock
        self._live: Live | None = None
        self._began = self._next = 0.0
        self._ended = 0

    def __enter__(self) -> Self:
        self._began = self._clock()
        self._next = self._began + _LINE_SECONDS
        if self._console.is_terminal:
            self._next = self._began
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, line: str) -> None:
        """A line by itself."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def battle_ended(self, played: Played) -> None:
        pair = played.agent, played.opponent
        self._results[pair] = self._results[pair].with_battle(played)
        self._ended += 1
        now = self._clock()
        if now < self._next and self._ended < self._wanted:
            return
        if self._live is not None:
            self._next = now + _LOOK_SECONDS
            self._live.update(self._drawn(now), refresh=True)
        elif self._ended < self._wanted:
            self._next = now + _LINE_SECONDS
            self.say(f"{self._pace(now)}{self._standing()}")

    def _pace(self, now: float) -> str:
        elapsed = now - self._began
        told = f"{number(self._ended)} of {number(self._wanted)} battles"
        if elapsed <= 0 or not self._ended:
            return told
        told += f", {self._ended / elapsed:.1f} a second"
        left = (self._wanted - self._ended) * elapsed / self._ended
        return f"{told}, {seconds(left)} left" if left else told

    def _standing(self) -> str:
        if len(self._results) > _MOST_PAIRS:
            return ""
        told = (
            f"{one.agent} against {one.opponent} {share(one.win_rate)}"
            for one in self._results.values()
            if one.battles
        )
        return "".join(f"; {words}" for words in told)

    def _drawn(self, now: float) -> Group:
        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._wanted, completed=self._ended, width=_WIDTH)
        line.add_row(bar, Text(self._pace(now)))
        parts = [line]
        if len(self._results) <= _MOST_PAIRS:
            table = Table(box=None, pad_edge=False, show_header=False)
            for one in self._results.values():
                rate = MISSING if one.win_rate is None else share(one.win_rate)
                table.add_row(
                    Text(one.agent), Text(one.opponent), number(one.battles), rate, interval(one)
                )
            parts.append(table)
        return Group(*parts)
