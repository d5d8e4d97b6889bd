"""Our observations say what an encoder on poke-env's model of a battle says, number by number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.maple.observation.comparison import Comparison, compare, differences
from tests.maple.observation.exceptions import EXCEPTIONS, find_excuse
from tests.maple.observation.layout import read_spec
from tests.maple.observation.matchups import every_kind, every_theme, is_plain
from tests.maple.observation.poke_env_side import PokeEnvSide
from tests.maple.observation.recorded import NAMES, Matchup, RecordedBattle, record


def test_every_number_is_what_poke_env_says(battles: list[RecordedBattle]) -> None:
    comparison = compared([battle for battle in battles if is_plain(battle.matchup)])
    assert comparison.decisions > 3_000


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_number_is_what_poke_env_says_in_hundreds_of_battles(
    record_property: Callable[[str, object], None],
) -> None:
    total = Comparison()
    for seed in range(10, 22):
        total += compared(record([*every_kind(1, seed), *every_theme(1, seed, only_plain=True)]))
    assert total.battles > 400
    assert len(total.given_up) < total.battles / 50
    # An exception that nothing falls under has no reason any more; two are rarer than that.
    assert len(total.excused) >= len(EXCEPTIONS) - 2
    for name in ("battles", "decisions", "numbers", "excused", "given_up"):
        record_property(name, getattr(total, name))


def compared(battles: list[RecordedBattle]) -> Comparison:
    comparison = Comparison()
    for battle in battles:
        compare(battle, comparison, find_excuse)
    shown = "\n".join(comparison.unexplained[:40])
    assert not comparison.unexplained, f"{len(comparison.unexplained)} differences:\n{shown}"
    return comparison


@pytest.mark.parametrize("game", ["singles", "doubles"])
def test_every_number_that_differs_is_found(game: str) -> None:
    """The comparison looks at all of an observation: any byte of it that is another is found."""
    spec = read_spec()
    side = PokeEnvSide(Matchup(f"gen9random{game}battle", 0), NAMES[0])
    shapes = {name: (block.count, len(block.fields)) for name, block in spec.blocks[game].items()}
    ours = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
    theirs = {name: np.ones(shape, np.int64) for name, shape in shapes.items()}
    found = list(differences(side, ours, theirs))
    assert len(found) == sum(block.size for block in ours.values())
    assert {difference.block for difference in found} == set(ours)
