"""Battles of the lobby: what players are told and in which order, what they may do, and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge import BridgeConfig, ControllerRegistry
from bridge.lobby import Lobby
from tests.conftest import until
from tests.lobby_client import LobbyClient, battle_between

pytestmark = pytest.mark.timeout(60)

SHEETS = "gen9vgc2025regi"
BEST_OF_THREE = "gen1randombattle@@@bestof=3"
FAULTS = Path(__file__).parents[2] / "adversity" / "faults" / "poison.js"
TEAM = "]".join(
    f"{name}||{item}|{ability}|{moves}|Serious|4,,,,,|||||,,,,,{tera}"
    for name, item, ability, moves, tera in (
        (
            "Incineroar",
            "safetygoggles",
            "intimidate",
            "fakeout,flareblitz,knockoff,partingshot",
            "Fire",
        ),
        (
            "Rillaboom",
            "miracleseed",
            "grassysurge",
            "fakeout,woodhammer,uturn,highhorsepower",
            "Grass",
        ),
        ("Amoonguss", "sitrusberry", "regenerator", "spore,pollenpuff,ragepowder,protect", "Water"),
        ("Tornadus", "focussash", "prankster", "bleakwindstorm,tailwind,taunt,protect", "Flying"),
        ("Urshifu", "mysticwater", "unseenfist", "closecombat,suckerpunch,detect,uturn", "Dark"),
        (
            "Garchomp",
            "clearamulet",
            "roughskin",
            "earthquake,dragonclaw,rockslide,protect",
            "Steel",
        ),
    )
)


@pytest.fixture
async def lobby(settings: BridgeConfig) -> AsyncIterator[Lobby]:
    """A lobby whose clock is five hundred times as fast, and whose battles can be poisoned."""
    config = settings.replace(drain_timeout=0.0, node_arguments=("--require", str(FAULTS)))
    async with ControllerRegistry(config) as registry:
        lobby = Lobby(registry, seed=3, tick_seconds=0.01)
        yield lobby
        await lobby.close()


@pytest.fixture
def red(lobby: Lobby) -> LobbyClient:
    return LobbyClient.enter(lobby, "Red")


@pytest.fixture
def blue(lobby: Lobby) -> LobbyClient:
    return LobbyClient.enter(lobby, "Blue")


async def test_a_request_follows_its_update_in_a_frame_of_its_own(
    red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await red.asked(room)
    frames = [text for where, text in red.heard if where == room]
    opening, update, request = frames
    assert opening == "|init|battle\n|title|Red vs. Blue\n|j|☆Red\n|j|☆Blue"
    assert "\n|turn|1" in update
    assert request.startswith("|request|{")
    assert request.endswith(',"rqid":1}')
    assert "|request|" not in update


async def test_the_end_and_farewell_are_one_frame_and_nothing_follows(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await red.asked(room)
    red.say("/forfeit", room)
    end = await blue.play(room)
    assert "|-message|Red forfeited." in end
    assert end.endswith("|win|Blue\n|deinit")
    await until(lambda: lobby.game_count == 0)
    for late in ("/choose move 1", "/forfeit", "hello"):
        red.say(late, room)
    assert red.heard[-1][0] == ""
    assert [text for where, text in red.heard if where == room][-1] == end


async def test_a_battle_is_played_to_its_end(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    ends = await asyncio.gather(red.play(room), blue.play(room))
    assert ends[0].splitlines()[-2:] == ends[1].splitlines()[-2:]
    await until(lambda: lobby.game_count == 0)


# Choices


async def test_a_choice_for_an_old_request_is_too_late(red: LobbyClient, blue: LobbyClient) -> None:
    room = await battle_between(red, blue)
    rqid = (await red.asked(room))["rqid"]
    red.say("/choose move 1|999", room)
    await red.hears("|error|[Invalid choice] Sorry, too late to make a different move")
    red.say(f"/choose move 1|{rqid}", room)
    blue.say("/move 1", room)
    await red.hears("|move|p1a: ")


async def test_a_choice_can_be_replaced_and_taken_back_until_the_other_has_chosen(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await blue.asked(room)
    red.say("/undo", room)
    await red.hears("|error|[Invalid choice] There's nothing to cancel")
    red.say("/choose move 1", room)
    red.say("/choose switch 2", room)
    red.say("/undo", room)
    red.say("/switch 3", room)
    blue.say("/choose move 1", room)
    await red.asked(room, after=2)
    updates = "\n".join(red.said("|", room))
    second = updates.index("|switch|p1a", updates.index("|turn|1"))
    third = (await red.asked(room))["side"]["pokemon"][2]["details"].partition(",")[0]
    assert third in updates[second:].partition("\n")[0]


async def test_an_impossible_choice_is_refused_in_the_simulators_words_and_can_be_made_again(
    red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await blue.asked(room)
    red.say("/choose move 17", room)
    await red.hears("|error|[Invalid choice] Can't move: ")
    red.say("/choose " + "x" * 2000, room)
    await until(lambda: len(red.said("|error|[Invalid choice]", room)) == 2)
    red.say("/choose move 1", room)
    blue.say("/choose move 1", room)
    await red.hears("|move|p1a: ")


async def test_who_waits_has_nothing_to_choose(red: LobbyClient, blue: LobbyClient) -> None:
    room = await battle_between(red, blue, "gen9randombattle")
    waits = '|request|{"wait":true'
    while not red.said(waits, room) and not blue.said(waits, room):
        for client in (red, blue):
            client.say("/choose default", room)
        await red.hears_more()
    waiting = red if red.said(waits, room) else blue
    waiting.say("/choose move 1", room)
    await waiting.hears("|error|[Invalid choice] There's nothing to choose")


async def test_a_hidden_trap_is_an_error_and_then_a_request_that_knows_it(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    red.say("/utm Wobbuffet|||shadowtag|counter||||||50|]Mew|||synchronize|splash||||||50|")
    blue.say("/utm Mewtwo|||pressure|recover||||||50|]Mew|||synchronize|splash||||||50|")
    room = await battle_between(red, blue, "gen9customgame")
    for client in (red, blue):
        await client.asked(room)
        client.say("/team 12", room)
    request = await blue.asked(room, after=2)
    assert request["active"][0]["maybeTrapped"]
    blue.say(f"/choose switch 2|{request['rqid']}", room)
    again = await blue.asked(room, after=request["rqid"])
    assert again["update"] is True
    assert again["active"][0]["trapped"] is True
    frames = [text for where, text in blue.heard if where == room]
    assert frames[-2].startswith("|error|[Unavailable choice] Can't switch")
    assert len(blue.said("|error|", room)) == 1
    blue.say(f"/choose move 1|{again['rqid']}", room)
    red.say("/choose move 1", room)
    await blue.hears("|turn|2")


# Rooms


async def test_strangers_are_not_let_into_a_battle(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    green = LobbyClient.enter(lobby, "Green")
    green.say(f"/join {room}")
    assert green.heard[-1] == (
        room,
        f'|noinit|joinfailed|The room "{room}" is invite-only, and you haven\'t been invited.',
    )
    green.say("/join battle-x-9")
    assert green.heard[-1][1].startswith('|noinit|nonexistent|The room "battle-x-9" does not')
    heard = len(red.heard)
    for line in ("/choose move 1", "/forfeit", "/timer on", "hello"):
        green.say(line, room)
    assert len(red.heard) == heard


async def test_a_player_may_be_called_as_the_protocol_calls_things(lobby: Lobby) -> None:
    turn, win = LobbyClient.enter(lobby, "turn"), LobbyClient.enter(lobby, "win")
    for client in (turn, win):
        client.say("/utm Mew|||synchronize|splash||||||50|")
    room = await battle_between(turn, win, "gen9customgame")
    for client in (turn, win):
        assert (await client.asked(room))["teamPreview"]
        client.say("/team 1", room)
    await turn.hears("|turn|1")


@pytest.mark.parametrize("line", ["/uhtml a,<b>", " /raw <b>", "|raw <b>", "//raw <b>", "||raw"])
async def test_what_players_say_is_never_taken_for_the_servers_words(
    red: LobbyClient, blue: LobbyClient, line: str
) -> None:
    room = await battle_between(red, blue)
    await blue.asked(room)
    heard = len(blue.heard)
    red.say(line, room)
    for _, text in blue.heard[heard:]:
        assert text.startswith("|c|☆Red|//")


async def test_what_is_said_is_bounded_and_not_kept(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await blue.asked(room)
    red.say("x" * 301, room)
    assert red.heard[-1] == (room, "|error|Your message is too long.")
    red.say(f"/pm Blue, {'x' * 301}")
    assert red.heard[-1] == ("", "|error|Your message is too long.")
    red.say("good luck", room)
    blue.say(f"/join {room}")
    assert "good luck" not in blue.said("|init|battle", room)[-1]


async def test_a_mind_is_not_changed_for_ever(red: LobbyClient, blue: LobbyClient) -> None:
    room = await battle_between(red, blue)
    await blue.asked(room)
    for _ in range(60):
        red.say("/choose move 1", room)
        red.say("/undo", room)
    await red.hears("|error|[Invalid choice] Sorry, too late to")


async def test_players_chat_in_their_room_and_their_words_are_only_words(
    red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    red.say("good luck | have fun", room)
    assert blue.heard[-1] == (room, "|c|☆Red|good luck / have fun")


async def test_who_lost_its_connection_comes_back_to_all_it_has_missed(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    lobby.tick_seconds = 60.0
    room = await battle_between(red, blue)
    request = await red.asked(room)
    red.go()
    await blue.hears("|inactive|Red disconnected and has 300 seconds to reconnect!")
    again = LobbyClient.enter(lobby, "Red")
    assert room in again.said("|updatesearch|")[-1]
    again.say(f"/join {room}")
    assert await again.asked(room) == request
    opening = again.said("|init|battle", room)[0]
    assert "\n|turn|1" in opening
    await blue.hears("|inactive|Red reconnected")
    again.say("/choose move 1", room)
    blue.say("/choose move 1", room)
    await again.hears("|move|p1a: ")


# Time


async def test_a_player_that_vanishes_loses_when_its_time_is_over(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await blue.asked(room)
    red.go()
    blue.say("/choose move 1", room)
    _, end = await blue.hears("|win|")
    assert "|-message|Red lost due to inactivity." in end
    assert blue.said("|inactive|Red has 30 seconds to reconnect!", room)
    await until(lambda: lobby.game_count == 0)
    assert lobby.user_count == 1


async def test_a_battle_without_players_is_a_tie(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await blue.asked(room)
    red.go()
    blue.go()
    await until(lambda: lobby.game_count == 0)
    assert lobby.user_count == 0


async def test_a_timer_that_is_asked_for_ends_a_battle_of_one_who_sleeps(
    red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await red.asked(room)
    red.say("/timer", room)
    assert red.heard[-1] == (room, "The game timer is OFF.")
    red.say("/timer maybe", room)
    assert red.heard[-1][1] == '|error|"maybe" is not a recognized timer state.'
    red.say("/timer off", room)
    assert red.heard[-1][1] == "|error|The timer is already off."
    red.say("/timer on", room)
    await blue.hears("|inactive|Battle timer is ON: inactive players will automatically lose")
    red.say("/choose move 1", room)
    _, end = await red.hears("|win|Red")
    assert "|-message|Blue lost due to inactivity." in end


async def test_a_timer_can_be_turned_off(red: LobbyClient, blue: LobbyClient) -> None:
    room = await battle_between(red, blue)
    await red.asked(room)
    red.say("/timer on", room)
    red.say("/timer off", room)
    await blue.hears("|inactiveoff|Battle timer is now OFF.")


# Team sheets


async def test_team_sheets_are_shown_when_both_agree(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    for client in (red, blue):
        client.say(f"/utm {TEAM}")
    room = await battle_between(red, blue, SHEETS)
    await blue.asked(room)
    red.say("/acceptopenteamsheets", room)
    assert (room, "Red has agreed to open team sheets.") in blue.heard
    red.say("/rejectopenteamsheets", room)
    assert red.heard[-1][1].startswith("|error|You have already made your decision")
    blue.say("/acceptopenteamsheets", room)
    for client in (red, blue):
        _, sheets = await client.hears("|showteam|p1|")
        assert "|showteam|p2|" in sheets


async def test_team_sheets_stay_closed_when_one_refuses(lobby: Lobby) -> None:
    red, blue = LobbyClient.enter(lobby, "Red"), LobbyClient.enter(lobby, "Blue")
    for client in (red, blue):
        client.say(f"/utm {TEAM}")
    room = await battle_between(red, blue, SHEETS)
    blue.say("/rejectopenteamsheets", room)
    assert (room, "Blue rejected open team sheets.") in red.heard
    red.say("/acceptopenteamsheets", room)
    assert red.heard[-1][1] == "|error|An opponent has already rejected open team sheets."


async def test_a_format_without_team_sheets_says_so(red: LobbyClient, blue: LobbyClient) -> None:
    room = await battle_between(red, blue)
    red.say("/acceptopenteamsheets", room)
    assert red.heard[-1][1].startswith("|error|This format does not allow requesting open team")


# Sets of battles


async def give_up_games(
    lobby: Lobby, client: LobbyClient, opponent: LobbyClient, games: int
) -> None:
    """Loses so many games of a set, one after the other."""
    seen: set[str] = set()
    for _ in range(games):
        room, _ = await opponent.hears(
            lambda room, text: room.startswith("battle-") and room not in seen and "|turn|1" in text
        )
        seen.add(room)
        client.say("/forfeit", room)
        await opponent.play(room)
        for each in (client, opponent):
            each.say("/confirmready", "game-bestof3-gen1randombattle-1")


async def test_a_set_is_won_by_who_wins_most_of_its_battles(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue, BEST_OF_THREE)
    assert room == "game-bestof3-gen1randombattle-1"
    await give_up_games(lobby, red, blue, 2)
    _, end = await red.hears("|win|Blue")
    _, end = await red.hears(lambda where, text: where == room and "|win|" in text)
    assert end == "|win|Blue\n|deinit"
    await until(lambda: lobby.game_count == 0)


async def test_the_next_battle_of_a_set_waits_for_its_players_but_not_for_ever(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue, BEST_OF_THREE)
    first, _ = await blue.hears(
        lambda where, text: where.startswith("battle-") and "|turn|1" in text
    )
    red.say("/confirmready", room)
    assert red.heard[-1][1].startswith("|error|The battle is not currently waiting")
    red.say("/forfeit", first)
    await blue.hears(lambda where, text: where == room and "/confirmready" in text)
    second, _ = await blue.hears(
        lambda where, text: where.startswith("battle-") and where != first and "|turn|1" in text
    )
    assert second != first


async def test_who_gives_a_set_up_loses_it_at_once(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue, BEST_OF_THREE)
    await blue.hears(lambda where, text: where.startswith("battle-") and "|turn|1" in text)
    red.say("/forfeit", room)
    await blue.hears(lambda where, text: where == room and text == "|win|Blue\n|deinit")
    await until(lambda: lobby.game_count == 0)


async def test_a_set_goes_on_without_one_who_has_gone_for_good(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue, BEST_OF_THREE)
    await blue.hears(lambda where, text: where.startswith("battle-") and "|turn|1" in text)
    red.go()
    await blue.hears(lambda where, text: where == room and text == "|win|Blue\n|deinit")
    await until(lambda: lobby.game_count == 0)


# What breaks


async def test_a_battle_that_breaks_the_simulator_ends_for_both_with_the_cause(
    lobby: Lobby, red: LobbyClient, blue: LobbyClient
) -> None:
    room = await battle_between(red, blue)
    await red.asked(room)
    red.say("/choose fault throw", room)
    for client in (red, blue):
        _, end = await client.hears("|bigerror|")
        cause, tie, farewell = end.split("\n")
        assert "BattlePoisoned: the battle failed 2 times" in cause
        assert room in cause
        assert (tie, farewell) == ("|tie", "|deinit")
    await until(lambda: lobby.game_count == 0)
    await battle_between(red, blue)
