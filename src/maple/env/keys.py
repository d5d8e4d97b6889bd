"""The numbers that decisions are drawn by: each depends on what is decided, and on nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from bridge.sampling import derive_keys
from bridge.seeds import Seed

__all__ = ["battle_key", "step_key"]

_WORD: Final = (1 << 64) - 1
# The constants of splitmix64, as in bridge.sampling.
_STEP: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB


def battle_key(seed: Seed, environment: int, battle: int, seat: int) -> int:
    """The key of one seat in one battle: `derive_keys` of the same, for a single row."""
    key = _seed_key(seed)
    for counter in (environment, battle, seat):
        key = step_key(key, counter)
    return key


@lru_cache(maxsize=16)
def _seed_key(seed: Seed) -> int:
    return int(derive_keys(seed)[0])


def step_key(key: int, step: int) -> int:
    """The key of one decision: what `derive_keys` derives from the battle's, for a single row."""
    word = (key + (step + 1) * _STEP) & _WORD
    word = ((word ^ (word >> 30)) * _FIRST) & _WORD
    word = ((word ^ (word >> 27)) * _SECOND) & _WORD
    return word ^ (word >> 31)
