"""The smallest honest PPO loop: collects decisions of real battles, and learns from them.

Reads from top to bottom: settings, network, rollout, advantages, loop. It is there to be measured,
and trains one network by the book; it keeps no checkpoints, no opponents and no logs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from bridge import BridgeConfig
from bridge.errors import ConfigError
from bridge.sampling import log_probability, sample
from maple.env import RewardConfig, VectorEnv

from .. import get_profiler, profile

__all__ = [
    "BatchFigures",
    "Network",
    "OpponentName",
    "PPOConfig",
    "PPOLoop",
    "Rollout",
    "estimate_advantages",
]

Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

OpponentName: TypeAlias = Literal["self", "random", "max", "heuristics"]

_SEEDS = 2**63


def _shaped_reward() -> RewardConfig:
    return RewardConfig(knock_out=0.1, fainted=-0.1, hp=0.1, status=0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class PPOConfig:
    """What is played, and how a network learns from it.

    Args:
        format: What is played, as Showdown names it; singles.
        num_envs: How many battles are played at a time.
        opponent: Who has the other seat: "self" for the network too, which then learns from both.
        batch_size: How many agents are decided for at a time; by default all that must decide, and
            then a run with a seed is the same each time. Fewer let Node play the others meanwhile.
        steps: Decisions of an agent in a batch, on average.
        epochs: How often an update goes through a batch.
        minibatch_size: About how many decisions a step of the optimizer learns from.
        hidden: The width of both hidden layers.
        learning_rate: Of the optimizer, Adam.
        discount: What a reward counts for, one decision earlier.
        gae_decay: How far advantages look ahead: 0 for one decision, 1 for the whole battle.
        clip: By how much a probability may change in an update before it pays no more.
        value_weight: What the loss of the values counts for.
        entropy_weight: What the entropy of the policy counts for.
        gradient_limit: The longest gradient; a longer one is shortened.
        reward: What the agents are rewarded for.
        seed: Decides the battles, the weights at the start and the order of the minibatches.
    """

    format: str = "gen9randombattle"
    num_envs: int = 64
    opponent: OpponentName = "self"
    batch_size: int | None = None
    steps: int = 64
    epochs: int = 3
    minibatch_size: int = 1024
    hidden: int = 256
    learning_rate: float = 3e-4
    discount: float = 0.99
    gae_decay: float = 0.95
    clip: float = 0.2
    value_weight: float = 0.5
    entropy_weight: float = 0.01
    gradient_limit: float = 0.5
    reward: RewardConfig = field(default_factory=_shaped_reward)
    seed: int = 7

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "minibatch_size", "hidden"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be at least 1")
        for name in ("learning_rate", "clip", "gradient_limit"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be more than 0")
        if not 0 <= self.seed < _SEEDS:
            raise ConfigError(f"seed is {self.seed}, but must be from 0 to {_SEEDS - 1}")
        for name in ("discount", "gae_decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, but must be from 0 to 1")

    @property
    def agents(self) -> int:
        """How many seats are the network's."""
        return self.num_envs * (2 if self.opponent == "self" else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFigures:
    """What came of a batch. None is what nothing was counted for.

    `rounds` is how often agents were decided for, and `reward` the mean of a decision; the return
    is the sum of rewards of a battle, as one agent got them. `wins` counts battles that were won
    against an opponent, and is None where both seats are the network's.
    """

    decisions: int
    rounds: int
    minibatches: int
    battles: int
    wins: int | None
    turns_per_battle: float | None
    reward: float
    mean_return: float | None
    policy_loss: float
    value_loss: float
    entropy: float
    clipped: float
    divergence: float


# The network


class Network(nn.Module):
    """Logits of actions and a value, from features: two hidden layers that both share."""

    def __init__(self, inputs: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            _linear(inputs, hidden, math.sqrt(2)),
            nn.ReLU(),
            _linear(hidden, hidden, math.sqrt(2)),
            nn.ReLU(),
        )
        # All actions are about as likely at first.
        self.policy = _linear(hidden, actions, 0.01)
        self.value = _linear(hidden, 1, 1.0)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        inner = self.trunk(features)
        return self.policy(inner), self.value(inner).squeeze(-1)


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def _make_network(inputs: int, actions: int, config: PPOConfig) -> Network:
    """With the weights of a seed, and without a change to the random numbers of others."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return Network(inputs, actions, config.hidden)


# What was decided


class Rollout:
    """Decisions in the order of time, and what came of each once its agent was asked again.

    An agent may be asked late, or its opponent first. A decision whose outcome is not known at the
    end of a batch is kept for the next one.
    """

    def __init__(self, rows: int, agents: int, inputs: int, actions: int) -> None:
        self.features = np.zeros((rows, inputs), np.float32)
        self.masks = np.zeros((rows, actions), np.bool_)
        self.agents = np.zeros(rows, np.int64)
        self.actions = np.zeros(rows, np.int64)
        self.chances = np.zeros(rows, np.float32)
        """The logarithms of the probabilities that the actions had."""
        self.values = np.zeros(rows, np.float32)
        self.rewards = np.zeros(rows, np.float32)
        self.is_known = np.zeros(rows, np.bool_)
        """Whether it was heard what came of it."""
        self.is_last = np.zeros(rows, np.bool_)
        """Whether its battle ended with it."""
        self.end_values = np.zeros(rows, np.float32)
        """What would have come after the end of a battle that was cut short."""
        self.bounds = [0]
        """Where rounds begin and end: no agent decides twice in one."""
        self._open = np.full(agents, -1)
        """The row of each agent whose outcome is not known, or -1."""

    def __len__(self) -> int:
        return self.bounds[-1]

    @property
    def rounds(self) -> Iterator[slice]:
        """From the first to the last."""
        for low, high in zip(self.bounds, self.bounds[1:], strict=False):
            yield slice(low, high)

    @property
    def known(self) -> Numbers:
        """The rows to learn from."""
        return np.flatnonzero(self.is_known[: len(self)])

    def begin(self) -> None:
        """Forgets all decisions but those whose outcome is still to come."""
        agents = np.flatnonzero(self._open >= 0)
        rows, kept = self._open[agents], slice(0, len(agents))
        for column in (
            self.features,
            self.masks,
            self.agents,
            self.actions,
            self.chances,
            self.values,
        ):
            column[kept] = column[rows]
        for outcome in (self.rewards, self.is_known, self.is_last, self.end_values):
            outcome[:] = 0
        self._open[agents] = np.arange(len(agents))
        self.bounds = [0, len(agents)] if len(agents) else [0]

    def add(
        self,
        agents: Numbers,
        features: Floats,
        masks: Flags,
        actions: Numbers,
        chances: npt.NDArray[Any],
        values: Floats,
    ) -> None:
        """Adds a round."""
        rows = slice(len(self), len(self) + len(agents))
        self.features[rows] = features
        self.masks[rows] = masks
        self.agents[rows] = agents
        self.actions[rows] = actions
        self.chances[rows] = chances
        self.values[rows] = values
        self._open[agents] = np.arange(rows.start, rows.stop)
        self.bounds.append(rows.stop)

    def hear(self, agents: Numbers, rewards: Floats, is_last: Flags) -> Numbers:
        """Notes what came of the last decision of each agent; their rows, -1 for who had none."""
        rows = self._open[agents]
        is_ours = rows >= 0
        told = rows[is_ours]
        self.rewards[told] = rewards[is_ours]
        self.is_last[told] = is_last[is_ours]
        self.is_known[told] = True
        self._open[agents] = -1
        return rows


def estimate_advantages(
    rollout: Rollout, next_values: Floats, discount: float, decay: float
) -> Floats:
    """How much better each decision was than its value said (GAE), along the way of each agent.

    `next_values` are, by agent, those of what was observed after the last decisions.
    """
    advantages = np.zeros(len(rollout), np.float32)
    values_then = next_values.astype(np.float32)
    advantages_then = np.zeros_like(values_then)
    for rows in reversed(list(rollout.rounds)):
        agents = rollout.agents[rows]
        is_last, is_known = rollout.is_last[rows], rollout.is_known[rows]
        after = np.where(is_last, rollout.end_values[rows], values_then[agents])
        surprise = rollout.rewards[rows] + discount * after - rollout.values[rows]
        later = np.where(is_last, 0, advantages_then[agents])
        # Of a decision whose outcome is not known nothing follows but the value before it.
        found = np.where(is_known, surprise + discount * decay * later, 0)
        advantages[rows] = found
        values_then[agents] = rollout.values[rows]
        advantages_then[agents] = found
    return advantages


# The loop


class PPOLoop:
    """Plays and learns, batch by batch.

    >>> with PPOLoop(PPOConfig(num_envs=64, opponent="random")) as loop:
    ...     for _ in range(100):
    ...         print(loop.run_batch())

    Args:
        config: What is played, and how it is learned.
        bridge: The pool; by default a process for each core, or for each battle if that is fewer.
    """

    def __init__(self, config: PPOConfig, bridge: BridgeConfig | None = None) -> None:
        self.config = config
        self.env = VectorEnv(
            config.format,
            config.num_envs,
            config.batch_size,
            opponent=config.opponent,
            reward=config.reward,
            seed=config.seed,
            pool=None if bridge is None else bridge.pool,
            bridge=bridge,
        )
        try:
            self._prepare()
        except BaseException:
            self.env.close()
            raise

    def _prepare(self) -> None:
        config, env = self.config, self.env
        if env.observations.actions.slots > 1:
            raise ConfigError(f"{config.format} is doubles, and this loop learns singles")
        space: Any = env.single_observation_space
        inputs, actions = space["features"].shape[0], space["action_mask"].shape[0]
        self.network = _make_network(inputs, actions, config)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=config.learning_rate, eps=1e-5
        )
        self.rollout = Rollout(
            # The round that makes a batch full may be a whole one.
            (config.steps + 1) * env.num_envs,
            env.num_envs,
            inputs,
            actions,
        )
        self._random = np.random.default_rng(config.seed)
        self._tally = _Tally(env.num_envs, env.num_envs // env.num_battles)
        self._cut_short: list[tuple[int, Floats]] = []
        env.async_reset()
        self._received = env.recv()
        """The agents that must decide next, and what they see."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process."""
        self.env.close()

    def run_batch(self) -> BatchFigures:
        """Collects so many decisions, and learns from them."""
        profiler = get_profiler()
        with profile("training_batch", track_memory=True):
            with profile("env_parallel_execution", track_memory=True):
                decisions, rounds = self._collect()
            with profile("agent_value_calculation"):
                next_values = self._value_what_follows()
            with profile("gradient_calculation", track_memory=True):
                with profile("gae"):
                    advantages = estimate_advantages(
                        self.rollout, next_values, self.config.discount, self.config.gae_decay
                    )
                losses = self._update(advantages)
            with profile("log_metrics"):
                figures = self._figures(decisions, rounds, losses)
                profiler.step(figures.decisions)
                profiler.episode(figures.battles)
                profiler.metric("reward", figures.reward)
                if figures.turns_per_battle is not None:
                    profiler.metric("turns_per_battle", figures.turns_per_battle)
        profiler.lap()
        return figures

    # Collecting

    def _collect(self) -> tuple[int, int]:
        """Decides until the batch is full; how many decisions that were, in how many rounds."""
        rollout, env, profiler = self.rollout, self.env, get_profiler()
        self._tally.begin()
        self._cut_short.clear()
        with profile("replay_buffer"):
            rollout.begin()
        kept, rounds = len(rollout), 0
        wanted = self.config.steps * env.num_envs
        while len(rollout) < wanted:
            observation, *_, info = self._received
            agents, mask = info["env_id"], observation["action_mask"].astype(np.bool_)
            with profile("agent_action_selection"):
                actions, chances, values = self._decide(observation["features"], mask, agents)
            env.send(actions, agents)
            # Node plays while this is stored.
            with profile("replay_buffer"):
                rollout.add(agents, observation["features"], mask, actions, chances, values)
            self._received = env.recv()
            with profile("replay_buffer"):
                self._hear(*self._received)
            rounds += 1
            profiler.metric("batch_size", len(agents), unit="agents")
        return len(rollout) - kept, rounds

    def _decide(
        self, features: Floats, mask: Flags, agents: Numbers
    ) -> tuple[Numbers, npt.NDArray[np.float64], Floats]:
        with profile("inference_forward"), torch.inference_mode():
            logits, values = self.network(torch.from_numpy(features))
        with profile("inference_sample"):
            actions = sample(logits, mask, self.env.keys(agents))
            return actions, log_probability(logits, mask, actions), values.numpy()

    def _hear(
        self,
        _observation: object,
        rewards: Floats,
        terminated: Flags,
        truncated: Flags,
        info: dict[str, Any],
    ) -> None:
        agents, is_last = info["env_id"], terminated | truncated
        rows = self.rollout.hear(agents, rewards, is_last)
        self._tally.hear(agents, rewards, is_last, info)
        for number in np.flatnonzero(truncated & (rows >= 0)):
            features = info["final_obs"][number]["features"]
            self._cut_short.append((int(rows[number]), features))

    def _value_what_follows(self) -> Floats:
        """Values of what agents see now, by agent; battles that were cut short get theirs too."""
        observation, *_, info = self._received
        cut_short = [features[np.newaxis] for _, features in self._cut_short]
        features = np.concatenate((observation["features"], *cut_short))
        with torch.inference_mode():
            _, values = self.network(torch.from_numpy(features))
        now = len(info["env_id"])
        for (row, _), value in zip(self._cut_short, values[now:].tolist(), strict=True):
            self.rollout.end_values[row] = value
        by_agent = np.zeros(self.env.num_envs, np.float32)
        by_agent[info["env_id"]] = values[:now].numpy()
        return by_agent

    # Learning

    def _update(self, advantages: Floats) -> list[Tensor]:
        """Steps of the optimizer over all that is known; the losses of each."""
        config, rollout = self.config, self.rollout
        known = rollout.known
        data = _Data.of(rollout, advantages)
        parts = max(1, round(len(known) / config.minibatch_size))
        losses = []
        for _ in range(config.epochs):
            for rows in np.array_split(self._random.permutation(known), parts):
                with profile("replay_buffer"):
                    minibatch = data.rows(torch.from_numpy(rows))
                with profile("loss_calculation"):
                    loss, figures = self._loss(minibatch)
                with profile("backward"):
                    self.optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                with profile("optimizer_step"):
                    nn.utils.clip_grad_norm_(
                        self.network.parameters(), config.gradient_limit, error_if_nonfinite=True
                    )
                    self.optimizer.step()
                losses.append(figures)
        return losses

    def _loss(self, data: _Data) -> tuple[Tensor, Tensor]:
        config = self.config
        logits, values = self.network(data.features)
        # Not minus infinity: that times a probability of zero would be no number.
        logits = logits.masked_fill(~data.masks, torch.finfo(logits.dtype).min)
        chances = logits.log_softmax(dim=1)
        entropy = -(chances.exp() * chances).sum(dim=1).mean()
        change = chances.gather(1, data.actions[:, None])[:, 0] - data.chances
        ratio = change.exp()
        advantages = (data.advantages - data.advantages.mean()) / (
            data.advantages.std(correction=0) + 1e-8
        )
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).mean()
        value_loss = 0.5 * (values - data.returns).square().mean()
        loss = policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy
        with torch.no_grad():
            is_clipped = ((ratio - 1).abs() > config.clip).float().mean()
            divergence = (ratio - 1 - change).mean()
            figures = torch.stack((policy_loss, value_loss, entropy, is_clipped, divergence))
        return loss, figures

    def _figures(self, decisions: int, rounds: int, losses: list[Tensor]) -> BatchFigures:
        policy, value, entropy, clipped, divergence = torch.stack(losses).mean(dim=0).tolist()
        tally = self._tally
        return BatchFigures(
            decisions=decisions,
            rounds=rounds,
            minibatches=len(losses),
            battles=tally.battles,
            wins=None if self.config.opponent == "self" else tally.wins,
            turns_per_battle=tally.turns / tally.battles if tally.battles else None,
            reward=float(self.rollout.rewards[self.rollout.known].mean()),
            mean_return=float(np.mean(tally.returns)) if tally.returns else None,
            policy_loss=policy,
            value_loss=value,
            entropy=entropy,
            clipped=clipped,
            divergence=divergence,
        )


class _Data(NamedTuple):
    """What an update reads, as tensors; those of a rollout share its memory."""

    features: Tensor
    masks: Tensor
    actions: Tensor
    chances: Tensor
    advantages: Tensor
    returns: Tensor

    @classmethod
    def of(cls, rollout: Rollout, advantages: Floats) -> _Data:
        decided = slice(len(rollout))
        columns = (rollout.features, rollout.masks, rollout.actions, rollout.chances)
        returns = advantages + rollout.values[decided]
        arrays = (*(column[decided] for column in columns), advantages, returns)
        return cls(*map(torch.from_numpy, arrays))

    def rows(self, rows: Tensor) -> _Data:
        return _Data(*(column[rows] for column in self))


class _Tally:
    """Counts the battles that end, and what their agents got in them."""

    def __init__(self, agents: int, seats: int) -> None:
        self._so_far = np.zeros(agents)
        self._seats = seats
        self.begin()

    def begin(self) -> None:
        self.battles = self.wins = self.turns = 0
        self.returns: list[float] = []

    def hear(self, agents: Numbers, rewards: Floats, is_last: Flags, info: dict[str, Any]) -> None:
        self._so_far[agents] += rewards
        if not is_last.any():
            return
        ended = agents[is_last]
        self.returns += self._so_far[ended].tolist()
        self._so_far[ended] = 0
        # With an agent in both seats, both are told of an end.
        once = is_last & (agents % self._seats == 0)
        self.battles += int(once.sum())
        self.wins += int((info["winner"][once] == "p1").sum())
        self.turns += int(info["turns"][once].sum())
