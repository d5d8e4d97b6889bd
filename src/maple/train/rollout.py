"""Decisions in the order of time, in memory that two processes may share. Neither plays nor learns.

A rollout is filled round by round. In a round no agent decides twice; what came of a decision is
known once its agent is asked again, or its battle is over. What an agent sees last, without having
decided yet, is in it too: that is what its last decision led to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Flags", "Floats", "Numbers", "Rollout", "RolloutShape"]

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class RolloutShape:
    """How much a rollout can hold: rows, and what is in one."""

    rows: int
    bytes: int
    """Of an observation as Node encoded it, in which the mask of legal actions is."""
    slots: int
    """Actions of a decision: one in singles, two in doubles."""
    memory: int
    """Floats that the network remembered before the decision."""
    agents: int

    @property
    def columns(self) -> dict[str, tuple[type[np.generic], tuple[int, ...]]]:
        rows = self.rows
        return {
            "counts": (np.int64, (2,)),
            "bounds": (np.int64, (rows + 1,)),
            "raw": (np.uint8, (rows, self.bytes)),
            "agents": (np.int64, (rows,)),
            "actions": (np.int64, (rows, self.slots)),
            "chances": (np.float32, (rows,)),
            "values": (np.float32, (rows,)),
            "memory": (np.float32, (rows, self.memory)),
            "rewards": (np.float32, (rows,)),
            "end_values": (np.float32, (rows,)),
            "is_known": (np.bool_, (rows,)),
            "is_last": (np.bool_, (rows,)),
        }

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return sum(_padded(kind, shape) for kind, shape in self.columns.values())


class Rollout:
    """Rows of decisions over a buffer, such as one of shared memory; by default one of its own."""

    raw: npt.NDArray[np.uint8]
    agents: Numbers
    actions: Numbers
    chances: Floats
    """The logarithms of the probabilities that the actions had."""
    values: Floats
    memory: Floats
    """What the network remembered before it decided."""
    rewards: Floats
    end_values: Floats
    """What would have come after the end of a battle that was cut short."""
    is_known: Flags
    """Whether it is known what came of the decision. Only such rows are learned from."""
    is_last: Flags
    """Whether its battle ended with it."""

    def __init__(self, shape: RolloutShape, buffer: Any = None) -> None:  # noqa: ANN401 - any buffer
        self.shape = shape
        whole = np.zeros(shape.size, np.uint8) if buffer is None else _bytes_of(buffer, shape.size)
        at = 0
        for name, (kind, size) in shape.columns.items():
            padded = _padded(kind, size)
            length = int(np.prod(size)) * np.dtype(kind).itemsize
            setattr(self, name, whole[at : at + length].view(kind).reshape(size))
            at += padded
        self._counts: Numbers = self.counts  # type: ignore[attr-defined]  # set above
        self._bounds: Numbers = self.bounds  # type: ignore[attr-defined]  # set above

    def __len__(self) -> int:
        return int(self._counts[0])

    def __repr__(self) -> str:
        return f"<Rollout: {len(self)} of {self.shape.rows} rows, {self._counts[1]} rounds>"

    @property
    def rounds(self) -> Iterator[slice]:
        """From the first to the last."""
        bounds = self._bounds[: self._counts[1] + 1].tolist()
        for low, high in pairwise(bounds):
            yield slice(low, high)

    @property
    def known(self) -> Numbers:
        """The rows to learn from."""
        return np.flatnonzero(self.is_known[: len(self)])

    def clear(self) -> None:
        """Forgets everything."""
        self._counts[:] = 0
        self._bounds[0] = 0

    def add(self, agents: Numbers, raw: npt.NDArray[np.uint8], **columns: Array) -> Numbers:
        """Adds a round; the numbers of its rows. Nothing is known of what came of it."""
        low = len(self)
        high = low + len(agents)
        rows = slice(low, high)
        self.agents[rows] = agents
        self.raw[rows] = raw
        for name, values in columns.items():
            column = getattr(self, name)
            column[rows] = values.reshape(column[rows].shape)
        for outcome in (self.rewards, self.end_values, self.is_known, self.is_last):
            outcome[rows] = 0
        self._counts[0] = high
        self._counts[1] += 1
        self._bounds[self._counts[1]] = high
        return np.arange(low, high)

    def carry(self, before: Rollout, rows: Numbers) -> Numbers:
        """Begins with decisions of another rollout whose outcome was not known; their rows here."""
        self.clear()
        if not len(rows):
            return rows
        decided = ("actions", "chances", "values", "memory")
        return self.add(
            before.agents[rows],
            before.raw[rows],
            **{name: getattr(before, name)[rows] for name in decided},
        )

    def hear(self, rows: Numbers, rewards: Floats, is_last: Flags) -> None:
        """Notes what came of decisions."""
        self.rewards[rows] = rewards
        self.is_last[rows] = is_last
        self.is_known[rows] = True

    def arrays(self) -> dict[str, Array]:
        """All that is in it, by name."""
        used = len(self)
        named = {
            name: getattr(self, name)[:used] for name in self.shape.columns if name != "counts"
        }
        return named | {"bounds": self._bounds[: self._counts[1] + 1]}

    def sequences(self, length: int, *, known: bool = True) -> Numbers:
        """Rows of one agent in one battle, one after the other: [sequences, length].

        Shorter ones are filled up with -1. Without rows that nothing is known of, or with them.
        """
        rows = self.known if known else np.arange(len(self))
        if not len(rows):
            return np.zeros((0, length), np.int64)
        # Those of one agent together, in the order of time.
        rows = rows[np.argsort(self.agents[rows], kind="stable")]
        agents = self.agents[rows]
        begins = np.append(True, (agents[1:] != agents[:-1]) | self.is_last[rows][:-1])
        numbers = np.arange(len(rows))
        since = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
        which = np.cumsum(since % length == 0) - 1
        table = np.full((which[-1] + 1, length), -1)
        table[which, since % length] = rows
        return table


def _padded(kind: type[np.generic], shape: tuple[int, ...]) -> int:
    length = int(np.prod(shape)) * np.dtype(kind).itemsize
    return -(-length // _ALIGNMENT) * _ALIGNMENT


def _bytes_of(buffer: Any, size: int) -> npt.NDArray[np.uint8]:  # noqa: ANN401 - any buffer
    whole = np.frombuffer(buffer, np.uint8)
    if len(whole) < size:
        raise ValueError(f"a rollout of {size} bytes does not fit into {len(whole)}")
    return whole
