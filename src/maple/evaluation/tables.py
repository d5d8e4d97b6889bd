"""Shows a report to people, with tables in Markdown; and as CSV to whoever reckons with it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bridge.throughput.quantities import MISSING, number, seconds

from .ratings import ANCHOR, ANCHOR_RATING
from .report import Report
from .results import Played, Result

__all__ = [
    "battles_csv",
    "interval",
    "matches_csv",
    "matrix_csv",
    "ratings_csv",
    "render",
    "share",
]

_DASH = "\N{EN DASH}"
_LEAST_OF_A_MATRIX = 3


def render(report: Report) -> RenderableType:
    """The results of all pairs, who beat whom, and ratings."""
    parts: list[RenderableType] = [Text(_heading(report)), _matches(report)]
    if len(report.players) >= _LEAST_OF_A_MATRIX:
        parts += [Text("Win rates in percent, of the row against the column"), _matrix(report)]
    if report.ratings:
        parts += [Text(f"Elo ratings; {_scale(report)}"), _ratings(report)]
    return Group(*parts, *map(Text, notes(report)))


def share(rate: float | None) -> str:
    """0.873 is "87.3 %"."""
    return MISSING if rate is None else f"{100 * rate:.1f} %"


def notes(report: Report) -> Iterator[str]:
    """What a reader has to know to judge the figures."""
    if any(result.ties for result in report.results):
        yield "A tie is half a win."
    done, wanted = len(report.played), report.wanted * len(report.pairs)
    if report.ending != "finished":
        word = "was interrupted" if report.ending == "interrupted" else "ended early"
        yield (
            f"It {word} after {number(done)} of {number(wanted)} battles. Those that were "
            "under way are left out, and they are longer than others."
        )
    if failed := report.failed:
        reasons = "; ".join(dict.fromkeys(one.reason for one in failed))
        yield f"{number(len(failed))} came to no end, and are left out: {reasons}"


def _heading(report: Report) -> str:
    how = {"sample": "drawn", "greedy": "the likeliest"}[report.choosing]
    return (
        f"{report.format}, {number(report.wanted)} battles for each pair, seed {report.seed}, "
        f"actions of networks {how}; {number(len(report.played))} battles in "
        f"{seconds(report.seconds)}"
    )


def _scale(report: Report) -> str:
    where = f"of {ANCHOR}" if ANCHOR in report.players else "on average"
    return f"{ANCHOR_RATING:.0f} {where}, \N{PLUS-MINUS SIGN} at 95 %"


def _table(*words: str, figures: Sequence[str]) -> Table:
    """Of words that are folded where there is no room, and figures that are not."""
    table = Table(box=box.MARKDOWN)
    for heading in words:
        table.add_column(heading, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _matches(report: Report) -> Table:
    figures = ["won/lost/tied", "win rate", "at 95 %", "turns"]
    table = _table("agent", "opponent", figures=figures)
    for one in report.results:
        table.add_row(
            _plain(one.agent),
            _plain(one.opponent),
            f"{one.wins}/{one.losses}/{one.ties}",
            share(one.win_rate),
            interval(one),
            MISSING if one.mean_turns is None else f"{one.mean_turns:.1f}",
        )
    return table


def _matrix(report: Report) -> Table:
    table = _table("", figures=())
    for name in report.players:
        table.add_column(_plain(name), justify="right", overflow="fold")
    for row in report.rows:
        cells = [_cell(report.cell(row, column)) for column in report.players]
        table.add_row(_plain(row), *cells)
    return table


def _ratings(report: Report) -> Table:
    table = _table("player", figures=["Elo", "\N{PLUS-MINUS SIGN}", "battles"])
    for rating in report.ratings:
        elo = MISSING if rating.elo is None else f"{rating.elo:.0f}"
        reach = MISSING if rating.reach is None else f"{rating.reach:.0f}"
        table.add_row(_plain(rating.name), elo, reach, number(rating.battles))
    return table


def _plain(name: str) -> Text:
    """A name is no markup, whatever brackets it has."""
    return Text(name)


def interval(result: Result) -> str:
    """Where the true win rate of a result is, at 95 %."""
    if not result.battles:
        return MISSING
    low, high = result.interval
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _cell(result: Result | None) -> str:
    if result is None or result.win_rate is None:
        return ""
    low, high = result.interval
    return f"{100 * result.win_rate:.0f} ({100 * low:.0f}{_DASH}{100 * high:.0f})"


# CSV


def matches_csv(report: Report) -> str:
    """A line for each pair."""
    described = [one.describe() for one in report.results]
    names = list(Result("", "").describe())
    return _csv(names, ([one[name] for name in names] for one in described))


def matrix_csv(report: Report) -> str:
    """Win rates, of the row against the column; nothing where there is none."""
    lines = []
    for row in report.rows:
        cells = (report.cell(row, column) for column in report.players)
        lines.append([row, *(None if cell is None else cell.win_rate for cell in cells)])
    return _csv(["", *report.players], lines)


def ratings_csv(report: Report) -> str:
    """A line for each player, the strongest first."""
    lines = ([one.name, one.elo, one.error, one.battles] for one in report.ratings)
    return _csv(["player", "elo", "standard_error", "battles"], lines)


def battles_csv(report: Report) -> str:
    """A line for each battle."""
    names = [field.name for field in fields(Played)]
    return _csv(names, (asdict(one).values() for one in report.played))


def _csv(head: Sequence[str], lines: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return text.getvalue()
