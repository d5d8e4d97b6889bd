"""What of poke-env is replaced by something faster does what it did before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from poke_env.battle import Move, Pokemon
from poke_env.battle.move import MoveSet
from poke_env.data import GenData

from bridge.poke_env import hot_paths

ORIGINAL = Pokemon._add_move


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    hot_paths.restore()


def test_it_is_known_and_can_be_put_back() -> None:
    hot_paths.replace()
    assert Pokemon._add_move is hot_paths.add_move
    hot_paths.restore()
    assert Pokemon._add_move is ORIGINAL


def test_nothing_is_replaced_in_a_poke_env_that_reads_differently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hot_paths, "_FINGERPRINT", "0" * 32)
    hot_paths.replace()
    assert Pokemon._add_move is ORIGINAL


@pytest.mark.parametrize("gen", range(1, 10))
def test_the_id_of_an_id_is_itself(gen: int) -> None:
    for name in GenData.from_gen(gen).moves:
        move_id = Move.retrieve_id(name)
        assert Move.retrieve_id(move_id) == move_id


def described(pokemon: Pokemon, found: Move | None) -> tuple[object, ...]:
    return found and found.id, list(pokemon.moves), list(pokemon.base_moves)


WORDS = ("tackle", "Tackle", "return102", "hiddenpowerfire60", "mimic", "struggle", "nonsense")


@pytest.mark.parametrize("state", ["plain", "mimicking", "transformed"])
def test_moves_are_added_and_found_as_before(state: str) -> None:
    def prepared() -> Pokemon:
        pokemon = Pokemon(gen=4, species="mew")
        for word in ("tackle", "mimic"):
            ORIGINAL(pokemon, word)
        if state == "mimicking":
            pokemon._moves.mimic_move = Move("surf", gen=4, from_mimic=True)
        elif state == "transformed":
            other = MoveSet({"surf": Move("surf", gen=4)})
            pokemon._moves._transform_moves = other
        return pokemon

    before, after = prepared(), prepared()
    for word in (*WORDS, *WORDS):
        expected = described(before, ORIGINAL(before, word))
        assert described(after, hot_paths.add_move(after, word)) == expected
