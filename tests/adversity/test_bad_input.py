"""Bad input: each kind gets its own typed error or error frame, and no other room notices."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio

from bridge import BattleRoom, BridgeConfig, ControllerRegistry, Player
from bridge.controller import Controller
from bridge.errors import BattleRejected, BridgeError, ChoiceRejected, RoomClosed, StaleChoice
from bridge.workload import policies_for
from tests.recording import Recorder, Recording, record

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

FAULTS = Path(__file__).parent / "faults"
FORMAT = "gen1randombattle"
SEED = 29
HUGE = 10_000_000
EVAL = ">eval globalThis.executed = 1"

GARCHOMP = """
Garchomp @ Leftovers
Ability: {ability}
Tera Type: Fire
EVs: 252 Atk / 4 SpD / 252 Spe
Jolly Nature
- Earthquake
- Dragon Claw
- Swords Dance
- Fire Fang
"""
LEGAL = GARCHOMP.format(ability="Rough Skin")
ILLEGAL = GARCHOMP.format(ability="Wonder Guard")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> BridgeConfig:
    return BridgeConfig(
        pool=1,
        warmup_battles=0,
        node_arguments=("--require", str(FAULTS / "witness.js")),
        poison_folder=tmp_path_factory.mktemp("poisoned"),
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="registry")
async def one_controller(quick: BridgeConfig) -> AsyncIterator[ControllerRegistry]:
    async with ControllerRegistry(quick) as registry:
        yield registry


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def undisturbed(registry: ControllerRegistry) -> Recording:
    return await record(registry, FORMAT, SEED)


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def neighbour(
    registry: ControllerRegistry, undisturbed: Recording
) -> AsyncIterator[BattleRoom]:
    """A battle beside, on the same controller, which must not notice what a test does."""
    controller = the_controller(registry)
    room = await registry.open(FORMAT, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(rounds=4)
    yield room
    assert await recorder.play() == undisturbed
    assert the_controller(registry) is controller
    assert registry.counters.battles_poisoned == 0
    assert registry.stats()["pool"]["rooms"] == 0
    assert (await controller.ask("ping")).rooms == 0


def the_controller(registry: ControllerRegistry) -> Controller:
    (controller,) = registry._ready()
    return controller


class Wire:
    """The channel of a controller, to write anything to, and what comes back for it."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._splitter = controller._splitter
        self._stray: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        controller._splitter = self  # type: ignore[assignment]

    def feed(self, data: bytes) -> list[bytes]:
        lines = self._splitter.feed(data)
        for frame in map(json.loads, lines):
            if frame.get("ack") not in self._controller._pending:
                self._stray.put_nowait(frame)
        return lines

    async def answer(self, line: bytes) -> dict[str, Any]:
        """What comes back for a line that is not the bridge's own."""
        assert self._controller._transport is not None
        self._controller._transport.write(line + b"\n")
        async with asyncio.timeout(20):
            return await self._stray.get()

    def detach(self) -> None:
        assert self._stray.empty()
        self._controller._splitter = self._splitter


@pytest_asyncio.fixture(loop_scope="module")
async def wire(registry: ControllerRegistry) -> AsyncIterator[Wire]:
    wire = Wire(the_controller(registry))
    yield wire
    wire.detach()


# Battles that cannot start

SURROGATE = "\ud83d"
UNUSABLE_NAMES = {
    "empty": "",
    "blank": "  ",
    "with a bar": "a|b",
    "with a newline": f"a\n{EVAL}",
    "with a carriage return": "a\rb",
    "with a line separator": "a\u2028b",
    "with a null": "a\0b",
    "ten megabytes": "a" * HUGE,
    "a lone surrogate": SURROGATE,
}
UNUSABLE_TEAMS = {
    "missing": (None, "needs a team"),
    "empty": ("", "cannot be read"),
    "illegal": (ILLEGAL, "Wonder Guard"),
    "not a team": ("no such thing", "not legal"),
    "a command": (EVAL, "not legal"),
    "JSON of no sets": ("[1, null, []]", "not legal"),
    "JSON that confuses the validator": (
        '[{"species":"Garchomp","ability":"Rough Skin","moves":["dig"],"teraType":{"toString":1}}]',
        "",
    ),
    "only newlines": ("\n" * 24_000, "cannot be read"),
    "too many": ("Garchomp|||||||||||]" * 1_000, "up to 6"),
    "ten megabytes": ("a" * HUGE, "at most"),
    "a lone surrogate": (SURROGATE, "cannot be encoded"),
}
UNUSABLE_FORMATS = {
    "unknown": ("gen9nosuchformat", "gen9nosuchformat"),
    "empty": ("", "format"),
    "a rule and not a format": ("standard", "standard"),
    "constructor": ("constructor", "constructor"),
    "__proto__": ("__proto__", "__proto__"),
    "a command": (EVAL, "Unrecognized format"),
    "with a newline": (f"gen9randombattle\n{EVAL}", "Unrecognized format"),
    "for four players": ("gen9freeforallrandombattle", "4 players"),
    "for two teams of two": ("gen9multirandombattle", "4 players"),
    "with an unknown rule": ("gen9randombattle@@@no such rule", "rule"),
    "with a rule that the team generator refuses": ("gen9randombattle@@@+Mew", "bans"),
    "ten megabytes": ("a" * HUGE, "at most"),
    "a lone surrogate": (SURROGATE, "cannot be encoded"),
}
UNUSABLE_SEEDS = [
    "",
    "seed",
    "1,2,3",
    "1,2,3,4,5",
    "1,2,3,-4",
    "99999999,1,1,1",
    "gen5,xyz",
    "sodium,",
]


async def refused(registry: ControllerRegistry, *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(BattleRejected) as refusal:
        await registry.open(*arguments, **keywords)
    assert refusal.value.room is not None
    assert refusal.value.room.startswith("battle-")
    return refusal.value.message


@pytest.mark.parametrize("name", UNUSABLE_NAMES.values(), ids=UNUSABLE_NAMES.keys())
@pytest.mark.parametrize("side", ["p1", "p2"])
async def test_a_name_that_the_protocol_cannot_carry_is_rejected(
    registry: ControllerRegistry, side: str, name: str
) -> None:
    assert len(await refused(registry, FORMAT, **{side: name})) < 300


async def test_players_of_the_same_name_are_rejected(registry: ControllerRegistry) -> None:
    assert "both players" in await refused(registry, FORMAT, p1="Red", p2="Red")


@pytest.mark.parametrize(
    ("team", "reason"), UNUSABLE_TEAMS.values(), ids=list(UNUSABLE_TEAMS.keys())
)
async def test_a_team_that_is_missing_or_illegal_is_rejected_with_the_reason(
    registry: ControllerRegistry, team: str | None, reason: str
) -> None:
    players = {"p1": Player("Red", team), "p2": Player("Blue", LEGAL)}
    message = await refused(registry, "gen9ou", **players)
    assert reason in message
    assert len(message) < 2_000


async def test_a_team_for_a_format_with_random_teams_is_rejected(
    registry: ControllerRegistry,
) -> None:
    message = await refused(registry, "gen9randombattle", p1=Player("Red", LEGAL))
    assert "doesn't let you use your own team" in message


@pytest.mark.parametrize(
    ("name", "reason"), UNUSABLE_FORMATS.values(), ids=list(UNUSABLE_FORMATS.keys())
)
async def test_a_format_that_no_room_can_play_is_rejected(
    registry: ControllerRegistry, name: str, reason: str
) -> None:
    message = await refused(registry, name)
    assert reason in message
    assert len(message) < 1_000


@pytest.mark.parametrize("seed", UNUSABLE_SEEDS)
async def test_a_seed_that_is_not_in_the_simulators_notation_is_rejected(
    registry: ControllerRegistry, seed: str
) -> None:
    assert "not a seed" in await refused(registry, FORMAT, seed=seed)


async def test_a_command_longer_than_a_frame_is_refused_before_it_is_sent(
    registry: ControllerRegistry,
) -> None:
    sent = the_controller(registry).traffic.bytes_out
    assert "too long" in await refused(registry, FORMAT, p1="a" * (registry.max_frame + 1))
    assert the_controller(registry).traffic.bytes_out - sent < 1_000


# Players whose names, teams and choices look like something else

HARMLESS_NAMES = [
    EVAL,
    "quotes \" and ' and `",
    "back\\slash",
    "emoji \U0001f980\U0001f469\u200d\U0001f680",
    "${globalThis.executed = 1}",
    "</script><script>executed = 1</script>",
    "__proto__",
    "constructor",
    "p2",
    "null",
    "[Side:p2]",
    "[Side]",
    "[Pokemon",
    "\u202eright to left",
    " a name with spaces around ",
]


@pytest.mark.parametrize("name", HARMLESS_NAMES)
async def test_a_name_is_data_whatever_it_looks_like(
    registry: ControllerRegistry, undisturbed: Recording, name: str
) -> None:
    played = await record(registry, FORMAT, SEED, p1=name)
    assert f"|player|p1|{name}||" in played.p1.lines
    assert played.result == undisturbed.result
    assert [rqid for rqid, _ in played.p1.requests] == [r for r, _ in undisturbed.p1.requests]
    renamed = [line.replace("Player 1", name) for line in undisturbed.p2.lines]
    assert played.p2.lines == renamed


# What is given, and what the simulator makes of it: a name without the signs of its own protocol.
NICKNAMES = {
    EVAL[:18]: EVAL[:18],
    "quotes \" ' `": "quotes \" ' `",
    "back\\slash": "back\\slash",
    "\U0001f980\U0001f469\u200d\U0001f680": "\U0001f980\U0001f469\u200d\U0001f680",
    "__proto__": "__proto__",
    "</script>": "</script>",
    "bar|bar": "bar bar",
    "comma,comma": "comma comma",
    "[Side:p2]": "Side:p2",
}
CHOMPY = "Chompy"


def team_of(nickname: str, notation: str) -> str:
    """One Garchomp under this name, in one of the notations of a team."""
    if notation == "export text":
        return f"{nickname} (Garchomp) {LEGAL.strip().removeprefix('Garchomp ')}"
    if notation == "packed":
        moves = "earthquake,dragonclaw,swordsdance,firefang"
        return f"{nickname}|garchomp|leftovers|roughskin|{moves}|Jolly|,252,,,4,252|||||,,,,,Fire"
    pokemon = {
        "name": nickname,
        "species": "Garchomp",
        "item": "Leftovers",
        "ability": "Rough Skin",
        "nature": "Jolly",
        "evs": {"atk": 252, "spd": 4, "spe": 252},
        "teraType": "Fire",
        "moves": ["Earthquake", "Dragon Claw", "Swords Dance", "Fire Fang"],
    }
    return json.dumps([pokemon])


async def record_with(registry: ControllerRegistry, team: str) -> Recording:
    players = {"p1": Player("Red", team), "p2": Player("Blue", LEGAL)}
    return await record(registry, "gen9ou", SEED, **players)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def with_chompy(registry: ControllerRegistry) -> Recording:
    return await record_with(registry, team_of(CHOMPY, "JSON"))


@pytest.mark.parametrize(
    ("nickname", "notation"),
    [
        (nickname, notation)
        for nickname in NICKNAMES
        for notation in ("export text", "packed", "JSON")
        if notation != "packed" or "|" not in nickname  # where it ends the name
    ],
)
async def test_a_nickname_is_data_whatever_it_looks_like(
    registry: ControllerRegistry, with_chompy: Recording, nickname: str, notation: str
) -> None:
    played = await record_with(registry, team_of(nickname, notation))
    assert played.result == with_chompy.result
    renamed = [line.replace(CHOMPY, NICKNAMES[nickname]) for line in with_chompy.p2.lines]
    assert played.p2.lines == renamed


async def test_a_newline_in_a_nickname_starts_no_line(
    registry: ControllerRegistry, with_chompy: Recording
) -> None:
    nickname = f"a\n{EVAL}"
    played = await record_with(registry, team_of(nickname, "JSON"))
    assert played.result == with_chompy.result
    assert len(played.p1.lines) == len(with_chompy.p1.lines)
    assert any("p1a: a >eval" in line for line in played.p1.lines)
    for notation in ("export text", "packed"):
        player = Player("Red", team_of(nickname, notation))
        message = await refused(registry, "gen9ou", p1=player, p2=Player("Blue", LEGAL))
        assert "not legal" in message


async def test_a_nickname_that_the_simulator_cuts_through_an_emoji_breaks_nothing(
    registry: ControllerRegistry,
) -> None:
    # The simulator keeps 18 UTF-16 units of a nickname: here, half of a character.
    played = await record_with(registry, team_of("a" * 17 + "\U0001f980", "JSON"))
    assert any("a" * 17 + "\ufffd" in line for line in played.p1.lines)
    assert played.result is not None


# Choices

UNUSABLE_CHOICES = {
    "empty": "",
    "unknown": "dance",
    "undo": "undo",
    "a command": EVAL,
    "a command on a line of its own": f"move 1\n{EVAL}",
    "both sides": "move 1\n>p2 move 1",
    "no such move": "move 9",
    "no such slot": "switch 9",
    "itself": "switch 1",
    "for two": "move 1, move 1",
    "constructor": "move constructor",
    "__proto__": "switch __proto__",
    "team preview": "team 123456",
    "emoji": "\U0001f980",
    "control characters": "move\0 1",
    "a lone surrogate": f"move {SURROGATE}",
    "ten megabytes": "a" * HUGE,
    "longer than a frame": "a" * (2 * HUGE),
}


@pytest.mark.parametrize("choice", UNUSABLE_CHOICES.values(), ids=UNUSABLE_CHOICES.keys())
async def test_an_unusable_choice_is_refused_and_changes_nothing(
    registry: ControllerRegistry, undisturbed: Recording, choice: str
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(rounds=2)
    rqid = room.p1.rqid
    with pytest.raises(ChoiceRejected) as refusal:
        await room.p1.choose(choice)
    assert not isinstance(refusal.value, StaleChoice)
    assert refusal.value.room == room.tag
    assert len(refusal.value.message) < 2_000
    assert room.p1.rqid == rqid
    assert await recorder.play() == undisturbed


async def test_a_choice_for_a_request_that_is_not_current_is_stale_and_changes_nothing(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    await recorder.play(rounds=2)
    first, second = room.p1.rqid, room.p2.rqid
    assert first is not None
    assert second is not None
    for rqid in (0, -1, first - 2, second, first + 2, 2**53 - 1):
        with pytest.raises(StaleChoice) as refusal:
            await room.p1.choose("move 1", rqid=rqid)
        assert refusal.value.room == room.tag
    assert await recorder.play() == undisturbed


async def test_a_second_choice_for_the_same_request_is_stale(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    first, second = policies_for(SEED)
    update = await room.p1.next()
    assert update is not None
    assert update.request is not None
    await room.p1.choose(first.choose(update.request), rqid=update.rqid)
    for choice in ("move 1", "move 2", "switch 2", "default"):
        with pytest.raises(StaleChoice, match="already answered"):
            await room.p1.choose(choice, rqid=update.rqid)
    recorder = Recorder(room, (first, second), chosen=["p1"])
    played = await recorder.play()
    assert played.p2 == undisturbed.p2
    assert played.result == undisturbed.result


async def test_two_choices_in_one_write_count_once(registry: ControllerRegistry) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    choices = [room.p1.choose("move 1") for _ in range(3)]
    results = await asyncio.gather(*choices, return_exceptions=True)
    assert results[0] is None
    assert [type(result) for result in results[1:]] == [StaleChoice, StaleChoice]
    assert len(room.journal.moves) == 1
    await room.close()


async def test_a_choice_while_the_other_side_is_asked_is_refused(
    registry: ControllerRegistry, undisturbed: Recording
) -> None:
    room = await registry.open(FORMAT, seed=SEED)
    recorder = Recorder(room, policies_for(SEED))
    seen = 0
    while not room.is_over:
        await recorder.play(rounds=1)
        for side in (room.p1, room.p2):
            if side._unread and side._unread[-1].request and not side._unread[-1].must_choose:
                seen += 1
                for choice in ("move 1", "switch 2", "default", "pass"):
                    with pytest.raises(ChoiceRejected, match="not your turn"):
                        await side.choose(choice)
    assert seen > 0
    assert await recorder.play() == undisturbed


async def test_a_choice_after_the_end_is_stale_and_after_close_says_that_it_is_closed(
    registry: ControllerRegistry,
) -> None:
    ended = await registry.open(FORMAT, seed=SEED)
    await ended.p1.forfeit()
    closed = await registry.open(FORMAT, seed=SEED)
    await closed.close()
    for room, error in ((ended, StaleChoice), (closed, RoomClosed)):
        deeds: tuple[Callable[[], Awaitable[object]], ...] = (
            partial(room.p1.choose, "move 1"),
            room.p2.forfeit,
            room.fork,
        )
        for deed in deeds:
            with pytest.raises(BridgeError) as refusal:
                await deed()
            assert type(refusal.value) is error
            assert refusal.value.room == room.tag


# Lines that are no commands

NUMBER = itertools.count(10**9)
NEIGHBOUR = b"@neighbour@"


def frame(**fields: Any) -> bytes:
    return orjson.dumps({"id": next(NUMBER), **fields})


SEAT = {"name": "Red", "seed": "1,1,1,1"}
OTHER_SEAT = {"name": "Blue", "seed": "2,2,2,2"}
OPENING: dict[str, Any] = {"op": "open", "room": "battle-raw", "format": FORMAT, "seed": "1,2,3,4"}
OPENING |= {"p1": SEAT, "p2": OTHER_SEAT}
BESIDE = NEIGHBOUR.decode()
CHOICE = {"op": "choose", "room": BESIDE, "side": "p1", "choice": "move 1", "rqid": 1}

NOT_COMMANDS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not_json"),
    "not JSON": (b"move 1", "not_json"),
    "half an object": (b'{"id":1000000000,"op":', "not_json"),
    "two objects": (b'{"id":1000000000}{"id":1000000001}', "not_json"),
    "invalid UTF-8": (b'{"id":1000000000,"op":"\xff\xfe"}', "not_json"),
    "invalid UTF-8 in a name": (
        orjson.dumps({"id": 1} | OPENING).replace(b"Red", b"\xf0\x9f\xa6"),
        "not_json",
    ),
    "a null byte": (b"\0", "not_json"),
    "nested without end": (b"[" * 100_000, "not_json"),
    "a list": (b'[{"id":1000000000,"op":"ping"}]', "not_object"),
    "a number": (b"1000000000", "not_object"),
    "a text": (b'"ping"', "not_object"),
    "null": (b"null", "not_object"),
    "no id": (b'{"op":"ping"}', "bad_field"),
    "an id that is a text": (b'{"id":"1","op":"ping"}', "bad_field"),
    "an id that is a fraction": (b'{"id":1.5,"op":"ping"}', "bad_field"),
    "an id that is zero": (b'{"id":0,"op":"ping"}', "bad_field"),
    "an id below zero": (b'{"id":-1,"op":"ping"}', "bad_field"),
    "an id above all": (b'{"id":1e300,"op":"ping"}', "bad_field"),
    "an id that is null": (b'{"id":null,"op":"ping"}', "bad_field"),
    "an id that is a list": (b'{"id":[1],"op":"ping"}', "bad_field"),
    "longer than a frame": (b'{"id":1000000000,"op":"' + b"a" * (2 * HUGE), "oversize"),
}
BAD_COMMANDS: dict[str, tuple[dict[str, Any], str]] = {
    "no op": ({}, "unknown_op"),
    "no op, but a room": ({"room": BESIDE}, "unknown_op"),
    "an unknown op": ({"op": "eval", "room": BESIDE}, "unknown_op"),
    "op constructor": ({"op": "constructor", "room": BESIDE}, "unknown_op"),
    "op __proto__": ({"op": "__proto__", "room": BESIDE}, "unknown_op"),
    "op toString": ({"op": "toString", "room": BESIDE}, "unknown_op"),
    "op null": ({"op": None, "room": BESIDE}, "unknown_op"),
    "op a number": ({"op": 1, "room": BESIDE}, "unknown_op"),
    "op a list": ({"op": ["close"], "room": BESIDE}, "unknown_op"),
    "op an object": ({"op": {"toString": 1}, "room": BESIDE}, "unknown_op"),
    "op of ten megabytes": ({"op": "a" * HUGE, "room": BESIDE}, "unknown_op"),
    "no room": ({"op": "choose"}, "bad_field"),
    "a room that is a number": ({"op": "close", "room": 1}, "bad_field"),
    "a room that is an object": ({"op": "close", "room": {"a": 1}}, "bad_field"),
    "a room that is a list": ({"op": "close", "room": [BESIDE]}, "bad_field"),
    "a room with a tag too long": ({"op": "close", "room": "a" * HUGE}, "bad_field"),
    "an unknown room": (CHOICE | {"room": "battle-gen9ou-0"}, "unknown_room"),
    "room __proto__": (CHOICE | {"room": "__proto__"}, "unknown_room"),
    "to close an unknown room": ({"op": "close", "room": "battle-x"}, "unknown_room"),
    "to forfeit in an unknown room": ({"op": "forfeit", "room": "x", "side": "p1"}, "unknown_room"),
    "to fork an unknown room": ({"op": "fork", "room": "x", "as": "y"}, "unknown_room"),
    "to fork into a room that is there": (
        {"op": "fork", "room": BESIDE, "as": BESIDE},
        "room_exists",
    ),
    "to fork into nothing": ({"op": "fork", "room": BESIDE}, "bad_field"),
    "a third side": (CHOICE | {"side": "p3"}, "bad_field"),
    "no side": ({"op": "forfeit", "room": BESIDE}, "bad_field"),
    "side __proto__": (CHOICE | {"side": "__proto__"}, "bad_field"),
    "a choice that is a number": (CHOICE | {"choice": 1}, "bad_field"),
    "a choice that is an object": (CHOICE | {"choice": {"toString": 1}}, "bad_field"),
    "no rqid": ({k: v for k, v in CHOICE.items() if k != "rqid"}, "bad_field"),
    "an rqid that is a text": (CHOICE | {"rqid": "1"}, "bad_field"),
    "a stale rqid": (CHOICE, "stale"),
    "a room that is there": (OPENING | {"room": BESIDE}, "room_exists"),
    "a battle without a format": (OPENING | {"format": None}, "bad_field"),
    "a battle without a seed": (OPENING | {"seed": None}, "rejected"),
    "a battle without players": (OPENING | {"p1": None}, "bad_field"),
    "a player that is a text": (OPENING | {"p1": "Red"}, "bad_field"),
    "a player that is a list": (OPENING | {"p1": []}, "rejected"),
    "a name that is a number": (OPENING | {"p1": SEAT | {"name": 1}}, "rejected"),
    "a team that is a list": (OPENING | {"p1": SEAT | {"team": []}}, "rejected"),
    "a battle rated as a number": (OPENING | {"rated": 5}, "bad_field"),
    "a battle rated as a line": (OPENING | {"rated": "a\n|win|Red"}, "bad_field"),
    "an avatar that is a list": (OPENING | {"p1": SEAT | {"avatar": ["red"]}}, "bad_field"),
    "an avatar that is a field": (OPENING | {"p1": SEAT | {"avatar": "red|9999"}}, "bad_field"),
    "a rating that is a text": (OPENING | {"p1": SEAT | {"rating": "1500"}}, "bad_field"),
    "a mark that is a text": (OPENING | {"p1": SEAT | {"valid": "yes"}}, "bad_field"),
    "to undo in an unknown room": (
        {"op": "undo", "room": "x", "side": "p1", "rqid": 1},
        "unknown_room",
    ),
    "to undo for a third side": (
        {"op": "undo", "room": BESIDE, "side": "p3", "rqid": 1},
        "bad_field",
    ),
    "to undo nothing": ({"op": "undo", "room": BESIDE, "side": "p1"}, "bad_field"),
    "to undo what was not chosen": (
        {"op": "undo", "room": BESIDE, "side": "p1", "rqid": 0},
        "stale",
    ),
    "to forfeit for a number": (
        {"op": "forfeit", "room": BESIDE, "side": "p1", "reason": 5},
        "bad_field",
    ),
    "to forfeit for a line": (
        {"op": "forfeit", "room": BESIDE, "side": "p1", "reason": "\n|win|Red"},
        "bad_field",
    ),
    "to forfeit for ten megabytes": (
        {"op": "forfeit", "room": BESIDE, "side": "p1", "reason": "a" * HUGE},
        "bad_field",
    ),
    "a tie in an unknown room": ({"op": "tie", "room": "x"}, "unknown_room"),
    "a tie for a field": ({"op": "tie", "room": BESIDE, "reason": "a|b"}, "bad_field"),
    "sheets in an unknown room": ({"op": "sheets", "room": "x"}, "unknown_room"),
    "sheets after the first turn": ({"op": "sheets", "room": BESIDE}, "invalid"),
    "to describe nothing": ({"op": "describe"}, "bad_field"),
    "to describe a list": ({"op": "describe", "format": [FORMAT]}, "bad_field"),
    "to describe what is not": ({"op": "describe", "format": "__proto__"}, "rejected"),
    "to describe ten megabytes": ({"op": "describe", "format": "a" * HUGE}, "bad_field"),
    "to validate for nothing": ({"op": "validate", "team": "Mew"}, "bad_field"),
    "to validate a list": ({"op": "validate", "format": "gen9ou", "team": []}, "rejected"),
    "to validate ten megabytes": (
        {"op": "validate", "format": "gen9ou", "team": "a" * HUGE},
        "rejected",
    ),
    "to validate no team": ({"op": "validate", "format": "gen9ou"}, "rejected"),
    "a journal that is a text": (OPENING | {"replay": "move 1"}, "bad_field"),
    "a journal of nothing": (OPENING | {"replay": [None]}, "bad_field"),
    "a journal of numbers": (OPENING | {"replay": [[1, 2, 3]]}, "bad_field"),
    "a journal of an unknown op": (OPENING | {"replay": [["eval", "p1", "1"]]}, "bad_field"),
    "a journal of a third side": (OPENING | {"replay": [["choose", "p3", "1"]]}, "bad_field"),
    "a journal that undoes a third side": (OPENING | {"replay": [["undo", "p3"]]}, "bad_field"),
    "a journal of a tie for a line": (OPENING | {"replay": [["tie", None, "\n"]]}, "bad_field"),
    "a warm-up of nothing": ({"op": "warm"}, "bad_field"),
}


@pytest.mark.parametrize(("line", "code"), NOT_COMMANDS.values(), ids=list(NOT_COMMANDS.keys()))
async def test_a_line_that_is_no_command_is_refused_with_an_error_frame(
    wire: Wire, line: bytes, code: str
) -> None:
    answer = await wire.answer(line)
    assert answer["error"]["code"] == code
    assert answer["ack"] is None
    assert len(answer["error"]["message"]) < 300


@pytest.mark.parametrize(("fields", "code"), BAD_COMMANDS.values(), ids=list(BAD_COMMANDS.keys()))
async def test_a_command_that_does_not_fit_is_refused_by_its_number_and_harms_no_room(
    wire: Wire, neighbour: BattleRoom, fields: dict[str, Any], code: str
) -> None:
    line = frame(**fields).replace(NEIGHBOUR, neighbour.tag.encode())
    sent = json.loads(line)
    answer = await wire.answer(line)
    assert answer["error"]["code"] == code, answer
    assert answer["ack"] == sent["id"]
    if isinstance(sent.get("room"), str):
        assert answer["room"] == sent["room"][:200]
    assert len(answer["error"]["message"]) < 300


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "a" * 99 + "\U0001f980"},
        {"op": "close", "room": "a" * 199 + "\U0001f980"},
        OPENING | {"seed": "a" * 98 + "\U0001f980"},
        OPENING | {"format": "a" * 98 + "\U0001f980" * 20},
    ],
    ids=["op", "room", "seed", "format"],
)
async def test_a_refusal_that_quotes_half_a_character_can_still_be_read(
    wire: Wire, fields: dict[str, Any]
) -> None:
    assert "error" in await wire.answer(frame(**fields))


@pytest.mark.parametrize("where", ["Red", "Blue", "battle-raw", FORMAT, "1,2,3,4"])
async def test_an_escaped_lone_surrogate_is_refused(wire: Wire, where: str) -> None:
    answer = await wire.answer(frame(**OPENING).replace(where.encode(), b"a\\ud83d"))
    assert answer["error"]["code"] in ("rejected", "bad_field")


async def test_many_bad_lines_in_one_write_are_answered_one_by_one(wire: Wire) -> None:
    lines = [b"nonsense", frame(op="nonsense"), b"[]", frame(op="close", room="nowhere")]
    answers = [await wire.answer(b"\n".join(lines * 50))]
    answers += [await asyncio.wait_for(wire._stray.get(), 20) for _ in range(199)]
    codes = [answer["error"]["code"] for answer in answers]
    assert codes == ["not_json", "unknown_op", "not_object", "unknown_room"] * 50
