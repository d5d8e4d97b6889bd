"""Makes the simulator's seeds from the one number that a user gives."""

from __future__ import annotations

import hashlib
import secrets

__all__ = ["Seed", "derive", "policy_seed", "settle"]

Seed = int | str


def settle(seed: Seed | None) -> Seed:
    """The given seed, or a fresh one: a battle whose seed is known can be replayed."""
    return secrets.randbits(63) if seed is None else seed


def derive(seed: Seed, purpose: str) -> str:
    """A seed for one purpose, in the simulator's notation: four numbers of 16 bits."""
    digest = _digest(seed, purpose)
    return ",".join(str(int.from_bytes(digest[i : i + 2], "big")) for i in range(0, 8, 2))


def policy_seed(seed: Seed, purpose: str) -> int:
    """A seed for a RandomPolicy: a positive number of 32 bits."""
    return int.from_bytes(_digest(seed, purpose)[:4], "big") or 1


def _digest(seed: Seed, purpose: str) -> bytes:
    return hashlib.blake2b(
        f"{seed}/{purpose}".encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
