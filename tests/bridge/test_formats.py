"""Battles of every generation, singles and doubles, random teams and given ones, to their end."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from bridge import BridgeConfig, ControllerRegistry, Player, seeds
from bridge.journal import Journal
from bridge.runtime import find_runtime
from bridge.workload import policies_for
from tests.recording import Recorder, Recording, Tape, record

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(90)]

NODE_SIDE = Path(__file__).resolve().parents[2] / "node"
SEED = 21

EXPORT = """
Incineroar @ Sitrus Berry
Ability: Intimidate
Level: 50
EVs: 252 HP / 4 Atk / 252 SpD
Careful Nature
- Fake Out
- Flare Blitz
- Snarl
- Parting Shot

Rocky (Rillaboom) (M) @ Miracle Seed
Ability: Grassy Surge
Level: 50
EVs: 252 HP / 252 Atk
Adamant Nature
- Fake Out
- Wood Hammer
- U-turn
- Protect

Garchomp @ Life Orb
Ability: Rough Skin
Level: 50
EVs: 252 Atk / 252 Spe
Jolly Nature
- Earthquake
- Dragon Claw
- Rock Slide
- Protect

Amoonguss @ Mental Herb
Ability: Regenerator
Level: 50
EVs: 252 HP
Calm Nature
IVs: 0 Atk
- Spore
- Rage Powder
- Pollen Puff
- Protect
"""
PACKED = (
    "|metagross|leftovers|clearbody|meteormash,earthquake,rockslide,protect|Adamant|"
    "252,252,,,4,|||||]|swampert|sitrusberry|torrent|earthquake,icebeam,surf,protect|Quiet|"
    "252,,,252,4,|||||"
)
FULL_EFFORT = "252,252,252,252,252,252"
OU = {
    "gen1ou": f"|tauros||none|bodyslam,earthquake,hyperbeam,blizzard||{FULL_EFFORT}|||||]"
    f"|starmie||none|surf,thunderbolt,blizzard,recover||{FULL_EFFORT}|||||",
    "gen2ou": f"|snorlax|leftovers|none|bodyslam,earthquake,curse,rest||{FULL_EFFORT}|||||]"
    f"|zapdos|leftovers|none|thunderbolt,hiddenpower,rest,sleeptalk||{FULL_EFFORT}|||||",
    "gen3ou": PACKED,
    "gen4ou": "|metagross|leftovers|clearbody|meteormash,earthquake,bulletpunch,explosion|Adamant|"
    "252,252,,,4,|||||]|rotomwash|leftovers|levitate|thunderbolt,hydropump,shadowball,willowisp|"
    "Timid|4,,,252,,252|||||",
    "gen5ou": "|ferrothorn|leftovers|ironbarbs|powerwhip,gyroball,leechseed,protect|Relaxed|"
    "252,,252,,4,|||||]|rotomwash|leftovers|levitate|voltswitch,hydropump,painsplit,willowisp|"
    "Calm|252,,,4,252,|||||",
    "gen6ou": "|scizor|scizorite|technician|bulletpunch,uturn,swordsdance,roost|Adamant|"
    "252,252,,,4,|||||]|rotomwash|leftovers|levitate|voltswitch,hydropump,painsplit,willowisp|"
    "Calm|252,,,4,252,|||||",
    "gen7ou": "|garchomp|rockiumz|roughskin|earthquake,stoneedge,swordsdance,dragonclaw|Jolly|"
    "4,252,,,,252|||||]|toxapex|leftovers|regenerator|scald,toxic,recover,haze|Bold|"
    "252,,252,,4,|||||",
    "gen8ou": "|garchomp|leftovers|roughskin|earthquake,stoneedge,swordsdance,dragonclaw|Jolly|"
    "4,252,,,,252|||||]|toxapex|leftovers|regenerator|scald,toxic,recover,haze|Bold|"
    "252,,252,,4,|||||",
}
TEAMS = OU | {
    "gen9vgc2025regi": EXPORT,
    "gen8vgc2022": EXPORT,
    "gen9doublesou": EXPORT.replace("Level: 50\n", ""),
    "gen4doublesou": PACKED,
    "gen3doublescustomgame": PACKED,
    "gen6triplescustomgame": PACKED + "]" + PACKED,
}
RANDOM = [f"gen{generation}randombattle" for generation in range(1, 10)]
RANDOM += [
    "gen9randomdoublesbattle",
    "gen9doubleshackmonscup",
    "gen9bssfactory",
    "gen8bdsprandombattle",
]
FORMATS = [*RANDOM, *TEAMS]


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="registry")
async def warm(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControllerRegistry]:
    config = BridgeConfig(
        pool=1, warmup_battles=0, poison_folder=tmp_path_factory.mktemp("poisoned")
    )
    async with ControllerRegistry(config) as registry:
        yield registry


def players(name: str) -> tuple[Player, Player]:
    team = TEAMS.get(name)
    return Player("Red", team), Player("Blue", team)


@pytest.mark.parametrize("name", FORMATS)
async def test_a_battle_is_played_to_its_end_copied_and_played_again(
    registry: ControllerRegistry, name: str
) -> None:
    red, blue = players(name)
    expected = await record(registry, name, SEED, p1=red, p2=blue)
    assert expected.result is not None
    assert expected.result.turns > 0
    assert expected.p1.lines[-1].startswith(("|win|", "|tie"))

    room = await registry.open(name, seed=SEED, p1=red, p2=blue)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(rounds=max(1, expected.result.turns // 2))
    head = Tape(recorder.recording.p2.lines[:], recorder.recording.p2.requests[:])
    copied = Recorder(await room.fork(), recorder.policies)
    await copied.play(rounds=1)

    resumed = await registry.resume(Journal.from_input_log(room.journal.input_log()))
    again = Recorder(resumed, recorder.policies)

    assert await recorder.play() == expected
    tail = await copied.play()
    assert head.lines + tail.p2.lines == expected.p2.lines
    assert head.requests + tail.p2.requests == expected.p2.requests
    assert tail.result == expected.result
    tail = await again.play()
    assert head.requests + tail.p2.requests == expected.p2.requests
    assert tail.result == expected.result


@pytest.mark.parametrize("team", [EXPORT, PACKED], ids=["export text", "packed"])
async def test_a_team_comes_to_the_battle_as_it_was_given(
    registry: ControllerRegistry, team: str
) -> None:
    battle_format = "gen9vgc2025regi" if team == EXPORT else "gen4doublesou"
    red, blue = players(battle_format)
    async with await registry.open(battle_format, seed=SEED, p1=red, p2=blue) as room:
        update = await room.p1.next()
        assert update is not None
        assert update.request is not None
        names = [pokemon["ident"] for pokemon in update.request["side"]["pokemon"]]
        if team == EXPORT:
            assert names == ["p1: Incineroar", "p1: Rocky", "p1: Garchomp", "p1: Amoonguss"]
            assert update.request["side"]["pokemon"][3]["moves"] == [
                "spore",
                "ragepowder",
                "pollenpuff",
                "protect",
            ]
        else:
            assert names == ["p1: Metagross", "p1: Swampert"]


LIST_FORMATS = """
const { Dex } = require(process.argv[1]);
const ours = Dex.formats.all().filter(({ team, playerCount }) => team && playerCount === 2);
process.stdout.write(JSON.stringify(ours.map(({ id }) => id)));
"""


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_every_format_for_two_that_draws_its_own_teams_can_be_played(
    registry: ControllerRegistry,
) -> None:
    found = find_runtime()
    command = [str(found.node), "-e", LIST_FORMATS, str(found.simulator)]
    names = orjson.loads(await asyncio.to_thread(subprocess.check_output, command))
    assert len(names) > 40
    assert set(RANDOM) <= set(names)
    for name in names:
        room = await registry.open(name, seed=SEED)
        recorder = Recorder(room, policies_for(SEED))
        await recorder.play(rounds=5)
        if not room.is_over:
            await room.p1.forfeit()
        result = await room.result()
        assert result.reason == "win" or result.winner == "p2", name


# The same seeds give the same battle, wherever it is played

PLAY_INSIDE_NODE = """
const { loadSimulator } = require('./lib/simulator');
const { playOut } = require('./lib/warm-up');
const { RandomPolicy } = require('./lib/random-policy');
const { Room } = require('./lib/room');
const { simulator, format, seed, players, policies } = JSON.parse(process.argv[1]);
const room = new Room(loadSimulator(simulator), 'inside');
room.start({ format, seed, players });
playOut(room, { p1: new RandomPolicy(policies[0]), p2: new RandomPolicy(policies[1]) });
process.stdout.write(`{"room":"inside"${room.take()}}`);
"""


@pytest.mark.parametrize(
    "name", ["gen1randombattle", "gen9randombattle", "gen9randomdoublesbattle"]
)
async def test_a_battle_played_inside_node_is_the_one_over_the_bridge(
    registry: ControllerRegistry, name: str
) -> None:
    over_the_bridge = await record(registry, name, SEED)
    found = find_runtime()
    order = {
        "simulator": str(found.simulator),
        "format": name,
        "seed": seeds.derive(SEED, "battle"),
        "players": {
            side: {"name": f"Player {side[1]}", "seed": seeds.derive(SEED, side)}
            for side in ("p1", "p2")
        },
        "policies": [seeds.policy_seed(SEED, side) for side in ("p1", "p2")],
    }
    command = [str(found.node), "-e", PLAY_INSIDE_NODE, orjson.dumps(order).decode()]
    frame = orjson.loads(await asyncio.to_thread(subprocess.check_output, command, cwd=NODE_SIDE))
    for side, tape in (("p1", over_the_bridge.p1), ("p2", over_the_bridge.p2)):
        lines = frame[side]["text"].split("\n")
        assert [line for line in lines if not line.startswith("|t:|")] == tape.lines
    assert over_the_bridge.result is not None
    assert frame["end"]["winner"] == over_the_bridge.result.winner
    assert frame["end"]["turns"] == over_the_bridge.result.turns


async def test_a_seed_in_the_notation_of_the_simulator_is_the_seed_of_the_battle(
    registry: ControllerRegistry,
) -> None:
    played: list[Recording] = []
    for seed in ("1,2,3,4", "gen5,0001000200030004", "sodium,0123456789abcdef"):
        room = await registry.open("gen1randombattle", seed=seed)
        assert room.journal.seed == seed
        played.append(await Recorder(room, policies_for(SEED)).play())
        assert played[-1].result is not None
    again = await registry.open("gen1randombattle", seed="1,2,3,4")
    assert await Recorder(again, policies_for(SEED)).play() == played[0]
    assert played[2] != played[0]


async def test_a_seed_decides_the_battle_and_no_seed_is_another_one_each_time(
    registry: ControllerRegistry,
) -> None:
    async def teams(seed: int | None) -> list[Any]:
        async with await registry.open("gen1randombattle", seed=seed) as room:
            updates = [await room.p1.next(), await room.p2.next()]
            requests = [update.request for update in updates if update and update.request]
            return [request["side"]["pokemon"] for request in requests]

    assert await teams(1) == await teams(1)
    assert await teams(1) != await teams(2)
    assert await teams(None) != await teams(None)
    first, second = await teams(1)
    assert first != second
