"""Picks actions from logits: masked, seeded and vectorised. Knows neither rooms nor learning.

What is picked for a row depends on nothing but that row's logits, mask and key. So a battle goes
the same way whatever other rows were in its batch, and however many batches there were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .inference import Policy, call_policy
from .seeds import Seed

__all__ = [
    "Sampler",
    "SecondMask",
    "derive_keys",
    "greedy",
    "greedy_pair",
    "log_probability",
    "pick",
    "sample",
    "sample_pair",
]

Keys: TypeAlias = npt.NDArray[np.uint64]
Actions: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]
Values: TypeAlias = Any
"""An array, or a tensor of torch wherever it lives."""

SecondMask: TypeAlias = Callable[[Mask, Actions], Values]
"""What the second slot may do after the first: (masks [B, 2, A], actions [B]) to a mask [B, A]."""

# The constants of splitmix64: https://prng.di.unimi.it/splitmix64.c
_STEP = np.uint64(0x9E3779B97F4A7C15)
_STEPS = np.array([1, 2], np.uint64) * _STEP  # One for each slot.
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_WORD = (1 << 64) - 1
_ROWS_NAMED = 8


def derive_keys(seed: Seed | Keys, *counters: int | npt.ArrayLike) -> Keys:
    """A key for each row, from a seed and what the row is: environment, battle, step, seat.

    Counters are integers, or arrays of them that are broadcast. Keys in place of the seed are
    derived further, so a battle's key can be kept and only the step be added to it.
    """
    if isinstance(seed, np.ndarray):
        keys = seed.astype(np.uint64)
    else:
        digest = hashlib.blake2b(f"{seed}/actions".encode("utf-8", "surrogatepass"), digest_size=8)
        keys = np.array([int.from_bytes(digest.digest(), "big")], np.uint64)
    for counter in counters:
        number = _word(counter)
        number += np.uint64(1)
        number *= _STEP
        keys = _mix(keys + number)
    return keys


def sample(logits: Values, mask: Values | None, keys: npt.ArrayLike) -> Actions:
    """An action for each row of [B, A], with the probabilities that its logits give it."""
    return _Weights(logits, mask).pick(_uniform(keys, 0))


def greedy(logits: Values, mask: Values | None = None) -> Actions:
    """The likeliest action of each row; of several the first."""
    return _Weights(logits, mask).best()


def log_probability(logits: Values, mask: Values | None, actions: Values) -> Floats:
    """The logarithm of the probability that `sample` picks these actions."""
    return _Weights(logits, mask).log_probability(_array(actions).astype(np.int64))


def sample_pair(
    logits: Values, mask: Values, second_mask: SecondMask, keys: npt.ArrayLike
) -> Actions:
    """An action for both slots of [B, 2, A]; the second may do what the first leaves it."""
    return pick(logits, mask, keys, second_mask)[0]


def greedy_pair(logits: Values, mask: Values, second_mask: SecondMask) -> Actions:
    """The likeliest action of the first slot, then the likeliest that it leaves the second."""
    return pick(logits, mask, None, second_mask)[0]


def pick(
    logits: Values,
    mask: Values,
    keys: npt.ArrayLike | None,
    second_mask: SecondMask | None = None,
) -> tuple[Actions, Floats]:
    """Actions, drawn by keys or without them the likeliest, and the logarithms of their chances.

    With a `second_mask` they are those of both slots of [B, 2, A].
    """
    if second_mask is not None:
        return _pick_pair(logits, mask, second_mask, keys)
    weights = _Weights(logits, mask)
    actions = weights.best() if keys is None else weights.pick(_uniform(keys, 0))
    return actions, weights.log_probability(actions)


class Sampler:
    """A policy of actions made of one of logits, for an `InferenceQueue` or to be called.

    >>> queue = InferenceQueue(Sampler(network))
    ... action, log_probability, value = await queue.submit((features, mask, key))

    A row is what the policy takes, the mask of legal actions, and a key of `derive_keys`. The
    policy returns logits, or a tuple that begins with them, such as (logits, values): its other
    parts follow the action and its log-probability. With a `second_mask`, logits and masks are
    those of two slots [B, 2, A], and so are the actions.

    Batches are filled up to a multiple of `row_multiple`: a matrix product takes other ways for the
    last few rows, and what differs in the last bit of a logit is now and then another action.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        second_mask: SecondMask | None = None,
        greedy: bool = False,
        row_multiple: int = 16,
    ) -> None:
        self.policy = policy
        self._second_mask = second_mask
        self._greedy = greedy
        self._row_multiple = row_multiple

    def __repr__(self) -> str:
        return f"<Sampler: {'greedy' if self._greedy else 'random'}, of {self.policy!r}>"

    def __call__(self, inputs: Values, mask: Values, keys: Values) -> tuple[Any, ...]:
        rows = len(mask)
        missing = -rows % self._row_multiple
        output = call_policy(self.policy, _filled(inputs, missing))
        parts = output if isinstance(output, tuple) else (output,)
        for part in parts:
            if len(part) != rows + missing:
                raise ValueError(f"the policy returned {len(part)} rows for {rows + missing}")
        logits, *others = parts
        drawn = None if self._greedy else keys
        actions, chances = pick(logits[:rows], mask, drawn, self._second_mask)
        return actions, chances, *(_array(other)[:rows] for other in others)


class _Weights:
    """What the actions of each row weigh, relative to its likeliest one."""

    def __init__(self, logits: Values, mask: Values | None) -> None:
        # A copy of its own, in C order: what is computed from it takes the same way in any batch.
        scores = np.array(_array(logits), np.float64, order="C", ndmin=2)
        if scores.ndim != 2:
            raise ValueError(f"logits of shape {scores.shape} are not rows of actions")
        sound = scores < np.inf  # Neither NaN nor infinity.
        if not sound.all():
            raise ValueError(f"logits are NaN or infinite in {_named(~sound)}")
        if mask is not None:
            legal = _mask(mask)
            if legal.shape != scores.shape:
                raise ValueError(f"a mask of {legal.shape} for logits of {scores.shape}")
            scores[~legal] = -np.inf
        highest = scores.max(axis=1, keepdims=True)
        empty = highest[:, 0] == -np.inf
        if empty.any():
            raise ValueError(f"there is no action to pick in {_named(empty[:, np.newaxis])}")
        scores -= highest
        self._scores = scores
        self._cumulated = np.exp(scores).cumsum(axis=1)

    def pick(self, uniform: Floats) -> Actions:
        """The action whose share of the weights the number of its row falls into."""
        if len(uniform) != len(self._scores):
            raise ValueError(f"{len(uniform)} keys for {len(self._scores)} rows")
        # An action of no weight adds nothing to the sum, so the first that exceeds is none such;
        # a number below 1 times the sum is below the sum, so there always is one.
        thresholds = uniform[:, np.newaxis] * self._cumulated[:, -1:]
        actions: Actions = np.argmax(self._cumulated > thresholds, axis=1)
        return actions

    def best(self) -> Actions:
        actions: Actions = np.argmax(self._scores, axis=1)
        return actions

    def log_probability(self, actions: Actions) -> Floats:
        chosen = np.take_along_axis(self._scores, actions[:, np.newaxis], axis=1)[:, 0]
        chances: Floats = chosen - np.log(self._cumulated[:, -1])
        return chances


def _pick_pair(
    logits: Values, mask: Values, second_mask: SecondMask, keys: Values | None
) -> tuple[Actions, Floats]:
    """Actions of both slots and the logarithm of their joint probability."""
    scores, legal = _array(logits), _mask(mask)
    if scores.ndim != 3 or scores.shape[1] != 2 or legal.shape != scores.shape:
        raise ValueError(f"logits of {scores.shape} and a mask of {legal.shape} are not two slots")

    def pick(slot: int, own: Values) -> tuple[Actions, Floats]:
        weights = _Weights(scores[:, slot], own)
        actions = weights.best() if keys is None else weights.pick(_uniform(keys, slot))
        return actions, weights.log_probability(actions)

    first, chance = pick(0, legal[:, 0])
    second, chance_then = pick(1, second_mask(legal, first))
    return np.stack((first, second), axis=1), chance + chance_then


def _uniform(keys: Values, draw: int) -> Floats:
    """A number above 0 and below 1 for each key, another one for each draw."""
    numbers = _mix(_word(keys) + _STEPS[draw]) >> np.uint64(12)
    return (numbers.astype(np.float64) + 0.5) * 2.0**-52


def _mix(words: Keys) -> Keys:
    """The finaliser of splitmix64: every bit of the result depends on every bit of a word."""
    first, second, third = _SHIFTS
    words ^= words >> first
    words *= _FACTORS[0]
    words ^= words >> second
    words *= _FACTORS[1]
    words ^= words >> third
    return words


def _word(values: Values) -> Keys:
    """Integers as rows of unsigned words, in an array of its own."""
    if isinstance(values, int):
        return np.array([values & _WORD], np.uint64)
    array = _array(values)
    if array.dtype.kind not in "iu":
        raise TypeError(f"keys and counters are integers, not {array.dtype}")
    return np.array(array, np.uint64, ndmin=1)


def _array(values: Values) -> npt.NDArray[Any]:
    """An array of what may be a tensor, which only torch itself can tell."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # numpy has no bfloat16.
        values = values.float() if values.is_floating_point() else values
    return np.asarray(values)


def _mask(values: Values) -> Mask:
    mask = _array(values)
    return mask if mask.dtype == np.bool_ else mask != 0


def _filled(inputs: Values, missing: int) -> Values:
    """Inputs with their last row repeated so many times."""
    if not missing:
        return inputs
    if isinstance(inputs, tuple):
        return tuple(_filled(part, missing) for part in inputs)
    if isinstance(inputs, list):
        return inputs + inputs[-1:] * missing
    count = len(inputs)
    # Arrays and tensors alike take an array of row numbers.
    return inputs[np.minimum(np.arange(count + missing), count - 1)]


def _named(wrong: Mask) -> str:
    """The numbers of the rows in which something is true."""
    numbers: Sequence[int] = np.flatnonzero(wrong.any(axis=1)).tolist()
    named = ", ".join(map(str, numbers[:_ROWS_NAMED]))
    more = len(numbers) - _ROWS_NAMED
    return f"{'row' if len(numbers) == 1 else 'rows'} {named}" + (
        f" and {more} more" if more > 0 else ""
    )
