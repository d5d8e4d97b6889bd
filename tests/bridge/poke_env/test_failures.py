"""What goes wrong reaches whoever waits for it, in seconds, with the battle and the cause."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from poke_env.battle import AbstractBattle
from poke_env.player import Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder, ForfeitBattleOrder
from poke_env.ps_client import AccountConfiguration

from bridge.errors import (
    BattleFailed,
    BattleRejected,
    BridgeError,
    ConnectionLost,
    NameTaken,
    PlayerFailed,
)
from bridge.lobby import Connection, Lobby, Transport
from bridge.poke_env import LocalServerConfiguration, local_server
from tests.conftest import controllers, until

from .cast import FORMAT, Quitter, StringOrder, forget, leave, play_briefly, team_of
from .conftest import Door

pytestmark = pytest.mark.timeout(60)

FAULTS = Path(__file__).parents[2] / "adversity" / "faults"
ILLEGAL = "Mewtwo\nAbility: Pressure\nEVs: 4 HP\n- Splash\n"
E = TypeVar("E", bound=BridgeError)
LOOPS = ["poke-env's loop", "the caller's loop"]


Pair = Callable[..., tuple[Player, Player]]


@pytest.fixture(params=LOOPS)
def pair(request: pytest.FixtureRequest, door: Door) -> Pair:
    """Makes two players on the loop that the lobby lives on, or on that of the test."""

    def make(
        kind: type[Player] = Quitter, format: str = FORMAT, **options: Any
    ) -> tuple[Player, Player]:
        if request.param == "the caller's loop":
            options["loop"] = asyncio.get_running_loop()
        return door.pair(kind, format, **options)

    return make


async def fails(call: Awaitable[None], kind: type[E], match: str, seconds: float = 10) -> E:
    """What a call raises, long before its caller would lose patience."""
    with pytest.raises(kind, match=match) as failure:
        async with asyncio.timeout(seconds):
            await call
    return failure.value


async def play_again(one: Player, other: Player, battles: int = 2) -> None:
    forget(one, other)
    async with asyncio.timeout(10):
        await one.battle_against(other, n_battles=battles)
    assert one.n_finished_battles == other.n_finished_battles == battles


# Battles that cannot begin


@pytest.mark.parametrize("whose", [0, 1])
async def test_a_rejected_team_is_named_with_its_problems(pair: Pair, whose: int) -> None:
    players = pair(format="gen9ou", team=team_of(9))
    players[whose].update_team(ILLEGAL)
    one, other = players
    await fails(one.battle_against(other), BattleRejected, "Mewtwo can't learn Splash")
    players[whose].update_team(team_of(9))
    await play_again(one, other)


async def test_a_format_that_needs_a_team_says_so(pair: Pair) -> None:
    one, other = pair(format="gen9ou")
    await fails(one.battle_against(other), BattleRejected, "requires you to use your own team")


@pytest.mark.parametrize("call", ["battle_against", "ladder"])
async def test_an_unknown_format_is_named(pair: Pair, call: str) -> None:
    one, other = pair(format="gen9unheardof")
    waiting = one.battle_against(other) if call == "battle_against" else one.ladder(1)
    await fails(waiting, BattleRejected, "gen9unheardof")


async def test_a_format_without_a_ladder_is_named(pair: Pair) -> None:
    one, _ = pair(format="gen9doublescustomgame", team=team_of(9))
    await fails(one.ladder(1), BattleRejected, "gen9doublescustomgame is not ladderable")


async def test_a_challenge_to_somebody_who_is_not_there_fails(pair: Pair) -> None:
    one, other = pair()
    await fails(one.send_challenges("Nobody", 1), BattleRejected, "'Nobody' was not found")
    await fails(one.send_challenges(one.username, 1), BattleRejected, "can't battle yourself")
    await play_again(one, other)


async def test_a_challenge_that_is_rejected_fails(pair: Pair) -> None:
    one, other = pair()
    waiting = asyncio.ensure_future(
        one.send_challenges(other.username, 1, to_wait=other.ps_client.logged_in)
    )
    async with asyncio.timeout(10):
        await until(lambda: not other._challenge_queue.empty())
    other.ps_client.loop.call_soon_threadsafe(
        other.ps_client._send,  # type: ignore[attr-defined]
        f"|/reject {one.username}",
    )
    await fails(waiting, BattleRejected, "rejected the challenge")
    await play_again(one, other)


async def test_a_challenge_to_somebody_who_leaves_fails(pair: Pair) -> None:
    one, other = pair()
    third, _ = pair()
    waiting = asyncio.ensure_future(
        one.send_challenges(other.username, 1, to_wait=other.ps_client.logged_in)
    )
    async with asyncio.timeout(10):
        await until(lambda: not other._challenge_queue.empty())
    await leave(other)
    await fails(waiting, BattleRejected, "went offline")
    await play_again(one, third)


async def test_a_name_that_is_taken_fails_all_calls_of_the_second_player(
    pair: Pair, door: Door
) -> None:
    one, other = pair()
    async with asyncio.timeout(10):
        await until(one.ps_client.logged_in.is_set)
    name = AccountConfiguration(one.username.upper(), None)
    late = door.enter(Quitter, account_configuration=name)
    reason = f"'{name.username}' cannot log in: Someone is already using"
    await fails(late.battle_against(other), NameTaken, reason)
    await fails(other.battle_against(late), NameTaken, reason)
    await fails(late.ladder(1), NameTaken, reason)
    await fails(late.accept_challenges(None, 1), NameTaken, reason)
    await play_again(one, other)


@pytest.mark.parametrize("name", ["", "!!!", "a name of more than eighteen letters"])
async def test_a_name_that_nobody_can_have_fails(door: Door, name: str) -> None:
    player = door.enter(Quitter, account_configuration=AccountConfiguration(name, None))
    await fails(player.ladder(1), NameTaken, "Your name must")


# Players that fail


class Clumsy(Player):
    """Raises in its n-th choice."""

    choices = 0
    fails_at = 3
    is_async = False

    def choose_move(self, battle: AbstractBattle) -> BattleOrder | Awaitable[BattleOrder]:
        return self._wait_and_choose(battle) if self.is_async else self._choose(battle)

    async def _wait_and_choose(self, battle: AbstractBattle) -> BattleOrder:
        await asyncio.sleep(0)
        return self._choose(battle)

    def _choose(self, battle: AbstractBattle) -> BattleOrder:
        self.choices += 1
        if self.choices == self.fails_at:
            raise LookupError("no idea what to do")
        return play_briefly(battle)


@pytest.mark.parametrize("whose", [0, 1])
@pytest.mark.parametrize("is_async", [False, True])
async def test_an_exception_in_choose_move_is_raised_with_the_battle_and_its_cause(
    pair: Pair, whose: int, is_async: bool
) -> None:
    one, other = players = pair(Clumsy)
    for player in players:
        assert isinstance(player, Clumsy)
        player.is_async = is_async
        player.fails_at = 3 if player is players[whose] else 0
    error = await fails(one.battle_against(other, n_battles=9), PlayerFailed, "no idea what to do")
    assert isinstance(error.__cause__, LookupError)
    assert error.room is not None
    assert error.room.startswith(f"battle-{FORMAT}-")
    assert players[whose].username in str(error)
    await play_again(one, other)


class Hasty(Quitter):
    """Raises when a battle begins: in the step in which its call may ask for the next one."""

    stumbles = False

    async def _create_battle(self, split_message: list[str]) -> AbstractBattle:
        battle = await super()._create_battle(split_message)
        if self.stumbles:
            raise LookupError("too early")
        return battle


@pytest.mark.parametrize(
    "call", ["battle_against", "send_challenges", "accept_challenges", "ladder"]
)
async def test_who_fails_as_a_battle_begins_asks_for_no_other(pair: Pair, call: str) -> None:
    one, other = pair(Hasty)
    assert isinstance(one, Hasty)
    one.stumbles = True
    met: Awaitable[None]
    if call == "battle_against":
        met, failing = asyncio.sleep(0), one.battle_against(other, n_battles=9)
    elif call == "send_challenges":
        met = asyncio.ensure_future(other.accept_challenges(one.username, 1))
        failing = one.send_challenges(other.username, 9, to_wait=other.ps_client.logged_in)
    elif call == "accept_challenges":
        met = asyncio.ensure_future(
            other.send_challenges(one.username, 1, to_wait=one.ps_client.logged_in)
        )
        failing = one.accept_challenges(other.username, 9)
    else:
        met, failing = asyncio.ensure_future(other.ladder(1)), one.ladder(9)
    await fails(failing, PlayerFailed, "too early")
    async with asyncio.timeout(10):
        await met
    one.stumbles = False
    await play_again(one, other, 3)


async def test_an_exception_in_teampreview_is_raised(pair: Pair) -> None:
    class Undecided(Quitter):
        def teampreview(self, battle: AbstractBattle) -> str:
            raise LookupError("whom to begin with")

    one, other = pair(Undecided, "gen9ou", team=team_of(9))
    await fails(one.battle_against(other), PlayerFailed, "whom to begin with")


async def test_whoever_only_accepts_has_won_the_battle_that_the_other_failed_in(
    pair: Pair, door: Door
) -> None:
    one, _ = pair(Clumsy)
    other = door.enter(RandomPlayer)
    sent = asyncio.ensure_future(
        one.send_challenges(other.username, 1, to_wait=other.ps_client.logged_in)
    )
    async with asyncio.timeout(10):
        await other.accept_challenges(one.username, 1)
    await fails(sent, PlayerFailed, "no idea")
    assert other.n_won_battles == 1


async def test_an_exception_ends_the_ladder(pair: Pair, door: Door) -> None:
    one, _ = pair(Clumsy)
    other = door.enter(Quitter)
    met = asyncio.ensure_future(other.ladder(1))
    await fails(one.ladder(5), PlayerFailed, "no idea")
    async with asyncio.timeout(10):
        await met
    await play_again(one, other)


@pytest.mark.parametrize("limit", [0, 5])
async def test_players_that_failed_amid_other_battles_play_again_as_if_nothing_was(
    pair: Pair, limit: int
) -> None:
    one, other = players = pair(Clumsy, max_concurrent_battles=limit)
    for attempt in range(12):
        for player in players:
            assert isinstance(player, Clumsy)
            player.choices = 0
            player.fails_at = 1 + attempt if player is players[attempt % 2] else 0
        await fails(one.battle_against(other, n_battles=30), PlayerFailed, "no idea")
        await play_again(one, other, 3)


# Battles that fail


class Poisoner(Quitter):
    """Makes a choice that its battle does not survive, once."""

    fault: str | None = "fault throw"

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        if battle.turn < 2 or self.fault is None:
            return super().choose_move(battle)
        fault, self.fault = self.fault, None
        return StringOrder(fault)


@contextmanager
def own_server(**settings: Any) -> Iterator[LocalServerConfiguration]:
    with local_server(
        **{"pool": 1, "warmup_battles": 0, "response_timeout": 20.0} | settings
    ) as server:
        yield server


@contextmanager
def own_door(**settings: Any) -> Iterator[Door]:
    with own_server(**settings) as server:
        yield Door(server)


def poisonable(tmp_path: Path) -> dict[str, Any]:
    arguments = ("--require", str(FAULTS / "poison.js"))
    return {"node_arguments": arguments, "poison_folder": tmp_path}


@pytest.mark.parametrize("fault", ["fault throw", "fault exit"])
async def test_a_battle_that_breaks_the_simulator_is_named_and_others_go_on(
    tmp_path: Path, fault: str
) -> None:
    with own_door(**poisonable(tmp_path)) as door:
        one, other = door.enter(Poisoner), door.enter(Quitter)
        one.fault = fault
        beside = door.pair(Quitter)
        going_on = asyncio.ensure_future(beside[0].battle_against(beside[1], n_battles=20))
        error = await fails(one.battle_against(other, n_battles=3), BattleFailed, "BattlePoisoned")
        assert error.room is not None
        assert error.room in str(error)
        assert "python -m bridge.replay" in str(error)
        await play_again(one, other)
        async with asyncio.timeout(20):
            await going_on
        assert beside[0].n_finished_battles == 20
        await door.close()


class Reader(Player):
    """Does the first thing that it can, keeps what it was told, and may kill what it plays on."""

    kills_in_turn = 0

    def __init__(self, **options: Any) -> None:
        self.told: defaultdict[str, list[list[str]]] = defaultdict(list)
        self.controllers: set[psutil.Process] = set()
        super().__init__(**options)

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        if battle.turn == self.kills_in_turn:
            while self.controllers:
                self.controllers.pop().kill()
        if battle.turn > 12:
            return ForfeitBattleOrder()
        return next(iter(battle.valid_orders), self.choose_default_move())

    async def _handle_battle_message(self, split_messages: list[list[str]]) -> None:
        # However the lines were cut into messages, and whatever the time was.
        (room,), *lines = split_messages
        self.told[room] += [line for line in lines if line[1:2] != ["t:"]]
        await super()._handle_battle_message(split_messages)


async def test_a_killed_controller_changes_nothing_in_a_battle() -> None:
    async def told(kills_in_turn: int) -> list[dict[str, list[list[str]]]]:
        before = controllers()
        with own_door(seed=5) as door:
            names = [AccountConfiguration(name, None) for name in ("Red", "Blue")]
            one, other = players = [
                door.enter(Reader, account_configuration=name) for name in names
            ]
            async with asyncio.timeout(20):
                await until(lambda: all(player.ps_client.logged_in.is_set() for player in players))
            one.kills_in_turn = kills_in_turn
            one.controllers = controllers() - before
            async with asyncio.timeout(20):
                await one.battle_against(other, n_battles=2)
            assert door.server.stats()["counters"]["deaths"] == (1 if kills_in_turn else 0)
        return [player.told for player in players]

    undisturbed = await told(0)
    for rooms in undisturbed:
        assert [len(lines) > 50 for lines in rooms.values()] == [True, True]
    assert await told(4) == undisturbed


# Connections and pools that are lost


async def test_closing_the_pool_ends_what_waits_and_what_comes_later() -> None:
    with own_door() as door:
        one, other = door.pair(Endless)
        waiting = asyncio.ensure_future(one.battle_against(other))
        async with asyncio.timeout(20):
            await until(lambda: one.battles and other.battles)
        await asyncio.to_thread(door.server.close)
        await fails(waiting, ConnectionLost, "the pool of this program is closed")
        await fails(one.battle_against(other), ConnectionLost, "is closed")
        await fails(other.ladder(1), ConnectionLost, "is closed")
        late = door.enter(Quitter)
        await fails(late.ladder(1), ConnectionLost, "is closed")


class Endless(Player):
    """Never chooses."""

    async def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        await asyncio.Event().wait()
        raise AssertionError


async def test_who_stops_listening_ends_its_own_calls_and_those_of_its_opponent(pair: Pair) -> None:
    one, other = pair(Endless)
    waiting = asyncio.ensure_future(one.battle_against(other))
    async with asyncio.timeout(10):
        await until(lambda: one.battles and other.battles)
    await leave(other)
    await fails(waiting, ConnectionLost, f"{other.username} has stopped listening")
    await fails(other.ladder(1), ConnectionLost, "has stopped listening")


async def test_a_pool_that_cannot_start_says_why() -> None:
    with own_server(node_arguments=("--no-such-option",)) as server:
        player = Quitter(server_configuration=server, battle_format=FORMAT)
        await fails(player.ladder(1), BridgeError, "no-such-option", seconds=20)


async def test_whatever_keeps_a_player_out_of_the_lobby_is_raised(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(lobby: Lobby, transport: Transport) -> Connection:
        raise LookupError("nobody foresaw this")

    with monkeypatch.context() as patch:
        patch.setattr(Lobby, "connect", connect)
        player = door.enter(Quitter)
        error = await fails(player.ladder(1), ConnectionLost, "nobody foresaw this")
    assert isinstance(error.__cause__, LookupError)


async def test_a_pool_whose_controllers_do_not_come_back_ends_all_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "flag"
    monkeypatch.setenv("FLAG", str(flag))
    before = controllers()
    with own_door(node_arguments=("--require", str(FAULTS / "refuse.js"))) as door:
        one, other = door.pair(Endless)
        waiting = asyncio.ensure_future(one.battle_against(other))
        async with asyncio.timeout(20):
            await until(lambda: one.battles and other.battles)
        flag.touch()
        for controller in controllers() - before:
            controller.kill()
        await fails(waiting, BridgeError, "told not to come up", seconds=40)
