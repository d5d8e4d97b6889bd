"""Replays: what a spectator saw, checked against the simulator's own tool, and pages of it."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bridge import BattleRoom, BridgeConfig, ControllerRegistry
from bridge.journal import Journal, Move, Player
from bridge.runtime import find_runtime
from bridge.workload import play, policies_for
from maple.evaluation.replays import Spectated, render_page, spectate, write_replay


def seen_by_showdown(journal: Journal) -> list[str]:
    """What the simulator's own tool shows to spectators, but for the time of day."""
    runtime = find_runtime()
    tool: list[str | Path] = [
        runtime.node,
        runtime.simulator / "pokemon-showdown",
        "simulate-battle",
    ]
    done = subprocess.run(
        [*tool, "--skip-build", "--spectate"],
        input=journal.input_log(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = done.stdout.split("\n")
    return [line for line in lines if line.startswith("|") and not line.startswith("|t:|")]


async def played(registry: ControllerRegistry, format: str, seed: int) -> BattleRoom:
    room = await registry.open(format, seed=seed, p1="Ash", p2="Gary")
    await play(room, policies_for(seed))
    return room


@pytest.mark.parametrize("format", ["gen9randombattle", "gen9randomdoublesbattle"])
async def test_a_replay_shows_what_a_spectator_saw(settings: BridgeConfig, format: str) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await played(registry, format, 3)
        journal = Journal.from_input_log(room.journal.input_log())
        spectated = await spectate(journal, registry)
        assert registry.stats()["pool"]["rooms"] == 0
    assert spectated.result == await room.result()
    assert list(spectated.lines) == seen_by_showdown(journal)
    # Nobody else reads the HP of a Pokémon exactly.
    assert any(re.search(r"\|p1a: .*\|\d+/100\b", line) for line in spectated.lines)


async def test_a_battle_that_somebody_gave_up_ends_with_that(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await registry.open("gen1randombattle", seed=4)
        await room.play("default", "default")
        await room.p1.forfeit()
        given_up = await spectate(room.journal, registry)
        unfinished = await spectate(replace(room.journal, moves=room.journal.moves[:-1]), registry)
    assert given_up.result is not None
    assert given_up.result.reason == "forfeit"
    assert "|-message|Player 1 forfeited." in given_up.lines
    assert given_up.lines[-1] == "|win|Player 2"
    assert unfinished.result is None
    assert unfinished.lines == given_up.lines[: len(unfinished.lines)]


async def test_moves_of_all_kinds_are_made_again(settings: BridgeConfig) -> None:
    journal = Journal(
        "gen9bssfactory",
        "1,2,3,4",
        Player("Ash", seed="5,6,7,8"),
        Player("Gary", seed="9,10,11,12"),
        [
            Move("sheets", None),
            Move("choose", "p1", "team 123456"),
            Move("undo", "p1"),
            Move("choose", "p1", "no such thing"),
            Move("choose", "p1", "team 654321"),
            Move("choose", "p2", "default"),
            Move("choose", "p1", "default"),
            Move("choose", "p2", "default"),
            Move("tie", None, "Enough."),
        ],
        rated="Cup battle",
    )
    async with ControllerRegistry(settings) as registry:
        spectated = await spectate(journal, registry)
    assert spectated.result is not None
    assert spectated.result.winner is None
    assert "|rated|Cup battle" in spectated.lines
    assert any(line.startswith("|showteam|p2|") for line in spectated.lines)
    assert "|-message|Enough." in spectated.lines
    assert spectated.lines[-1] == "|tie"


# Pages

NAMES = ("Ash <b>& co.</b>", "a</script><!--<script>")


def spectated_of(*lines: str) -> Spectated:
    journal = Journal("gen1randombattle", "1,2,3,4", Player(NAMES[0]), Player(NAMES[1]))
    return Spectated(journal, lines, None)


def read_page(page: str) -> list[str]:
    """The log as Showdown's player reads it out of a page."""
    [log] = re.findall(
        r'<script type="text/plain" class="battle-log-data">(.*?)</script>', page, re.DOTALL
    )
    lines: list[str] = log.replace("\\/", "/").split("\n")
    return lines


def test_the_player_of_showdown_finds_the_battle_in_a_page() -> None:
    lines = ("|player|p1|Ash|1", "|-damage|p1a: Eevee|54/100", "", "|win|Ash")
    page = render_page(spectated_of(*lines), "[Gen 1] Random Battle", "one-vs-two-0001")
    assert read_page(page) == list(lines)
    assert 'src="https://play.pokemonshowdown.com/js/replay-embed.js"' in page
    for name in ("battle", "battle-log", "replay-controls", "replay-controls-2"):
        assert f'<div class="{name}"></div>' in page
    assert 'name="replayid" value="one-vs-two-0001"' in page
    assert "needs the network" in " ".join(page.split())


def test_nothing_that_is_said_in_a_battle_ends_its_script() -> None:
    page = render_page(spectated_of(f"|c|{NAMES[1]}|hello</script>"), "title", "name")
    [line] = read_page(page)
    assert line == "|c|a</script><! --<script>|hello</script>"
    heading = page.partition("<h1")[2].partition("</h1>")[0]
    assert html.escape(NAMES[0]) in heading
    assert "<b>" not in heading
    assert page.count("</script>") == 2


def run_again(log: Path) -> str:
    """What `python -m bridge.replay` says of an input log."""
    command: list[str | Path] = [sys.executable, "-m", "bridge.replay", log]
    return subprocess.check_output(command, text=True, timeout=60)


@pytest.mark.timeout(120)
async def test_the_input_log_beside_a_page_can_be_run_again(
    settings: BridgeConfig, tmp_path: Path
) -> None:
    async with ControllerRegistry(settings) as registry:
        room = await played(registry, "gen1randombattle", 5)
        page = write_replay(await spectate(room.journal, registry), tmp_path, "ash", "Title")
    result = await room.result()
    assert page == tmp_path / "ash.html"
    said = run_again(tmp_path / "ash.log")
    assert f"{result.winner} won after {result.turns} turns (win)" in said
    won = next(line for line in read_page(page.read_text("utf-8")) if line.startswith("|win|"))
    assert won == f"|win|{'Ash' if result.winner == 'p1' else 'Gary'}"
