"""How a run is shown: in one line, as a table, and how often."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from maple.train.budget import Counters
from maple.train.display import Display, clock_time, describe, render
from maple.train.ppo import UpdateFigures
from maple.train.status import Standing, Status

FIGURES = UpdateFigures(
    decisions=8192,
    minibatches=32,
    epochs=4,
    policy_loss=-0.0123,
    value_loss=0.456,
    entropy=1.25,
    divergence=0.0087,
    clipped=0.125,
    gradient=0.5,
    explained=0.61,
    trusted=0.97,
    rate=3e-4,
)
STATUS = Status(
    counters=Counters(updates=1234, decisions=2_500_000, battles=40_321, seconds=4210),
    progress=0.25,
    left=12_630,
    decisions_per_s=2512.3,
    battles_per_s=31.24,
    collecting=0.4,
    lag=0.0,
    dropped=0,
    workers_lost=0,
    controllers_lost=0,
    mix="random:0.3,self:0.7",
    stage=0,
    stages=0,
    exploration=0.0,
    standings={"random": Standing(0.75, 0.686, 0.805, 200)},
    figures=FIGURES,
    returns=0.5,
    parts={"knock_out": 0.1, "win": 0.4},
    turns=24.31,
)
TROUBLES = {
    "workers_lost": "2 workers died and were replaced",
    "controllers_lost": "3 Node processes died and were replaced",
    "dropped": "16,384 decisions were too old to learn from",
    "cut_short": "4 battles were cut short",
}
TROUBLED = replace(STATUS, workers_lost=2, controllers_lost=3, dropped=16_384, cut_short=4)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def a_console(*, terminal: bool = False) -> Console:
    return Console(
        file=io.StringIO(),
        width=120,
        force_terminal=terminal,
        color_system=None,
        _environ={},
    )


def shown_on(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def table(status: Status) -> dict[str, str]:
    """What stands beside each name in the table of a status, and the line above it."""
    console = a_console()
    console.print(render(status))
    head, _bar, *rows = (line.strip() for line in shown_on(console).splitlines())
    return {"": head} | {name: text for name, _, text in (row.partition("  ") for row in rows)}


# In one line


def test_a_line_says_how_far_how_fast_and_how_well() -> None:
    assert describe(STATUS) == (
        "25 % after 1:10:10, 3:30:30 left, update 1,234, 2,512 decisions/s, 31.2 battles/s, "
        "random 75 % (69 % to 80 %), loss -0.0123 policy 0.456 value, entropy 1.25"
    )


def test_what_cannot_be_told_is_left_out() -> None:
    told = describe(replace(STATUS, left=None, standings={}))
    assert "left" not in told
    assert "battles/s, loss" in told


def test_every_opponent_has_its_win_rate_and_how_sure_that_is() -> None:
    few = Standing(0.5, 0.095, 0.905, 2)
    told = describe(replace(STATUS, standings={"max": few, "league": Standing(1, 0.34, 1, 2)}))
    assert "max 50 % (9.5 % to 90 %), league 100 % (34 % to 100 %)" in told


def test_troubles_come_last() -> None:
    assert describe(TROUBLED) == ", ".join([describe(STATUS), *TROUBLES.values()])


@pytest.mark.parametrize("name", TROUBLES)
def test_only_troubles_that_there_are_are_told(name: str) -> None:
    without: dict[str, Any] = {name: 0}
    told = describe(replace(TROUBLED, **without))
    assert [text for text in TROUBLES.values() if text not in told] == [TROUBLES[name]]


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0:00"),
        (65, "1:05"),
        (59.6, "1:00"),
        (3599, "59:59"),
        (4210, "1:10:10"),
        (3600, "1:00:00"),
    ],
)
def test_times_are_those_of_a_clock(seconds: float, told: str) -> None:
    assert clock_time(seconds) == told


# As a table


def test_a_table_has_what_a_line_has_no_room_for() -> None:
    assert {name: text.strip() for name, text in table(STATUS).items()} == {
        "": "25 % after 1:10:10, 3:30:30 left",
        "speed": "2,512 decisions/s, 31.2 battles/s, 40 % of the time waiting for them",
        "so far": "2,500,000 decisions, 40,321 battles, 1,234 updates",
        "against": "random:0.3,self:0.7",
        "random": "won 75 % (69 % to 80 %) of the last 200",
        "losses": "policy -0.0123, value 0.4560, entropy 1.250",
        "learning": "rate 0.0003, KL 0.0087, clipped 12 %, values explain 61 %",
        "reward": "+0.500 a battle: knock_out +0.100, win +0.400",
        "turns": "24.3 a battle",
    }


def test_a_table_has_nothing_of_battles_before_one_has_ended() -> None:
    rows = table(replace(STATUS, left=None, standings={}, returns=None, parts={}, turns=None))
    assert rows[""] == "25 % after 1:10:10"
    assert list(rows) == ["", "speed", "so far", "against", "losses", "learning"]


def test_a_table_says_which_stage_it_is_how_large_the_league_and_how_far_ahead_the_network() -> (
    None
):
    rows = table(replace(STATUS, stage=1, stages=2, league=5, lag=1.5))
    assert rows["against"].endswith("random:0.3,self:0.7, stage 2 of 3, 5 in the league")
    assert rows["speed"].endswith("waiting for them, network 1.5 updates ahead")


def test_troubles_stand_below_the_table() -> None:
    console = a_console()
    console.print(render(TROUBLED))
    lines = [line.strip() for line in shown_on(console).splitlines()]
    assert lines[-4:] == list(TROUBLES.values())


# Now and then


def test_where_there_is_no_terminal_a_line_is_written_every_ten_seconds() -> None:
    clock, console = Clock(), a_console()
    with Display(console, clock) as display:
        for update in range(60):
            display.show(replace(STATUS, counters=Counters(updates=update)))
            clock.now += 0.5
    lines = shown_on(console).splitlines()
    assert [line.split(", ")[2] for line in lines] == ["update 0", "update 20", "update 40"]
    assert lines[0] == describe(replace(STATUS, counters=Counters()))


def test_after_an_update_that_took_long_the_next_line_is_ten_seconds_later() -> None:
    clock, console = Clock(), a_console()
    display = Display(console, clock)
    for seconds in (0, 35, 5, 5):
        clock.now += seconds
        display.show(replace(STATUS, counters=Counters(seconds=clock.now - 100)))
    lines = [line.split(",")[0] for line in shown_on(console).splitlines()]
    assert lines == ["25 % after 0:00", "25 % after 0:35", "25 % after 0:45"]


def test_on_a_terminal_every_update_is_shown_in_the_same_place() -> None:
    console = a_console(terminal=True)
    with Display(console, Clock()) as display:
        for update in (1, 2, 3):
            display.show(replace(STATUS, counters=Counters(updates=update)))
        display.say("a checkpoint was not written")
    shown = shown_on(console)
    up = "\x1b[1A"
    frames = shown.split("25 % after")[1:]
    for update, frame in enumerate(frames[:3], start=1):
        assert f"0 battles, {update} updates" in frame
    assert all(up in frame for frame in frames[:2]), "the next takes the place of each"
    # What is said stands above, and the table is still there at the end.
    assert "a checkpoint was not written\n" in shown.rpartition("25 % after")[0]
    assert "0 battles, 3 updates" in frames[-1]
    assert up not in frames[-1]


def test_what_is_said_is_shown_as_it_is() -> None:
    console = a_console()
    path = "runs/[bold]first[/bold]/" + "long" * 40
    Display(console, Clock()).say(path)
    assert shown_on(console) == f"{path}\n"


def test_names_in_a_table_are_shown_as_they_are() -> None:
    assert table(replace(STATUS, mix="runs/[old]/one"))["against"].strip() == "runs/[old]/one"
