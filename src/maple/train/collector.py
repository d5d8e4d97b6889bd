"""Plays battles and writes down what the learner's network decides. Learns nothing.

The same code runs in the process that learns and in those that only play.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from maple.agents import Actor, Network, load_checkpoint
from maple.env import Mixture, VectorEnv
from maple.env.mixture import SELF
from maple.profiling import get_profiler, profile

from .orders import Ended, Order, Report
from .rollout import Flags, Floats, Numbers, Rollout, RolloutShape

__all__ = ["Collector", "CollectorStopped"]

Received: TypeAlias = tuple[dict[str, Any], Floats, Flags, Flags, dict[str, Any]]


class CollectorStopped(Exception):
    """Raised when collecting is to end before its order is done."""


class Collector:
    """Decides in all battles of an environment, and fills rollouts.

    Args:
        env: With a Mixture as its opponent. It belongs to the collector from here on.
        network: The learner's, or a copy of it; whoever has it may change its weights between two
            orders.
        parts: In how many parts agents are decided for. While one is with the network, Node works
            on the others. With one, a run with a seed is the same each time.
    """

    def __init__(self, env: VectorEnv, network: Network, *, parts: int = 1) -> None:
        agents = env.num_envs
        self.env = env
        self.network = network
        self._parts = parts
        self._actions = env.observations.actions
        self._actor = Actor(network, self._actions, agents)
        self._past: dict[str, Actor] = {}
        self._ended = np.zeros(env.num_battles, np.int64)
        """Battles that are over, by environment."""
        self._needed: dict[str, Numbers] = {}
        """How many must be over before a past self that has left the mix is met no more."""
        self._received: Received | None = None
        self._is_fresh = np.ones(agents, np.bool_)
        """Whether an agent's next decision is the first of its battle."""
        self._open = np.full(agents, -1)
        """The row of each agent's last decision, in the latest rollout, if its outcome is open."""
        self._latest: Rollout | None = None
        self._returns = np.zeros(agents)
        self._parts_of_returns: dict[str, Any] = {}
        self._deaths = 0
        """Those that were told."""
        self._mix: dict[str, float] = {}
        self._rewards: dict[str, float] = {}
        profiler = get_profiler()
        # What the bridge has timed is part of the recording of a run.
        self._watched = profiler.watch(env, "battles") if profiler.enabled else None

    def shape(self, decisions: int) -> RolloutShape:
        """What a rollout must hold for an order of so many decisions."""
        return self.shape_of(
            decisions,
            agents=self.env.num_envs,
            row_bytes=self.env.observations.bytes,
            slots=self._actions.slots,
            memory=self.network.memory,
        )

    @staticmethod
    def shape_of(
        decisions: int, *, agents: int, row_bytes: int, slots: int, memory: int
    ) -> RolloutShape:
        """The same, before there is a collector."""
        # Besides those that are wanted: what was carried over, the last round, and what follows.
        return RolloutShape(decisions + 3 * agents, row_bytes, slots, memory, agents)

    def collect(
        self, rollout: Rollout, order: Order, should_stop: Callable[[], bool] = lambda: False
    ) -> Report:
        """Fills a rollout, which may be the one before only if that was learned from already."""
        report = Report(version=order.version)
        self._obey(order)
        with profile("replay_buffer"):
            self._carry(rollout)
        if self._received is None:
            self.env.async_reset()
            self._receive(report)
        while report.decisions < order.decisions:
            if should_stop():
                raise CollectorStopped
            self._decide(rollout, order, report)
            self._receive(report)
        self._value_what_follows(rollout)
        deaths = int(self.env.stats(round_trips=False)["counters"]["deaths"])
        report.deaths, self._deaths = deaths - self._deaths, deaths
        return report

    # Orders

    def _obey(self, order: Order) -> None:
        for name, path in order.past.items():
            self._needed.pop(name, None)
            if name not in self._past:
                network = load_checkpoint(path).network(self.env.observations)
                self._past[name] = Actor(network, self._actions, self.env.num_envs)
        for name in self._past.keys() - order.past.keys():
            # Battles against it may be under way, and others are opened ahead.
            if (self._ended >= self._needed.setdefault(name, self._ended + 2)).all():
                del self._past[name], self._needed[name]
        if order.mix != self._mix:
            self.env.update_mixture(Mixture(order.mix, agents=tuple(order.past)))
            self._mix = dict(order.mix)
        if order.rewards != self._rewards:
            self.env.update_reward(order.rewards)
            self._rewards = dict(order.rewards)
        self.env.batch_size = self._wanted(order)
        if order.begin is not None:
            self._begin_anew(order.begin)

    def _wanted(self, order: Order) -> int:
        """How many agents are decided for at a time."""
        if self._parts == 1:
            return self.env.num_envs
        # Of some battles both seats are decided for here, and one of others.
        ours = sum(w for name, w in order.mix.items() if name == SELF or name in order.past)
        acting = self.env.num_battles * (1 + ours / sum(order.mix.values()))
        return max(1, int(acting / self._parts))

    def _begin_anew(self, seed: int) -> None:
        self.env.async_reset(seed)
        self._received = None
        self._is_fresh[:] = True
        self._open[:] = -1
        self._returns[:] = 0
        self._parts_of_returns = {}
        self._receive(Report())

    # Deciding

    def _decide(self, rollout: Rollout, order: Order, report: Report) -> None:
        """Decides for all that were received, and sends what they do."""
        assert self._received is not None
        observation, *_, info = self._received
        acting = np.flatnonzero(~info["waiting"])
        agents = info["env_id"][acting]
        opponents = info["opponent"][acting]
        is_theirs = (agents % 2 == 1) & (opponents != SELF)
        actions = np.zeros((len(acting), self._actions.slots), np.int64)
        keys = self.env.keys(agents)
        for name in dict.fromkeys(opponents[is_theirs]):
            some = np.flatnonzero(is_theirs & (opponents == name))
            decided = self._act(
                self._past[name], observation, acting[some], agents[some], keys[some]
            )
            actions[some] = decided.actions.reshape(len(some), -1)
            report.others += len(some)
        ours = np.flatnonzero(~is_theirs)
        rows, numbers = acting[ours], agents[ours]
        decided = None
        if len(ours):
            decided = self._act(
                self._actor, observation, rows, numbers, keys[ours], order.exploration
            )
            actions[ours] = decided.actions.reshape(len(ours), -1)
        self._is_fresh[agents] = False
        self.env.send(actions if self._actions.slots > 1 else actions[:, 0], agents)
        # Node plays while this is stored.
        if decided is not None:
            with profile("replay_buffer"):
                self._open[numbers] = rollout.add(
                    numbers,
                    info["raw"][rows],
                    actions=decided.actions,
                    chances=decided.chances,
                    values=decided.values,
                    memory=decided.memory,
                )
            report.decisions += len(ours)
            get_profiler().metric("batch_size", len(ours), unit="agents")

    def _act(
        self,
        actor: Actor,
        observation: dict[str, Any],
        rows: Numbers,
        agents: Numbers,
        keys: Any,  # noqa: ANN401 - as Actor has it
        exploration: float = 0.0,
    ) -> Any:  # noqa: ANN401
        with profile("agent_action_selection"):
            return actor.decide(
                agents,
                observation["features"][rows],
                observation["ids"][rows],
                observation["action_mask"][rows],
                keys,
                self._is_fresh[agents],
                exploration,
            )

    # Hearing

    def _receive(self, report: Report) -> None:
        """Waits for agents that must decide, and notes what came of what they did before."""
        self._received = received = self.env.recv()
        _, rewards, terminated, truncated, info = received
        agents, is_last = info["env_id"], terminated | truncated
        with profile("replay_buffer"):
            rows = self._open[agents]
            told = rows >= 0
            if told.any():
                assert self._latest is not None
                self._latest.hear(rows[told], rewards[told], is_last[told])
            self._open[agents] = -1
        self._tally(received, told, report)
        self._is_fresh[agents[is_last]] = True
        for row in np.flatnonzero(truncated & told):
            final = info["final_obs"][row]
            self._latest.end_values[rows[row]] = self._actor.values(  # type: ignore[union-attr]
                agents[row : row + 1],
                final["features"][np.newaxis],
                final["ids"][np.newaxis],
                np.zeros(1, np.bool_),
            )[0]

    def _tally(self, received: Received, told: Flags, report: Report) -> None:
        _, rewards, terminated, truncated, info = received
        agents, is_last = info["env_id"], terminated | truncated
        self._returns[agents[told]] += rewards[told]
        for name, counts in info["reward_parts"].items():
            sums = self._parts_of_returns.setdefault(name, np.zeros(self.env.num_envs))
            sums[agents[told]] += counts[told]
        if not is_last.any():
            return
        over = agents[is_last & told]
        report.returns += float(self._returns[over].sum())
        report.seats += len(over)
        for name, sums in self._parts_of_returns.items():
            report.parts[name] = report.parts.get(name, 0.0) + float(sums[over].sum())
            sums[agents[is_last]] = 0
        self._returns[agents[is_last]] = 0
        # Both seats of a battle with an agent in each are told of its end; it counts once.
        firsts = np.flatnonzero(is_last & (agents % 2 == 0))
        self._ended[agents[firsts] // 2] += 1
        for row in firsts:
            winner = info["winner"][row]
            score = {"p1": 1.0, "p2": 0.0}.get(winner, 0.5)
            report.ended.append(
                Ended(
                    str(info["final_opponent"][row]),
                    None if truncated[row] else score,
                    int(info["turns"][row]),
                )
            )

    def _value_what_follows(self, rollout: Rollout) -> None:
        """Adds what agents see now, with its value: that is what their last decisions led to."""
        assert self._received is not None
        observation, *_, info = self._received
        agents = info["env_id"]
        ours = np.flatnonzero(~info["waiting"] & ((agents % 2 == 0) | (info["opponent"] == SELF)))
        if not len(ours):
            return
        numbers = agents[ours]
        with profile("agent_value_calculation"):
            is_first = self._is_fresh[numbers]
            memory = self._actor.remembered(numbers, is_first)
            values = self._actor.values(
                numbers, observation["features"][ours], observation["ids"][ours], is_first
            )
        count = len(ours)
        rollout.add(
            numbers,
            info["raw"][ours],
            actions=np.zeros((count, self._actions.slots), np.int64),
            chances=np.zeros(count, np.float32),
            values=values,
            memory=memory,
        )

    def _carry(self, rollout: Rollout) -> None:
        agents = np.flatnonzero(self._open >= 0)
        if self._latest is None:
            rollout.clear()
        else:
            self._open[agents] = rollout.carry(self._latest, self._open[agents])
        self._latest = rollout

    def close(self) -> None:
        """Ends the environment and all its processes."""
        if self._watched is not None:
            self._watched.close()
        self.env.close()
