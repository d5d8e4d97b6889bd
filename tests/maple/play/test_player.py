"""A trained agent plays on servers as any player of poke-env does."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from poke_env.battle.battle import Battle as Model

from bridge.errors import ConfigError
from bridge.poke_env import local_server
from maple.agents import CheckpointUnreadable, save_checkpoint
from maple.play import AgentPlayer, Game, ObservationFailed, Observer, Result
from maple.play.deciding import Decider
from tests.bridge.poke_env.cast import VGC_TEAM, leave
from tests.maple.play.cast import PLAY_SECONDS, TRAPPERS, Brief, Default, Stage, fresh

GENERATIONS = [("gen1randombattle", 1), ("gen4randombattle", 4), ("gen7randombattle", 7)]


async def test_an_agent_plays_several_battles_at_once(stage: Stage) -> None:
    agent = stage.agent(fresh(kind="lstm"))
    games = await stage.play(agent, Default, battles=3)
    assert [game.failure for game in games] == [None] * 3
    assert {game.result for game in games} <= {Result.WON, Result.LOST, Result.TIED}
    assert all(game.decider.decisions >= game.turns - 1 > 5 for game in games)
    assert all(game.opponent.startswith("Opponent") for game in games)
    won = sum(game.result is Result.WON for game in games)
    assert (agent.n_finished_battles, agent.n_won_battles) == (3, won)
    assert agent.observer.starts == 1


@pytest.mark.parametrize(("format", "generation"), GENERATIONS)
async def test_an_agent_plays_other_generations(stage: Stage, format: str, generation: int) -> None:
    agent = stage.agent(fresh(format, "singles", generation))
    [game] = await stage.play(agent, Brief)
    assert (game.failure, game.result, game.turns) == (None, Result.WON, 3)


async def test_an_agent_plays_doubles(stage: Stage) -> None:
    agent = stage.agent(fresh("gen9randomdoublesbattle", "doubles", 9, "attention"), greedy=True)
    [game] = await stage.play(agent)
    assert game.failure is None
    assert game.decider.decisions >= game.turns > 3


@pytest.mark.parametrize(
    ("agrees", "opponent_agrees"), [(False, False), (True, False), (True, True)]
)
async def test_an_agent_picks_whom_it_brings(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, agrees: bool, opponent_agrees: bool
) -> None:
    checkpoint = fresh("gen9vgc2025regi", "doubles", 9)
    agent = stage.agent(checkpoint, team=VGC_TEAM, accept_open_team_sheet=agrees)
    said, shown = overhear(agent), sheets(agent, monkeypatch)
    [game] = await stage.play(agent, Brief, accept_open_team_sheet=opponent_agrees)
    assert game.failure is None
    picks = said[0].removeprefix("/choose team ").split(",")
    assert len(set(picks)) == 4
    # Two at a time in the preview, and then a decision in each turn.
    assert game.decider.decisions >= 2 + 2
    assert game.sheets_are_settled
    # Whoever waits for them has seen them when it picks.
    assert shown == [agrees and opponent_agrees]


async def test_who_never_says_whether_it_shows_its_sheets_is_not_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maple.play.player._SHEETS_SECONDS", 0.1)
    agent = stage.agent(
        fresh("gen9vgc2025regi", "doubles", 9), team=VGC_TEAM, accept_open_team_sheet=True
    )
    silent = stage.opponent(agent.format, Brief, team=VGC_TEAM)
    say = silent.ps_client.send_message

    async def send_message(message: str, room: str = "", message_2: str | None = None) -> None:
        if message != "/rejectopenteamsheets":
            await say(message, room, message_2)

    monkeypatch.setattr(silent.ps_client, "send_message", send_message)
    async with asyncio.timeout(PLAY_SECONDS):
        await agent.battle_against(silent)
    assert (stage.ended[0].failure, stage.ended[0].sheets_are_settled) == (None, False)


def sheets(agent: AgentPlayer, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the agent knows an item of its opponent when it first picks."""
    known: list[bool] = []
    choose = Decider.choose

    def look(self: Decider, observation: bytes) -> str:
        if not known:
            team = agent.observations.decode(observation)["opponent_team"]
            known.append(any(one["item"] != "unknown" for one in team["who"]))
        return choose(self, observation)

    monkeypatch.setattr(Decider, "choose", look)
    return known


async def test_an_agent_plays_in_this_process() -> None:
    with local_server(pool=1, warmup_battles=0) as server:
        agent = AgentPlayer(fresh(), server_configuration=server)
        opponent = Brief(server_configuration=server)
        async with asyncio.timeout(PLAY_SECONDS):
            await agent.battle_against(opponent)
        assert agent.n_won_battles == 1
        await agent.close()
        await leave(opponent)


def overhear(agent: AgentPlayer) -> list[str]:
    """What the agent says in battles from now on, but for goodbyes."""
    said: list[str] = []
    say = agent.ps_client.send_message

    async def send_message(message: str, room: str = "", message_2: str | None = None) -> None:
        if room and message.startswith(("/choose", "/forfeit")):
            said.append(message)
        await say(message, room, message_2)

    agent.ps_client.send_message = send_message  # type: ignore[method-assign]
    return said


# What goes wrong


async def test_who_learns_that_it_is_trapped_chooses_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals: list[str] = []
    take = AgentPlayer._take_error

    async def take_error(self: AgentPlayer, game: Game, text: str) -> None:
        refusals.append(text)
        await take(self, game, text)

    monkeypatch.setattr(AgentPlayer, "_take_error", take_error)
    agent = stage.agent(fresh("gen9customgame"), team=TRAPPERS)
    [game] = await stage.play(agent)
    assert game.failure is None
    assert refusals
    assert all(text.startswith("[Unavailable choice]") for text in refusals)


async def test_a_choice_that_is_none_becomes_the_default(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Decider, "choose", lambda *_: "dance")
    agent = stage.agent()
    said = overhear(agent)
    [game] = await stage.play(agent, Brief)
    assert (game.failure, game.result) == (None, Result.WON)
    assert said[:2] == ["/choose dance", "/choose default"]


async def test_an_agent_whose_default_is_refused_gives_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Decider, "choose", lambda *_: "dance")
    monkeypatch.setattr("maple.play.player._DEFAULT", "sing")
    agent = stage.agent()
    said = overhear(agent)
    [game] = await stage.play(agent)
    assert game.result is Result.LOST
    assert "refused two choices: [Invalid choice]" in str(game.failure)
    assert said == ["/choose dance", "/choose sing", "/forfeit"]


async def test_a_battle_that_cannot_be_decided_is_given_up_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = Decider.choose
    sick: list[Decider] = []

    def fail_in_one(self: Decider, observation: bytes) -> str:
        if not sick:
            sick.append(self)
        if self is sick[0]:
            raise ArithmeticError("logits are NaN")
        return choose(self, observation)

    monkeypatch.setattr(Decider, "choose", fail_in_one)
    games = await stage.play(stage.agent(), Brief, battles=3)
    by_health = {game.decider is sick[0]: game for game in games}
    assert by_health[True].result is Result.LOST
    assert isinstance(by_health[True].failure, ArithmeticError)
    assert [game.result for game in games].count(Result.WON) == 2


async def test_poke_envs_model_may_break(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent does not decide by it."""
    agent = stage.agent()
    for name in ("parse_message", "parse_request"):
        parse = getattr(Model, name)

        monkeypatch.setattr(Model, name, breaking(parse, agent.username))
    [game] = await stage.play(agent, Default)
    assert game.failure is None
    assert game.decider.decisions >= game.turns > 3
    assert agent.n_finished_battles == 1


def breaking(parse: Callable[..., None], username: str) -> Callable[..., None]:
    """A method that breaks in the models of one player."""

    def break_down(model: Model, *told: object) -> None:
        if model.player_username == username:
            raise KeyError("poke-env has never heard of it")
        parse(model, *told)

    return break_down


async def test_battles_go_on_when_the_process_that_observes_is_killed(stage: Stage) -> None:
    agent = stage.agent()
    opponent = stage.opponent()
    playing = asyncio.ensure_future(agent.battle_against(opponent))
    async with asyncio.timeout(PLAY_SECONDS):
        for starts in (1, 2):
            while agent.observer.starts < starts or agent.observer.pid is None:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            os.kill(agent.observer.pid, signal.SIGKILL)
        await playing
    assert agent.observer.starts > 2
    assert [game.failure for game in stage.ended] == [None]


async def test_a_battle_that_cannot_be_followed_is_given_up(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Game.ask

    def ask_nothing(self: Game, text: str) -> dict[str, Any]:
        request = ask(self, text)
        self.observed.ask('{"side":{"id":"p1","pokemon":[{}]}}')
        return request

    monkeypatch.setattr(Game, "ask", ask_nothing)
    [game] = await stage.play(stage.agent())
    assert game.result is Result.LOST
    assert isinstance(game.failure, ObservationFailed)


async def test_a_battle_of_another_kind_is_given_up(stage: Stage) -> None:
    """Its name does not tell that it is one of doubles."""
    team = VGC_TEAM.replace("Level: 50\n", "")
    agent = stage.agent(battle_format="gen9partnersincrime", team=team)
    opponent = stage.opponent("gen9partnersincrime", team=team)
    async with asyncio.timeout(PLAY_SECONDS):
        await agent.battle_against(opponent)
    assert stage.ended[0].result is Result.LOST
    assert "a battle of doubles" in str(stage.ended[0].failure)


async def test_replays_are_saved_and_a_folder_that_is_none_harms_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    saving = stage.agent(save_replays=str(tmp_path / "replays"))
    [game] = await stage.play(saving, Brief)
    page = (tmp_path / "replays" / f"{saving.username} - {game.room}.html").read_text("utf-8")
    assert f"|win|{saving.username}" in page
    (tmp_path / "file").touch()
    [game] = await stage.play(stage.agent(save_replays=str(tmp_path / "file")), Brief)
    assert game.result is Result.WON


def test_an_agent_plays_formats_of_the_kind_that_it_has_learned(tmp_path: Path) -> None:
    file = tmp_path / "fresh.pt"
    save_checkpoint(file, fresh())
    for other in ("gen8randombattle", "gen9randomdoublesbattle", "gen9vgc2025regi", "nonsense"):
        with pytest.raises(ConfigError, match=f"gen9randombattle, singles .* play {other}$"):
            AgentPlayer(file, battle_format=other, start_listening=False)
    assert AgentPlayer(file, battle_format="gen9ou", start_listening=False).format == "gen9ou"
    with pytest.raises(CheckpointUnreadable):
        AgentPlayer(tmp_path / "none.pt", start_listening=False)
    with pytest.raises(ConfigError, match="give it one of its own"):
        AgentPlayer(file, observer=Observer(("decision",)), start_listening=False)


async def test_an_agent_decides_only_in_battles_that_it_is_told_of() -> None:
    agent = AgentPlayer(fresh(), start_listening=False)
    battle = Model("battle-gen9randombattle-1", agent.username, agent.logger, 9)
    with pytest.raises(ConfigError, match="has nothing to choose"):
        await agent.choose_move(battle)
    with pytest.raises(ConfigError, match="has nothing to choose"):
        await agent.teampreview(battle)
