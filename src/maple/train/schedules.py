"""Values that change while a run goes on: by how far it has come, or by how well it does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from bridge.errors import ConfigError
from bridge.settings import build_settings, suggest

__all__ = [
    "Constant",
    "Cosine",
    "Linear",
    "Plateau",
    "Rate",
    "RateArgument",
    "Step",
    "Value",
    "ValueArgument",
    "make_rate",
    "make_value",
]

ValueArgument: TypeAlias = float | dict[str, Any]
"""A number, or `{start: 0.1, end: 0.01, until: 0.5, shape: linear}`."""
RateArgument: TypeAlias = float | dict[str, Any]
"""A number, or `{kind: cosine, start: 3.0e-4, end: 3.0e-5}`; other kinds have other settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Goes from `start` to `end`, and is there at `until`, a share of the run; then it stays.

    `shape` is linear, or cosine: slow at first and at last, fast in the middle.
    """

    start: float
    end: float
    until: float = 1.0
    shape: Literal["linear", "cosine"] = "linear"

    def __post_init__(self) -> None:
        _require_finite(self)
        if not 0 < self.until <= 1:
            raise ConfigError(
                f"until is {self.until}, but must be a share of the run: above 0, to 1"
            )

    def at(self, progress: float) -> float:
        """Its value when such a share of the run is done."""
        return _between(self.start, self.end, progress / self.until, self.shape)


def make_value(argument: ValueArgument) -> Value:
    """A number stays what it is."""
    if isinstance(argument, Mapping):
        if missing := {"start", "end"} - argument.keys():
            raise ConfigError(f"{' and '.join(sorted(missing))} of a schedule must be given")
        return build_settings(Value, argument)
    return Value(start=float(argument), end=float(argument))


# Learning rates


class Rate(Protocol):
    """A learning rate. What it has learned from scores is in its state."""

    def at(self, progress: float) -> float:
        """The rate when such a share of the run is done."""

    def hear(self, score: float) -> None:
        """Takes note of how well the run does; more is better."""

    def forget(self) -> None:
        """Scores from here on are not to be compared with those before."""

    def state(self) -> dict[str, float]:
        """What a run that goes on later must know."""

    def restore(self, state: Mapping[str, float]) -> None:
        """Goes on from a state."""


class _Fixed:
    """A rate that depends on nothing but progress."""

    __slots__ = ()

    def hear(self, score: float) -> None:
        """It does not care."""

    def forget(self) -> None:
        """It has not heard."""

    def state(self) -> dict[str, float]:
        return {}

    def restore(self, state: Mapping[str, float]) -> None:
        """There is nothing to know."""


@dataclass(slots=True, kw_only=True)
class Constant(_Fixed):
    """The same from the first update to the last."""

    start: float = 3e-4

    def __post_init__(self) -> None:
        _require_positive(self, "start")

    def at(self, progress: float) -> float:
        return self.start


@dataclass(slots=True, kw_only=True)
class Linear(_Fixed):
    """In a straight line from `start` to `end`."""

    shape: ClassVar[Literal["linear", "cosine"]] = "linear"
    start: float = 3e-4
    end: float = 0.0

    def __post_init__(self) -> None:
        _require_positive(self, "start")
        _require_not_negative(self, "end")

    def at(self, progress: float) -> float:
        return _between(self.start, self.end, progress, self.shape)


@dataclass(slots=True, kw_only=True)
class Cosine(Linear):
    """Half a cosine from `start` to `end`: slow at first and at last, fast in the middle."""

    shape = "cosine"


@dataclass(slots=True, kw_only=True)
class Step(_Fixed):
    """Times `factor` after each `every`, a share of the run."""

    start: float = 3e-4
    every: float = 0.25
    factor: float = 0.5

    def __post_init__(self) -> None:
        _require_positive(self, "start", "every", "factor")

    def at(self, progress: float) -> float:
        # What a share of a run is in binary may lie a hair below what was meant.
        steps = math.floor(min(progress, 1.0) / self.every + 1e-9)
        return float(self.start * self.factor**steps)


@dataclass(kw_only=True)
class Plateau:
    """Times `factor`, down to `least`, when none of `patience` scores was better than the best.

    A score is better if it exceeds the best by more than `margin`.
    """

    start: float = 3e-4
    factor: float = 0.5
    patience: int = 10
    least: float = 1e-6
    margin: float = 0.005

    def __post_init__(self) -> None:
        _require_positive(self, "start", "factor", "patience", "least")
        _require_not_negative(self, "margin")
        if self.factor >= 1:
            raise ConfigError(f"factor is {self.factor}, but must be below 1: a plateau slows down")
        self._rate = self.start
        self._best = -math.inf
        self._since = 0

    def at(self, progress: float) -> float:
        return self._rate

    def hear(self, score: float) -> None:
        if score > self._best + self.margin:
            self._best, self._since = score, 0
            return
        self._since += 1
        if self._since >= self.patience:
            self._rate, self._since = max(self.least, self._rate * self.factor), 0

    def forget(self) -> None:
        self._best, self._since = -math.inf, 0

    def state(self) -> dict[str, float]:
        return {"rate": self._rate, "best": self._best, "since": self._since}

    def restore(self, state: Mapping[str, float]) -> None:
        if not state:
            # Until now the rate was of another kind.
            return
        self._rate, self._best = state["rate"], state["best"]
        self._since = int(state["since"])


_KINDS: dict[str, type[Any]] = {
    "constant": Constant,
    "linear": Linear,
    "cosine": Cosine,
    "step": Step,
    "plateau": Plateau,
}


def make_rate(argument: RateArgument) -> Rate:
    """A number is constant; a mapping says its kind, and what that kind wants."""
    if not isinstance(argument, Mapping):
        return Constant(start=float(argument))
    settings = dict(argument)
    kind = settings.pop("kind", None)
    if kind not in _KINDS:
        what = "kind of a learning rate is missing" if kind is None else f"unknown kind {kind!r}"
        raise ConfigError(f"{what}; {suggest(kind, _KINDS)}")
    try:
        rate: Rate = build_settings(_KINDS[kind], settings)
    except ConfigError as error:
        raise ConfigError(f"a {kind} learning rate: {error.message}") from error
    return rate


# Inside


def _between(start: float, end: float, share: float, shape: str) -> float:
    share = min(max(share, 0.0), 1.0)
    if shape == "cosine":
        share = (1 - math.cos(math.pi * share)) / 2
    return start + (end - start) * share


def _require_finite(settings: Any) -> None:  # noqa: ANN401 - any dataclass
    for name, value in asdict(settings).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(f"{name} is {value}, but must be a finite number")


def _require_positive(settings: object, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if not 0 < value < math.inf:
            raise ConfigError(f"{name} is {value}, but must be more than 0")


def _require_not_negative(settings: object, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < math.inf:
            raise ConfigError(f"{name} is {value}, but must be at least 0")
