"""Runs as a whole: the same twice, gone on with, with workers and without, against others."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bridge.errors import BattleRejected, ConfigError
from maple.agents import Checkpoint, find_checkpoint, load_checkpoint, weights_of
from maple.train.config import TrainConfig
from maple.train.interruption import Interruption
from maple.train.layout import lay_out
from maple.train.orders import Ended, Report
from maple.train.run_folder import RunFolder
from maple.train.stage import Stage, set_stage
from maple.train.status import Status
from maple.train.trainer import Ending, Trainer
from tests.maple.env.hands import TEAM

from .conftest import stage_of

Small = Callable[..., TrainConfig]


def train(
    config: TrainConfig,
    folder: RunFolder | None = None,
    checkpoint: Checkpoint | None = None,
    stage: Stage | None = None,
) -> tuple[Trainer, list[Status]]:
    """A run to its end."""
    seen: list[Status] = []
    trainer = Trainer(
        config,
        stage or stage_of(config),
        lay_out(config),
        folder,
        checkpoint=checkpoint,
        show=seen.append,
    )
    try:
        assert trainer.run(Interruption()) is Ending.COMPLETE
    finally:
        trainer.close()
    return trainer, seen


def weights(folder: RunFolder) -> list[float]:
    checkpoint = load_checkpoint(folder.latest)
    return [float(part.double().sum()) for part in checkpoint.weights.values()]


MIXED: dict[str, Any] = {
    "synchronous": True,
    "opponents": {"mix": "self:0.4,random:0.2,league:0.4", "league_every": 1},
}


@pytest.mark.timeout(300)
def test_a_seed_gives_the_same_weights_in_one_process_in_another_and_when_gone_on_with(
    small: Small,
) -> None:
    folders = {}
    for name, workers in (("one", 0), ("two", 1)):
        config = small(name=name, workers=workers, **MIXED)
        folders[name] = RunFolder.create(config)
        train(config, folders[name])
    # Half of it, which ends where a checkpoint is, and then the other half.
    half = small(name="three", workers=0, **{**MIXED, "decisions": 512})
    folders["three"] = RunFolder.create(half)
    train(half, folders["three"])
    checkpoint = load_checkpoint(folders["three"].latest)
    assert checkpoint.facts["updates"] == 2
    whole = folders["three"].read_config({"decisions": 1024})
    train(whole, folders["three"], checkpoint)
    found = {name: weights(folder) for name, folder in folders.items()}
    assert found["one"] == found["two"] == found["three"]
    other = small(name="other", workers=0, seed=8, **MIXED)
    folder = RunFolder.create(other)
    train(other, folder)
    assert weights(folder) != found["one"]


@pytest.mark.timeout(300)
def test_workers_play_while_the_learner_learns_and_the_lag_is_bounded(small: Small) -> None:
    config = small(workers=2, decisions=2048, max_lag=1)
    folder = RunFolder.create(config)
    _, seen = train(config, folder)
    lags = [status.lag for status in seen]
    assert max(lags) <= 1
    assert max(lags) > 0
    assert all(0 < status.figures.trusted <= 1 for status in seen)
    assert seen[-1].counters.decisions >= 2048
    assert seen[-1].workers_lost == 0


def test_figures_are_written_for_every_update(small: Small) -> None:
    config = small(workers=0, opponents={"mix": "self:0.5,random:0.5"}, tensorboard=True)
    folder = RunFolder.create(config)
    _, seen = train(config, folder)
    with folder.metrics.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert [int(row["update"]) for row in rows] == list(range(1, len(seen) + 1))
    assert float(rows[-1]["time/decisions"]) == seen[-1].counters.decisions
    assert float(rows[-1]["learning/entropy"]) == pytest.approx(seen[-1].figures.entropy)
    assert any(name.startswith("win_rate/random") for name in rows[-1])
    events = EventAccumulator(str(folder.tensorboard))
    events.Reload()
    assert len(events.Scalars("learning/entropy")) == len(seen)


def test_the_last_checkpoints_and_the_best_are_kept(small: Small) -> None:
    config = small(workers=0, decisions=2048, checkpoints={"every": 1, "keep": 2, "window": 2})
    folder = RunFolder.create(config)
    trainer, _ = train(config, folder)
    updates = trainer.counters.updates
    names = [file.name for file in folder.written()]
    assert names == [f"update-{updates - 1:06d}.pt", f"update-{updates:06d}.pt"]
    assert folder.latest == folder.written()[-1]
    best = load_checkpoint(find_checkpoint(folder.path))
    assert best.training is None
    assert best.facts["run"] == "one"


def test_the_next_stage_begins_when_enough_is_won(small: Small) -> None:
    config = small(
        workers=0,
        decisions=3000,
        opponents={
            "mix": "self",
            "stages": [{"mix": "random", "win_rate": 0.01, "battles": 3}],
        },
    )
    _, seen = train(config)
    assert seen[0].mix == "random"
    assert seen[-1].mix == "self"
    assert seen[-1].stage == 1


def test_a_run_goes_on_with_other_settings(small: Small) -> None:
    config = small(
        workers=0,
        decisions=512,
        opponents={
            "mix": "random",
            "stages": [{"mix": "random:2", "win_rate": 0.01, "battles": 3}] * 2,
        },
    )
    folder = RunFolder.create(config)
    train(config, folder)
    others = {
        "decisions": 1024,
        "learning": {"rate": {"kind": "plateau", "start": 1e-3}},
        "opponents": {"stages": []},
    }
    _, seen = train(folder.read_config(others), folder, load_checkpoint(folder.latest))
    assert seen[-1].counters.decisions >= 1024
    assert seen[-1].stage == 0


def test_the_network_of_a_run_stays_what_it_is(small: Small) -> None:
    config = small(workers=0, decisions=256)
    folder = RunFolder.create(config)
    train(config, folder)
    other = folder.read_config({"network": {"hidden": [8]}, "decisions": 512})
    with pytest.raises(ConfigError, match="network of a run stays"):
        train(other, folder, load_checkpoint(folder.latest))


def test_a_run_that_was_moved_has_its_league_with_it(small: Small) -> None:
    config = small(
        workers=0, opponents={"mix": "self:0.2,league:0.8", "league_every": 1, "league_size": 2}
    )
    first = RunFolder.create(config)
    train(config, first)
    kept = sorted(file.name for file in first.league.iterdir())
    moved = RunFolder(first.path.rename(first.path.with_name("moved")))
    checkpoint = load_checkpoint(moved.latest)
    trainer, seen = train(moved.read_config({"decisions": 2048}), moved, checkpoint)
    assert "league" in seen[-1].standings
    # Past selves that no checkpoint has any more go, also those from before.
    assert not set(kept[1:]) <= {file.name for file in moved.league.iterdir()}
    assert len(trainer._tally.scores) <= 3 + len(kept)


def test_who_was_best_against_others_is_not_the_best_of_the_next_stage(small: Small) -> None:
    config = small(
        workers=0,
        decisions=512,
        checkpoints={"every": 1, "window": 1},
        opponents={"mix": "max", "stages": [{"mix": "random", "win_rate": 0.5, "battles": 3}]},
    )
    folder = RunFolder.create(config)
    trainer = Trainer(config, stage_of(config), lay_out(config), folder)
    try:
        scores: list[float] = []
        ended = [[Ended("random", 1.0, 9)] * 3, [Ended("max", 0.0, 9)], [Ended("max", 0.5, 9)]]
        for latest in ended:
            trainer.counters.updates += 1
            trainer._note([Report(ended=latest)])
            trainer._keep()
            scores.append(load_checkpoint(folder.best).facts["updates"])
        assert scores == [1, 2, 3]
    finally:
        trainer.close()


def test_the_best_is_replaced_by_what_is_better_alone(small: Small) -> None:
    config = small(
        workers=0,
        checkpoints={"every": 1, "window": 1},
        opponents={"mix": "max"},
    )
    folder = RunFolder.create(config)
    trainer = Trainer(config, stage_of(config), lay_out(config), folder)
    try:
        best = []
        for score in (0.5, 0.0, 0.5, 1.0, 0.5):
            trainer.counters.updates += 1
            trainer._note([Report(ended=[Ended("max", score, 9)])])
            trainer._keep()
            best.append(load_checkpoint(folder.best).facts["updates"])
        assert best == [1, 1, 1, 4, 4]
    finally:
        trainer.close()


def test_a_checkpoint_of_another_run_is_met(small: Small) -> None:
    first = small(name="first", workers=0, decisions=256)
    folder = RunFolder.create(first)
    train(first, folder)
    second = small(workers=0, decisions=1500, opponents={"mix": f"{folder.path}:1"})
    _, seen = train(second)
    assert str(folder.path) in seen[-1].standings


@pytest.mark.parametrize("kind", ["lstm", "attention"])
def test_networks_of_every_kind_learn(small: Small, kind: str) -> None:
    config = small(workers=0, decisions=256, network={"kind": kind, "hidden": [16]})
    trainer, seen = train(config)
    before = stage_of(config).make_network()
    assert not np.array_equal(weights_of(trainer.network), weights_of(before))
    assert abs(seen[0].figures.divergence) < 0.1


def test_reinforce_and_exploration_and_a_schedule(small: Small) -> None:
    config = small(
        workers=0,
        algorithm="reinforce",
        exploration={"start": 0.5, "end": 0.0},
        learning={"rate": {"kind": "linear", "start": 1e-3, "end": 0.0}},
    )
    _, seen = train(config)
    assert seen[0].exploration > seen[-1].exploration
    assert seen[0].figures.rate > seen[-1].figures.rate
    assert all(status.figures.epochs == 1 for status in seen)
    assert seen[0].figures.trusted < 1


# What is played


def test_a_format_that_is_unknown_is_refused_before_anything_starts(small: Small) -> None:
    with pytest.raises(BattleRejected, match="gen99"):
        set_stage(small(format="gen99nonsense"))


def test_a_format_that_wants_teams_asks_for_them(small: Small) -> None:
    with pytest.raises(ConfigError, match="give a file or a folder as teams"):
        set_stage(small(format="gen9ou"))


def test_an_illegal_team_is_refused_by_name_with_the_reasons_of_the_simulator(
    small: Small, tmp_path: Path
) -> None:
    (tmp_path / "teams").mkdir()
    team = "Pikachu\nAbility: Levitate\n- Surf\n- Thunderbolt\n"
    (tmp_path / "teams" / "wrong.txt").write_text(team, encoding="utf-8")
    with pytest.raises(BattleRejected, match=r"wrong\.txt is not legal.*Levitate") as told:
        set_stage(small(format="gen9ou", teams=str(tmp_path / "teams")))
    assert told.value.problems


def test_teams_of_a_folder_are_drawn_and_their_preview_is_learned(
    small: Small, tmp_path: Path
) -> None:
    folder = tmp_path / "teams"
    folder.mkdir()
    for name in ("one.txt", "two.txt"):
        (folder / name).write_text(TEAM, encoding="utf-8")
    (folder / "weights.yml").write_text("two.txt: 3\n", encoding="utf-8")
    config = small(workers=0, decisions=300, format="gen8ou", teams=str(folder))
    stage = set_stage(config)
    assert stage.team_weights == (1.0, 3.0)
    _, seen = train(config, stage=stage)
    assert seen[-1].counters.decisions >= 300
