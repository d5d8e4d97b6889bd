"""What of poke-env is replaced by something faster does what it did before."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

import orjson
import pytest
from poke_env.battle import AbstractBattle, Battle, DoubleBattle, Move, Pokemon
from poke_env.battle.move import MoveSet
from poke_env.data import GenData

from bridge import ControllerRegistry
from bridge.poke_env import hot_paths
from bridge.workload import policies_for

ORIGINALS = {each.name: each.original for each in hot_paths.find_replacements()}
FORMATS = [*(f"gen{number}randombattle" for number in range(1, 10)), "gen9randomdoublesbattle"]
BATTLES = 3

Told = list[tuple[str, str]]
"""The lines of each update, and its request as JSON."""


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    hot_paths.restore()
    yield
    hot_paths.restore()


def in_place() -> list[str]:
    return [
        each.name
        for each in hot_paths.find_replacements()
        if each.owner.__dict__[each.name] is each.instead
    ]


def test_all_are_known_and_can_be_put_back() -> None:
    hot_paths.replace()
    assert in_place() == list(ORIGINALS)
    hot_paths.restore()
    assert in_place() == []


def test_what_reads_differently_stays_poke_envs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = hot_paths.find_replacements()
    changed = (replace(first, fingerprint="0" * 16), *others)
    monkeypatch.setattr(hot_paths, "_REPLACEMENTS", changed)
    hot_paths.replace()
    assert in_place() == [each.name for each in others]


@pytest.mark.parametrize("gen", range(1, 10))
def test_the_id_of_an_id_is_itself(gen: int) -> None:
    for name in GenData.from_gen(gen).moves:
        move_id = Move.retrieve_id(name)
        assert Move.retrieve_id(move_id) == move_id


# One method at a time


def described(pokemon: Pokemon, found: Move | None) -> tuple[object, ...]:
    return found and found.id, list(pokemon.moves), list(pokemon.base_moves)


WORDS = ("tackle", "Tackle", "return102", "hiddenpowerfire60", "mimic", "struggle", "nonsense")


@pytest.mark.parametrize("state", ["plain", "mimicking", "transformed"])
def test_moves_are_added_and_found_as_before(state: str) -> None:
    def prepared() -> Pokemon:
        pokemon = Pokemon(gen=4, species="mew")
        for word in ("tackle", "mimic"):
            pokemon._add_move(word)
        if state == "mimicking":
            pokemon._moves.mimic_move = Move("surf", gen=4, from_mimic=True)
        elif state == "transformed":
            pokemon._moves._transform_moves = MoveSet({"surf": Move("surf", gen=4)})
        return pokemon

    def tried() -> list[tuple[object, ...]]:
        pokemon = prepared()
        return [described(pokemon, pokemon._add_move(word)) for word in (*WORDS, *WORDS)]

    before = tried()
    hot_paths.replace()
    assert tried() == before


@pytest.mark.parametrize(
    "condition",
    ["0 fnt", "100/100", "37/298", "37/298 par", "100/100y", "50/100g slp", "1٢/100", "7"],
)
@pytest.mark.parametrize("store", [True, False])
def test_health_is_read_as_before(condition: str, store: bool) -> None:
    def read() -> object:
        pokemon = Pokemon(gen=9, species="mew")
        pokemon.start_effect("yawn")
        try:
            pokemon.set_hp_status(condition, store)
        except ValueError as error:
            return type(error)
        return state_of(pokemon)

    before = read()
    hot_paths.replace()
    assert read() == before


# Whole battles


@pytest.fixture(scope="module")
def told(own_cache: None) -> dict[str, list[Told]]:
    """What the first side of some battles of each format is told."""

    async def record() -> dict[str, list[Told]]:
        async with ControllerRegistry(pool=1, warmup_battles=0) as registry:
            return {
                name: [await play(registry, name, seed) for seed in range(BATTLES)]
                for name in FORMATS
            }

    return asyncio.run(record())


async def play(registry: ControllerRegistry, name: str, seed: int) -> Told:
    room = await registry.open(name, seed=seed)
    first, second = policies_for(seed)
    told: Told = []

    async def listen() -> None:
        async for update in room.p1:
            told.append((update.text, update.request_text or ""))
            if update.must_choose:
                assert update.request is not None
                room.p1.choose(first.choose(update.request)).add_done_callback(forgive)

    async def answer() -> None:
        async for update in room.p2:
            if update.must_choose:
                assert update.request is not None
                room.p2.choose(second.choose(update.request)).add_done_callback(forgive)

    def forgive(choice: asyncio.Future[None]) -> None:
        """The simulator asks again after a choice that turned out to be none."""
        choice.exception()

    await asyncio.gather(listen(), answer())
    return told


def follow(name: str, told: Told) -> list[object]:
    """How poke-env sees a battle after each update."""
    kind = DoubleBattle if "doubles" in name else Battle
    logger = logging.getLogger("hot paths")
    battle: AbstractBattle = kind(f"battle-{name}-1", "Player 1", logger, gen=int(name[3]))
    seen = []
    for text, request in told:
        for line in text.split("\n"):
            words = line.split("|")
            if len(words) > 1 and words[1] not in ("t:", "win", "tie"):
                battle.parse_message(words)
        if request:
            battle.parse_request(orjson.loads(request))
        seen.append(state_of(battle))
    return seen


def state_of(value: object, known: dict[int, int] | None = None) -> object:
    """All that hangs on an object, as plain data; what was met before is a number."""
    known = {} if known is None else known
    if value is None or isinstance(value, str | int | float | Enum | logging.Logger):
        return value
    if id(value) in known:
        return f"number {known[id(value)]}"
    known[id(value)] = len(known)
    if isinstance(value, dict):
        return [(str(key), state_of(each, known)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        return [state_of(each, known) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(value, "__dict__", {}), *slots]
    return [(name, state_of(getattr(value, name), known)) for name in names if hasattr(value, name)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", FORMATS)
def test_battles_look_the_same_after_every_update(name: str, told: dict[str, list[Told]]) -> None:
    before = [follow(name, each) for each in told[name]]
    hot_paths.replace()
    after = [follow(name, each) for each in told[name]]
    assert after == before
    assert len(before[0]) > 3
