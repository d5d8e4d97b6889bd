"""Mixes of opponents as text: "random:0.3,self:0.7". Knows what they are written like, no more."""

from __future__ import annotations

import math

from bridge.errors import ConfigError

__all__ = ["read_mix"]

_NAMES = ("self", "league", "random", "max", "heuristics")


def read_mix(text: str) -> dict[str, float]:
    """The weight of each name in a mix; one without a number counts 1.

    >>> read_mix("random:0.3,self:0.7")
    {'random': 0.3, 'self': 0.7}
    """
    mix: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, weight = _read_part(part)
        if name in mix:
            raise ConfigError(f"{name} is twice in the mix {text!r}")
        mix[name] = weight
    if not mix:
        raise ConfigError(f"the mix {text!r} has nobody in it")
    return mix


def _read_part(part: str) -> tuple[str, float]:
    name, colon, number = part.rpartition(":")
    if not colon:
        return part, 1.0
    try:
        weight = float(number)
    except ValueError:
        if name in _NAMES:
            raise ConfigError(f"the weight of {name} is {number!r}, but must be a number") from None
        # The path of a checkpoint may have a colon of its own.
        return part, 1.0
    if not name:
        raise ConfigError(f"{part!r} in a mix says how often, but not who")
    if not 0 < weight < math.inf:
        raise ConfigError(f"the weight of {name} is {number}, but must be more than 0")
    return name, weight
