"""The battle timer: who has how long, what players are told of it, and what befalls the idle."""

from __future__ import annotations

import math
import random
import subprocess
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

import orjson
import pytest

from bridge.journal import SideId
from bridge.lobby.timer import (
    TICK,
    BattleTimer,
    Choose,
    Effect,
    Lose,
    Say,
    ScheduleTick,
    Tie,
    TimerSettings,
)
from bridge.runtime import find_runtime

NAMES: dict[SideId, str] = {"p1": "Red", "p2": "Mr. Blue"}
SIDES: tuple[SideId, SideId] = ("p1", "p2")
Rules = dict[str, float | bool]
NO_RULES: Rules = {}
VGC: Rules = {
    "starting": 420,
    "grace": 90,
    "addPerTurn": 0,
    "maxPerTurn": 55,
    "maxFirstTurn": 90,
    "timeoutAutoChoose": True,
    "dcTimer": True,
}
BLITZ: Rules = {
    "starting": 15,
    "grace": 30,
    "addPerTurn": 5,
    "maxPerTurn": 15,
    "maxFirstTurn": 40,
}
ON = "|inactive|Battle timer is ON: inactive players will automatically lose when time's up."
OFF = "|inactiveoff|Battle timer is now OFF."


def new_timer(rules: Rules = NO_RULES, *, is_challenge: bool = False) -> BattleTimer:
    """A timer that is off, of a battle in which nobody was asked anything."""
    settings = TimerSettings.for_battle(is_challenge=is_challenge, is_singles=True, rules=rules)
    return BattleTimer(settings, NAMES)


def running_timer(rules: Rules = NO_RULES, *, is_challenge: bool = False) -> BattleTimer:
    """A timer that the server has started, with both players in front of their first request."""
    timer = new_timer(rules, is_challenge=is_challenge)
    timer.start(None, now=0)
    ask_both(timer, turn=0)
    return timer


def ask(
    timer: BattleTimer, side: SideId, turn: int, *, waits: bool = False, is_update: bool = False
) -> list[Effect]:
    return timer.asked(side, waits=waits, is_update=is_update, turn=turn)


def ask_both(timer: BattleTimer, turn: int) -> list[Effect]:
    return ask(timer, "p1", turn) + ask(timer, "p2", turn)


def tick(timer: BattleTimer, seconds: int) -> list[Effect]:
    """What happens in so many seconds, apart from the ticks themselves."""
    effects = [effect for _ in range(seconds // TICK) for effect in timer.tick()]
    return [effect for effect in effects if effect != ScheduleTick()]


def told(line: str, to: SideId | None = None) -> Say:
    return Say(f"|inactive|{line}", to)


def time_left(effects: list[Effect]) -> list[str]:
    """What players are told about their own time."""
    opening = "|inactive|Time left: "
    lines = [effect.line for effect in effects if isinstance(effect, Say)]
    return [line.removeprefix(opening) for line in lines if line.startswith(opening)]


# How much time there is


def test_a_ladder_battle_has_150_seconds_and_a_challenge_twice_as_many() -> None:
    assert TimerSettings.for_battle(is_challenge=False, is_singles=True, rules={}) == TimerSettings(
        starting=150,
        grace=60,
        add_per_turn=10,
        max_per_turn=150,
        max_first_turn=150,
        timeout_auto_choose=False,
        accelerate=True,
        dc_timer=True,
        dc_timer_bank=False,
    )
    assert TimerSettings.for_battle(is_challenge=True, is_singles=False, rules={}) == TimerSettings(
        starting=300,
        grace=60,
        add_per_turn=25,
        max_per_turn=300,
        max_first_turn=300,
        timeout_auto_choose=False,
        accelerate=False,
        dc_timer=False,
        dc_timer_bank=True,
    )


def test_the_rules_of_a_format_come_first() -> None:
    assert new_timer(VGC).settings == TimerSettings(
        starting=420,
        grace=90,
        add_per_turn=0,
        max_per_turn=55,
        max_first_turn=90,
        timeout_auto_choose=True,
        accelerate=False,
        dc_timer=True,
        dc_timer_bank=False,
    )


def test_a_format_with_any_rule_of_its_own_does_not_accelerate_unless_it_says_so() -> None:
    assert not new_timer({"grace": 60}).settings.accelerate
    assert new_timer({"grace": 60, "accelerate": True}).settings.accelerate


@pytest.mark.parametrize("limit", [0, -1])
def test_a_turn_without_a_limit_may_take_all_the_time(limit: int) -> None:
    timer = new_timer({"maxPerTurn": limit, "maxFirstTurn": 0})
    assert timer.settings.max_per_turn == math.inf
    timer.start(None, now=0)
    assert time_left(ask(timer, "p1", 0)) == ["210 sec this turn | 150 sec total | 60 sec grace"]


def test_an_unknown_rule_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"unknown timer rule 'max_per_turn'.*'maxPerTurn'"):
        new_timer({"max_per_turn": 5})


# On and off


def test_a_player_starts_the_timer_and_both_are_told_their_time() -> None:
    timer = new_timer()
    assert ask_both(timer, turn=0) == []
    time = "|inactive|Time left: 150 sec this turn | 150 sec total | 60 sec grace"
    assert timer.start("p1", now=0) == [
        Say(f"{ON} (requested by Red)"),
        Say(time, "p1"),
        ScheduleTick(),
        Say(time, "p2"),
        ScheduleTick(),
    ]
    assert timer.is_on
    assert timer.is_ticking
    assert repr(timer) == "<BattleTimer: on, clock running, Red 210 s, Mr. Blue 210 s>"


def test_the_server_starts_the_timer_before_the_battle() -> None:
    timer = new_timer()
    assert timer.start(None, now=0) == [Say(ON)]
    assert timer.is_on
    assert not timer.is_ticking
    assert ask(timer, "p1", turn=0)[-1] == ScheduleTick()
    assert timer.is_ticking


def test_who_wants_the_timer_twice_is_not_heard_twice() -> None:
    timer = new_timer()
    timer.start("p1", now=0)
    assert timer.start("p1", now=1) == []


def test_the_timer_stays_on_until_nobody_wants_it() -> None:
    timer = running_timer()
    assert timer.start("p1", now=1) == [told("Red also wants the timer to be on.")]
    assert timer.start("p2", now=2) == [told("Mr. Blue also wants the timer to be on.")]
    assert timer.stop("p1", now=3) == [
        told(
            "Red no longer wants the timer on, "
            "but the timer is staying on because staff, mrblue still does."
        )
    ]
    assert timer.stop("p1", now=4) == []
    assert timer.is_ticking
    assert timer.stop(None, now=5) == [Say(OFF)]
    assert not timer.is_on
    assert timer.stop("p2", now=6) == []


def test_the_server_also_wants_the_timer_to_be_on() -> None:
    timer = new_timer()
    timer.start("p1", now=0)
    assert timer.start(None, now=1) == [told("staff also wants the timer to be on.")]


def test_only_who_stopped_the_timer_waits_before_starting_it_again() -> None:
    timer = new_timer()
    ask_both(timer, turn=0)
    timer.start("p1", now=100)
    assert timer.stop("p1", now=110) == [Say(OFF)]
    refusal = "|inactiveoff|The timer can't be re-enabled so soon after disabling it"
    assert timer.start("p1", now=110) == [Say(f"{refusal} (20 seconds remaining).", "p1")]
    assert timer.start("p1", now=128.5) == [Say(f"{refusal} (2 seconds remaining).", "p1")]
    assert not timer.is_on
    assert timer.start("p2", now=111)[0] == Say(f"{ON} (requested by Mr. Blue)")
    timer.stop(None, now=112)
    assert timer.start("p1", now=130)[0] == Say(f"{ON} (requested by Red)")


def test_who_had_chosen_before_the_timer_was_on_has_a_whole_turn_to_choose_again() -> None:
    timer = new_timer({"maxPerTurn": 0})
    ask_both(timer, turn=0)
    timer.answered("p1")
    timer.start(None, now=0)
    timer.undone("p1")
    timer.present("p1", False)
    assert timer.present("p1", True) == [told("Red reconnected and has Infinity seconds left.")]


def test_a_timer_that_never_ran_goes_off_silently() -> None:
    timer = new_timer()
    timer.start("p1", now=0)
    assert timer.stop("p1", now=1) == []
    assert not timer.is_on


def test_a_timer_that_is_off_does_nothing() -> None:
    timer = new_timer()
    for turn in range(30):
        assert ask_both(timer, turn) == []
        assert timer.present("p1", False) == []
        assert timer.present("p1", True) == []
        timer.answered("p1")
        assert timer.tick() == []
    assert repr(timer) == "<BattleTimer: off, clock stopped, Red 210 s, Mr. Blue 210 s>"


def test_a_tick_that_was_due_before_the_timer_went_off_does_nothing() -> None:
    timer = running_timer()
    timer.stop(None, now=1)
    assert not timer.is_ticking
    assert timer.tick() == []


def test_nothing_happens_once_the_battle_is_over() -> None:
    timer = running_timer()
    timer.end()
    assert not timer.is_on
    assert not timer.is_ticking
    assert timer.tick() == []
    assert timer.present("p1", False) == []
    assert timer.stop(None, now=1) == []
    assert timer.start(None, now=1) == []
    refusal = "|inactiveoff|The timer can't be enabled after a battle has ended."
    assert timer.start("p2", now=1) == [Say(refusal, "p2")]
    assert not timer.is_on
    assert repr(timer) == "<BattleTimer: ended, clock stopped, Red 210 s, Mr. Blue 210 s>"


# Time passes


def test_a_player_is_warned_every_thirty_seconds_and_then_every_tick() -> None:
    timer = running_timer()
    timer.answered("p1")
    warnings = tick(timer, 145)
    assert warnings == [
        told(f"Mr. Blue has {seconds} seconds left.")
        for seconds in (120, 90, 60, 30, 20, 15, 10, 5)
    ]
    assert timer.tick() == [Lose("p2", " lost due to inactivity.")]


def test_each_tick_asks_for_the_next() -> None:
    timer = running_timer()
    assert timer.tick() == [ScheduleTick()]
    assert timer.is_ticking


def test_only_who_must_choose_loses_time() -> None:
    timer = running_timer()
    tick(timer, 20)
    timer.answered("p1")
    tick(timer, 40)
    assert repr(timer) == "<BattleTimer: on, clock running, Red 190 s, Mr. Blue 150 s>"
    timer.undone("p1")
    tick(timer, 10)
    timer.answered("p1")
    timer.refused("p1")
    tick(timer, 5)
    assert repr(timer) == "<BattleTimer: on, clock running, Red 175 s, Mr. Blue 135 s>"


def test_a_choice_that_cannot_be_undone_costs_no_more_time() -> None:
    timer = running_timer()
    timer.answered("p1")
    timer.undone("p1")
    timer.refused("p1", is_undo=True)
    tick(timer, 20)
    assert repr(timer) == "<BattleTimer: on, clock running, Red 210 s, Mr. Blue 190 s>"


def test_the_clock_runs_on_while_the_simulator_computes_for_both() -> None:
    timer = running_timer()
    timer.answered("p1")
    timer.answered("p2")
    assert timer.tick() == [ScheduleTick()]


def test_the_clock_pauses_when_nobody_is_asked_anything() -> None:
    timer = running_timer()
    for side in SIDES:
        ask(timer, side, 1, waits=True)
    assert timer.tick() == []
    assert not timer.is_ticking
    assert timer.stop(None, now=0) == [Say(OFF)]


def test_a_corrected_request_gives_no_new_time() -> None:
    timer = running_timer()
    tick(timer, 30)
    timer.answered("p1")
    assert ask(timer, "p1", 0, is_update=True) == []
    assert tick(timer, 5) == []
    assert repr(timer) == "<BattleTimer: on, clock running, Red 175 s, Mr. Blue 175 s>"


def test_the_grace_is_gone_with_the_first_turn() -> None:
    timer = running_timer()
    tick(timer, 5)
    assert time_left(ask_both(timer, turn=1)) == ["150 sec this turn | 150 sec total"] * 2


def test_a_turn_adds_ten_seconds_once_for_both() -> None:
    timer = running_timer()
    tick(timer, 100)
    assert time_left(ask_both(timer, turn=1)) == ["120 sec this turn | 120 sec total"] * 2
    tick(timer, 50)
    assert time_left(ask_both(timer, turn=2)) == ["80 sec this turn | 80 sec total"] * 2


def test_a_request_in_the_middle_of_a_turn_adds_a_tick_for_both() -> None:
    timer = running_timer()
    tick(timer, 100)
    ask_both(timer, turn=1)
    timer.answered("p1")
    timer.answered("p2")
    assert ask(timer, "p1", 1, waits=True) == []
    assert ask(timer, "p2", 1) == [
        told("Time left: 125 sec this turn | 125 sec total", "p2"),
        ScheduleTick(),
    ]
    assert repr(timer) == "<BattleTimer: on, clock running, Red 125 s, Mr. Blue 125 s>"


def test_everybody_hears_of_a_player_who_begins_a_turn_with_little_time() -> None:
    timer = running_timer()
    timer.answered("p2")
    tick(timer, 145)
    timer.answered("p1")
    assert ask(timer, "p1", 1) == [
        told("Time left: 75 sec this turn | 75 sec total", "p1"),
        ScheduleTick(),
    ]
    ask(timer, "p2", 1)
    timer.answered("p2")
    tick(timer, 65)
    assert ask(timer, "p1", 2) == [
        told("Time left: 20 sec this turn | 20 sec total", "p1"),
        told("Red has 20 seconds left this turn."),
        ScheduleTick(),
    ]


def test_turns_add_less_after_turn_100_and_every_other_one_nothing_after_turn_200() -> None:
    timer = running_timer()
    tick(timer, 140)
    totals = []
    for turn in (100, 101, 102, 200, 201, 202, 203, 204):
        ask_both(timer, turn)
        totals.append(repr(timer).split(", ")[2])
    assert totals == [f"Red {total} s" for total in (80, 85, 90, 95, 95, 100, 100, 105)]


def test_a_challenge_never_adds_less() -> None:
    timer = running_timer(is_challenge=True)
    tick(timer, 260)
    totals = []
    for turn in (100, 101, 201, 202):
        ask_both(timer, turn)
        totals.append(repr(timer).split(", ")[2])
    assert totals == [f"Red {total} s" for total in (110, 120, 130, 140)]


def test_time_goes_on_where_it_was_when_the_timer_is_turned_on_again() -> None:
    timer = running_timer()
    tick(timer, 100)
    timer.stop(None, now=100)
    assert ask_both(timer, turn=1) == []
    assert time_left(timer.start("p2", now=200)) == ["120 sec this turn | 120 sec total"] * 2


def test_a_blitz_shows_its_short_time_to_the_player_alone() -> None:
    timer = running_timer(BLITZ)
    tick(timer, 35)
    assert ask_both(timer, turn=1) == [
        told("Time left: 15 sec this turn | 15 sec total", "p1"),
        ScheduleTick(),
        told("Time left: 15 sec this turn | 15 sec total", "p2"),
        ScheduleTick(),
    ]


# Time is up


def test_two_idle_players_tie() -> None:
    timer = running_timer()
    tick(timer, 145)
    assert timer.tick() == [Tie("All players are inactive.")]
    assert not timer.is_ticking
    assert timer.tick() == []


def test_one_idle_player_loses_once() -> None:
    timer = running_timer()
    timer.answered("p2")
    assert tick(timer, 150)[-1] == Lose("p1", " lost due to inactivity.")
    assert not timer.is_ticking
    assert tick(timer, 60) == []


def test_the_clock_stays_still_once_a_player_has_no_time_left() -> None:
    timer = running_timer({"starting": 60, "grace": 0})
    timer.answered("p2")
    assert tick(timer, 60)[-1] == Lose("p1")
    assert ask_both(timer, turn=1) == []
    assert not timer.is_ticking


def test_the_simulator_chooses_for_who_is_late_where_a_format_says_so() -> None:
    timer = new_timer(VGC)
    timer.start(None, now=0)
    assert (
        time_left(ask_both(timer, turn=0))
        == ["90 sec this turn | 420 sec total | 90 sec grace"] * 2
    )
    timer.answered("p2")
    assert tick(timer, 90)[-1] == Choose("p1")
    assert time_left(ask_both(timer, turn=1)) == ["55 sec this turn | 420 sec total"] * 2
    assert tick(timer, 55)[-2:] == [Choose("p1"), Choose("p2")]


def test_after_a_choice_for_a_player_the_clock_waits_for_the_next_request() -> None:
    timer = running_timer(VGC)
    timer.answered("p2")
    tick(timer, 90)
    assert not timer.is_ticking
    assert ask(timer, "p1", 1)[-1] == ScheduleTick()


def test_who_has_used_up_the_total_loses_where_the_simulator_would_choose() -> None:
    timer = running_timer(VGC)
    for turn in range(1, 8):
        ask_both(timer, turn)
        timer.answered("p2")
        assert tick(timer, 55)[-1] == Choose("p1")
    assert time_left(ask_both(timer, turn=8)) == [
        "35 sec this turn | 35 sec total",
        "55 sec this turn | 420 sec total",
    ]
    assert tick(timer, 35)[-1] == Lose("p1")


def test_two_players_who_have_used_up_their_total_tie_where_the_simulator_would_choose() -> None:
    timer = running_timer({**VGC, "starting": 55, "grace": 0})
    assert tick(timer, 55)[-1] == Tie()


def test_nobody_chooses_for_a_player_who_is_away() -> None:
    timer = running_timer(VGC)
    ask_both(timer, turn=1)
    timer.answered("p2")
    timer.present("p1", False)
    assert tick(timer, 55)[-1] == Lose("p1")


# Players come and go


def test_on_the_ladder_a_player_has_a_minute_to_come_back() -> None:
    timer = running_timer()
    timer.answered("p1")
    assert timer.present("p2", False) == [
        told("Mr. Blue disconnected and has a minute to reconnect!")
    ]
    assert timer.present("p2", False) == []
    assert tick(timer, 60) == [
        *(told(f"Mr. Blue has {seconds} seconds to reconnect!") for seconds in (30, 20, 15, 10, 5)),
        Lose("p2"),
    ]


def test_who_has_less_time_than_a_minute_is_warned_of_that() -> None:
    timer = running_timer()
    timer.answered("p1")
    tick(timer, 100)
    timer.present("p2", False)
    assert tick(timer, 30) == [
        told("Mr. Blue has 30 seconds left."),
        told("Mr. Blue has 20 seconds left."),
    ]


def test_who_comes_back_has_lost_the_time_away_and_gets_a_new_minute() -> None:
    timer = running_timer()
    timer.present("p2", False)
    tick(timer, 40)
    assert timer.present("p2", True) == [told("Mr. Blue reconnected and has 110 seconds left.")]
    assert timer.present("p2", True) == []
    assert tick(timer, 5) == []
    timer.present("p2", False)
    assert Lose("p2") not in tick(timer, 55)
    assert timer.tick()[-1] == Lose("p2")


def test_who_comes_back_with_nothing_to_choose_is_told_no_time() -> None:
    timer = running_timer()
    timer.answered("p2")
    timer.present("p2", False)
    assert tick(timer, 30) == [told("Red has 120 seconds left.")]
    assert timer.present("p2", True) == [told("Mr. Blue reconnected.")]


def test_in_a_challenge_a_player_spends_a_bank_of_five_minutes() -> None:
    timer = running_timer(is_challenge=True)
    timer.answered("p1")
    assert timer.present("p2", False) == [
        told("Mr. Blue disconnected and has 300 seconds to reconnect!")
    ]
    assert tick(timer, 100) == [
        told(f"Mr. Blue has {seconds} seconds to reconnect!") for seconds in (270, 240, 210)
    ]
    assert timer.present("p2", True) == [told("Mr. Blue reconnected and has 300 seconds left.")]
    assert tick(timer, 30) == [told("Mr. Blue has 270 seconds left.")]
    assert timer.present("p2", False) == [
        told("Mr. Blue disconnected and has 200 seconds to reconnect!")
    ]
    assert tick(timer, 195)[-1] == told("Mr. Blue has 5 seconds to reconnect!")
    assert timer.tick() == [Lose("p2")]
    timer.present("p2", True)
    assert timer.present("p2", False) == [
        told("Mr. Blue disconnected and has no disconnection time left!")
    ]


def test_without_a_limit_for_absence_only_the_turn_counts() -> None:
    timer = running_timer({"dcTimer": False})
    timer.answered("p1")
    assert timer.present("p2", False) == [told("Mr. Blue disconnected!")]
    assert Lose("p2") not in tick(timer, 145)
    assert timer.tick() == [Lose("p2")]


def test_nobody_may_be_away_for_more_than_ten_minutes_of_a_turn() -> None:
    timer = running_timer({"dcTimer": False, "starting": 1200, "maxFirstTurn": 1200})
    timer.answered("p1")
    timer.present("p2", False)
    assert Lose("p2") not in tick(timer, 595)
    assert timer.tick() == [Lose("p2")]


def test_who_left_before_the_timer_was_on_has_a_minute_from_then() -> None:
    timer = new_timer()
    ask_both(timer, turn=0)
    timer.answered("p1")
    assert timer.present("p2", False) == []
    timer.start("p1", now=0)
    assert tick(timer, 60)[-1] == Lose("p2")


def test_two_players_who_stay_away_tie() -> None:
    timer = running_timer()
    for side in SIDES:
        timer.present(side, False)
    assert tick(timer, 60)[-1] == Tie()


# The same as Showdown's own

DRIVE_SHOWDOWN = r"""
const { readFileSync } = require('fs');
const source = readFileSync(process.argv[1], 'utf8');
const constants = source.match(/^const [A-Z_]+ = .*;$/gm).join('\n');
const ours = source.match(/^class RoomBattleTimer \{[^]*?^\}/m)[0];
const build = new Function(
  'Dex', 'Date', 'setTimeout', 'clearTimeout', `${constants}\n${ours}\nreturn RoomBattleTimer;`
);

function play({ isChallenge, isSingles, rules, names, events }) {
  let effects = [];
  let now = 0;
  let due = null;
  let reason = '';
  const formats = {
    get: () => ({ gameType: isSingles ? 'singles' : 'doubles' }),
    getRuleTable: () => ({ timer: Object.keys(rules).length ? [rules] : null }),
  };
  const schedule = (callback) => {
    effects.push(['ScheduleTick']);
    return due = callback;
  };
  const Timer = build({ formats }, { now: () => now * 1000 }, schedule, () => { due = null; });
  const room = {
    add(line) {
      if (line.startsWith('|-message|')) reason = line.slice(10);
      else effects.push(['Say', line, null]);
      return room;
    },
    update() {},
  };
  const players = Object.entries(names).map(([slot, name]) => {
    const id = name.toLowerCase().replace(/[^a-z0-9]+/g, '');
    const sendRoom = (line) => effects.push(['Say', line, slot]);
    const sendTo = (roomid, line) => sendRoom(line);
    const request = { isWait: 'cantUndo' };
    return { slot, id, name, request, active: true, knownActive: true, sendRoom, sendTo };
  });
  const battle = {
    room,
    players,
    playerTable: Object.fromEntries(players.map((player) => [player.id, player])),
    challengeType: isChallenge ? 'challenge' : 'rated',
    ended: false,
    turn: 0,
    requestCount: 0,
    tie: () => effects.push(['Tie', reason]),
    stream: { write: (line) => effects.push(['Choose', line.slice(1, 3)]) },
    forfeitPlayer(player, message) {
      player.eliminated = true;
      effects.push(['Lose', player.slot, message]);
    },
  };
  const timer = new Timer(battle);
  const actions = {
    start(player, at) { now = at; timer.start(player); },
    stop(player, at) { now = at; timer.stop(player); },
    asked(player, waits, isUpdate, turn) {
      player.request.isWait = waits ? 'cantUndo' : false;
      battle.turn = turn;
      battle.requestCount++;
      if (!isUpdate) timer.nextRequest(player);
    },
    answered(player) { player.request.isWait = true; },
    undone(player) { player.request.isWait = false; },
    refused(player, isUndo) { player.request.isWait = isUndo ? 'cantUndo' : false; },
    present(player, isPresent) { player.active = isPresent; timer.checkActivity(); },
    tick() {
      const callback = due;
      due = null;
      callback?.();
    },
    end() {
      battle.ended = true;
      for (const player of players) player.request.isWait = 'cantUndo';
      timer.end();
    },
  };
  return events.map(([name, side, ...rest]) => {
    effects = [];
    actions[name](players.find((player) => player.slot === side), ...rest);
    return effects;
  });
}
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0)).map(play)));
"""

Event = tuple[Any, ...]


def draw_events(draw: random.Random) -> Iterator[Event]:
    """A battle of players who do what they like, as far as the simulator lets them."""
    turn, now = draw.choice([0, 0, 97, 197]), 0.0
    if draw.random() < 0.5:
        yield ("start", None, now)
    idleness = draw.choice([1, 4, 40])
    for _ in range(draw.randrange(60)):
        asked = draw.choice([("p1", "p2"), ("p1", "p2"), ("p1",), ("p2",)])
        turn += len(asked) == 2
        yield from (("asked", side, side not in asked, False, turn) for side in SIDES)
        for _ in range(draw.randrange(4 + idleness)):
            now += draw.random() * 9
            side, other = draw.choice(SIDES), draw.choice([*SIDES, None])
            yield draw.choice(
                [
                    *[("tick", None)] * idleness,
                    ("start", other, now),
                    ("stop", other, now),
                    ("present", side, draw.random() < 0.5),
                ]
            )
            if side in asked:
                yield draw.choice(
                    [
                        ("answered", side),
                        ("undone", side),
                        ("refused", side, False),
                        ("refused", side, True),
                        ("asked", side, False, True, turn),
                        ("tick", None),
                    ]
                )
    yield ("end", None)
    yield ("start", "p1", now)
    yield ("present", "p1", False)
    yield ("tick", None)


def apply(timer: BattleTimer, event: Event) -> list[list[Any]]:
    """The effects of an event, as plain data."""
    effects: list[Effect] | None = None
    match event:
        case ("start", side, now):
            effects = timer.start(side, now)
        case ("stop", side, now):
            effects = timer.stop(side, now)
        case ("asked", side, waits, is_update, turn):
            effects = timer.asked(side, waits=waits, is_update=is_update, turn=turn)
        case ("answered", side):
            timer.answered(side)
        case ("undone", side):
            timer.undone(side)
        case ("refused", side, is_undo):
            timer.refused(side, is_undo=is_undo)
        case ("present", side, is_present):
            effects = timer.present(side, is_present)
        case ("tick", _):
            effects = timer.tick()
        case ("end", _):
            timer.end()
    return [[type(effect).__name__, *astuple(effect)] for effect in effects or []]


def test_any_battle_is_timed_as_by_showdown_itself() -> None:
    draw = random.Random(8)
    formats: list[Rules] = [
        {},
        {},
        VGC,
        {**VGC, "dcTimerBank": True},
        BLITZ,
        {"maxPerTurn": 0, "maxFirstTurn": 0},
        {"dcTimer": False, "accelerate": True, "addPerTurn": 4},
        {"accelerate": True, "addPerTurn": 5},
        {"starting": 40, "grace": 7, "timeoutAutoChoose": True},
    ]
    battles: list[dict[str, Any]] = [
        {
            "isChallenge": draw.random() < 0.5,
            "isSingles": draw.random() < 0.5,
            "rules": draw.choice(formats),
            "names": NAMES,
            "events": list(draw_events(draw)),
        }
        for _ in range(400)
    ]
    found = find_runtime()
    showdown = found.simulator / "dist" / "server" / "room-battle.js"
    command = [str(found.node), "-e", DRIVE_SHOWDOWN, str(showdown)]
    answer = subprocess.run(command, input=orjson.dumps(battles), capture_output=True, check=True)
    seen: set[str] = set()
    for battle, expected in zip(battles, orjson.loads(answer.stdout), strict=True):
        settings = TimerSettings.for_battle(
            is_challenge=battle["isChallenge"],
            is_singles=battle["isSingles"],
            rules=battle["rules"],
        )
        timer = BattleTimer(settings, NAMES)
        for event, effects in zip(battle["events"], expected, strict=True):
            assert apply(timer, event) == effects
            seen.update(effect[0] for effect in effects)
    assert seen == {"Say", "Choose", "Lose", "Tie", "ScheduleTick"}
