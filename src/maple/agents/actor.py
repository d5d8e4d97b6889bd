"""Decides for many agents with one network, and keeps for each of them what it remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from bridge.sampling import SecondMask, derive_keys, log_probability, pick, sample
from maple.profiling import profile

if TYPE_CHECKING:
    from torch import Tensor

    from maple.env import Actions

    from .network import Network

__all__ = ["Actor", "Decided"]

Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int64]
Chances: TypeAlias = npt.NDArray[np.float64]
Keys: TypeAlias = npt.NDArray[np.uint64]
Masks: TypeAlias = npt.NDArray[Any]
Flags: TypeAlias = npt.NDArray[np.bool_]

# Matrix products take other ways for the last few rows of a batch: see bridge.sampling.Sampler.
# So batches are filled up with their last row.
_ROW_MULTIPLE = 16
# What a key is derived by to decide whether to explore; 0 and 1 would be draws of actions.
_EXPLORING = 2


class Decided(NamedTuple):
    """What was decided for each row."""

    actions: Numbers
    """[rows], in doubles [rows, 2]."""
    chances: Chances
    """The logarithms of the probabilities with which these were drawn, all things considered."""
    values: Floats
    memory: Floats
    """What each agent remembered before the decision, [rows, memory]."""
    logits: Floats
    """What the network said, masks and exploration aside."""


class Actor:
    """Decides for agents by their numbers, from 0 on.

    Args:
        network: Who decides; its weights may change between two calls.
        actions: What may be decided.
        agents: How many agents there are.
        greedy: Whether the likeliest action is taken, rather than one drawn.
    """

    def __init__(
        self, network: Network, actions: Actions, agents: int, *, greedy: bool = False
    ) -> None:
        self.network = network
        self._actions = actions
        self._second_mask: SecondMask | None = actions.second_mask if actions.slots > 1 else None
        self._greedy = greedy
        self._memory = np.zeros((agents, network.memory), np.float32)

    def __repr__(self) -> str:
        how = "greedy" if self._greedy else "random"
        return f"<Actor: {how}, for {len(self._memory)} agents>"

    def decide(
        self,
        numbers: Numbers,
        features: Floats,
        ids: npt.NDArray[np.int32],
        masks: Masks,
        keys: Keys,
        is_first: Flags,
        epsilon: float = 0.0,
    ) -> Decided:
        """An action for each row, which depends on no other row.

        Args:
            numbers: Which agents these are, each at most once.
            features: What they observe, as `Observations.expand` has it, [rows, features].
            ids: The ids in it, [rows, ids].
            masks: What is legal, [rows, actions], in doubles [rows, 2, actions].
            keys: What is drawn by, a key for each row: `VectorEnv.keys`.
            is_first: Whether the decision is the first in its battle; then nothing is remembered.
            epsilon: With what probability a legal action is drawn whatever the network says, each
                as likely as any other; in doubles each first one, then each second one that goes
                with it.
        """
        before = self.remembered(numbers, is_first)
        logits, values, after = self._compute(features, ids, before)
        self._memory[numbers] = after
        with profile("inference_sample"):
            actions, chances = self._draw(logits, masks, keys, epsilon)
        return Decided(actions, chances, values, before, logits)

    def values(
        self,
        numbers: Numbers,
        features: Floats,
        ids: npt.NDArray[np.int32],
        is_first: Flags,
    ) -> Floats:
        """The values of what agents observe. Nothing is decided, and nothing of it remembered."""
        return self._compute(features, ids, self.remembered(numbers, is_first))[1]

    def remembered(self, numbers: Numbers, is_first: Flags) -> Floats:
        """What agents remember of their battles before they decide again."""
        if self._memory.size and len(np.unique(numbers)) < len(numbers):
            raise ValueError("an agent decides at most once at a time: numbers has some twice")
        memory = self._memory[numbers]
        memory[is_first] = 0
        return memory

    def _compute(
        self, features: Floats, ids: npt.NDArray[np.int32], memory: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Logits, values, and what is remembered afterwards."""
        rows = len(features)
        if not rows:
            return self._nothing(memory)
        given = (features, ids, memory)
        missing = -rows % _ROW_MULTIPLE
        if missing:
            taken = np.minimum(np.arange(rows + missing), rows - 1)
            given = (features[taken], ids[taken], memory[taken])
        device = next(self.network.parameters()).device
        with profile("inference_forward"), torch.inference_mode():
            tensors = [torch.from_numpy(part).to(device) for part in given]
            logits, values, after = self.network.step(*tensors)
            # A GPU is done when its results are there.
            return _array(logits[:rows]), _array(values[:rows]), _array(after[:rows])

    def _nothing(self, memory: Floats) -> tuple[Floats, Floats, Floats]:
        """What is computed for no rows."""
        slots, size = self._actions.slots, self._actions.size
        shape = (0, size) if slots == 1 else (0, slots, size)
        return np.zeros(shape, np.float32), np.zeros(0, np.float32), memory

    def _draw(
        self, logits: Floats, masks: Masks, keys: Keys, epsilon: float
    ) -> tuple[Numbers, Chances]:
        """Actions, and the logarithms of their probabilities."""
        meant, chances = pick(logits, masks, None if self._greedy else keys, self._second_mask)
        if epsilon:
            return self._explore(logits, masks, keys, epsilon, meant)
        return meant, np.zeros(len(meant)) if self._greedy else chances

    def _explore(
        self, logits: Floats, masks: Masks, keys: Keys, epsilon: float, meant: Numbers
    ) -> tuple[Numbers, Chances]:
        """With a probability of epsilon what is drawn from all that is legal, else what is meant.

        What is drawn may be what is meant, so its probability is the sum of both ways to get there.
        """
        if not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon is a probability, and {epsilon} is none")
        alike = np.zeros_like(logits)
        is_exploring = _happens(epsilon, derive_keys(keys, _EXPLORING))
        explored, _ = pick(alike, masks, keys, self._second_mask)
        actions = np.where(_like(is_exploring, meant), explored, meant)
        if self._greedy:
            is_meant = (actions == meant).reshape(len(actions), -1).all(axis=1)
            chances = np.where(is_meant, 0.0, -np.inf)
        else:
            chances = self._chances(logits, masks, actions)
        with np.errstate(divide="ignore"):
            as_meant = np.log1p(-epsilon) + chances
            as_explored = np.log(epsilon) + self._chances(alike, masks, actions)
        return actions, np.logaddexp(as_meant, as_explored)

    def _chances(self, logits: Floats, masks: Masks, actions: Numbers) -> Chances:
        if self._actions.slots == 1:
            return log_probability(logits, masks, actions)
        first, second = actions.T
        chance = log_probability(logits[:, 0], masks[:, 0], first)
        allowed = self._actions.second_mask(masks, first)
        then = log_probability(logits[:, 1], allowed, second)
        together: Chances = chance + then
        return together


def _happens(probability: float, keys: Keys) -> Flags:
    """Whether what has this probability happens, by each key."""
    with np.errstate(divide="ignore"):
        chances = np.log([1 - probability, probability])
    happens: Flags = sample(np.tile(chances, (len(keys), 1)), None, keys) == 1
    return happens


def _like(flags: Flags, actions: Numbers) -> Flags:
    """Flags of rows, to be held against actions of one place or of two."""
    return flags if actions.ndim == 1 else flags[:, np.newaxis]


def _array(values: Tensor) -> Floats:
    array: Floats = values.cpu().numpy()
    return array
