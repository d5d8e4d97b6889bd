"""The decisions of the pool, as pure functions of plain data; the registry acts on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .config import BridgeConfig

__all__ = ["Limits", "Reading", "backoff", "is_lost", "place", "reason_to_recycle"]


def place(
    loads: Sequence[int],
    waiting: int,
    capacity: int,
    avoid: Sequence[int | None] = (),
    warmth: Sequence[float] = (),
) -> list[int]:
    """Which controller each of the first rooms in line goes to: always the least loaded one.

    `loads` are the rooms on each ready controller, and `warmth` says, where it is known, how warm
    each is: of those that are equally loaded, the warmest comes first. `avoid` names, for those in
    front, a controller to go to only if there is no other. The answer is shorter than `waiting`
    when places run out.
    """
    loads = list(loads)
    warmth = warmth or [1.0] * len(loads)
    placed: list[int] = []
    for number in range(waiting):
        unwanted = avoid[number] if number < len(avoid) else None
        free = [index for index, load in enumerate(loads) if load < capacity]
        if len(free) > 1 and unwanted in free:
            free.remove(unwanted)
        if not free:
            break
        chosen = min(free, key=lambda index: (loads[index], -warmth[index]))
        loads[chosen] += 1
        placed.append(chosen)
    return placed


@dataclass(frozen=True, slots=True)
class Limits:
    """When one controller has done enough; 0 means never."""

    battles: float
    memory: float
    age: float

    @classmethod
    def draw(cls, config: BridgeConfig, chance: float) -> Limits:
        """The configured limits, less a share of the jitter that `chance`, in [0, 1), decides."""
        factor = 1 - config.recycle_jitter * chance
        return cls(
            battles=config.recycle_battles * factor,
            memory=config.recycle_memory_mb * 1e6 * factor,
            age=config.recycle_age * factor,
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """What a controller has done so far."""

    battles: int
    memory: int
    age: float


def reason_to_recycle(reading: Reading, limits: Limits) -> str | None:
    """The first limit that a controller has reached, if any."""
    for name in ("battles", "memory", "age"):
        limit = getattr(limits, name)
        if limit and getattr(reading, name) >= limit:
            return name
    return None


def backoff(failures: int, config: BridgeConfig) -> float:
    """How long to wait after so many failed starts in a row."""
    doublings = min(failures - 1, 1000)  # a float has no larger power of two than the 1023rd
    return min(config.backoff_cap, config.backoff_base * 2.0**doublings)


def is_lost(overdue: float, busy: float, held: bool, patience: float) -> bool:
    """Whether a process that owes an answer for `overdue` seconds will not give it.

    One that is held still, or has computed most of the time, has had its chance after `patience`
    seconds. One that could not compute, because others use the machine, has four times as long.
    """
    if overdue < patience:
        return False
    return held or busy >= patience / 2 or overdue >= 4 * patience
