"""The random policy: its choices are legal, and its twin in JavaScript makes the same ones."""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from bridge import BridgeConfig, ControllerRegistry, Player, Side
from bridge.errors import ChoiceRejected
from bridge.random_policy import RandomPolicy
from bridge.runtime import find_runtime
from bridge.seeds import policy_seed

Request = dict[str, Any]

# Formats that between them ask for everything: targets, gimmicks, revivals, traps, an order.
RANDOM_TEAMS = (
    "gen9randombattle",
    "gen9randomdoublesbattle",
    "gen8randombattle",
    "gen7randombattle",
    "gen1randombattle",
)
PICKED = "gen9doublescustomgame@@@Picked Team Size = 4"
DYNAMAX = "gen8doublescustomgame"
MEGA = "gen7doublescustomgame"
TRAPS = "gen9customgame"
TEAMS = {
    PICKED: (
        "Pawmot||Leppa Berry|Volt Absorb|revivalblessing,closecombat,fakeout,acupressure||||||50|",
        "Dondozo||Leftovers|Unaware|wavecrash,bodypress,orderup,protect||||||50|",
        "Tatsugiri||Sitrus Berry|Commander|dracometeor,helpinghand,surf,taunt||||||50|",
        "Drapion||Black Sludge|Sniper|acupressure,crunch,poisonjab,protect||||||50|",
        "Wobbuffet||Leftovers|Shadow Tag|counter,encore,charm,splash||||||50|",
        "Dondozo||Lum Berry|Oblivious|wavecrash,outrage,curse,rest||||||50|",
        "Tatsugiri||Leftovers|Commander|icywind,soak,muddywater,rapidspin||||||50|",
    ),
    DYNAMAX: (
        "Charizard||Life Orb|Blaze|flamethrower,hurricane,protect,heatwave||||||50|",
        "Grimmsnarl||Light Clay|Prankster|spiritbreak,helpinghand,taunt,reflect||||||50|",
        "Snorlax||Leftovers|Thick Fat|bodyslam,highhorsepower,recycle,curse||||||50|",
        "Cinderace||Choice Band|Libero|pyroball,highjumpkick,gunkshot,courtchange||||||50|",
    ),
    MEGA: (
        "Charizard||Charizardite X|Blaze|flareblitz,dragonclaw,protect,roost||||||50|",
        "Necrozma-Dusk-Mane||Ultranecrozium Z|Prism Armor|photongeyser,knockoff,protect||||||50|",
        "Raichu||Electrium Z|Lightning Rod|thunderbolt,fakeout,helpinghand,protect||||||50|",
        "Kangaskhan||Kangaskhanite|Scrappy|doubleedge,fakeout,suckerpunch,protect||||||50|",
    ),
    TRAPS: (
        "Dugtrio||Leftovers|Arena Trap|earthquake,rockslide,protect,growl||||||50|",
        "Gothitelle||Leftovers|Shadow Tag|psychic,imprison,protect,charm||||||50|",
        "Diglett||Eviolite|Arena Trap|earthquake,rockslide,protect,growl||||||50|",
    ),
}
FORMATS = (*RANDOM_TEAMS, *TEAMS)
TWIN = """
const { RandomPolicy } = require(process.argv[1]);
const seats = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const choose = ({ seed, requests }) => {
  const policy = new RandomPolicy(seed);
  return requests.map((request) => policy.choose(request));
};
process.stdout.write(JSON.stringify(seats.map(choose)));
"""


@dataclass
class Seat:
    """What a side was asked and what the policy of its seed answered."""

    seed: int
    requests: list[Request] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)


async def play(side: Side, seat: Seat) -> Seat:
    policy = RandomPolicy(seat.seed)
    async for update in side:
        if update.request is None or not update.must_choose:
            continue
        choice = policy.choose(update.request)
        seat.requests.append(update.request)
        seat.choices.append(choice)
        try:
            await side.choose(choice, rqid=update.rqid)
        except ChoiceRejected as error:
            seat.refused.append(f"{choice}: {error.message}")
            if side.rqid == update.rqid:
                seat.unexplained.append(seat.refused[-1])
                await side.choose("default", rqid=update.rqid)
    return seat


async def play_both(registry: ControllerRegistry, format: str, seed: int) -> tuple[Seat, Seat]:
    team = "]".join(TEAMS[format]) if format in TEAMS else None
    p1, p2 = Player("Player 1", team), Player("Player 2", team)
    room = await registry.open(format, seed=seed, p1=p1, p2=p2)
    return await asyncio.gather(
        play(room.p1, Seat(policy_seed(seed, "p1"))), play(room.p2, Seat(policy_seed(seed, "p2")))
    )


async def play_all() -> dict[str, list[Seat]]:
    """Two battles of every format, all at once."""
    battles = [(name, seed) for name in FORMATS for seed in (1, 2)]
    async with ControllerRegistry(BridgeConfig(pool=1, warmup_battles=0)) as registry:
        played = await asyncio.gather(*(play_both(registry, *battle) for battle in battles))
    seats: dict[str, list[Seat]] = {}
    for (name, _), pair in zip(battles, played, strict=True):
        seats.setdefault(name, []).extend(pair)
    return seats


@pytest.fixture(scope="module")
def seats() -> dict[str, list[Seat]]:
    return asyncio.run(play_all())


def twin_choices(seats: Iterable[tuple[int, list[Request]]]) -> list[list[str]]:
    """What the policies in JavaScript choose."""
    runtime = find_runtime()
    finished = subprocess.run(
        [runtime.node, "-e", TWIN, runtime.entry.parent / "lib" / "random-policy.js"],
        input=json.dumps([{"seed": seed, "requests": requests} for seed, requests in seats]),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    choices: list[list[str]] = json.loads(finished.stdout)
    return choices


def own_choices(seed: int, requests: list[Request]) -> list[str]:
    policy = RandomPolicy(seed)
    return [policy.choose(request) for request in requests]


# Real battles


def test_the_twin_chooses_the_same_in_real_battles(seats: dict[str, list[Seat]]) -> None:
    played = [seat for group in seats.values() for seat in group]
    assert sum(len(seat.requests) for seat in played) > 1000
    twins = twin_choices((seat.seed, seat.requests) for seat in played)
    assert twins == [seat.choices for seat in played]


def test_the_twin_chooses_the_same_with_any_seed(seats: dict[str, list[Seat]]) -> None:
    requests = [request for group in seats.values() for request in group[0].requests[:30]]
    limits = [1, 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1]
    expected = [own_choices(seed, requests) for seed in limits]
    assert twin_choices((seed, requests) for seed in limits) == expected
    assert len({tuple(choices) for choices in expected}) == len(limits)


@pytest.mark.parametrize("format", FORMATS)
def test_a_choice_is_accepted_or_asked_for_again(seats: dict[str, list[Seat]], format: str) -> None:
    for seat in seats[format]:
        assert not seat.unexplained
        assert len(seat.refused) < len(seat.choices) / 4


def test_who_learns_of_a_trap_by_its_choice_is_asked_again(seats: dict[str, list[Seat]]) -> None:
    assert any("trapped" in refusal for seat in seats[TRAPS] for refusal in seat.refused)


@pytest.mark.parametrize(
    ("format", "pattern"),
    [
        ("gen9randombattle", r"^move \d terastallize$"),
        ("gen9randomdoublesbattle", r"^move \d \+[12], move \d( \+[12])?$"),
        ("gen9randomdoublesbattle", r"^(pass|switch \d), (pass|switch \d)$"),
        ("gen8randombattle", r"^move \d dynamax$"),
        ("gen7randombattle", r"^move \d (mega|zmove)$"),
        ("gen1randombattle", r"^switch \d$"),
        (DYNAMAX, r" \+[12] dynamax"),
        (MEGA, r"^team [1-4](,[1-4]){3}$"),
        (MEGA, r" \+[12] (mega|ultra)"),
        (MEGA, r" \+[12] zmove"),
        (PICKED, r"^team [1-7](,[1-7]){3}$"),
        (PICKED, r"move \d -[12]"),
        (PICKED, r"pass"),
    ],
)
def test_the_battles_ask_for_what_they_are_here_for(
    seats: dict[str, list[Seat]], format: str, pattern: str
) -> None:
    choices = [choice for seat in seats[format] for choice in seat.choices]
    assert any(re.search(pattern, choice) for choice in choices)


@pytest.mark.parametrize("state", ["reviving", "commanding"])
def test_a_pokemon_can_be_revived_and_can_be_in_command(
    seats: dict[str, list[Seat]], state: str
) -> None:
    assert any(
        pokemon.get(state)
        for seat in seats[PICKED]
        for request in seat.requests
        for pokemon in request["side"]["pokemon"]
    )


# Requests made up


def made_up(draw: random.Random) -> Request:
    """A request with any fields that requests have, likely together or not."""

    def maybe(chance: float = 0.3) -> bool:
        return draw.random() < chance

    targets = ("normal", "any", "adjacentFoe", "adjacentAlly", "adjacentAllyOrSelf", "self", "all")
    slots = draw.choice((1, 1, 2))

    def move() -> Request:
        made: Request = {"move": "Tackle", "id": "tackle", "disabled": maybe()}
        return made | ({"target": draw.choice(targets)} if maybe(0.9) else {})

    def active() -> Request:
        made: Request = {"moves": [move() for _ in range(draw.randint(1, 4))]}
        for key in (
            "canMegaEvo",
            "canMegaEvoX",
            "canMegaEvoY",
            "canUltraBurst",
            "canTerastallize",
            "trapped",
            "canDynamax",
        ):
            if maybe(0.2):
                made[key] = True
        if maybe():
            made["canZMove"] = [draw.choice((None, move() | {"target": "self"})) for _ in range(4)]
        if maybe():
            made["maxMoves"] = {
                "maxMoves": [
                    {"move": "maxflare", "target": draw.choice(targets)} for _ in made["moves"]
                ]
            }
        return made

    pokemon = [
        {
            "condition": "0 fnt" if maybe() else "100/100 par",
            "active": index < slots,
            **({"reviving": True} if maybe(0.1) else {}),
            **({"commanding": True} if maybe(0.1) else {}),
        }
        for index in range(draw.randint(slots, 6))
    ]
    request: Request = {"side": {"name": "Ash", "id": "p1", "pokemon": pokemon}}
    kind = draw.random()
    if kind < 0.1:
        chosen = {"maxChosenTeamSize": draw.randint(1, len(pokemon))} if maybe() else {}
        return request | {"teamPreview": True} | chosen
    if kind < 0.3:
        return request | {"forceSwitch": [maybe(0.7) for _ in range(slots)]}
    return request | {"active": [None if maybe(0.05) else active() for _ in range(slots)]}


def test_the_twin_chooses_the_same_in_battles_that_never_were() -> None:
    draw = random.Random(12)
    made = [(draw.randrange(1, 2**32), [made_up(draw) for _ in range(100)]) for _ in range(20)]
    assert twin_choices(made) == [own_choices(seed, requests) for seed, requests in made]


def bench(count: int, *, active: int, **of_first: object) -> Request:
    pokemon: list[Request] = [
        {"condition": "100/100", "active": index < active} for index in range(count)
    ]
    pokemon[0] |= of_first
    return {"name": "Ash", "id": "p1", "pokemon": pokemon}


def possible(request: Request, tries: int = 400) -> Counter[str]:
    policy = RandomPolicy(99)
    return Counter(policy.choose(request) for _ in range(tries))


def test_every_legal_choice_is_about_as_likely_as_any_other() -> None:
    moves = [{"move": "a"}, {"move": "b", "disabled": True}, {"move": "c"}]
    request = {"active": [{"moves": moves}], "side": bench(3, active=1)}
    chosen = possible(request, tries=4000)
    assert set(chosen) == {"move 1", "move 3", "switch 2", "switch 3"}
    assert all(800 < count < 1200 for count in chosen.values())


def test_who_is_trapped_does_not_switch() -> None:
    active = {"moves": [{"move": "a"}], "trapped": True}
    assert set(possible({"active": [active], "side": bench(6, active=1)})) == {"move 1"}


def test_two_do_not_switch_to_the_same_one() -> None:
    request = {"forceSwitch": [True, True], "side": bench(4, active=2)}
    assert set(possible(request)) == {"switch 3, switch 4", "switch 4, switch 3"}


def test_the_last_one_left_comes_in_once() -> None:
    request = {"forceSwitch": [True, True], "side": bench(3, active=2)}
    assert set(possible(request)) == {"switch 3, pass"}


def test_who_revives_chooses_among_the_fainted() -> None:
    side = bench(4, active=1, reviving=True)
    side["pokemon"][2]["condition"] = "0 fnt"
    assert set(possible({"forceSwitch": [True], "side": side})) == {"switch 3"}


@pytest.mark.parametrize("gimmick", ["canTerastallize", "canMegaEvo", "canUltraBurst"])
def test_a_side_uses_a_gimmick_once_a_turn(gimmick: str) -> None:
    active = {"moves": [{"move": "a", "target": "self"}], gimmick: True, "trapped": True}
    word = {"canTerastallize": "terastallize", "canMegaEvo": "mega", "canUltraBurst": "ultra"}
    plain, special = "move 1", f"move 1 {word[gimmick]}"
    assert set(possible({"active": [active, active], "side": bench(2, active=2)})) == {
        f"{plain}, {plain}",
        f"{special}, {plain}",
        f"{plain}, {special}",
    }


def test_the_order_of_a_team_is_any_order() -> None:
    request = {"teamPreview": True, "side": bench(3, active=0)}
    assert len(possible(request)) == 6
    assert set(possible(request | {"maxChosenTeamSize": 1})) == {"team 1", "team 2", "team 3"}


@pytest.mark.parametrize("seed", [0, -1, 2**32, 2**40])
def test_a_seed_that_would_differ_between_the_languages_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="32 bits"):
        RandomPolicy(seed)
