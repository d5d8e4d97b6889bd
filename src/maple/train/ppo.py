"""How a network learns from what agents did: PPO, or REINFORCE with a baseline.

Reads from top to bottom: the batch, how good each decision was, the loss, the update. Plays no
battles, and knows neither files nor processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from maple.agents import Network, judge
from maple.env import Observations
from maple.profiling import profile

from .config import LearningConfig, PPOConfig
from .errors import LossNotFinite
from .rollout import Floats, Numbers, Rollout

__all__ = ["Learner", "UpdateFigures", "estimate_advantages"]

Bytes: TypeAlias = npt.NDArray[np.uint8]

_SMALL = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFigures:
    """What an update did: means over its minibatches.

    `divergence` is how far the policy went from what it was before, `clipped` the share of
    decisions whose probability had changed by more than pays, `explained` the share of the
    variance of what came that the values foretold, and `trusted` the mean weight of a decision,
    which is 1 where the network is the one that played.
    """

    decisions: int
    minibatches: int
    epochs: int
    policy_loss: float
    value_loss: float
    entropy: float
    divergence: float
    clipped: float
    gradient: float
    explained: float
    trusted: float
    rate: float


# The batch


class Batch(NamedTuple):
    """Rows of several rollouts one after the other, and which of them belong together in time."""

    raw: Bytes
    actions: Numbers
    chances: Floats
    """The logarithms of the probabilities with which they were decided on, whoever did."""
    chances_now: Floats
    """Those that the network gave them before the update."""
    values: Floats
    """What it said of them before the update."""
    memory: Floats
    advantages: Floats
    targets: Floats
    """What the values should have been."""
    sequences: Numbers
    trusted: float

    @property
    def known(self) -> Numbers:
        return self.sequences[self.sequences >= 0]


class Rows(NamedTuple):
    """What a network is asked about: decisions of agents in time, [length, agents, …]."""

    features: Tensor
    ids: Tensor
    memory: Tensor
    """Of each agent before the first of its decisions."""
    masks: Tensor
    """What was legal, of those that are no filling: [rows, …], as all that follows."""
    actions: Tensor
    second_masks: Tensor | None
    """What the second Pokémon may do after the first, in doubles."""
    is_real: Tensor
    numbers: Numbers
    """Which rows of the batch these are."""


# How good each decision was


def estimate_advantages(
    rollout: Rollout,
    values: Floats,
    trust: Floats | None,
    *,
    discount: float,
    decay: float,
) -> tuple[Floats, Floats]:
    """How much better each decision was than its value said, and what the value should have been.

    That is generalised advantage estimation along the way of each agent. With `trust`, the clipped
    ratio of how likely each decision is now to how likely it was when it was made, what follows
    counts by that, and values are corrected as in V-trace; where it is 1, both are the same.
    """
    advantages = np.zeros(len(rollout), np.float32)
    corrections = np.zeros(len(rollout), np.float32)
    values_then = np.zeros(rollout.shape.agents, np.float32)
    corrections_then = np.zeros_like(values_then)
    for rows in reversed(list(rollout.rounds)):
        agents, is_last, is_known = (
            rollout.agents[rows],
            rollout.is_last[rows],
            rollout.is_known[rows],
        )
        after = np.where(is_last, rollout.end_values[rows], values_then[agents])
        later = np.where(is_last, 0, corrections_then[agents])
        surprise = rollout.rewards[rows] + discount * after - values[rows]
        # Of a decision whose outcome is not known nothing follows but the value before it.
        advantages[rows] = np.where(is_known, surprise + discount * decay * later, 0)
        corrections[rows] = advantages[rows] * (1 if trust is None else trust[rows])
        values_then[agents] = values[rows]
        corrections_then[agents] = corrections[rows]
    return advantages, values[: len(rollout)] + corrections


class Learner:
    """A network and its optimizer.

    Args:
        network: What learns, on the device where it is to be computed.
        observations: What the rows of rollouts mean.
        learning: How it learns.
        ppo: What PPO has besides; None for REINFORCE.
        seed: Decides the order of the minibatches.
    """

    def __init__(
        self,
        network: Network,
        observations: Observations,
        learning: LearningConfig,
        ppo: PPOConfig | None,
        *,
        seed: int,
    ) -> None:
        self.network = network
        self.config = learning
        self.ppo = ppo
        self.random = np.random.default_rng(seed)
        self.optimizer = torch.optim.Adam(network.parameters(), eps=1e-5)
        self._observations = observations
        self._device = next(network.parameters()).device
        self._length = learning.sequence if network.memory else 1

    def update(
        self, rollouts: Sequence[Rollout], *, stale: bool, rate: float, entropy_weight: float
    ) -> UpdateFigures:
        """Learns from all that is known in the rollouts; `stale` if another network decided."""
        with profile("gae"):
            batch = self._prepare(rollouts, stale=stale)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        epochs = 1 if self.ppo is None else self.ppo.epochs
        figures: list[Tensor] = []
        done = 0
        for done in range(1, epochs + 1):
            for rows in self._minibatches(batch):
                figures.append(self._step(batch, rows, entropy_weight))
                if self._is_far(figures[-1]):
                    return self._figures(batch, figures, done, rate)
        return self._figures(batch, figures, done, rate)

    def _is_far(self, figures: Tensor) -> bool:
        """Whether the policy has gone too far from what it was."""
        limit = None if self.ppo is None else self.ppo.target_kl
        return limit is not None and float(figures[_DIVERGENCE]) > limit

    # The batch

    def _prepare(self, rollouts: Sequence[Rollout], *, stale: bool) -> Batch:
        config = self.config
        looked_at, chances_now, advantages, targets, trusted = [], [], [], [], []
        for rollout in rollouts:
            values, now = rollout.values[: len(rollout)], rollout.chances[: len(rollout)]
            trust = None
            if stale:
                values, now = self._look_again(rollout)
                ratios = np.exp(now - rollout.chances[: len(rollout)])
                trust = np.minimum(config.trust, ratios)
                trusted.append(trust[rollout.known])
            found = estimate_advantages(
                rollout, values, trust, discount=config.discount, decay=config.gae_decay
            )
            looked_at.append(values)
            chances_now.append(now)
            advantages.append(found[0])
            targets.append(found[1])
        starts = np.cumsum([0, *map(len, rollouts)])
        tables = [rollout.sequences(self._length) for rollout in rollouts]
        columns = {
            name: np.concatenate([getattr(one, name)[: len(one)] for one in rollouts])
            for name in ("raw", "actions", "chances", "memory")
        }
        shifted = [np.where(t < 0, t, t + at) for t, at in zip(tables, starts, strict=False)]
        return Batch(
            **columns,
            chances_now=np.concatenate(chances_now),
            values=np.concatenate(looked_at),
            advantages=np.concatenate(advantages),
            targets=np.concatenate(targets),
            sequences=np.concatenate(shifted),
            trusted=float(np.concatenate(trusted).mean()) if trusted else 1.0,
        )

    @torch.no_grad()
    def _look_again(self, rollout: Rollout) -> tuple[Floats, Floats]:
        """The values of the present network, and how likely it is to do what another one did."""
        values = np.zeros(len(rollout), np.float32)
        chances = rollout.chances[: len(rollout)].copy()
        table = rollout.sequences(self._length, known=False)
        each = max(1, self.config.minibatch // self._length)
        for at in range(0, len(table), each):
            rows = self._rows(table[at : at + each], rollout.raw, rollout.actions, rollout.memory)
            logits, found = self._decide(rows)
            now, _ = judge(logits, rows.masks, rows.actions, rows.second_masks)
            values[rows.numbers] = found.cpu().numpy()
            # In the last rows nobody has decided yet.
            is_known = rollout.is_known[rows.numbers]
            chances[rows.numbers[is_known]] = now.cpu().numpy()[is_known]
        return values, chances

    def _minibatches(self, batch: Batch) -> Iterator[Rows]:
        """All that is known, in parts of about the same size."""
        table = batch.sequences
        parts = max(1, round(int((table >= 0).sum()) / self.config.minibatch))
        for chosen in np.array_split(self.random.permutation(len(table)), parts):
            with profile("replay_buffer"):
                rows = self._rows(table[chosen], batch.raw, batch.actions, batch.memory)
            # Outside, or what is done with them would be part of it.
            yield rows

    def _rows(self, table: Numbers, raw: Bytes, actions: Numbers, memory: Floats) -> Rows:
        """What the network must know of sequences: [sequences, length] of row numbers."""
        # What no sequence goes on with is never looked at.
        table = table[:, : int((table >= 0).sum(axis=1).max())].T
        is_real = table >= 0
        numbers = np.where(is_real, table, table[0])
        seen = self._observations.expand(raw[numbers.ravel()])
        real = numbers[is_real]
        masks = (
            seen["action_mask"]
            .astype(np.bool_)
            .reshape(*numbers.shape, *seen["action_mask"].shape[1:])[is_real]
        )
        taken = actions[real]
        second = None
        if taken.shape[1] > 1:
            allowed = self._observations.actions.second_mask(masks.view(np.int8), taken[:, 0])
            second = self._tensor(allowed.astype(np.bool_))
        return Rows(
            self._tensor(seen["features"]).reshape(*numbers.shape, -1),
            self._tensor(seen["ids"]).reshape(*numbers.shape, -1),
            self._tensor(memory[numbers[0]]),
            self._tensor(masks),
            self._tensor(taken if taken.shape[1] > 1 else taken[:, 0]),
            second,
            self._tensor(is_real),
            real,
        )

    def _tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _decide(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Logits and values of the rows that are no filling."""
        logits, values = self.network.unroll(rows.features, rows.ids, rows.memory)
        return logits[rows.is_real], values[rows.is_real]

    # The loss

    def _loss(self, batch: Batch, rows: Rows, entropy_weight: float) -> tuple[Tensor, Tensor]:
        """What an optimizer makes smaller, and what it consists of."""
        logits, values = self._decide(rows)
        chances, entropies = judge(logits, rows.masks, rows.actions, rows.second_masks)
        advantages, targets, before, start, old_values = (
            self._tensor(column[rows.numbers])
            for column in (
                *(batch.advantages, batch.targets),
                *(batch.chances, batch.chances_now, batch.values),
            )
        )
        if self.config.normalise:
            deviation = advantages.std(correction=0)
            advantages = (advantages - advantages.mean()) / (deviation + _SMALL)
        change = chances - before
        ratio = change.exp()
        if self.ppo is None:
            weight = ratio.detach().clamp(max=self.config.trust)
            policy_loss = -(weight * advantages * chances).mean()
            is_clipped = ratio > self.config.trust
        else:
            clip = self.ppo.clip
            clipped = ratio.clamp(1 - clip, 1 + clip)
            policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).mean()
            is_clipped = (ratio - 1).abs() > clip
        value_loss = self._value_loss(values, old_values, targets)
        entropy = entropies.mean()
        loss = policy_loss + self.config.value_weight * value_loss - entropy_weight * entropy
        with torch.no_grad():
            moved = chances - start
            divergence = (moved.exp() - 1 - moved).mean()
            figures = (policy_loss, value_loss, entropy, divergence, is_clipped.float().mean())
            return loss, torch.stack([figure.detach() for figure in figures])

    def _value_loss(self, values: Tensor, before: Tensor, targets: Tensor) -> Tensor:
        missed = (values - targets).square()
        limit = None if self.ppo is None else self.ppo.value_clip
        if limit is not None:
            near = before + (values - before).clamp(-limit, limit)
            missed = torch.maximum(missed, (near - targets).square())
        return 0.5 * missed.mean()

    # The update

    def _step(self, batch: Batch, rows: Rows, entropy_weight: float) -> Tensor:
        """One step of the optimizer; its figures, with the length of the gradient last."""
        with profile("loss_calculation"):
            loss, figures = self._loss(batch, rows, entropy_weight)
        with profile("backward"):
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        with profile("optimizer_step"):
            length = nn.utils.clip_grad_norm_(self.network.parameters(), self.config.gradient_limit)
            if not bool(torch.isfinite(loss) & torch.isfinite(length)):
                raise LossNotFinite(
                    f"the loss is {float(loss.detach()):g} and its gradient {float(length):g} "
                    "long, so there is nothing to learn from: lower the learning rate or the limit "
                    "of the gradient, or look into the batch",
                    batch=batch._asdict() | {"minibatch": rows.numbers},
                )
            self.optimizer.step()
        return torch.cat((figures, length.detach()[None]))

    def _figures(
        self, batch: Batch, figures: list[Tensor], epochs: int, rate: float
    ) -> UpdateFigures:
        policy, value, entropy, divergence, clipped, gradient = (
            torch.stack(figures).mean(dim=0).tolist()
        )
        known = batch.known
        variance = float(batch.targets[known].var())
        missed = float((batch.targets[known] - batch.values[known]).var())
        return UpdateFigures(
            decisions=len(known),
            minibatches=len(figures),
            epochs=epochs,
            policy_loss=policy,
            value_loss=value,
            entropy=entropy,
            divergence=divergence,
            clipped=clipped,
            gradient=gradient,
            explained=1 - missed / variance if variance > 0 else 0.0,
            trusted=batch.trusted,
            rate=rate,
        )


_DIVERGENCE = 3
