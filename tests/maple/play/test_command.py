"""`python -m maple.play`: what it does, what it prints, and how it ends."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from poke_env.battle import AbstractBattle
from poke_env.concurrency import POKE_LOOP
from poke_env.player import Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder
from poke_env.ps_client import AccountConfiguration
from poke_env.ps_client.server_configuration import ServerConfiguration

from bridge.errors import ConnectionLost
from maple.agents import save_checkpoint
from maple.play import Accept, AgentPlayer, Challenge, Ladder, Session, find_server
from maple.play.command_line import _described, main
from maple.play.servers import AgentClient, AgentServer
from tests.bridge.poke_env.cast import VGC_TEAM, leave
from tests.conftest import until
from tests.maple.play.cast import PLAY_SECONDS, Brief, fresh
from tests.serving import REPOSITORY, Client

# What a line about a battle looks like.
WON = re.compile(
    r"^won +against Opponent \S+ +\d turns?  battle-gen9randombattle-\d+$", re.MULTILINE
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a run that has saved its best."""
    run = tmp_path_factory.mktemp("run")
    save_checkpoint(run / "checkpoints" / "best.pt", fresh())
    return str(run)


@pytest.fixture
def opponent(url: str) -> Iterator[Callable[..., Player]]:
    """Players on poke-env's loop, while the command has one of its own."""
    players: list[Player] = []

    def enter(format: str = "gen9randombattle", kind: type[Player] = Brief, **named: Any) -> Player:
        player = kind(
            AccountConfiguration.generate("Opponent", rand=True),
            battle_format=format,
            server_configuration=ServerConfiguration(url, ""),
            max_concurrent_battles=4,
            **named,
        )
        players.append(player)
        return player

    yield enter
    for player in players:
        on_poke_loop(leave(player)).result(PLAY_SECONDS)


def on_poke_loop(work: Awaitable[None]) -> Future[None]:
    async def do() -> None:
        async with asyncio.timeout(PLAY_SECONDS):
            await work

    return asyncio.run_coroutine_threadsafe(do(), POKE_LOOP)


def test_it_accepts_challenges_in_a_process_of_its_own(
    checkpoint: str, url: str, opponent: Callable[..., Player], tmp_path: Path
) -> None:
    replays = tmp_path / "replays"
    arguments = ["--accept", "3", "--concurrent", "2", "--save-replays", str(replays)]
    with running(checkpoint, url, "Accepting", *arguments) as process:
        read_until(process, "Accepting is at")
        on_poke_loop(opponent().send_challenges("Accepting", 3)).result(PLAY_SECONDS)
        said, _ = process.communicate(timeout=PLAY_SECONDS)
    assert process.returncode == 0
    assert len(WON.findall(said)) == 3
    assert said.endswith("\n3 battles: 3 won, 0 lost, 0 tied\n")
    assert len(list(replays.glob("Accepting - battle-*.html"))) == 3


def test_ctrl_c_forfeits_what_is_being_played(
    checkpoint: str, url: str, opponent: Callable[..., Player], capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = opponent(kind=Patient)
    assert isinstance(waiting, Patient)
    waiting.begun.add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGINT))
    battle = on_poke_loop(waiting.ladder(1))
    assert main([checkpoint, "--server", url, "--ladder", "2", "--timer"]) == 130
    battle.result(PLAY_SECONDS)
    assert waiting.n_won_battles == 1
    assert capsys.readouterr().out.endswith("\n1 battle: 0 won, 1 lost, 0 tied\n")


def test_a_battle_that_is_cut_short_is_told_by_the_exit_status(
    checkpoint: str, url: str, opponent: Callable[..., Player]
) -> None:
    """Also where nobody said how many there are to be."""
    waiting = opponent(kind=Patient)
    assert isinstance(waiting, Patient)
    with running(checkpoint, url, "Untiring", "--accept") as process:
        read_until(process, "Untiring is at")
        battle = on_poke_loop(waiting.send_challenges("Untiring", 1))
        waiting.begun.result(PLAY_SECONDS)
        process.terminate()
        said, _ = process.communicate(timeout=PLAY_SECONDS)
    battle.result(PLAY_SECONDS)
    assert process.returncode == 130
    assert said.endswith("\n1 battle: 0 won, 1 lost, 0 tied\n")


def test_who_accepts_challenges_until_ctrl_c_has_then_done_its_work(
    checkpoint: str, url: str
) -> None:
    with running(checkpoint, url, "Unasked", "--accept") as process:
        read_until(process, "Unasked is at")
        process.terminate()
        said, _ = process.communicate(timeout=PLAY_SECONDS)
    assert (process.returncode, said) == (0, "0 battles: 0 won, 0 lost, 0 tied\n")


async def test_who_is_still_connecting_can_leave() -> None:
    silent = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        session = Session(agent_at(find_server(f"{host}:{port}")), Ladder(1), tell=print)
        # The handshake would be waited for twice as long.
        async with asyncio.timeout(5.0):
            await session.run(silent)
    assert session.totals() == "0 battles: 0 won, 0 lost, 0 tied"


class Nothing(BattleOrder):
    """No choice, which poke-env does not send."""

    @property
    def message(self) -> str:
        return ""


class Patient(RandomPlayer):
    """Never moves, and says when it could."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.begun: Future[None] = Future()
        super().__init__(*arguments, **named)

    def choose_move(self, battle: AbstractBattle) -> BattleOrder:
        self.begun.set_result(None)
        return Nothing()


def running(checkpoint: str, url: str, name: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "maple.play", checkpoint, "--server", url, "--username", name]
    return subprocess.Popen(
        [*command, *arguments],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until(process: subprocess.Popen[str], part: str) -> str:
    assert process.stdout is not None
    read = []
    for line in process.stdout:
        read.append(line)
        if part in line:
            return line
    raise AssertionError(f"ended without {part!r}: {read}")


def test_it_challenges_somebody_with_a_team(
    url: str, opponent: Callable[..., Player], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, team = tmp_path / "vgc.pt", tmp_path / "team.txt"
    save_checkpoint(file, fresh("gen9vgc2025regi", "doubles", 9))
    team.write_text(VGC_TEAM)
    other = opponent("gen9vgc2025regi", team=VGC_TEAM)
    accepting = on_poke_loop(other.accept_challenges(None, 1))
    arguments = [str(file), "--server", url, "--challenge", other.username]
    assert main([*arguments, "--team", str(team), "--greedy"]) == 0
    accepting.result(PLAY_SECONDS)
    said = capsys.readouterr().out
    assert "challenging Opponent" in said
    assert said.endswith("\n1 battle: 1 won, 0 lost, 0 tied\n")
    # And without the team.
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: Your team was rejected")
    assert told.endswith("; --team FILE gives the agent one\n")


def test_it_plays_on_the_ladder(
    checkpoint: str, url: str, opponent: Callable[..., Player], capsys: pytest.CaptureFixture[str]
) -> None:
    other = on_poke_loop(opponent().ladder(1))
    assert main([checkpoint, "--server", url, "--ladder", "1"]) == 0
    other.result(PLAY_SECONDS)
    assert capsys.readouterr().out.endswith("\n1 battle: 1 won, 0 lost, 0 tied\n")


def test_a_battle_that_is_given_up_is_told_with_its_reason(
    checkpoint: str,
    url: str,
    opponent: Callable[..., Player],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> str:
        raise ArithmeticError("logits are NaN")

    monkeypatch.setattr("maple.play.deciding.Decider.choose", fail)
    other = on_poke_loop(opponent().ladder(1))
    assert main([checkpoint, "--server", url, "--ladder", "1"]) == 1
    other.result(PLAY_SECONDS)
    said = capsys.readouterr().out
    assert "given up: ArithmeticError('logits are NaN')" in said
    assert said.endswith("\n1 battle: 0 won, 1 lost, 0 tied, of which 1 given up\n")


UNUSABLE: list[tuple[Sequence[str], int, str]] = [
    (["--server", "localhost:1"], 1, "there is no server at ws://localhost:1/showdown/websocket: "),
    (["--server", "ftp://localhost"], 2, "'ftp://localhost' is no server"),
    (["--server", "showdown"], 2, "--username is missing"),
    (["--server", "showdown", "--username", "Ash"], 2, "wants the password of Ash"),
    (["--format", "gen8randombattle"], 2, "has learned gen9randombattle, singles of generation 9"),
    (["--format", "gen9oubo3"], 2, "in sets of several battles"),
    (["--team", "no-such-file"], 2, "cannot read the team in no-such-file"),
    (["--team", __file__], 2, "is no team"),
    (["--password-file", "/dev/null", "--username", "Ash"], 2, "has no password"),
    (["--save-replays", "/dev/null/folder"], 2, "cannot save replays in /dev/null/folder"),
    (["--challenge", "Ash", "Ketchum", "3"], 2, "put quotes around a name"),
    (["--challenge", "Ash", "none"], 2, "'none' is not a number of battles"),
    (["--username", "Ash, Gary"], 2, "the server would call 'Ash, Gary' 'Ash Gary'"),
    (["--username", "Ash|"], 2, "the server would call 'Ash|' 'Ash'"),
]


@pytest.mark.parametrize(("arguments", "status", "why"), UNUSABLE)
def test_what_cannot_be_done_is_told_in_a_line(
    checkpoint: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: Sequence[str],
    status: int,
    why: str,
) -> None:
    monkeypatch.delenv("MAPLE_PASSWORD", raising=False)
    assert main([checkpoint, *arguments]) == status
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    assert why in told


def test_who_is_not_there_cannot_be_challenged(
    checkpoint: str, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([checkpoint, "--server", url, "--challenge", "Nobody"]) == 1
    assert capsys.readouterr().err == "error: The user 'Nobody' was not found.\n"
    assert main([f"{checkpoint}/none", "--server", url]) == 2
    assert "name a checkpoint, or the folder of a run" in capsys.readouterr().err


# Sessions


async def test_who_refuses_a_challenge_ends_the_session(url: str) -> None:
    agent = agent_at(find_server(url))
    told: list[str] = []
    session = Session(agent, Challenge("Refusing", 1), tell=told.append)
    async with Client(
        url.replace("ws", "http", 1).removesuffix("/showdown/websocket"), "Refusing"
    ) as other:
        playing = asyncio.ensure_future(session.run())
        await other.hear_until("/challenge gen9randombattle")
        await other.say(f"|/reject {agent.username}")
        with pytest.raises(Exception, match="Refusing rejected the challenge"):
            await playing
    assert told[-1].endswith("challenging Refusing")
    assert session.totals() == "0 battles: 0 won, 0 lost, 0 tied"


async def test_a_challenge_that_is_taken_back_does_not_end_the_session(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = itertools.count()
    refused = asyncio.Event()

    async def ask(self: Accept, player: AgentPlayer) -> None:
        if next(asks):
            refused.set()
            await asyncio.Event().wait()
        await player.ps_client.accept_challenge("Nobody", None)

    monkeypatch.setattr(Accept, "ask", ask)
    told: list[str] = []
    async with asyncio.timeout(PLAY_SECONDS):
        await Session(agent_at(find_server(url)), Accept(1), tell=told.append).run(refused)
    assert told[1:] == ['no battle: User "Nobody" not found.']


async def test_a_choice_that_came_too_late_is_no_refusal_of_what_is_asked_for_next(
    url: str, opponent: Callable[..., Player]
) -> None:
    """Showdown says both in a popup."""
    agent = agent_at(find_server(url))
    session = Session(agent, Ladder(1), tell=lambda _: None)
    playing = asyncio.ensure_future(session.run())
    late = 'You tried to send "/choose move 1" to the room "battle-gen9ou-1" but it failed'
    client = agent.ps_client
    assert isinstance(client, AgentClient)
    async with asyncio.timeout(PLAY_SECONDS):
        await until(lambda: client._starts._is_searching)
        client.take("", f"|popup|{late} because you were not in that room.")
        other = on_poke_loop(opponent().ladder(1))
        await playing
        await asyncio.wrap_future(other)
    assert session.totals() == "1 battle: 1 won, 0 lost, 0 tied"


async def test_a_lost_connection_ends_what_is_played_and_says_so(
    url: str, opponent: Callable[..., Player]
) -> None:
    agent = agent_at(find_server(url))
    told: list[str] = []
    session = Session(agent, Ladder(1), tell=told.append)
    other = on_poke_loop(opponent(kind=Patient).ladder(1))
    playing = asyncio.ensure_future(session.run())
    async with asyncio.timeout(PLAY_SECONDS):
        await until(lambda: any(game.turns for game in agent.games.values()))
    agent.ps_client.websocket.transport.abort()
    with pytest.raises(ConnectionLost, match="has no connection"):
        await playing
    assert re.match(r"ended against Opponent .* given up: .* has no connection", told[-1])
    assert session.totals() == "1 battle: 0 won, 0 lost, 0 tied, 1 ended, of which 1 given up"
    other.cancel()


def agent_at(server: AgentServer, password: str | None = None) -> AgentPlayer:
    name = AccountConfiguration.generate("Agent", rand=True).username
    return AgentPlayer(
        fresh(),
        account_configuration=AccountConfiguration(name, password),
        server_configuration=server,
        loop=asyncio.get_running_loop(),
        start_listening=False,
    )


@asynccontextmanager
async def login_server(answer: str) -> AsyncIterator[tuple[str, list[dict[str, str]]]]:
    """Somebody who is asked for passwords, and what was asked."""
    asked: list[dict[str, str]] = []

    async def take(request: web.Request) -> web.Response:
        asked.append({key: str(value) for key, value in (await request.post()).items()})
        return web.Response(text=answer)

    app = web.Application()
    app.router.add_post("/action.php", take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        yield f"http://{host}:{port}/action.php", asked
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"assertion": ";;Wrong password."}, "Wrong password"),
        ({"assertion": ";"}, "do not fit"),
        ({"actionsuccess": False}, "answers"),
    ],
)
async def test_a_wrong_password_is_told(url: str, answer: dict[str, Any], why: str) -> None:
    async with login_server(f"]{orjson.dumps(answer).decode()}") as (login, _):
        agent = agent_at(AgentServer(url, login), "secret")
        session = Session(agent, Challenge("Nobody", 1))
        with pytest.raises(Exception, match=f"cannot log in.*{why}"):
            await session.run()


async def test_a_password_is_shown_to_the_login_server_alone(url: str) -> None:
    async with login_server(']{"assertion":"proof"}') as (login, asked):
        agent = agent_at(AgentServer(url, login), "secret")
        session = Session(agent, Challenge("Nobody", 1))
        with pytest.raises(Exception, match="'Nobody' was not found"):
            await session.run()
    [form] = asked
    assert (form["act"], form["name"], form["pass"]) == ("login", agent.username, "secret")
    assert "|" in form["challstr"]


def test_facts_of_a_checkpoint_are_told_with_few_digits() -> None:
    facts = {"update": 120, "win_rate": 0.8731234567890123, "command": "x" * 100}
    told = _described(Path("best.pt"), replace(fresh(), facts=facts), "gen9ou", greedy=True)
    assert told == (
        "best.pt: mlp, gen9ou, always the likeliest action; update 120; win_rate 0.8731"
    )


def test_a_server_is_found_by_what_it_is_called() -> None:
    path = "/showdown/websocket"
    assert find_server("localhost:8000").websocket_url == f"ws://localhost:8000{path}"
    assert find_server("https://sim.example.com").websocket_url == f"wss://sim.example.com{path}"
    assert find_server("wss://example.com/own").websocket_url == "wss://example.com/own"
    ours = find_server("ws://10.0.0.1:8000", token="a b")
    assert ours.websocket_url == f"ws://10.0.0.1:8000{path}?token=a%20b"
    assert ours.address == f"ws://10.0.0.1:8000{path}"
    showdown = find_server("showdown")
    assert showdown.page_of("battle-gen9ou-1") == "https://play.pokemonshowdown.com/battle-gen9ou-1"


def test_the_example_of_the_document_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = (REPOSITORY / "docs" / "play.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    save_checkpoint(tmp_path / "runs" / "first" / "checkpoints" / "best.pt", fresh())
    monkeypatch.chdir(tmp_path)
    shorter = example.replace("pool=1", "pool=1, warmup_battles=0").replace("=4", "=1")
    Path("example.py").write_text(shorter, "utf-8")
    runpy.run_path("example.py", run_name="__main__")
    assert re.fullmatch(r"[01] of 1 won\n", capsys.readouterr().out)
