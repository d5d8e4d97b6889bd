"""Draws a report as one page that needs nothing else: styles, script and data are all in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from importlib import resources
from string import Template
from typing import Any

from ..histogram import Histogram
from . import tables
from .quantities import duration, number, seconds, size
from .report import Operation, Report
from .tables import Row, Table

__all__ = ["render_page"]


def render_page(report: Report) -> str:
    """The tables as they are printed, and what the script needs to draw the charts."""
    return Template(_part("page.html")).substitute(
        title=escape(f"{report.subject}: IPC throughput"),
        style=_part("page.css"),
        script=_part("page.js"),
        data=_embedded(_data(report)),
        subject=escape(report.subject),
        banner=_banner(report),
        tiles="\n".join(_tiles(report)),
        throughput=_table(tables.throughput(report)),
        processes=_table(tables.processes(report)),
        life=_table(tables.life(report)),
        round_trips=_table(tables.round_trips(report)) if report.operations else "",
        facts="\n".join(_facts(report)),
        notes="\n".join(f"<li>{escape(note)}</li>" for note in tables.notes(report)),
    )


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(report: Report) -> dict[str, Any]:
    curves = {operation.name: _curve(operation) for operation in report.operations}
    return {"report": report.to_dict(), "curves": curves}


def _curve(operation: Operation) -> list[tuple[float, int]]:
    longest = operation.total["max"]
    points = Histogram.decode(operation.total["hdr"]).curve()
    return [(round(percentile, 6), min(value, longest)) for percentile, value in points]


def _embedded(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _banner(report: Report) -> str:
    if report.ending == "complete":
        return ""
    text = next(iter(tables.notes(report)))
    return f'<p class="banner {report.ending}" role="status">{escape(text)}</p>'


def _tiles(report: Report) -> Iterable[str]:
    rates = report.rates
    yield _tile("decisions a second", number(rates["decisions_per_s"]), _battles(report))
    choose = next((o for o in report.operations if o.name == "choose"), None)
    if choose is not None:
        total = choose.total
        tail = f"p99 {duration(total['p99'])}, at most {duration(total['max'])}"
        yield _tile("median round trip of a choice", duration(total["p50"]), tail)
    python, node = (rates[f"{role}_cpu_ms_per_decision"] for role in ("python", "node"))
    both = (python + node) / 1000 if python is not None and node is not None else None
    split = f"Python {_cpu(python)}, Node {_cpu(node)}"
    yield _tile("CPU time a decision", seconds(both), split)
    out, into = rates["bytes_out_per_decision"], rates["bytes_in_per_decision"]
    total_bytes = out + into if out is not None and into is not None else None
    yield _tile("over the pipe a decision", size(total_bytes), f"{size(out)} out, {size(into)} in")
    out, into = rates["frames_out_per_turn"], rates["frames_in_per_turn"]
    frames = out + into if out is not None and into is not None else None
    coalesced = (
        f"{number(rates['frames_per_write'])} a write, {number(rates['frames_per_read'])} a read"
    )
    yield _tile("frames a turn, both ways", number(frames), coalesced)
    deaths = report.counts.deaths
    lives = f"{number(report.counts.starts)} starts, {number(report.ever.starts)} since the start"
    yield _tile("Node deaths", number(deaths), lives, alarming=bool(deaths))


def _battles(report: Report) -> str:
    battles = number(report.rates["battles_per_s"])
    return f"{battles} battles a second, over {seconds(report.seconds)}"


def _cpu(milliseconds: float | None) -> str:
    return seconds(None if milliseconds is None else milliseconds / 1000)


def _tile(label: str, value: str, below: str, *, alarming: bool = False) -> str:
    figure, _, unit = value.partition(" ")
    return (
        f'<div class="tile{" alarming" if alarming else ""}"><dt>{escape(label)}</dt>'
        f"<dd><b>{escape(figure)}</b> <i>{escape(unit)}</i></dd><dd>{escape(below)}</dd></div>"
    )


def _table(table: Table) -> str:
    worded = [not position or name in table.worded for position, name in enumerate(table.columns)]
    heads = "".join(
        _cell("th", name, word) for name, word in zip(table.columns, worded, strict=True)
    )
    rows = "\n".join(_row(row, worded) for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f"<h2>{escape(table.title)}</h2>\n"
        f'<div class="wide"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>'
        f"\n</table></div>{note}"
    )


def _row(row: Row, worded: list[bool]) -> str:
    first, *rest = row.cells
    cells = "".join(_cell("td", text, word) for text, word in zip(rest, worded[1:], strict=True))
    strong = ' class="strong"' if row.strong else ""
    return f'<tr{strong}><th scope="row">{escape(first)}</th>{cells}</tr>'


def _cell(kind: str, text: str, worded: bool) -> str:
    return f"<{kind}{' class=worded' if worded else ''}>{escape(text)}</{kind}>"


def _facts(report: Report) -> Iterable[str]:
    for name, value in tables.facts(report):
        shown = f"<code>{escape(value)}</code>" if name == "command" else escape(value)
        yield f"<div><dt>{escape(name)}</dt><dd>{shown}</dd></div>"
