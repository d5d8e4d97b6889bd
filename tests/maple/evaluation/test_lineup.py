"""Who is meant by a user's words, what they are called, and who plays whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.errors import ConfigError
from maple.agents import Checkpoint, CheckpointMismatch, CheckpointUnreadable, save_checkpoint
from maple.evaluation.entrants import Learned
from maple.evaluation.lineup import entrant_of, file_name, make_lineup, pair_up

from .players import QUICK, network, observations


def save(path: Path, seed: int = 1, **changed: object) -> Path:
    checkpoint = Checkpoint.of(network(seed), observations(), format=QUICK)
    if changed:
        object.__setattr__(checkpoint, "observation", checkpoint.observation | changed)
    save_checkpoint(path, checkpoint)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run with two checkpoints and a best one."""
    folder = tmp_path / "runs" / "first"
    for seed, name in enumerate(("update-000001", "update-000002", "best")):
        save(folder / "checkpoints" / f"{name}.pt", seed)
    (folder / "checkpoints" / "latest.txt").write_text("update-000002.pt\n", "utf-8")
    return folder


def test_each_plays_each_opponent() -> None:
    assert pair_up(["a", "b"], ["random", "max"], cross_play=False) == [
        ("a", "random"),
        ("a", "max"),
        ("b", "random"),
        ("b", "max"),
    ]
    assert pair_up(["a", "b"], ["b", "a"], cross_play=False) == [("a", "b")]


def test_with_cross_play_everybody_plays_everybody_once() -> None:
    assert pair_up(["a", "b"], ["random", "a", "max"], cross_play=True) == [
        ("a", "b"),
        ("a", "random"),
        ("a", "max"),
        ("b", "random"),
        ("b", "max"),
        ("random", "max"),
    ]


def test_somebody_alone_plays_nobody() -> None:
    for cross_play in (False, True):
        with pytest.raises(ConfigError, match="there is nobody to play against"):
            pair_up(["max"], ["max"], cross_play=cross_play)


def test_a_run_is_called_by_its_folder_and_a_checkpoint_by_both(run: Path) -> None:
    early = run / "checkpoints" / "update-000001.pt"
    lineup = make_lineup([run, early], ["random"], cross_play=True)
    assert lineup.players == ("first", "first/update-000001", "random")
    assert lineup.format == QUICK
    best, first = (entrant.kind for entrant in lineup.entrants[:2])
    assert isinstance(best, Learned)
    assert isinstance(first, Learned)
    weights = [next(learned.network.parameters()) for learned in (best, first)]
    assert (weights[0] == next(network(2).parameters())).all()
    assert (weights[1] == next(network(0).parameters())).all()
    assert not best.network.training
    assert best.observations.signature == observations().signature


def test_whoever_is_named_twice_is_one(run: Path) -> None:
    best = run / "checkpoints" / "best.pt"
    lineup = make_lineup([run], ["random", best, "random"], cross_play=False)
    assert lineup.players == ("first", "random")
    assert lineup.pairs == (("first", "random"),)
    with pytest.raises(ConfigError, match=r"best\.pt is the same as .*first"):
        make_lineup([run, best], ["random"], cross_play=True)


def test_two_of_the_same_name_are_numbered_also_where_only_their_files_would_be_one(
    tmp_path: Path,
) -> None:
    files = [save(tmp_path / folder / "agent.pt") for folder in ("one", "two")]
    files += [save(tmp_path / "Agent.pt"), save(tmp_path / "random.pt"), save(tmp_path / "a b.pt")]
    files += [save(tmp_path / "a-b.pt")]
    lineup = make_lineup(files, ["random"], cross_play=True)
    assert lineup.players == (
        "agent",
        "agent (2)",
        "Agent (3)",
        "random (2)",
        "a b",
        "a-b (2)",
        "random",
    )
    assert file_name("runs/a b:c") == "runs-a-b-c"
    assert file_name("..") == "player"


def test_opponents_by_name_can_be_asked_about() -> None:
    lineup = make_lineup(["max"], ["random"], cross_play=False)
    assert lineup.pairs == (("max", "random"),)
    assert lineup.format == "gen9randombattle"


def test_what_is_no_checkpoint_is_named(tmp_path: Path, run: Path) -> None:
    with pytest.raises(CheckpointUnreadable, match=r"no nowhere: .*or one of random, max, heur"):
        make_lineup(["nowhere"], ["random"], cross_play=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointUnreadable, match="the run has saved none yet"):
        make_lineup([run], [tmp_path / "empty"], cross_play=False)
    (tmp_path / "prose.pt").write_text("Dear diary", "utf-8")
    with pytest.raises(CheckpointUnreadable, match=r"prose\.pt is no checkpoint"):
        entrant_of(tmp_path / "prose.pt")
    strange = save(tmp_path / "strange.pt", hash="of another spec")
    with pytest.raises(CheckpointMismatch, match=r"strange\.pt: .*hash is"):
        entrant_of(strange)
