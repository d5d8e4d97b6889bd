"""Names, challenges, the ladder and what else clients say, in Showdown's words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import orjson
import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.lobby import Limits, Lobby
from tests.conftest import until
from tests.lobby_client import LobbyClient, battle_between

pytestmark = pytest.mark.timeout(60)

FORMAT = "gen1randombattle"


@pytest.fixture
async def lobby(settings: BridgeConfig) -> AsyncIterator[Lobby]:
    async with ControllerRegistry(settings.replace(drain_timeout=0.0)) as registry:
        lobby = Lobby(registry, limits=Limits(games_per_user=2))
        yield lobby
        await lobby.close()
        assert not lobby._tasks


# Names


async def test_a_client_is_greeted_as_a_guest_who_may_choose_a_name(lobby: Lobby) -> None:
    client = LobbyClient.enter(lobby)
    (_, user), (_, challenge) = client.heard
    assert user.startswith("|updateuser| Guest 1|0|")
    assert challenge.startswith("|challstr|4|")


async def test_a_name_is_shown_exactly_behind_a_space(lobby: Lobby) -> None:
    client = LobbyClient.enter(lobby, "Ash Ketchum")
    assert client.said("|updateuser| Ash Ketchum|1|")
    assert repr(lobby) == "<Lobby: 1 connections, 1 users, 0 games>"


@pytest.mark.parametrize("name", ["Red", "red", "R e-d"])
async def test_a_name_that_somebody_has_is_taken(lobby: Lobby, name: str) -> None:
    red = LobbyClient.enter(lobby, "Red")
    other = LobbyClient.enter(lobby, name)
    assert other.said("|nametaken|") == [
        f'|nametaken|{name}|Someone is already using the name "Red".'
    ]
    assert other.connection.user is None
    assert red.connection.user is not None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "Your name must contain at least one letter."),
        ("!!!", "Your name must contain at least one letter."),
        ("Guest 7", "Your name must contain at least one letter."),
        ("x" * 19, "Your name must be 18 characters or shorter."),
    ],
)
async def test_an_unusable_name_is_refused(lobby: Lobby, name: str, problem: str) -> None:
    client = LobbyClient.enter(lobby, name)
    assert client.said("|nametaken|") == [f"|nametaken||{problem}"]


async def test_what_the_protocol_cannot_carry_is_left_out_of_a_name(lobby: Lobby) -> None:
    client = LobbyClient.enter(lobby, "R|e\x00d\u2028")
    assert client.said("|updateuser| Red|1|")


async def test_a_name_is_free_again_when_its_client_has_gone(lobby: Lobby) -> None:
    first = LobbyClient.enter(lobby, "Red")
    first.go()
    assert repr(lobby) == "<Lobby: 0 connections, 0 users, 0 games>"
    assert LobbyClient.enter(lobby, "Red").said("|updateuser| Red|1|")


async def test_a_client_can_change_its_name_and_log_out(lobby: Lobby) -> None:
    client = LobbyClient.enter(lobby, "Red")
    client.say("/trn Blue,0,")
    assert client.said("|updateuser| Blue|1|")
    client.say("/logout")
    assert client.connection.user is None
    assert lobby.user_count == 0


async def test_a_guest_must_choose_a_name_first(lobby: Lobby) -> None:
    LobbyClient.enter(lobby, "Red")
    guest = LobbyClient.enter(lobby)
    guest.say(f"/challenge Red, {FORMAT}")
    assert guest.said("|popup|You must choose a username")


# Challenges


async def test_a_challenge_is_told_to_both_and_gone_when_it_is_accepted(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    tag = await battle_between(red, blue)
    assert tag == f"battle-{FORMAT}-1"
    offer = f"|pm| Red| Blue|/challenge {FORMAT}|{FORMAT}|||"
    for client in (red, blue):
        assert client.said("|pm| Red| Blue|/challenge") == [offer, "|pm| Red| Blue|/challenge"]
        await client.hears("/nonotify Blue accepted the challenge, starting")
        assert client.said("|updatesearch|")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("/challenge Nobody, gen1randombattle", "|popup|The user 'Nobody' was not found."),
        ("/challenge Red, gen1randombattle", "|popup|You can't battle yourself."),
        ("/accept Blue", "|popup|blue is not challenging you."),
        ("/accept Nobody", '|popup|User "Nobody" not found.'),
        ("/reject Blue", "|popup|blue is not challenging you."),
        ("/cancelchallenge Blue", "|popup|You are not challenging Blue."),
        ("/challenge Blue, gen1nonsense", "|popup|Your selected format is invalid:||||- "),
        ("/challenge Blue, gen1ou|gen1ou", "|popup|Your selected format is invalid:||||- A format"),
        ("/challenge Blue, gen1ou", "|popup|Your team was rejected for the following reasons:||||"),
        ("/search gen1nonsense", "|popup|Your selected format is invalid:||||- "),
        ("/search gen9chimera1v1randombattlebo5", "|popup|Error: Your format"),
        ("/avatar ../../etc", "|popup|Invalid avatar."),
        ("/nonsense 1", '|error|The command "/nonsense" does not exist. To send a message'),
        ("hello", "|error|You can only chat"),
        ("/choose move 1", '|error|The command "/choose move 1" can only be used in a battle'),
        ("/cmd rooms", '|queryresponse|rooms|{"chat":[],"userCount":2,"battleCount":0}'),
        ("/cmd userdetails Blue", '|queryresponse|userdetails|{"id":"blue"'),
        ("/cmd userdetails Green", '|queryresponse|userdetails|{"id":"green"'),
        ("/cmd nonsense", "|queryresponse|nonsense|null"),
        ("/vtm gen1randombattle", "|popup|Your team is valid for [Gen 1] Random Battle."),
        ("/pm Nobody, hi", "|error|User Nobody not found."),
        ("/pm Blue, /challenge gen1ou|gen1ou", "|error|A private message is a text"),
        (
            "/leave battle-x-1",
            '|updatesearch|{"searching":[],"games":null,"deinit":["battle-x-1"]}',
        ),
    ],
)
async def test_a_command_is_answered(lobby: Lobby, command: str, answer: str) -> None:
    red = LobbyClient.enter(lobby, "Red")
    LobbyClient.enter(lobby, "Blue")
    heard = len(red.heard)
    red.say(command)
    await red.hears(answer)
    assert len(red.heard) == heard + 1


async def test_the_problems_of_a_team_are_listed_as_showdown_does(lobby: Lobby) -> None:
    red = LobbyClient.enter(lobby, "Red")
    LobbyClient.enter(lobby, "Blue")
    red.say("/utm Mewtwo|||Pressure|splash||85,85,85,85,85,85||||50|")
    red.say("/challenge Blue, gen9ou")
    _, text = await red.hears("|popup|Your team was rejected for the following reasons:||||- ")
    assert "||- " in text
    assert "Mewtwo" in text


async def test_a_challenge_can_be_cancelled_rejected_and_made_again(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say(f"/challenge Blue, {FORMAT}")
    await blue.hears(f"/challenge {FORMAT}")
    red.say(f"/challenge Blue, {FORMAT}")
    await red.hears("|popup|You are already challenging someone.")
    red.say("/cancelchallenge Blue")
    await blue.hears("/log Red cancelled the challenge.")
    red.say(f"/challenge Blue, {FORMAT}")
    await until(lambda: len(blue.said(f"|pm| Red| Blue|/challenge {FORMAT}")) == 2)
    blue.say("/reject Red")
    await red.hears("/nonotify Blue rejected the challenge.")
    await battle_between(red, blue)


async def test_two_who_challenge_each_other_play(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say(f"/challenge Blue, {FORMAT}")
    await blue.hears(f"/challenge {FORMAT}")
    blue.say(f"/challenge Red, {FORMAT}")
    await red.hears("|init|battle")
    await blue.hears("|init|battle")


async def test_a_challenge_ends_with_the_client_of_either(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say(f"/challenge Blue, {FORMAT}")
    await blue.hears(f"/challenge {FORMAT}")
    red.go()
    await blue.hears(lambda _, text: text == "|pm| Red| Blue|/challenge")
    blue.say("/accept Red")
    await blue.hears('|popup|User "Red" not found.')


async def test_a_challenge_to_one_who_goes_meanwhile_is_none(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say(f"/challenge Blue, {FORMAT}")
    blue.go()
    await red.hears("|popup|Sorry, your opponent blue went offline")
    green = LobbyClient.enter(lobby, "Green")
    red.say(f"/challenge Green, {FORMAT}")
    red.go()
    await until(lambda: not lobby._tasks)
    assert not green.said("|pm|")
    await battle_between(LobbyClient.enter(lobby, "Red"), green)


async def test_only_so_much_is_looked_at_for_one_user(lobby: Lobby) -> None:
    red = LobbyClient.enter(lobby, "Red")
    for number in range(20):
        red.say(f"/search gen1nonsense{number}")
    await red.hears("|popup|You are challenging and searching too much at once.")
    await until(lambda: len(red.said("|popup|Your selected format is invalid")) == 16)


async def test_games_at_the_same_time_are_bounded(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    for _ in range(2):
        await battle_between(red, blue)
    red.say(f"/challenge Blue, {FORMAT}")
    await red.hears("|popup|You are limited to 2 games at the same time.")


# The ladder


async def test_two_who_search_the_same_format_find_each_other(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say("/search gen9randombattle")
    await red.hears('"searching":["gen9randombattle"]')
    red.say("/search gen9randombattle")
    await red.hears("|popup|Couldn't search: You are already searching")
    blue.say("/search gen9randombattle")
    room, _ = await red.hears("|init|battle")
    await blue.hears(lambda where, text: where == room and "|title|Blue vs. Red" in text)
    await red.hears("|rated|")


async def test_a_search_that_was_cancelled_finds_nobody(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say("/search gen9randombattle")
    await red.hears('"searching":["gen9randombattle"]')
    red.say("/cancelsearch")
    blue.say("/search gen9randombattle")
    await blue.hears('"searching":["gen9randombattle"]')
    assert not red.said("|init|")


# Messages


async def test_private_messages_reach_both(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say("/pm Blue, good luck")
    for client in (red, blue):
        assert client.said("|pm|") == ["|pm| Red| Blue|good luck"]


@pytest.mark.parametrize("garbage", ["", "nonsense", "|", "||", "room|", "\x00|\x00", "|/", "|/ "])
async def test_garbage_harms_nobody(lobby: Lobby, garbage: str) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    lobby.receive(red.connection, garbage)
    await battle_between(red, blue)


async def test_too_many_lines_and_too_long_messages_are_refused(lobby: Lobby) -> None:
    red = LobbyClient.enter(lobby, "Red")
    lobby.receive(red.connection, "|" + "\n".join(["/cmd rooms"] * 9))
    assert red.said("|popup|You're sending too many lines")
    lobby.receive(red.connection, "|" + "x" * 70_000)
    assert red.said("|popup|Your message is too long.")
    assert not red.said("|queryresponse|")
    lobby.receive(red.connection, "|/cmd rooms\n/cmd rooms")
    assert len(red.said("|queryresponse|rooms|")) == 2


async def test_a_client_that_has_gone_is_not_heard_any_more(lobby: Lobby) -> None:
    red = LobbyClient.enter(lobby, "Red")
    heard = len(red.heard)
    red.go()
    red.say("/cmd rooms")
    assert len(red.heard) == heard


async def test_a_seed_decides_the_battles_of_a_pair_whatever_their_names(
    settings: BridgeConfig,
) -> None:
    async def teams(*names: str) -> list[list[str]]:
        async with ControllerRegistry(settings) as registry:
            lobby = Lobby(registry, seed=7)
            clients = [LobbyClient.enter(lobby, name) for name in names]
            drawn = []
            for one, other in ((0, 1), (0, 1), (1, 2)):
                room = await battle_between(clients[one], clients[other])
                request = await clients[one].asked(room)
                drawn.append([each["details"] for each in request["side"]["pokemon"]])
                clients[one].say("/forfeit", room)
                await clients[other].play(room)
            await lobby.close()
        return drawn

    once, again = await teams("Red", "Blue", "Green"), await teams("A", "B", "C")
    assert once == again
    assert once[0] != once[1]
    assert once[0] != once[2]


async def test_closing_parts_from_everybody(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings.replace(drain_timeout=0.0)) as registry:
        lobby = Lobby(registry)
        red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
        await battle_between(red, blue)
        await lobby.close("good night")
        assert red.closed == blue.closed == "good night"
        assert not lobby._tasks
    assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()


async def test_who_wants_to_play_while_the_pool_closes_is_told(lobby: Lobby) -> None:
    red = LobbyClient.enter(lobby, "Red")
    LobbyClient.enter(lobby, "Blue")
    await lobby.registry.close(drain=False)
    red.say("/challenge Blue, gen9randombattle")
    await red.hears("|popup|The server is restarting.")


async def test_statistics_say_who_is_there(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    LobbyClient.enter(lobby).go()
    await battle_between(red, blue)
    assert lobby.stats() == {"connections": 2, "users": 2, "games": 1, "connected": 3}


async def test_a_replay_is_what_the_player_has_seen(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    room = await battle_between(red, blue)
    await red.asked(room)
    red.say("/savereplay", room)
    _, text = await red.hears("|queryresponse|savereplay|")
    replay = orjson.loads(text.removeprefix("|queryresponse|savereplay|"))
    assert replay["id"] == room.removeprefix("battle-")
    assert "|player|p1|Red|1|" in replay["log"]
