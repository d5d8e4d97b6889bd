"""Compares our observations with those of the encoder on poke-env, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bridge.journal import SideId
from tests.maple.observation.layout import Blocks, decode, read_spec
from tests.maple.observation.poke_env_encoder import encode
from tests.maple.observation.poke_env_side import PokeEnvFailed, PokeEnvSide
from tests.maple.observation.recorded import NAMES, RecordedBattle

__all__ = ["Comparison", "Difference", "compare"]


@dataclass(frozen=True)
class Difference:
    """A number that is one thing in our observation and another one by poke-env."""

    side: PokeEnvSide
    block: str
    entry: int
    field: str
    """What differs; for a mask, the number of the action."""
    ours: int
    theirs: int

    def __str__(self) -> str:
        where = f"{self.block}[{self.entry}].{self.field}"
        return f"{where}: ours is {self.ours}, poke-env's {self.theirs}"


@dataclass
class Comparison:
    """What came of comparing battles."""

    battles: int = 0
    decisions: int = 0
    numbers: int = 0
    excused: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    """Battles that were only compared as far as poke-env could read them."""

    def __iadd__(self, other: Comparison) -> Comparison:
        self.battles += other.battles
        self.decisions += other.decisions
        self.numbers += other.numbers
        self.excused += other.excused
        self.unexplained += other.unexplained
        self.given_up += other.given_up
        return self


Excuse = Callable[[Difference], str | None]
"""The name of the exception that a difference falls under, if any."""


def compare(battle: RecordedBattle, comparison: Comparison, excuse: Excuse) -> None:
    """Adds all decisions of both sides of a battle."""
    sides: dict[SideId, PokeEnvSide] = {
        side.id: PokeEnvSide(battle.matchup, name)
        for side, name in zip(battle.sides, NAMES, strict=True)
    }
    comparison.battles += 1
    for number, frame in enumerate(battle.frames()):
        try:
            for side, seen in frame.seen.items():
                sides[side].hear(seen)
        except PokeEnvFailed as failure:
            comparison.given_up.append(f"{battle}, frame {number}: {failure}")
            return
        for side, seen in frame.seen.items():
            if not seen.must_choose:
                continue
            assert seen.observation is not None
            ours = decode(read_spec(), battle.matchup.game, seen.observation)
            theirs = encode(sides[side], sides["p2" if side == "p1" else "p1"])
            comparison.decisions += 1
            comparison.numbers += sum(block.size for block in ours.values())
            for difference in differences(sides[side], ours, theirs):
                name = excuse(difference)
                if name is None:
                    comparison.unexplained.append(f"{battle}, frame {number}, {side}: {difference}")
                else:
                    comparison.excused[name] += 1


def differences(side: PokeEnvSide, ours: Blocks, theirs: Blocks) -> Iterator[Difference]:
    layout = read_spec().blocks[side.game]
    for name, block in ours.items():
        if np.array_equal(block, theirs[name]):
            continue
        if name == "decision.mask":
            yield from _mask_differences(side, block, theirs[name])
            continue
        for entry, column in np.argwhere(block != theirs[name]):
            one, other = int(block[entry, column]), int(theirs[name][entry, column])
            yield Difference(side, name, int(entry), layout[name].fields[column], one, other)


def _mask_differences(
    side: PokeEnvSide, ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]
) -> Iterator[Difference]:
    one, other = (
        np.unpackbits(mask.astype(np.uint8).reshape(side.slots, -1), axis=1, bitorder="little")
        for mask in (ours, theirs)
    )
    for slot, action in np.argwhere(one != other):
        bits = int(one[slot, action]), int(other[slot, action])
        yield Difference(side, "decision.mask", int(slot), str(action), *bits)
