"""Keeps a network in a file, with what it has learned from; does not know how it was trained."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

import torch
from torch import Tensor

from bridge.errors import ConfigError
from maple.env import Actions, ObservationMismatch, Observations

from .config import NetworkConfig, build_network_config
from .errors import CheckpointMismatch, CheckpointNotWritten, CheckpointUnreadable
from .network import Network, make_network

__all__ = ["VERSION", "Checkpoint", "find_checkpoint", "load_checkpoint", "save_checkpoint"]

VERSION: Final = 1
"""Of what is in a file; another one cannot be read."""

Plain: TypeAlias = dict[str, Any]
"""Nothing but numbers, texts, None, and lists, tuples and dictionaries of these."""

_MARK: Final = "maple_checkpoint"
_PARTS: Final = {
    "network": dict,
    "weights": dict,
    "observation": dict,
    "actions": dict,
    "format": str,
    "facts": dict,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A network as it was at some moment.

    Args:
        config: What kind of network it is.
        weights: Its parameters and buffers, by name.
        observation: What it has learned from: `Observations.signature`.
        actions: What it decides about: game, generation, and how many actions there are.
        format: What it has played, as Showdown names it.
        facts: What may be told of it, as plain data: decisions, battles, the name of its run.
        training: What only the trainer needs to go on: tensors and plain data.
    """

    config: NetworkConfig
    weights: dict[str, Tensor]
    observation: Plain
    actions: Plain
    format: str
    facts: Plain = field(default_factory=dict)
    training: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        network: Network,
        observations: Observations,
        *,
        format: str,
        facts: Mapping[str, Any] | None = None,
        training: Mapping[str, Any] | None = None,
    ) -> Self:
        """A network as it is now; what it learns later does not change this."""
        return cls(
            config=network.config,
            weights={
                name: part.detach().cpu().clone() for name, part in network.state_dict().items()
            },
            observation=observations.signature,
            actions=_describe(observations.actions),
            format=format,
            facts=dict(facts or {}),
            training=None if training is None else dict(training),
        )

    def observations(self) -> Observations:
        """Those that the network has learned from.

        Raises CheckpointMismatch if this Maple makes others.
        """
        asked = self.observation
        try:
            made = Observations(asked["game"], asked["generation"], asked["groups"])
        except ConfigError as error:
            raise _mismatch(f"this Maple has no such observations: {error.message}") from error
        self.require(made)
        return made

    def require(self, observations: Observations) -> None:
        """Raises CheckpointMismatch, which says what differs, unless the network is for these."""
        try:
            observations.require(self.observation)
        except ObservationMismatch as error:
            raise _mismatch(error.message) from error
        ours = _describe(observations.actions)
        different = [
            f"{key} is {ours.get(key)}, not {self.actions.get(key)}"
            for key in ours | self.actions
            if ours.get(key) != self.actions.get(key)
        ]
        if different:
            raise _mismatch(f"these actions are others: {'; '.join(different)}")

    def network(self, observations: Observations | None = None) -> Network:
        """The network, for these observations or for those that it has learned from.

        Raises CheckpointMismatch, which says what differs, for any others.
        """
        if observations is None:
            observations = self.observations()
        else:
            self.require(observations)
        network = make_network(self.config, observations, seed=0)
        try:
            network.load_state_dict(self.weights)
        except RuntimeError as error:
            told = " ".join(str(error).split())
            raise CheckpointUnreadable(f"the weights fit no such network: {told}") from error
        return network


def save_checkpoint(path: str | Path, checkpoint: Checkpoint) -> None:
    """Writes a checkpoint, all of it or nothing.

    Raises CheckpointNotWritten if it cannot be written; a file that was there before is as it was.
    """
    path = Path(path)
    data = {
        _MARK: VERSION,
        "maple": version("maple"),
        "network": checkpoint.config.describe(),
        "weights": checkpoint.weights,
        "observation": checkpoint.observation,
        "actions": checkpoint.actions,
        "format": checkpoint.format,
        "facts": checkpoint.facts,
        "training": checkpoint.training,
    }
    _check_plain(checkpoint.facts, "facts", tensors=False)
    _check_plain(checkpoint.training, "training", tensors=True)
    # In memory first: torch does not say why it could not write a file.
    written = io.BytesIO()
    torch.save(data, written)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, written.getbuffer())
    except OSError as error:
        raise CheckpointNotWritten(
            f"cannot write {path}: {error.strerror}. What was there before still is"
        ) from error


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Reads a checkpoint, and runs nothing that may be in the file.

    Raises CheckpointUnreadable, which says why, for what is none of this version.
    """
    path = Path(path)
    data = _read(path)
    if data.get(_MARK) != VERSION:
        raise CheckpointUnreadable(
            f"{path} is a checkpoint of version {data[_MARK]}, and this Maple reads version "
            f"{VERSION}: read it with Maple {data.get('maple')}, which wrote it, or train again"
        )
    for name, kind in _PARTS.items():
        if not isinstance(data.get(name), kind):
            raise CheckpointUnreadable(f"{path} has no {name}: it was not written by Maple")
    try:
        config = build_network_config(data["network"])
    except ConfigError as error:
        raise CheckpointUnreadable(
            f"{path} is of a network that this Maple does not know: {error.message}"
        ) from error
    return Checkpoint(
        config=config,
        weights=data["weights"],
        observation=data["observation"],
        actions=data["actions"],
        format=data["format"],
        facts=data["facts"],
        training=data.get("training"),
    )


def find_checkpoint(path: str | Path, prefer: Literal["best", "latest"] = "best") -> Path:
    """A file as it is; of a run's folder its best checkpoint if it has one, or else its latest."""
    path = Path(path)
    if path.is_file():
        return path
    if not path.is_dir():
        raise CheckpointUnreadable(f"there is no {path}: name a checkpoint, or the folder of a run")
    folder = path / "checkpoints" if (path / "checkpoints").is_dir() else path
    best, latest = folder / "best.pt", folder / "latest.txt"
    if prefer == "best" and best.is_file():
        return best
    if not latest.is_file():
        raise CheckpointUnreadable(
            f"there is no checkpoint in {folder}: the run has saved none yet"
        )
    named = folder / latest.read_text(encoding="utf-8").strip()
    if not named.is_file():
        raise CheckpointUnreadable(f"{latest} names {named.name}, which is not there: name another")
    return named


def _describe(actions: Actions) -> Plain:
    return {"game": actions.game, "generation": actions.generation, "size": actions.size}


def _mismatch(difference: str) -> CheckpointMismatch:
    return CheckpointMismatch(
        f"the network of this checkpoint has learned from other observations: {difference}. "
        "Give it those, or train another one"
    )


def _check_plain(value: object, name: str, *, tensors: bool) -> None:
    """Raises TypeError, which names it, for what could be written but not be read again."""
    if value is None or type(value) in (bool, int, float, str):
        return
    if isinstance(value, Tensor) and tensors:
        return
    if type(value) is dict:
        for key, part in value.items():
            _check_plain(key, f"a key of {name}", tensors=False)
            _check_plain(part, f"{name}[{key!r}]", tensors=tensors)
    elif type(value) in (list, tuple):
        for index, part in enumerate(value):  # type: ignore[arg-type]
            _check_plain(part, f"{name}[{index}]", tensors=tensors)
    else:
        raise TypeError(f"{name} is {type(value).__name__}, which is no plain data")


def _replace(path: Path, data: memoryview) -> None:
    """Puts a file in the place of another, once all of it is on the disk."""
    # By this name it takes the place of what an earlier attempt left that was killed.
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _read(path: Path) -> dict[str, Any]:
    """What is in a file that has the mark of a checkpoint."""
    try:
        written = path.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointUnreadable(f"there is no checkpoint {path}") from error
    except OSError as error:
        raise CheckpointUnreadable(f"cannot read {path}: {error.strerror}") from error
    try:
        with zipfile.ZipFile(io.BytesIO(written)) as archive:
            damaged = archive.testzip()
    except zipfile.BadZipFile as error:
        raise CheckpointUnreadable(
            f"{path} is no checkpoint, or only a part of one: {error}"
        ) from error
    if damaged is not None:
        raise CheckpointUnreadable(f"{path} is damaged, in {damaged}: take another checkpoint")
    try:
        data = torch.load(io.BytesIO(written), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, KeyError) as error:
        told = str(error).partition("\n")[0]
        raise CheckpointUnreadable(f"{path} is no checkpoint: {told}") from error
    if not isinstance(data, dict) or _MARK not in data:
        raise CheckpointUnreadable(f"{path} is a file of torch, but no checkpoint of Maple")
    return data
