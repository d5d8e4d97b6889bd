"""Draws what was found as one page that needs nothing else: styles, script and data are all in it.

Everything is in the page as it is written; its script only answers the pointer and the keyboard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from importlib import resources
from string import Template

from bridge.throughput.quantities import MISSING, duration, number, percent, size

from ..analysis import Analysis
from ..battles import battle_figures
from ..findings import Findings
from ..session import flat
from . import page_tables as tables
from .cost import cost_sentences
from .grid import recorded_of
from .page_html import Colours, Told, breakable, counted, embedded, facts
from .page_phases import render_phases
from .page_timeline import render_timeline
from .page_tree import render_places
from .text import NOTHING_STANDS_OUT, unfinished_sentences

__all__ = ["render_page"]

_SCORES = (
    "Operations by what they take themselves, without their children. The score is 0 to 100: up to "
    "40 for the share of the time, 30 for the time of a call (all of it from 100 ms on), 15 each "
    "for memory and GPU memory (from 100 MB on)."
)
_GAINS = (
    "How much of its capacity a step has used, and how many times faster the whole run could be at "
    "most if it took no time at all. Of other threads and processes that is if the main one waits "
    "for all that they do there; Node holds it up only while it does."
)
_SORTS = (
    "Each below the one that it was called from. A click on a heading sorts; the third one "
    "restores the tree."
)


def render_page(analysis: Analysis, findings: Findings) -> str:
    """The whole report."""
    session = analysis.session
    told = Told()
    tiles = list(_tiles(analysis, findings))
    return Template(_part("page.html")).substitute(
        title=escape(f"{session.name}: profile"),
        style=_part("page.css"),
        script=_part("page.js"),
        name=escape(session.name),
        about=escape(_about(analysis)),
        command=escape(session.command),
        tiles="\n".join(tiles),
        columns=_columns(len(tiles)),
        recommendations=_recommendations(findings),
        places=render_places(analysis, told),
        bottlenecks=_card(
            "Bottlenecks", tables.bottlenecks(findings.bottlenecks, Colours(analysis)), _SCORES
        ),
        stages=_card("Stages", tables.stages(findings.stages), _GAINS),
        battles=_battles(analysis),
        phases=render_phases(analysis, told),
        machine=_machine(analysis, told),
        metrics=_card("Your own metrics", tables.metrics(analysis)),
        operations=_card("All operations", tables.operations(analysis), _SORTS),
        facts=facts(_facts(analysis)),
        notes="\n".join(f"<li>{_with_code(note)}</li>" for note in _notes(analysis)),
        data=embedded({"tips": told.tips, "charts": told.charts}),
    )


def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _about(analysis: Analysis) -> str:
    machine = analysis.session.machine
    return ", ".join(
        [
            analysis.session.began.replace("T", " "),
            f"{recorded_of(analysis)} on {counted(machine.cores, 'core')}",
            *([machine.cpu] if machine.cpu else []),
            f"{size(machine.memory)} of memory",
        ]
    )


def _tiles(analysis: Analysis, findings: Findings) -> Iterator[str]:
    yield _tile("recorded", duration(analysis.wall), _recorded(analysis))
    yield from _throughput(analysis)
    use = analysis.machine
    if use.cpu_share is not None:
        cores = f"{number(use.cpu_share * use.cores)} of {counted(use.cores, 'core')} in use"
        others = "" if use.others_share is None else f", others {percent(use.others_share)}"
        yield _tile("CPU of the machine", percent(use.cpu_share), cores + others)
    if use.rss_peak is not None:
        processes = f"{counted(len(use.processes), 'process', 'processes')} together"
        yield _tile("peak memory", size(use.rss_peak), processes)
    for gpu in analysis.gpus:
        memory = f"{size(gpu.memory_peak)} of {size(gpu.capacity)} at most"
        yield _tile(f"busy, GPU {gpu.name}", percent(gpu.busy), memory)
    if findings.bottlenecks:
        worst = findings.bottlenecks[0]
        below = f"score {worst.score:.0f}, {percent(worst.share)} of the time, in {worst.place}"
        yield _tile("top bottleneck", worst.name, below, words=True)
    if analysis.cost_share:
        share = percent(analysis.cost_share)
        yield _tile("taken by profiling", share, f"{number(analysis.profiled_calls)} calls")


def _recorded(analysis: Analysis) -> str:
    # One that was recorded several times, such as batch by batch, has several parts.
    processes = {(part.pid, part.born) for part in analysis.session.processes}
    parts = counted(len(processes), "process", "processes")
    counts = [
        f"{number(count)} {name}"
        for name in ("steps", "episodes")
        if (count := analysis.count(name)) is not None
    ]
    return ", ".join([parts, *counts])


def _throughput(analysis: Analysis) -> Iterator[str]:
    for place in analysis.fed:
        assert place.feed is not None
        counts, time = place.feed.counts, place.feed.length / 1e9
        if counts.get("decisions"):
            battles = f"{number(counts.get('battles_ended'))} battles ended, {place.name}"
            yield _tile("decisions a second", number(counts["decisions"] / time), battles)
        if counts.get("rows"):
            batches = f"in {number(counts.get('batches'))} batches, {place.name}"
            yield _tile("rows inferred a second", number(counts["rows"] / time), batches)
    steps = analysis.count("steps")
    if steps and analysis.wall:
        per_second = number(steps / (analysis.wall / 1e9))
        yield _tile("steps a second", per_second, f"{number(steps)} steps")


def _columns(tiles: int) -> int:
    """As many as leave the last row full, or nearly."""
    return max((4, 5, 3), key=lambda columns: (tiles - 1) % columns / (columns - 1))


def _tile(label: str, value: str, below: str, *, words: bool = False) -> str:
    figure, _, unit = (value, "", "") if words else value.partition(" ")
    kind = " class=words" if words else ""
    return (
        f"<div class=tile><dt>{escape(label)}</dt>"
        f"<dd><b{kind}>{breakable(figure)}</b> <i>{escape(unit)}</i></dd>"
        f"<dd>{escape(below)}</dd></div>"
    )


def _recommendations(findings: Findings) -> str:
    if not findings.bottlenecks:
        return '<p class="lead">No operation was timed.</p>'
    if not findings.recommendations:
        return f'<p class="lead">{escape(NOTHING_STANDS_OUT)}</p>'
    items = "\n".join(
        f'<li><span class="severity {escape(found.severity)}">{escape(found.severity)}</span>'
        f"<p><b>{breakable(found.operation)}</b> in {escape(found.place)}: "
        f"{escape(found.reason)}</p>"
        f"<p>{escape(found.advice)}</p></li>"
        for found in findings.recommendations
    )
    return f'<ul class="advice">\n{items}\n</ul>'


def _battles(analysis: Analysis) -> str:
    figures = [(figure.name, figure.text) for figure in battle_figures(analysis)]
    return _card("Battles", f'<dl class="facts">{facts(figures)}</dl>' if figures else "")


def _machine(analysis: Analysis, told: Told) -> str:
    charts = render_timeline(analysis, told)
    return _card("The machine", charts + tables.processes(analysis) + tables.gpus(analysis))


def _card(title: str, inside: str, lead: str = "") -> str:
    """Nothing, if there is nothing in it."""
    lead = f'<p class="lead">{escape(lead)}</p>\n' if lead else ""
    card = f'<section class="card">\n<h2>{escape(title)}</h2>\n{lead}{inside}\n</section>'
    return card if inside else ""


def _facts(analysis: Analysis) -> list[tuple[str, str]]:
    session, machine = analysis.session, analysis.session.machine
    known = {
        "began": session.began.replace("T", " "),
        "processor": f"{counted(machine.cores, 'core')}, {machine.cpu or MISSING}",
        "memory": size(machine.memory),
        "system": machine.system,
    }
    known |= {name: version for name, version in machine.versions.items() if version is not None}
    known |= {name.replace("_", " "): str(value) for name, value in flat(session.settings)}
    return list(known.items())


def _with_code(note: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(note))


def _notes(analysis: Analysis) -> Iterator[str]:
    yield from unfinished_sentences(analysis.session)
    yield (
        "A share is of the time × how many calls were under way at once on that level, at the "
        "most. So the shares of a level add up to at most 100 %, however many threads, tasks or "
        "processes work side by side."
    )
    yield (
        "Busy is the time of all calls together, covered that of at least one, own that of calls "
        "without a child under way. Hatched is what a parent does by itself; what is blank was "
        "spent in no operation."
    )
    if any(row.is_bound for row in analysis.rows):
        yield "≤ stands before what may have been less: too many intervals to keep them all."
    yield from cost_sentences(analysis)
