"""Players of poke-env play over the pool, whatever they are and however they meet."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from poke_env.battle import AbstractBattle, DoubleBattle
from poke_env.player import (
    MaxBasePowerPlayer,
    Player,
    RandomPlayer,
    SimpleHeuristicsPlayer,
    background_cross_evaluate,
    cross_evaluate,
)
from poke_env.player.battle_order import BattleOrder
from poke_env.ps_client import AccountConfiguration, PSClient
from poke_env.teambuilder import ConstantTeambuilder, Teambuilder

from tests.conftest import LOOPS, LoopFactory, until

from .cast import VGC_TEAM, Quitter, forget, leave, team_of
from .conftest import Door

pytestmark = pytest.mark.timeout(60)

BEST_OF_THREE = "gen9championsvgc2026regmbbo3"
VGC = "gen9vgc2025regi"
# How many moves each Pokémon of the team has.
SHEETS = {"Snorlax": 3, "Jolteon": 3, "Garchomp": 3, "Gengar": 3, "Tyranitar": 2, "Dragonite": 2}


async def play(one: Player, other: Player, battles: int = 1, seconds: float = 30) -> None:
    """Plays to the end, on which both agree."""
    async with asyncio.timeout(seconds):
        await one.battle_against(other, n_battles=battles)
    assert_agreed(one, other, battles)


def assert_agreed(one: Player, other: Player, battles: int) -> None:
    assert one.n_finished_battles == other.n_finished_battles == battles
    for tag, seen in one.battles.items():
        assert seen.won is not None or seen._finished
        assert other.battles[tag].won == (None if seen.won is None else not seen.won)
        assert other.battles[tag].turn == seen.turn


# Formats


@pytest.mark.parametrize("generation", range(1, 10))
async def test_random_teams_of_every_generation_play_to_the_end(
    door: Door, generation: int
) -> None:
    kind = (MaxBasePowerPlayer, SimpleHeuristicsPlayer)[generation % 2]
    chosen = f"gen{generation}randombattle"
    await play(door.enter(RandomPlayer, chosen), door.enter(kind, chosen))


@pytest.mark.parametrize("kind", [RandomPlayer, MaxBasePowerPlayer, SimpleHeuristicsPlayer])
async def test_random_teams_play_doubles(door: Door, kind: type[Player]) -> None:
    one, other = door.pair(kind, "gen9randomdoublesbattle")
    await play(one, other)
    assert all(isinstance(battle, DoubleBattle) for battle in one.battles.values())


@pytest.mark.parametrize("generation", range(1, 10))
async def test_given_teams_play_singles_of_every_generation(door: Door, generation: int) -> None:
    one, other = door.pair(RandomPlayer, f"gen{generation}ou", team=team_of(generation))
    await play(one, other)
    (battle,) = one.battles.values()
    assert {mon.species for mon in battle.team.values()} <= {"snorlax", "tauros", "jolteon"}


@pytest.mark.parametrize("generation", range(3, 10))
async def test_given_teams_play_doubles_of_every_generation_that_has_them(
    door: Door, generation: int
) -> None:
    one, other = door.pair(RandomPlayer, f"gen{generation}doublesou", team=team_of(generation))
    await play(one, other)


@pytest.mark.parametrize("accepts", [(True, True), (True, False), (False, True), (False, False)])
async def test_team_sheets_are_shown_if_both_players_want_that(
    door: Door, accepts: tuple[bool, bool]
) -> None:
    one, other = (
        door.enter(Quitter, VGC, team=VGC_TEAM, accept_open_team_sheet=wants) for wants in accepts
    )
    await play(one, other)
    (battle,) = one.battles.values()
    assert len(battle.teampreview_opponent_team) == 6
    known = {mon.name: len(mon.moves) for mon in battle.opponent_team.values()}
    if all(accepts):
        assert known == SHEETS
    else:
        assert known != SHEETS


async def test_a_best_of_three_is_played_until_somebody_has_won_two(door: Door) -> None:
    one, other = door.pair(Quitter, BEST_OF_THREE, team=VGC_TEAM)
    async with asyncio.timeout(30):
        await one.battle_against(other, n_battles=2)
    wins = [battle.won for battle in one.battles.values()]
    assert len(wins) in (4, 5, 6)
    assert one.n_won_battles + other.n_won_battles == len(wins)


# Ways to meet


async def test_challenges_are_sent_and_accepted_one_by_one(door: Door) -> None:
    one, other = door.pair(Quitter)
    async with asyncio.timeout(30):
        await asyncio.gather(
            one.send_challenges(other.username, 2, to_wait=other.ps_client.logged_in),
            other.accept_challenges(one.username, 2),
        )
    assert_agreed(one, other, 2)


@pytest.mark.parametrize("who", ["anybody", "some"])
async def test_challenges_of_anybody_or_of_some_are_accepted(door: Door, who: str) -> None:
    host = door.enter(Quitter, max_concurrent_battles=2)
    guests = [door.enter(Quitter) for _ in range(2)]
    async with asyncio.timeout(30):
        await asyncio.gather(
            host.accept_challenges(
                None if who == "anybody" else [guest.username for guest in guests], 4
            ),
            *(
                guest.send_challenges(host.username, 2, to_wait=host.ps_client.logged_in)
                for guest in guests
            ),
        )
    assert host.n_finished_battles == 4
    assert [guest.n_finished_battles for guest in guests] == [2, 2]


async def test_who_searches_the_ladder_is_matched(door: Door) -> None:
    players = [door.enter(Quitter) for _ in range(4)]
    async with asyncio.timeout(30):
        await asyncio.gather(*(player.ladder(3) for player in players))
    assert [player.n_finished_battles for player in players] == [3] * 4


async def test_several_opponents_are_met_one_after_the_other(door: Door) -> None:
    one, *others = [door.enter(Quitter) for _ in range(3)]
    async with asyncio.timeout(30):
        await one.battle_against(*others, n_battles=2)
    assert one.n_finished_battles == 4
    assert [other.n_finished_battles for other in others] == [2, 2]


@pytest.mark.parametrize(("limit", "at_once"), [(0, 20), (1, 1), (7, 7)])
async def test_as_many_battles_are_played_at_once_as_players_want(
    door: Door, limit: int, at_once: int
) -> None:
    most = 0

    class Counter(Quitter):
        async def choose_move(self, battle: AbstractBattle) -> BattleOrder:  # type: ignore[override]
            nonlocal most
            await until(lambda: most == at_once or self.under_way == at_once)
            most = max(most, self.under_way)
            return super().choose_move(battle)

        @property
        def under_way(self) -> int:
            return len([battle for battle in self.battles.values() if not battle.finished])

    one, other = door.pair(Counter, max_concurrent_battles=limit)
    await play(one, other, 20)
    assert most == at_once


async def test_players_are_evaluated_across(door: Door) -> None:
    players: list[Player] = [door.enter(Quitter) for _ in range(3)]
    async with asyncio.timeout(30):
        table = await cross_evaluate(players, n_challenges=2)
    names = [player.username for player in players]
    assert list(table) == names
    for name in names:
        for other in names:
            rate, counter = table[name][other], table[other][name]
            if name == other:
                assert rate is None
            else:
                assert rate is not None
                assert counter is not None
                assert rate + counter == 1


def test_players_are_evaluated_across_in_the_background(door: Door) -> None:
    players: list[Player] = [door.enter(Quitter) for _ in range(2)]
    table = background_cross_evaluate(players, n_challenges=2).result(timeout=30)
    assert set(table) == {player.username for player in players}


# Players of one's own


class AsyncPlayer(Player):
    async def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        await asyncio.sleep(0)
        return self.choose_random_move(battle)

    async def teampreview(self, battle: AbstractBattle) -> str:
        await asyncio.sleep(0)
        return "/team 21"


class SyncPlayer(Player):
    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        return self.choose_random_move(battle)

    def teampreview(self, battle: AbstractBattle) -> str:
        return "/team 21"


@pytest.mark.parametrize("kind", [SyncPlayer, AsyncPlayer])
async def test_own_players_choose_moves_and_teams_with_and_without_waiting(
    door: Door, kind: type[Player]
) -> None:
    one, other = door.pair(kind, "gen9ou", team=team_of(9))
    led: list[str] = []
    parse = AbstractBattle.parse_message

    def read(battle: AbstractBattle, message: list[str]) -> None:
        if message[1] == "switch" and battle.turn == 0:
            led.append(message[3].partition(",")[0])
        parse(battle, message)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AbstractBattle, "parse_message", read)
        await play(one, other)
    assert led == ["Jolteon"] * 4


async def test_a_battle_waits_for_a_player_who_thinks_while_others_go_on(door: Door) -> None:
    has_decided = False

    class Thinker(Quitter):
        async def choose_move(self, battle: AbstractBattle) -> BattleOrder:  # type: ignore[override]
            await until(lambda: has_decided or battle.turn < 2)
            return super().choose_move(battle)

    thinker = door.enter(Thinker)
    waiting = asyncio.ensure_future(thinker.battle_against(door.enter(Quitter)))
    await play(*door.pair(Quitter), battles=3)
    assert not waiting.done()
    has_decided = True
    async with asyncio.timeout(30):
        await waiting
    assert thinker.n_finished_battles == 1


class Alternating(Teambuilder):
    """Yields one team and then the other."""

    def __init__(self, *teams: str) -> None:
        self.teams = [self.join_team(self.parse_showdown_team(team)) for team in teams]
        self.yielded = 0

    def yield_team(self) -> str:
        self.yielded += 1
        return self.teams[self.yielded % len(self.teams)]


async def test_teams_are_text_or_packed_or_come_from_a_teambuilder(door: Door) -> None:
    packed = ConstantTeambuilder(team_of(9)).yield_team()
    builder = Alternating(team_of(9), "Garchomp\nAbility: Rough Skin\nEVs: 4 HP\n- Earthquake\n")
    one = door.enter(Quitter, "gen9ou", team=packed)
    other = door.enter(Quitter, "gen9ou", team=builder)
    await play(one, other, 2)
    assert builder.yielded == 2
    seen = [sorted(mon.species for mon in b.team.values()) for b in other.battles.values()]
    assert seen == [["garchomp"], ["jolteon", "snorlax"]]
    forget(one, other)
    one.update_team("Gengar\nAbility: Cursed Body\nEVs: 4 HP\n- Shadow Ball\n")
    await play(one, other)
    (battle,) = one.battles.values()
    assert [mon.species for mon in battle.team.values()] == ["gengar"]


async def test_replays_are_saved(door: Door, tmp_path: Path) -> None:
    one, other = door.enter(RandomPlayer, save_replays=str(tmp_path)), door.enter(RandomPlayer)
    await play(one, other, 2)
    for tag, battle in one.battles.items():
        text = (tmp_path / f"{one.username} - {tag}.html").read_text()
        assert f"|player|p1|{one.username}|" in text
        ends = {True: f"|win|{one.username}", False: f"|win|{other.username}", None: "|tie"}
        assert ends[battle.won] in text
        assert f"|turn|{battle.turn}\n" in text
    tag = next(iter(other.battles))
    assert "|turn|1\n" in other.save_replay(tag, tmp_path / "another.html").read_text()


async def test_a_player_has_the_avatar_that_it_wants_and_starts_the_timer(door: Door) -> None:
    lines: list[list[str]] = []

    class Reader(Quitter):
        async def _handle_battle_message(self, split_messages: list[list[str]]) -> None:
            lines.extend(split_messages)
            await super()._handle_battle_message(split_messages)

    one = door.enter(Reader, avatar="lucas", start_timer_on_battle_start=True)
    await play(one, door.enter(Quitter))
    assert ["", "player", "p1", one.username, "lucas", ""] in lines
    assert any(line[1:2] == ["inactive"] and "Battle timer is ON" in line[2] for line in lines)


# Loops


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("where", ["both", "one"])
def test_players_live_on_a_loop_of_the_caller(
    door: Door, new_loop: LoopFactory, where: str
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        one = door.enter(Quitter, loop=loop)
        other = door.enter(Quitter, loop=loop) if where == "both" else door.enter(Quitter)
        # poke-env can wait for the login of an opponent on the same loop alone.
        await until(lambda: one.ps_client.logged_in.is_set() and other.ps_client.logged_in.is_set())
        await play(one, other, 3)
        await other.battle_against(one)
        await door.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())


def test_players_are_made_and_used_without_a_loop(door: Door) -> None:
    one, other = door.pair(Quitter)
    asyncio.run(play(one, other))
    asyncio.run(play(*door.pair(Quitter)))


async def test_a_player_who_stops_listening_is_gone_and_its_name_is_free(door: Door) -> None:
    name = AccountConfiguration("Once and again", None)
    for _ in range(3):
        player = door.enter(Quitter, account_configuration=name)
        await play(player, door.enter(Quitter))
        await leave(player)


async def test_a_player_whose_loop_is_ahead_of_its_constructor_logs_in(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = PSClient.__init__

    def linger(client: PSClient, *arguments: Any, **options: Any) -> None:
        prepare(client, *arguments, **options)
        client._listening_coroutine.result(timeout=10)
        while not client.logged_in.is_set():
            time.sleep(0.001)

    monkeypatch.setattr(PSClient, "__init__", linger)
    await play(*door.pair(Quitter))
