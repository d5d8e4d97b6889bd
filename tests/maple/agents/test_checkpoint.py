"""Checkpoints: what is written is read again, and whatever is none is refused with the reason."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from maple.agents import (
    Checkpoint,
    CheckpointMismatch,
    CheckpointNotWritten,
    CheckpointUnreadable,
    find_checkpoint,
    load_checkpoint,
    make_network,
    save_checkpoint,
    weights_of,
)
from tests.maple.agents.batches import KINDS, SMALL, observations_of, random_batch

FACTS = {
    "decisions": 2**70,
    "run": "first: Glurak, ポケモン",
    "rates": [0.5, None, True],
    "by": {"max": 1},
}


def checkpoint_of(kind: str = "mlp", game: str = "singles", **more: Any) -> Checkpoint:
    observations = observations_of(game)
    network = make_network(SMALL[kind], observations, seed=1)
    return Checkpoint.of(network, observations, format="gen9randombattle", **more)


def written(folder: Path, **more: Any) -> Path:
    path = folder / "update-000001.pt"
    save_checkpoint(path, checkpoint_of(**more))
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", ["singles", "doubles"])
def test_a_network_comes_back_as_it_was(tmp_path: Path, kind: str, game: str) -> None:
    observations = observations_of(game)
    network = make_network(SMALL[kind], observations, seed=1)
    checkpoint = Checkpoint.of(network, observations, format="gen9doublesou", facts=FACTS)
    save_checkpoint(tmp_path / "a" / "b.pt", checkpoint)
    loaded = load_checkpoint(tmp_path / "a" / "b.pt")
    assert (loaded.config, loaded.format, loaded.facts) == (SMALL[kind], "gen9doublesou", FACTS)
    assert loaded.training is None
    seen = random_batch(observations, 4).seen
    for again in (loaded.network(), loaded.network(observations)):
        for part, expected in zip(again(*seen), network(*seen), strict=True):
            assert torch.equal(part, expected)


def test_what_a_trainer_needs_to_go_on_comes_back(tmp_path: Path) -> None:
    network = make_network(SMALL["mlp"], observations_of("singles"), seed=1)
    optimizer = torch.optim.Adam(network.parameters())
    network(*random_batch(observations_of("singles"), 4).seen)[1].sum().backward()
    optimizer.step()
    random = np.random.default_rng(7)
    training: dict[str, Any] = {
        "optimizer": optimizer.state_dict(),
        "torch": torch.get_rng_state(),
        "numpy": random.bit_generator.state,
    }
    path = written(tmp_path, training=training)
    loaded = load_checkpoint(path).training
    assert loaded is not None
    assert loaded["numpy"] == random.bit_generator.state
    assert torch.equal(loaded["torch"], training["torch"])
    other = torch.optim.Adam(network.parameters())
    other.load_state_dict(loaded["optimizer"])
    expected = optimizer.state_dict()["state"][0]["exp_avg"]
    assert torch.equal(other.state_dict()["state"][0]["exp_avg"], expected)


def test_a_checkpoint_stays_as_it_was_while_its_network_learns() -> None:
    observations = observations_of("singles")
    network = make_network(SMALL["mlp"], observations, seed=1)
    checkpoint = Checkpoint.of(network, observations, format="gen9randombattle")
    before = weights_of(network)
    with torch.no_grad():
        for weights in network.parameters():
            weights.add_(1)
    assert np.array_equal(weights_of(checkpoint.network()), before)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"facts": {"rate": np.float64(0.5)}}, r"facts\['rate'\] is float64"),
        ({"facts": {"weights": torch.zeros(1)}}, r"facts\['weights'\] is Tensor"),
        ({"training": {"a": [{1: Path()}]}}, r"training\['a'\]\[0\]\[1\] is .*Path"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(
    tmp_path: Path, part: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeError, match=told):
        written(tmp_path, **part)
    assert not list(tmp_path.iterdir())


# What does not fit


def test_other_observations_are_refused_by_what_differs() -> None:
    checkpoint = checkpoint_of()
    with pytest.raises(CheckpointMismatch, match="game is doubles, not singles"):
        checkpoint.network(observations_of("doubles"))
    with pytest.raises(CheckpointMismatch, match=r"groups is \['decision', 'field'\], not"):
        checkpoint.network(observations_of("singles", ("field",)))


def test_a_checkpoint_of_an_older_spec_is_refused_by_its_hash() -> None:
    checkpoint = checkpoint_of()
    older = checkpoint.observation | {"hash": "0123456789abcdef", "version": 0}
    with pytest.raises(CheckpointMismatch, match=r"hash is .*, not 0123456789abcdef; version is"):
        replace(checkpoint, observation=older).network()
    gone = checkpoint.observation | {"groups": ["decision", "horoscope"]}
    with pytest.raises(CheckpointMismatch, match="unknown group 'horoscope'"):
        replace(checkpoint, observation=gone).network()


def test_other_actions_are_refused_by_what_differs() -> None:
    checkpoint = checkpoint_of()
    fewer = replace(checkpoint, actions=checkpoint.actions | {"size": 22})
    with pytest.raises(CheckpointMismatch, match="these actions are others: size is 26, not 22"):
        fewer.network()


def test_weights_of_another_network_are_refused() -> None:
    other = replace(checkpoint_of("mlp"), config=SMALL["attention"])
    with pytest.raises(CheckpointUnreadable, match="the weights fit no such network"):
        other.network()


# What is no checkpoint


class Harmful:
    """Would make a file if it was unpickled by whoever trusts it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_what_is_no_checkpoint_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "given.pt"
    with pytest.raises(CheckpointUnreadable, match="there is no checkpoint"):
        load_checkpoint(path)
    with pytest.raises(CheckpointUnreadable, match="cannot read"):
        load_checkpoint(tmp_path)
    for data in (b"", b"anything", pickle.dumps({"maple_checkpoint": 1})):
        path.write_bytes(data)
        with pytest.raises(CheckpointUnreadable, match="is no checkpoint, or only a part of one"):
            load_checkpoint(path)
    others: list[Any] = [{"weights": {}}, [1], torch.zeros(2)]
    for value in others:
        torch.save(value, path)
        with pytest.raises(CheckpointUnreadable, match="no checkpoint of Maple"):
            load_checkpoint(path)
    torch.save({"maple_checkpoint": 1, "weights": {}}, path)
    with pytest.raises(CheckpointUnreadable, match="has no network"):
        load_checkpoint(path)


def test_nothing_that_is_in_a_file_is_run(tmp_path: Path) -> None:
    path, sign = tmp_path / "given.pt", tmp_path / "sign"
    torch.save({"maple_checkpoint": 1, "facts": Harmful(sign)}, path)
    with pytest.raises(CheckpointUnreadable, match="is no checkpoint"):
        load_checkpoint(path)
    assert not sign.exists()
    torch.load(path, weights_only=False)
    assert sign.exists()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_part_of_a_checkpoint_is_refused(tmp_path: Path, share: float) -> None:
    path = written(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(CheckpointUnreadable, match="only a part of one"):
        load_checkpoint(path)


def test_a_checkpoint_that_has_changed_on_the_disk_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    data = bytearray(path.read_bytes())
    weights = checkpoint_of().weights["trunk.0.weight"].numpy().tobytes()
    data[data.index(weights) + 100] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointUnreadable, match=r"is damaged, in .*data"):
        load_checkpoint(path)


def test_a_checkpoint_of_another_version_says_who_can_read_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    data = torch.load(path, weights_only=True)
    torch.save(data | {"maple_checkpoint": 2, "maple": "9.1"}, path)
    with pytest.raises(
        CheckpointUnreadable, match=r"of version 2, .* reads version 1.* Maple 9\.1"
    ):
        load_checkpoint(path)
    torch.save(data | {"network": data["network"] | {"kind": "transformer"}}, path)
    with pytest.raises(
        CheckpointUnreadable, match=r"a network that this Maple does not know: .*kind"
    ):
        load_checkpoint(path)


# Writing


def test_a_checkpoint_takes_the_place_of_another_and_leaves_nothing_else(tmp_path: Path) -> None:
    written(tmp_path, facts={"updates": 1})
    (tmp_path / ".update-000001.pt.partial").write_text("left by one that was killed")
    path = written(tmp_path, facts={"updates": 2})
    assert load_checkpoint(path).facts == {"updates": 2}
    assert list(tmp_path.iterdir()) == [path]


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from maple.agents import CheckpointNotWritten, load_checkpoint, save_checkpoint

path = Path(sys.argv[1])
checkpoint = load_checkpoint(path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
room = path.stat().st_size // 2
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
checkpoint.facts["updates"] = 2
try:
    save_checkpoint(path, checkpoint)
except CheckpointNotWritten as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="a process has such a limit on POSIX alone")
def test_where_there_is_no_room_the_checkpoint_before_stays_and_nothing_else(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, facts={"updates": 1})
    before = path.read_bytes()
    told = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.stdout == (f"cannot write {path}: File too large. What was there before still is\n")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_where_nothing_can_be_written_the_reason_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(
        CheckpointNotWritten, match=r"cannot write .*: (Not a directory|File exists)"
    ):
        save_checkpoint(tmp_path / "file" / "one.pt", checkpoint_of())
    (tmp_path / "folder.pt").mkdir()
    with pytest.raises(CheckpointNotWritten, match="Is a directory"):
        save_checkpoint(tmp_path / "folder.pt", checkpoint_of())
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "folder.pt"]


def test_who_is_interrupted_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, facts={"updates": 1})

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        written(tmp_path, facts={"updates": 2})
    assert load_checkpoint(path).facts == {"updates": 1}
    assert list(tmp_path.iterdir()) == [path]


# Finding


def test_of_a_run_the_best_checkpoint_is_found_or_else_the_latest(tmp_path: Path) -> None:
    checkpoints = tmp_path / "checkpoints"
    with pytest.raises(CheckpointUnreadable, match=r"there is no .*: name a checkpoint, or"):
        find_checkpoint(tmp_path / "none")
    with pytest.raises(CheckpointUnreadable, match="the run has saved none yet"):
        find_checkpoint(tmp_path)
    path = written(checkpoints)
    assert find_checkpoint(path) == path
    (checkpoints / "latest.txt").write_text("update-000001.pt\n", encoding="utf-8")
    assert find_checkpoint(tmp_path) == find_checkpoint(checkpoints) == path
    best = checkpoints / "best.pt"
    best.write_bytes(path.read_bytes())
    assert find_checkpoint(str(tmp_path)) == best
    assert find_checkpoint(tmp_path, prefer="latest") == path
    path.unlink()
    with pytest.raises(
        CheckpointUnreadable, match=r"latest\.txt names update-000001\.pt, which is"
    ):
        find_checkpoint(tmp_path, prefer="latest")


def test_a_checkpoint_can_be_read_by_torch_alone(tmp_path: Path) -> None:
    data = torch.load(io.BytesIO(written(tmp_path).read_bytes()), weights_only=True)
    assert data["format"] == "gen9randombattle"
    assert data["weights"]["heads.value.bias"].shape == (1,)
