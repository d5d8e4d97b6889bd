"""Who is met next: the league of past selves, and the stages of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import ConfigError
from maple.agents import Checkpoint, CheckpointMismatch, CheckpointUnreadable, save_checkpoint
from maple.env import Observations
from maple.train.config import OpponentsConfig, read_train_config
from maple.train.opponents import League, Opponents, check_opponents
from maple.train.orders import Ended

from .practice import OBSERVATIONS, network


def ended(opponent: str, *scores: float | None) -> list[Ended]:
    return [Ended(opponent, score, 20) for score in scores]


def league(*names: str, folder: Path | None = None, **settings: Any) -> League:
    """One that past selves have joined, each an update after the one before."""
    made = League(OpponentsConfig(**settings), folder)
    for update, name in enumerate(names, start=1):
        made.add(name, update)
    return made


def names(made: League) -> list[str]:
    return [member.name for member in made.members]


# The league


def test_a_league_takes_in_past_selves_until_it_is_full() -> None:
    assert names(league("a", "b", "c", league_size=3)) == ["a", "b", "c"]


def test_the_first_stays_and_the_oldest_after_it_leaves() -> None:
    assert names(league("a", "b", "c", "d", "e", league_size=3)) == ["a", "d", "e"]
    assert names(league("a", "b", "c", league_size=2)) == ["a", "c"]


def test_a_league_of_one_has_the_latest() -> None:
    assert names(league("a", "b", "c", league_size=1)) == ["c"]


def test_a_past_self_is_met_as_often_as_the_agent_loses_against_it() -> None:
    """Of one that was hardly met it is guessed that half of the battles are lost."""
    made = league("strong", "weak", "new")
    made.hear(ended("strong", *[0] * 36) + ended("weak", *[1] * 16))
    expected = {"strong": 38 / 40, "weak": 2 / 20, "new": 2 / 4}
    total = sum(expected.values())
    assert made.weights() == pytest.approx({n: rate / total for n, rate in expected.items()})


def test_a_past_self_that_always_loses_is_not_forgotten() -> None:
    made = league("weak", "new")
    made.hear(ended("weak", *[1] * 1000))
    assert made.weights()["weak"] == pytest.approx(0.05 / 0.55)


def test_recent_past_selves_are_met_more_often() -> None:
    made = league("a", "b", "c", league_choice="recent")
    made.hear(ended("a", *[0] * 50))
    weights = made.weights()
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["b"] / weights["c"] == pytest.approx(0.8)
    assert weights["a"] / weights["b"] == pytest.approx(0.8)


def test_all_past_selves_alike() -> None:
    made = league("a", "b", "c", "d", league_choice="uniform")
    made.hear(ended("a", *[0] * 50))
    assert made.weights() == {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}


def test_only_battles_against_members_that_came_to_an_end_count() -> None:
    made = league("a", "b")
    made.hear(ended("a", 1, 0, 0.5, None) + ended("random", 0) + ended("gone", 0))
    assert [(member.battles, member.losses) for member in made.members] == [(3, 1.5), (0, 0)]
    assert made.members[0].loss_rate == pytest.approx(3.5 / 7)


def test_the_checkpoints_of_a_league_are_in_its_folder(tmp_path: Path) -> None:
    assert league(folder=tmp_path).file("past-000050") == tmp_path / "past-000050.pt"
    assert league(folder=Path("league")).file("a") == Path.cwd() / "league" / "a.pt"


def test_who_has_left_is_forgotten_when_no_checkpoint_is_from_before(tmp_path: Path) -> None:
    made = league("a", "b", "c", "d", "e", folder=tmp_path, league_size=2)
    assert made.forget_retired(3) == []
    assert made.forget_retired(5) == [tmp_path / "b.pt", tmp_path / "c.pt"]
    assert made.forget_retired(5) == []
    assert made.forget_retired(100) == [tmp_path / "d.pt"]


def test_a_league_goes_on_from_its_state_and_from_another_folder(tmp_path: Path) -> None:
    first = league("a", "b", "c", folder=tmp_path / "before", league_size=2)
    second = league(folder=tmp_path / "moved", league_size=2)
    first.hear(ended("a", 1, 1, 0) + ended("c", 0.5))
    second.restore(json.loads(json.dumps(first.state())))
    assert second.members == first.members
    second.hear(ended("c", 0))
    assert second.members[1].losses == 1.5
    second.add("d", 4)
    assert names(second) == ["a", "d"]
    moved = [tmp_path / "moved" / name for name in ("b.pt", "c.pt")]
    assert second.forget_retired(5) == moved


# The mix


def test_the_agent_itself_stands_in_for_an_empty_league() -> None:
    opponents = Opponents(OpponentsConfig(mix="self:0.2,random:0.3,league:0.5"))
    assert opponents.mix() == {"self": 0.7, "random": 0.3}
    alone = Opponents(OpponentsConfig(mix="league:0.6,max:0.4"))
    assert alone.mix() == {"self": 0.6, "max": 0.4}


def test_the_share_of_the_league_is_that_of_its_members() -> None:
    opponents = Opponents(OpponentsConfig(mix="self:0.2,league:0.8", league_choice="uniform"))
    opponents.league.add("past-1", 1)
    opponents.league.add("past-2", 2)
    assert opponents.mix() == {"self": 0.2, "past-1": 0.4, "past-2": 0.4}


def test_there_is_a_file_for_each_in_the_mix_that_is_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    best = tmp_path / "first" / "checkpoints" / "best.pt"
    best.parent.mkdir(parents=True)
    best.touch()
    Path("old.pt").touch()
    config = OpponentsConfig(mix="self,max,league,old.pt:2,first:0.5")
    opponents = Opponents(config, tmp_path / "league")
    files = {"old.pt": str(tmp_path / "old.pt"), "first": str(best)}
    assert opponents.past() == files
    opponents.league.add("past-1", 1)
    assert opponents.past() == {**files, "past-1": str(tmp_path / "league" / "past-1.pt")}
    assert opponents.mix().keys() == {"self", "max", "past-1", "old.pt", "first"}
    assert opponents.measured == ["max", "old.pt", "first"]


def test_the_league_is_not_met_in_a_stage_without_it(tmp_path: Path) -> None:
    opponents = Opponents(staged({"mix": "random", "win_rate": 0.5, "battles": 1}), tmp_path)
    opponents.league.add("past-1", 1)
    assert opponents.mix() == {"random": 1}
    assert opponents.past() == {}
    assert opponents.has_league, "there is one later"
    assert opponents.hear(ended("random", 1))
    assert opponents.mix().keys() == {"self", "past-1"}
    assert opponents.past() == {"past-1": str(tmp_path / "past-1.pt")}


def test_a_league_that_was_met_in_an_earlier_stage_alone_takes_in_nobody_any_more() -> None:
    stage = {"mix": "league,random", "win_rate": 0.5, "battles": 1}
    opponents = Opponents(OpponentsConfig(mix="self", stages=[stage]))
    assert opponents.has_league
    opponents.hear(ended("random", 1))
    assert not opponents.has_league


def test_known_are_all_who_may_be_met_in_any_stage() -> None:
    opponents = Opponents(staged({"mix": "random,max", "win_rate": 0.5, "battles": 1}))
    opponents.league.add("past-1", 1)
    everybody = {"random", "max", "self", "league", "past-1"}
    assert opponents.known == everybody
    assert opponents.hear(ended("random", 1))
    assert opponents.known == everybody


def test_an_unknown_opponent_is_refused_and_told_who_there_is() -> None:
    with pytest.raises(ConfigError, match=r"'radnom', and no path .* did you mean 'random'\?"):
        Opponents(OpponentsConfig(mix="radnom:0.5,self:0.5"))
    with pytest.raises(ConfigError, match="unknown opponent 'later'"):
        Opponents(OpponentsConfig(mix="self", stages=[{"mix": "later", "win_rate": 0.5}]))


def test_a_run_that_has_saved_nothing_yet_is_no_opponent(tmp_path: Path) -> None:
    with pytest.raises(CheckpointUnreadable, match="saved none yet"):
        Opponents(OpponentsConfig(mix=str(tmp_path)))


def test_opponents_that_observe_something_else_are_told_by_name_before_a_run(
    tmp_path: Path,
) -> None:
    file = tmp_path / "old.pt"
    save_checkpoint(file, Checkpoint.of(network(), OBSERVATIONS, format="gen9randombattle"))
    met = {"opponents": {"mix": f"self,league,max,{file}"}}
    measured = {"evaluation": {"against": ["random", str(file)]}}
    for settings in (met, measured):
        config = read_train_config({"episodes": 1, **settings})
        check_opponents(config, OBSERVATIONS)
        with pytest.raises(CheckpointMismatch, match=f"^{re.escape(str(file))}: .*observations"):
            check_opponents(config, Observations("singles", 9, ["decision", "own_team"]))


# Stages


def staged(*stages: Mapping[str, Any]) -> OpponentsConfig:
    return OpponentsConfig(mix="self:0.5,league:0.5", stages=list(stages))


RANDOM = {"mix": "random:0.9,self:0.1", "win_rate": 0.75, "battles": 4}


def test_a_stage_lasts_until_enough_of_its_latest_battles_are_won() -> None:
    opponents = Opponents(staged(RANDOM))
    assert opponents.text == RANDOM["mix"]
    assert not opponents.hear(ended("random", 1, 1, 0, 0)), "two of four are too few"
    assert not opponents.hear(ended("random", 1)), "so are two of the latest four"
    assert opponents.hear(ended("random", 1, 1)), "three of them are enough"
    assert opponents.stage == 1
    assert opponents.text == "self:0.5,league:0.5"


def test_a_stage_does_not_end_before_so_many_battles() -> None:
    opponents = Opponents(staged(RANDOM))
    assert not opponents.hear(ended("random", 1, 1, 1))
    assert opponents.hear(ended("random", 0))


def test_battles_against_oneself_and_those_cut_short_end_no_stage() -> None:
    opponents = Opponents(staged(RANDOM))
    assert not opponents.hear(ended("self", 1, 1, 1, 1) + ended("random", 1, 1, 1, None, None))
    assert opponents.hear(ended("random", 1))


def test_a_tie_is_half_a_win_of_a_stage() -> None:
    opponents = Opponents(staged(RANDOM))
    assert not opponents.hear(ended("random", 1, 1, 0.5, 0))
    assert opponents.hear(ended("random", 0.5, 1, 1, 0.5))


def test_the_next_stage_counts_from_its_beginning() -> None:
    opponents = Opponents(staged(RANDOM, {"mix": "max", "win_rate": 0.5, "battles": 2}))
    assert opponents.hear(ended("random", 1, 1, 1, 1))
    assert opponents.text == "max"
    assert not opponents.hear(ended("max", 0))
    assert opponents.hear(ended("max", 1))
    assert opponents.stage == 2


def test_battles_of_the_stage_before_do_not_count_for_the_next() -> None:
    opponents = Opponents(staged(RANDOM, {"mix": "max,league", "win_rate": 0.5, "battles": 2}))
    opponents.league.add("past-1", 1)
    assert opponents.hear(ended("random", 1, 1, 1, 1))
    assert not opponents.hear(ended("random", 1, 1, 1))
    assert opponents.hear(ended("max", 1) + ended("past-1", 0))


def test_the_last_mix_stays() -> None:
    opponents = Opponents(OpponentsConfig(mix="random"))
    assert not opponents.hear(ended("random", *[1] * 1000))
    assert (opponents.stage, opponents.text) == (0, "random")


def test_the_league_hears_how_its_battles_ended_in_any_stage() -> None:
    opponents = Opponents(staged(RANDOM))
    opponents.league.add("past-1", 1)
    opponents.hear(ended("past-1", 0))
    opponents.hear(ended("random", 1, 1, 1, 1))
    opponents.hear(ended("past-1", 1, 1))
    assert (opponents.league.members[0].battles, opponents.league.members[0].losses) == (3, 1)


def test_opponents_go_on_from_their_state() -> None:
    config = staged(RANDOM, {"mix": "max", "win_rate": 1.0, "battles": 2})
    first, second = Opponents(config), Opponents(config)
    first.league.add("past-1", 1)
    first.hear(ended("random", 1, 1, 1, 1))
    first.hear(ended("max", 1) + ended("past-1", None))
    second.restore(json.loads(json.dumps(first.state())))
    assert second.state() == first.state()
    assert second.text == "max"
    assert second.hear(ended("max", 1)), "the battle before it was restored counts"
    assert second.mix() == {"self": 0.5, "past-1": 0.5}
    assert not first.hear([])


def test_a_run_may_go_on_with_fewer_stages_than_it_has_done() -> None:
    before, after = Opponents(staged(RANDOM, RANDOM)), Opponents(staged(RANDOM))
    for _ in range(2):
        assert before.hear(ended("random", 1, 1, 1, 1))
    after.restore(before.state())
    assert (after.stage, after.text) == (1, "self:0.5,league:0.5")


def test_55_of_100_are_55_percent() -> None:
    stage = {"mix": "random", "win_rate": 0.55, "battles": 100}
    opponents = Opponents(OpponentsConfig(stages=[stage]))
    assert opponents.hear([Ended("random", float(n < 55), 1) for n in range(100)])


def test_a_league_that_is_to_be_smaller_becomes_smaller() -> None:
    before, after = League(OpponentsConfig(league_size=5)), League(OpponentsConfig(league_size=2))
    for name in "abcde":
        before.add(name, 1)
    after.restore(before.state())
    after.add("f", 2)
    assert len(after.members) == 2
