"""The page: whole in itself, true to what was measured, and safe from the names in it."""

from __future__ import annotations

import itertools
import json
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any, NamedTuple

import msgspec
import pytest

from bridge.throughput.quantities import MISSING, duration
from maple.profiling import ProfilingConfig, Session, merge_sessions
from maple.profiling.analysis import Analysis, analyse, only
from maple.profiling.findings import find
from maple.profiling.renderers.page import render_page
from tests.maple.profiling.sessions import (
    EVIL,
    empty_session,
    many_session,
    small_session,
    typical_session,
)

EMPTY_ELEMENTS = {"meta", "wbr", "line", "path", "rect"}


def page_of(session: Session, config: ProfilingConfig | None = None) -> str:
    return drawn(analyse(session, config))


def drawn(analysis: Analysis) -> str:
    return render_page(analysis, find(analysis))


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def words(page: str) -> str:
    """What a reader sees."""
    without = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", without.replace("<wbr>", ""))).split())


class Block(NamedTuple):
    name: str
    level: int
    start: float
    size: float
    is_own: bool


def blocks_of(page: str, place: int = 0) -> list[Block]:
    section = re.findall(r'<section class="card place.*?</section>', page, re.DOTALL)[place]
    found = re.findall(
        r'class="block(| own)" data-tip="(\d+)" style="--start:(.*?);--size:(.*?);--level:(.*?);',
        section,
    )
    tips = data_of(page)["tips"]
    return [
        Block(tips[int(tip)]["title"], int(level), float(start), float(size), bool(own))
        for own, tip, start, size, level in found
    ]


class Balance(HTMLParser):
    """Notes every element that is opened, and that each is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag not in EMPTY_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def balance(page: str) -> Balance:
    parser = Balance()
    parser.feed(page)
    assert not parser.open
    return parser


@pytest.mark.parametrize(
    "session", [empty_session(), small_session(), typical_session(), many_session(70)]
)
def test_a_page_needs_nothing_else_and_is_well_formed(session: Session) -> None:
    page = page_of(session)
    assert not re.search(r"https?://|//[a-z]|src=|<link|@import|url\(", page)
    assert "$" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    balance(page)
    assert set(data_of(page)) == {"tips", "charts"}


def test_nothing_in_a_session_can_break_out_of_its_page() -> None:
    session = typical_session(EVIL)
    [part] = session.processes
    part = msgspec.structs.replace(
        part,
        role=EVIL,
        tracks=[msgspec.structs.replace(track, thread=EVIL) for track in part.tracks[:1]]
        + part.tracks[1:],
        metrics={EVIL: msgspec.structs.replace(part.metrics["reward"], unit=EVIL)},
        counts={EVIL: 3},
        feeds=[
            msgspec.structs.replace(
                feed,
                name=EVIL,
                counts={EVIL: 1},
                sizes={EVIL: part.feeds[1].sizes["batch_size"]},
                operations=[
                    msgspec.structs.replace(
                        one, name=EVIL, parts={EVIL: one.parts[next(iter(one.parts))]}
                    )
                    for one in feed.operations
                ],
            )
            for feed in part.feeds
        ],
    )
    session = msgspec.structs.replace(
        session,
        name=EVIL,
        command=EVIL,
        began=EVIL,
        machine=msgspec.structs.replace(
            session.machine, cpu=EVIL, system=EVIL, versions={EVIL: EVIL}
        ),
        settings={EVIL: EVIL},
        processes=[part],
        usages=[msgspec.structs.replace(usage, role=EVIL) for usage in session.usages],
        gpus=[msgspec.structs.replace(sample, gpu=EVIL) for sample in session.gpus],
    )
    config = ProfilingConfig(categories={EVIL: ["*"]})
    page = page_of(session, config)
    usual = balance(page_of(typical_session()))
    parsed = balance(page)
    assert parsed.names <= usual.names
    assert parsed.attributes <= usual.attributes
    assert page.count("<script") == page.count("</script>") == 2
    assert "<b onclick" not in page
    assert words(page).count(EVIL) > 20
    assert EVIL in {tip["title"] for tip in data_of(page)["tips"]}


def test_a_block_is_as_wide_as_its_share_and_holds_its_children() -> None:
    session = typical_session()
    blocks = blocks_of(page_of(session))
    rows = {row.name: row for row in analyse(session).rows if row.place == "main"}
    for block in blocks:
        if not block.is_own:
            assert block.size == pytest.approx(rows[block.name].share)
            assert block.level == rows[block.name].depth + 1
    inside = {
        ("env_step", "training_iteration"),
        ("env_wait", "env_step"),
        ("backward", "gradient_calculation"),
        ("policy_decode", "policy_request"),
    }
    by_name = {block.name: block for block in blocks}
    for child, parent in inside:
        assert by_name[parent].start <= by_name[child].start + 1e-9
        assert by_name[child].start + by_name[child].size <= (
            by_name[parent].start + by_name[parent].size + 1e-9
        )
    for level in {block.level for block in blocks}:
        beside = sorted((block for block in blocks if block.level == level), key=lambda b: b.start)
        for before, after in itertools.pairwise(beside):
            assert before.start + before.size <= after.start + 1e-8


def test_what_children_do_not_explain_is_their_parents_own() -> None:
    blocks = {block.name: block for block in blocks_of(page_of(typical_session()))}
    own = blocks["env_step, by itself"]
    assert own.is_own
    assert own.level == blocks["env_wait"].level
    assert own.size == pytest.approx(blocks["env_step"].size / 10)
    assert "training_iteration, by itself" not in blocks
    assert "backward, by itself" not in blocks


def test_a_place_that_did_little_is_drawn_larger_at_first() -> None:
    page = page_of(typical_session())
    assert 'class="card place fitted"' in page
    assert "operations took 1.5 % of 10.0 s × 2 at once" in words(page)
    assert 'class="card place"' in page_of(small_session())


def test_categories_count_nothing_twice() -> None:
    page = words(page_of(typical_session()))
    assert "Waiting 3.60 s, 28 %" in page
    assert "Learning 3.40 s, 26 %" in page
    assert "Environment 400 ms, 3.1 %" in page


def test_what_was_not_measured_is_absent() -> None:
    small = words(page_of(small_session()))
    for absent in (
        "GPU",
        "The machine",
        "Your own metrics",
        "memory rise",
        "decisions",
        "taken by",
    ):
        assert absent not in small.replace("GPU memory (from", "")
    assert "What profiling itself took was not measured." in small
    typical = page_of(typical_session())
    for present in ("The machine", "Your own metrics", "memory rise", "GPU rise", "GPUs"):
        assert present in typical
    # Of the operation that did not look at memory, and of the process that was seen once.
    assert f"<td>{MISSING}</td>" in typical


def test_the_table_tells_of_every_operation_without_the_script() -> None:
    session = typical_session()
    page = re.sub(r"<script.*?</script>", "", page_of(session), flags=re.DOTALL)
    table = words(page[page.index("All operations") :])
    heads = "operation calls total own covered average min p50 p99 max share at once memory rise"
    assert heads in table
    for row in analyse(session).rows:
        assert row.name in table
    assert "env_wait 4 3.60 s 3.60 s 3.60 s 900 ms 900 ms 900 ms 900 ms 900 ms 28 % 1.3" in table
    assert "gradient_calculation 4 3.40 s 800 ms" in table
    assert "120 MB 7.00 MB" in table


def test_recommendations_stages_and_bottlenecks_are_those_that_were_found() -> None:
    session = typical_session()
    page = words(page_of(session))
    findings = find(analyse(session))
    for found in findings.recommendations:
        assert f"{found.operation} in {found.place}: {found.reason} {found.advice}" in page
    for stage in findings.stages:
        if stage.gain is not None:
            assert f"{stage.name} {stage.gain:.2f} ×" in page
    for bottleneck in findings.bottlenecks:
        assert f"{bottleneck.name} {bottleneck.score:.1f}" in page


def test_what_the_bridge_told_is_cut_into_phases() -> None:
    page = words(page_of(typical_session()))
    assert "decisions a second 4.00" in page
    assert "choose 4.0" in page
    assert "simulate 2.00 ms 50 %" in page
    assert "batch size 3.00 on average" in page


def test_the_machine_is_drawn_over_time() -> None:
    cores, memory, gpu = data_of(page_of(typical_session()))["charts"]
    first, second = cores[:2]
    assert first["title"] == "0.0 to 1.0 s"
    # Of a process that was first seen at the end of the interval nobody knows what it used in it.
    assert first["lines"] == [
        ["main", "0.8"],
        ["node", MISSING],
        ["other", MISSING],
        ["together", "0.8"],
    ]
    assert second["lines"][1] == ["node", "1.10"]
    assert [one["until"] for one in cores] == [pytest.approx(0.1 * n) for n in range(1, 11)]
    # What was seen at a look stands for the time around it, and nothing that was seen is left out.
    assert [(one["title"], one["lines"][-1]) for one in memory[:2]] == [
        ("0.0 to 0.5 s", ["together", "401 MB"]),
        ("0.5 to 1.5 s", ["together", "696 MB"]),
    ]
    assert gpu[0]["lines"] == [["0: a GPU", "10 %"]]


def test_metrics_of_several_processes_are_one() -> None:
    one = typical_session()
    [part] = one.processes
    other = msgspec.structs.replace(part, pid=part.pid + 9, feeds=[])
    both = merge_sessions([one, msgspec.structs.replace(one, processes=[other], usages=[])])
    assert "reward (points) 4 0 \N{MINUS SIGN}0.5 1.50 \N{MINUS SIGN}1.50 1.50 1.50" in words(
        page_of(one)
    )
    # Which of them was the last, nobody knows.
    assert f"reward (points) 8 0 \N{MINUS SIGN}0.5 1.50 \N{MINUS SIGN}1.50 1.50 {MISSING}" in words(
        page_of(both)
    )
    assert "steps 128 12.8" in words(page_of(both))


def test_what_profiling_took_is_told() -> None:
    cost = duration(analyse(typical_session()).cost_of_calls)
    page = words(page_of(typical_session()))
    assert "takes 500 ns here, adding up included, and 60 ns while the profiler is off" in page
    assert f"32 calls took {cost} to record, which is <0.1 % of the time" in page
    assert "11 looks at the processes took 20.0 ms of CPU time: 0.2 % of a core" in page


def test_one_operation_alone_is_drawn_from_where_it_begins() -> None:
    blocks = blocks_of(drawn(only(analyse(typical_session()), "gradient_calculation")))
    assert [(block.name, block.level) for block in blocks] == [
        ("gradient_calculation", 1),
        ("backward", 2),
        ("gradient_calculation, by itself", 2),
    ]


def test_a_session_in_which_nothing_happened_says_so() -> None:
    page = words(page_of(empty_session()))
    assert "No operation was timed." in page
    assert "Bottlenecks" not in page
    assert "All operations" not in page
