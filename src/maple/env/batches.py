"""What agents see and get, as arrays: one row for each, from the bytes that Node has encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .actions import Action
from .battle import Agent, Ending
from .observation import Observations
from .rewards import Outcome, Rewards

__all__ = ["Array", "Batches", "Info", "Observation", "Step"]

Array: TypeAlias = npt.NDArray[Any]
Observation: TypeAlias = dict[str, Array]
Info: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[Observation, Array, Array, Array, Info]
"""Observation, reward, terminated, truncated and info, as Gymnasium returns them."""

_OUTCOMES = {1: Outcome.WIN, -1: Outcome.LOSS, 0: Outcome.TIE}


class Batches:
    """Remembers what each agent saw last, and counts what its action came to."""

    def __init__(
        self,
        observations: Observations,
        rewards: Rewards,
        agents: int,
        *,
        may_wait: bool,
        input_logs: bool,
    ) -> None:
        self._observations = observations
        self._rewards = rewards
        self._may_wait = may_wait
        self._input_logs = input_logs
        # What agents see who are in no battle.
        self._blank = bytes(observations.bytes)
        self._before = np.zeros((agents, observations.bytes), np.uint8)
        slots = observations.actions.slots
        self._nothing: Action = (0,) * slots if slots > 1 else 0

    def assemble(self, agents: Sequence[Agent]) -> Step:
        """A row for each agent. Those that nobody asks have nothing to do, and get nothing."""
        numbers = np.array([agent.number for agent in agents])
        raw = self._observations.stack([agent.observation or self._blank for agent in agents])
        observation = self._observations.expand(raw)
        opponents = np.array([agent.opponent for agent in agents], object)
        info: Info = {"env_id": numbers, "opponent": opponents, "raw": raw}
        ends = _Ends(agents)
        after = raw
        if ends.rows:
            after = self._tell_ends(ends, raw, info)
        reward = self._reward(agents, numbers, after, ends.outcomes, info)
        if self._may_wait:
            self._tell_waiting(agents, observation, info)
        self._before[numbers] = raw
        for row in ends.rows:
            agents[row].ending = None
        return observation, reward, ends.terminated, ends.truncated, info

    def _reward(
        self, agents: Sequence[Agent], numbers: Array, after: Array, outcomes: Array, info: Info
    ) -> Array:
        rewards = self._rewards
        nothing = self._nothing
        taken = np.array([nothing if (did := one.action) is None else did for one in agents])
        parts = rewards.parts(self._before[numbers], after, outcomes, taken)
        idle = [row for row, agent in enumerate(agents) if not agent.is_due]
        if idle:
            parts[idle] = 0
        info["reward_counts"] = dict(zip(rewards.names, parts.T, strict=True))
        parts = rewards.weighted(parts)
        info["reward_parts"] = dict(zip(rewards.names, parts.T, strict=True))
        reward: Array = parts.sum(axis=1)
        return reward

    def _tell_ends(self, ends: _Ends, raw: Array, info: Info) -> Array:
        """Adds how battles ended to `info`; the rows with the last observations of those."""
        last = self._observations.stack([ending.observation for ending in ends.endings])
        seen = self._observations.expand(last)
        finals = [{name: part[i] for name, part in seen.items()} for i in range(len(last))]
        info["final_obs"], info["_final_obs"] = ends.column(finals), ends.mask
        final_info: Info = {}
        told = ("winner", "reason", "input_log") if self._input_logs else ("winner", "reason")
        for name in told:
            final_info[name] = ends.column([getattr(ending, name) for ending in ends.endings])
        final_info["turns"] = np.zeros(len(raw), np.int64)
        final_info["turns"][ends.rows] = [ending.turns for ending in ends.endings]
        final_info |= {f"_{name}": ends.mask for name in final_info}
        info |= final_info
        opponents = ends.column([ending.opponent for ending in ends.endings])
        info["final_opponent"], info["_final_opponent"] = opponents, ends.mask
        final_info |= {"opponent": opponents, "_opponent": ends.mask}
        info["final_info"], info["_final_info"] = final_info, ends.mask
        after = raw.copy()
        after[ends.rows] = last
        return after

    def _tell_waiting(self, agents: Sequence[Agent], observation: Observation, info: Info) -> None:
        waiting = np.array([not agent.is_acting for agent in agents])
        info["waiting"] = waiting
        if waiting.any():
            mask = observation["action_mask"]
            mask[waiting] = 0
            mask[waiting, ..., 0] = 1


class _Ends:
    """The battles that have ended since their agents were last told."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.rows = [row for row, agent in enumerate(agents) if agent.ending is not None]
        self.terminated = np.zeros(len(agents), np.bool_)
        self.truncated = np.zeros(len(agents), np.bool_)
        self.outcomes = np.zeros(len(agents), np.int64)
        if not self.rows:
            return
        self.endings: list[Ending] = [a.ending for a in agents if a.ending is not None]
        for row, ending in zip(self.rows, self.endings, strict=True):
            self.truncated[row] = ending.is_truncated
            self.terminated[row] = not ending.is_truncated
            if not ending.is_truncated:
                self.outcomes[row] = _OUTCOMES[ending.score]
        self.mask = self.terminated | self.truncated

    def column(self, values: Sequence[object]) -> Array:
        """An entry for each row, None where nothing has ended."""
        column = np.full(len(self.mask), None, object)
        for row, value in zip(self.rows, values, strict=True):
            column[row] = value
        return column
