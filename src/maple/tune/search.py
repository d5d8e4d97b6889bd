"""What is tried next, and what is best: decisions alone. Starts nothing and knows no clock.

From the best choice so far one setting is changed by a step, up or down; what is better by more
than noise is the best from then on. Each setting has its turn; after that, a step that paid is made
again before others are tried.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from maple.train.config import MAX_LAG, TrainConfig
from maple.train.layout import Layout, lay_out

__all__ = ["SETTINGS", "Choice", "Search"]

SETTINGS: Final = ("parallel", "workers", "pool", "threads", "batch")
"""Those that are tuned, in the order in which they are tried."""

# What two samples of the same choice may differ by.
_NOISE: Final = 0.05
_LEAST_BATTLES: Final = 8
_MOST_BATTLES: Final = 1024


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings of a run that decide how fast it is; `threads` is None where the rule decides."""

    parallel: int
    workers: int
    pool: int
    threads: int | None
    batch: int

    @classmethod
    def of(cls, config: TrainConfig, cores: int) -> Choice:
        """What a run with these settings would do."""
        layout = lay_out(config, cores)
        return cls(config.parallel, layout.workers, layout.pool, config.threads, config.batch)

    def apply(self, config: TrainConfig) -> TrainConfig:
        changed = dataclasses.asdict(self)
        if not self.workers:
            # Nobody plays while others learn.
            changed["max_lag"] = MAX_LAG
        return dataclasses.replace(config, **changed)


class Search:
    """Climbs from the settings of a run to those that are fastest.

    Args:
        config: The run. Its batch is changed by no more than a factor of two, as more than its
            speed depends on it.
        cores: Of the machine.
        settings: Which of `SETTINGS` may be changed.
    """

    def __init__(self, config: TrainConfig, cores: int, settings: Sequence[str] = SETTINGS) -> None:
        self.config = config
        self._cores = cores
        self._settings = list(settings)
        self.start = Choice.of(config, cores)
        self.best = self.start
        self.speeds: dict[Choice, float] = {}
        """Of what was tried, in that order; 0 for what does not run."""
        self._untried = list(settings)
        self._stepped: tuple[str, int] | None = None
        """How what is tried now differs from the best."""

    def __repr__(self) -> str:
        return f"<Search: {len(self.speeds)} tried, best {self.best}>"

    @property
    def has_untried(self) -> bool:
        """Whether there are settings that have not had their turn."""
        return bool(self._untried)

    @property
    def gain(self) -> float:
        """How many times as fast as the settings of the run the best ones are."""
        return self.speeds[self.best] / self.speeds[self.start]

    def layout(self, choice: Choice) -> Layout:
        """The processes and threads that a choice means."""
        return lay_out(choice.apply(self.config), self._cores)

    def next(self) -> Choice | None:
        """What to try now; None when nothing near the best is left."""
        if not self.speeds:
            return self.start
        for name, step in self._steps():
            found = self._neighbour(name, step)
            if found is not None and found not in self.speeds:
                self._stepped = name, step
                return found
            if name in self._untried and step < 0:
                # There is no step to take.
                self._untried.remove(name)
        return None

    def hear(self, choice: Choice, speed: float) -> None:
        """Takes note of how fast a choice is."""
        self.speeds[choice] = speed
        if self._stepped is not None and self._stepped[0] in self._untried:
            self._untried.remove(self._stepped[0])
        if speed <= self.speeds[self.best] * (1 + _NOISE):
            return
        self.best = choice
        assert self._stepped is not None
        # What paid is tried first from here on.
        name, _ = self._stepped
        self._settings.remove(name)
        self._settings.insert(0, name)

    def _steps(self) -> Iterator[tuple[str, int]]:
        """All there are: first of settings that have had no turn, then the one that paid last."""
        for name in [*self._untried]:
            yield name, +1
            yield name, -1
        if self._stepped is not None and self._stepped[0] == self._settings[0]:
            yield self._stepped
        for name in self._settings:
            yield name, +1
            yield name, -1

    def _neighbour(self, name: str, step: int) -> Choice | None:
        """The best with one setting changed by a step; None where there is none."""
        layout = self.layout(self.best)
        if name == "threads":
            count = _beside(self._thread_counts(), layout.threads.count, step)
            return None if count is None else self._with_threads(count)
        values: dict[str, Sequence[int]] = {
            "parallel": _doubling(_LEAST_BATTLES, _MOST_BATTLES, self.start.parallel),
            "workers": self._worker_counts(),
            "pool": _doubling(max(1, self.best.workers), 2 * self._cores, self.start.pool),
            "batch": (self.start.batch // 2, self.start.batch, 2 * self.start.batch),
        }
        value = _beside(values[name], getattr(self.best, name), step)
        if value is None:
            return None
        changed: dict[str, Any] = {name: value}
        if name == "workers":
            # As many Node processes as workers at least, and threads as the rule says.
            changed |= {"pool": max(value, self.best.pool), "threads": self.config.threads}
        found = dataclasses.replace(self.best, **changed)
        is_possible = (
            max(found.workers, found.pool) <= found.parallel and found.batch >= 2 * found.parallel
        )
        return found if is_possible else None

    def _with_threads(self, count: int) -> Choice:
        """Written as the rule, where that is what the rule says."""
        by_rule = dataclasses.replace(self.best, threads=None)
        if self.layout(by_rule).threads.count == count:
            return by_rule
        return dataclasses.replace(self.best, threads=count)

    def _worker_counts(self) -> list[int]:
        quarters = {self._cores * part // 4 for part in range(5)}
        return sorted({0, 1, self.start.workers} | quarters)

    def _thread_counts(self) -> Sequence[int]:
        return _doubling(1, self._cores, self.layout(self.best).threads.count)


def _doubling(least: int, most: int, among: int) -> list[int]:
    """Numbers each twice the one before, one of which is `among`; the limits are in it too."""
    found = {least, most, among}
    value = among
    while (value := value * 2) < most:
        found.add(value)
    value = among
    while (value := value // 2) > least:
        found.add(value)
    return sorted(one for one in found if one >= least)


def _beside(values: Sequence[int], value: int, step: int) -> int | None:
    """The next one up or down."""
    beyond = [one for one in values if (one - value) * step > 0]
    return min(beyond, key=lambda one: abs(one - value)) if beyond else None
