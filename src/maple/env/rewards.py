"""What an agent is rewarded for: parts, counted from its observations, times their weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bridge.errors import ConfigError
from bridge.settings import build_settings, load_settings, suggest

from .actions import Actions
from .spec import Block, Layout, ObservationSpec

__all__ = ["Outcome", "RewardConfig", "Rewards", "load_reward_config"]

Rows: TypeAlias = npt.NDArray[np.uint8]
Floats: TypeAlias = npt.NDArray[np.float32]
TEAMS = ("own_team", "opponent_team")
ILL = ("brn", "par", "slp", "frz", "psn", "tox")


class Outcome(IntEnum):
    """How a step left a battle for its agent; only the last step of one has an outcome."""

    ONGOING = 0
    WIN = 1
    LOSS = 2
    TIE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardConfig:
    """How much each part of a reward counts.

    A part of weight 0 is neither counted nor reported, unless somebody asks for it by name.

    Args:
        win: For a battle that was won, once.
        loss: For a battle that was lost, once.
        tie: For a battle that nobody won, once.
        knock_out: For each Pokémon of the opponent that fainted; one that is revived takes it back.
        fainted: For each own Pokémon that fainted; one that is revived takes it back.
        hp: For the share of a Pokémon's HP that the opponent lost, less what was lost oneself.
            Pokémon that nobody has seen yet have all of it.
        status: For each Pokémon of the opponent that was burned, paralysed, put to sleep, frozen or
            poisoned, less the own ones; one that is cured, or faints, takes it back.
        turn: For each decision.
        switch: For each own Pokémon that was called back when it could have stayed.
        failed: For each own move that was chosen and failed, as the log tells everybody; one that
            misses, or of which the target is immune, has not failed.
    """

    win: float = 1.0
    loss: float = -1.0
    tie: float = 0.0
    knock_out: float = 0.0
    fainted: float = 0.0
    hp: float = 0.0
    status: float = 0.0
    turn: float = 0.0
    switch: float = 0.0
    failed: float = 0.0

    def __post_init__(self) -> None:
        for name, weight in self.weights().items():
            if not math.isfinite(weight):
                raise ConfigError(f"{name} is {weight}, but must be a finite number")

    def weights(self) -> dict[str, float]:
        return {part.name: getattr(self, part.name) for part in fields(self)}


def load_reward_config(path: str | Path) -> RewardConfig:
    """Reads settings from a YAML file; keys that are not given keep their defaults."""
    return load_settings(path, lambda data: build_settings(RewardConfig, data))


class Rewards:
    """Counts the parts of a reward, for one step of many agents at once.

    `names` are the parts that count, and those that were asked for; `groups` are what observations
    must hold for that.
    """

    def __init__(
        self, config: RewardConfig, game: str, generation: int, parts: Collection[str] = ()
    ) -> None:
        spec = ObservationSpec.load()
        layout = spec.layout(game)
        weights = config.weights()
        _check_parts(parts, weights)
        self.names = tuple(name for name in weights if weights[name] or name in parts)
        self.weights = np.array([weights[name] for name in self.names], np.float32)
        self.groups = spec.select(
            group for group, read in _READS.items() if not read.isdisjoint(self.names)
        )
        self._actions = Actions(game, generation)
        self._moving = spec.classes["phases"].index("move")
        self._phase_at = layout.block("decision", "asked").at(0, "phase")
        self._own, self._opponent = (_Team(layout, group, spec) for group in TEAMS)
        failed = layout.block("last_moves", "state")
        self._failed_at = [failed.at(slot, "failed") for slot in range(self._actions.slots)]

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name} {weight:g}" for name, weight in zip(self.names, self.weights, strict=True)
        )
        return f"<Rewards: {parts}>"

    def update(self, config: RewardConfig) -> None:
        """Other weights from now on, of parts that are counted."""
        weights = config.weights()
        new = [name for name, weight in weights.items() if weight and name not in self.names]
        if new:
            raise ConfigError(
                f"{', '.join(new)} cannot have a weight, for nobody counts it: name it in "
                "reward_parts from the start"
            )
        self.weights = np.array([weights[name] for name in self.names], np.float32)

    def parts(
        self,
        before: Rows,
        after: Rows,
        outcome: npt.NDArray[np.integer[Any]],
        action: npt.NDArray[np.integer[Any]],
    ) -> Floats:
        """Counts each part of one step: [rows, parts].

        Rows of bytes that the agents acted on and that came of it, an Outcome each, and what they
        did: [rows] in singles, [rows, 2] in doubles.
        """
        step = _Step(before, after, np.asarray(outcome), np.asarray(action))
        counted = np.empty((len(before), len(self.names)), np.float32)
        for index, name in enumerate(self.names):
            self._count(name, step, counted[:, index])
        return counted

    def weighted(self, parts: Floats) -> Floats:
        """The parts, times their weights; the sum of a row is its reward."""
        return parts * self.weights

    def _count(self, name: str, step: _Step, count: Floats) -> None:
        match name:
            case "win" | "loss" | "tie":
                count[:] = step.outcome == Outcome[name.upper()]
            case "knock_out":
                count[:] = step.gained(self._opponent.fainted)
            case "fainted":
                count[:] = step.gained(self._own.fainted)
            case "hp":
                count[:] = step.gained(self._own.hp) - step.gained(self._opponent.hp)
            case "status":
                count[:] = step.gained(self._opponent.ill) - step.gained(self._own.ill)
            case "turn":
                count[:] = 1
            case "switch":
                count[:] = self._is_free(step) * self._actions.switches(step.action)
            case "failed":
                # What an earlier decision of the same turn has led to was counted then.
                counted = self._failed(step.before) * ~self._is_free(step)
                count[:] = (self._failed(step.after) - counted).clip(0)
            case _:
                raise AssertionError(f"nothing counts {name}")

    def _failed(self, raw: Rows) -> npt.NDArray[np.int64]:
        """Own moves that have failed in the last turn, or in the one that is under way."""
        failed: npt.NDArray[np.int64] = raw[:, self._failed_at].sum(axis=1, dtype=np.int64)
        return failed

    def _is_free(self, step: _Step) -> npt.NDArray[np.bool_]:
        """Whether a turn began with the decision: moves were asked for, and not who comes in."""
        free: npt.NDArray[np.bool_] = step.before[:, self._phase_at] == self._moving
        return free


def _check_parts(parts: Collection[str], known: Collection[str]) -> None:
    if isinstance(parts, str):
        raise ConfigError(f"reward_parts are several names, not {parts!r}")
    for name in parts:
        if name not in known:
            raise ConfigError(f"a reward has no part {name!r}; {suggest(name, known)}")


class _Step(NamedTuple):
    """One step of many agents."""

    before: Rows
    after: Rows
    outcome: npt.NDArray[np.integer[Any]]
    action: npt.NDArray[np.integer[Any]]

    def gained(self, measure: Callable[[Rows], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """By how much it changed what is measured."""
        change: npt.NDArray[Any] = measure(self.after) - measure(self.before)
        return change


# The parts that are counted from what an observation says in each group.
_BOTH = frozenset({"hp", "status"})
_READS = {
    "own_team": _BOTH | {"fainted"},
    "opponent_team": _BOTH | {"knock_out"},
    "last_moves": frozenset({"failed"}),
}


class _Team:
    """What can be counted of one team in rows of bytes."""

    def __init__(self, layout: Layout, group: str, spec: ObservationSpec) -> None:
        condition = layout.block(group, "condition")
        statuses = spec.classes["statuses"]
        self._hp_at = _columns(condition, "hp")
        self._status_at = _columns(condition, "status")
        self._seen_at = _columns(condition, "revealed")
        self._all_known = group == "own_team"
        self._fainted = statuses.index("fnt")
        self._is_ill = np.isin(np.arange(256), [statuses.index(name) for name in ILL])

    def hp(self, raw: Rows) -> npt.NDArray[Any]:
        """The sum of all shares of HP."""
        hp = raw[:, self._hp_at].astype(np.int64)
        if not self._all_known:
            hp[raw[:, self._seen_at] == 0] = 255
        shares: npt.NDArray[Any] = hp.sum(axis=1) / 255
        return shares

    def fainted(self, raw: Rows) -> npt.NDArray[Any]:
        count: npt.NDArray[Any] = (raw[:, self._status_at] == self._fainted).sum(axis=1)
        return count

    def ill(self, raw: Rows) -> npt.NDArray[Any]:
        count: npt.NDArray[Any] = self._is_ill[raw[:, self._status_at]].sum(axis=1)
        return count


def _columns(block: Block, name: str) -> npt.NDArray[np.intp]:
    return np.array([block.at(entry, name) for entry in range(block.count)], np.intp)
