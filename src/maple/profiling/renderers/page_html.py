"""The building blocks of a page: tables, colours, and what it tells when it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from bridge.throughput.quantities import MISSING, number

from ..analysis import Analysis

__all__ = [
    "Cell",
    "Colours",
    "Told",
    "breakable",
    "counted",
    "embedded",
    "facts",
    "measured",
    "metered",
    "role_colour",
    "swatch",
    "table",
]

_SPARE_COLOURS = 3
_CATEGORY_COLOURS = {
    "Environment": "environment",
    "Inference": "inference",
    "IPC": "ipc",
    "Learning": "learning",
    "Logging I/O": "logging",
    "Model": "model",
    "Other": "other",
    "Policy": "policy",
    "Waiting": "waiting",
}
_ROLE_COLOURS = {"main": "main", "node": "node", "worker": "worker", "other": "waiting"}


def embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@dataclass
class Told:
    """What the page tells when it is asked, by number: of something, and along a chart."""

    tips: list[dict[str, Any]] = field(default_factory=list)
    charts: list[list[dict[str, Any]]] = field(default_factory=list)

    def tip(self, title: str, below: str, lines: Iterable[tuple[str, str]]) -> int:
        self.tips.append({"title": title, "below": below, "lines": list(lines)})
        return len(self.tips) - 1

    def chart(self, moments: list[dict[str, Any]]) -> int:
        self.charts.append(moments)
        return len(self.charts) - 1


class Colours:
    """The colours of categories, the same in all of a page."""

    def __init__(self, analysis: Analysis) -> None:
        own = [name for name in analysis.config.categories if name not in _CATEGORY_COLOURS]
        self._own = _CATEGORY_COLOURS | {
            name: f"spare-{position % _SPARE_COLOURS}" for position, name in enumerate(own)
        }

    def __getitem__(self, category: str) -> str:
        return f"var(--{self._own[category]})"


def role_colour(role: str, position: int = 0) -> str:
    return f"var(--{_ROLE_COLOURS.get(role, f'spare-{position % _SPARE_COLOURS}')})"


class Cell(NamedTuple):
    """What is written, and what it is sorted by; a meter before it, or a picture instead of it."""

    text: str
    value: float | str | None = None
    share: float | None = None
    colour: str = ""
    indent: int = 0
    picture: str = ""


def metered(share: float, text: str, colour: str = "") -> Cell:
    return Cell(text, share, min(1.0, max(0.0, share)), colour)


def table(
    heads: Sequence[str],
    groups: Sequence[tuple[str, Sequence[Sequence[Cell]]]],
    *,
    worded: Sequence[str] = (),
    kind: str = "",
) -> str:
    """A body for each group, under its name if it has one; the first column is always words."""
    words = [not position or name in worded for position, name in enumerate(heads)]
    head = "".join(
        f"<th scope=col{' class=worded' if word else ''}>{escape(name)}</th>"
        for name, word in zip(heads, words, strict=True)
    )
    bodies = "\n".join(_body(name, rows, words) for name, rows in groups)
    return (
        f'<div class="wide"><table class="{kind}">\n<thead><tr>{head}</tr></thead>\n{bodies}'
        "\n</table></div>"
    )


def _body(name: str, rows: Sequence[Sequence[Cell]], words: Sequence[bool]) -> str:
    group = (
        f'<tr class="group"><th colspan="{len(words)}" scope="colgroup">{escape(name)}</th></tr>\n'
        if name
        else ""
    )
    lines = "\n".join(
        f"<tr>{''.join(_cell(cell, not i, word) for i, (cell, word) in pairs)}</tr>"
        for row in rows
        for pairs in [enumerate(zip(row, words, strict=True))]
    )
    return f"<tbody>\n{group}{lines}\n</tbody>"


def _cell(cell: Cell, is_first: bool, is_worded: bool) -> str:
    value = "" if cell.value is None else f' data-value="{escape(str(cell.value))}"'
    if is_first:
        indent = f' style="--indent:{cell.indent}"' if cell.indent else ""
        return f'<th scope="row"{value}><span{indent}>{breakable(cell.text)}</span></th>'
    colour = f";--colour:{cell.colour}" if cell.colour else ""
    meter = (
        ""
        if cell.share is None
        else f'<span class="meter" style="--share:{cell.share:.4g}{colour}"></span>'
    )
    text = f"<span>{escape(cell.text)}</span>" if meter else escape(cell.text)
    kind = " class=worded" if is_worded else ""
    return f"<td{kind}{value}>{meter}{cell.picture}{text}</td>"


def measured(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[int]:
    """The columns in which something was measured."""
    return [
        column
        for column in range(len(heads))
        if any(row[column].text != MISSING for row in rows) or not rows
    ]


def breakable(name: str) -> str:
    """A name that may be broken behind each of its parts."""
    return escape(name).replace("_", "_<wbr>")


def swatch(colour: str) -> str:
    return f'<span class="swatch" style="--colour:{colour}"></span>'


def facts(told: Iterable[tuple[str, str]]) -> str:
    """Names and what they stand for, side by side."""
    return "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in told
    )


def counted(count: int, one: str, several: str = "") -> str:
    return f"{number(count)} {one if count == 1 else several or f'{one}s'}"
