"""What is written down of decisions: names, probabilities, what was chosen, as text and JSON."""

from __future__ import annotations

import json
import math
from typing import NamedTuple

import numpy as np
import pytest

from bridge import BridgeConfig
from maple.env import Observations
from maple.evaluation import Arena, Entrant, Tally
from maple.evaluation.decisions import Decision, Narrator, to_lines, to_text
from tests.maple.env.hands import VGC_TEAM
from tests.maple.env.rows import SPEC, random_rows, write

from .players import QUICK, learned, observations

EARTHQUAKE, SURF, TACKLE = 6, 8, 9


class Battle(NamedTuple):
    """A battle whose decisions were written down, and what a spectator saw of it."""

    tally: Tally
    decisions: tuple[Decision, ...]
    lines: tuple[str, ...]


def config() -> BridgeConfig:
    return BridgeConfig(pool=1, warmup_battles=0, open_timeout=30.0, start_timeout=30.0)


def kept_battle(tally: Tally) -> tuple[Decision, ...]:
    [kept] = tally.kept
    return tuple(kept.decisions)


@pytest.fixture(scope="module", name="battle")
def written_battle() -> Battle:
    """A battle of generation 1 between two networks, one of which is given little to read."""
    little = Observations("singles", 1, ["own_team", "field"])
    entrants = [learned("mlp", 1), learned("lstm", 2, kind="lstm", of=little)]
    with Arena(QUICK, parallel=1, bridge=config()) as arena:
        tally = Tally([("mlp", "lstm")], 1, keep=1)
        arena.play(entrants, tally, seed=7, greedy=True, told=True)
        lines = arena.spectate(tally.kept[0].journal).lines
    return Battle(tally, kept_battle(tally), lines)


def test_every_decision_of_both_networks_is_written_down(battle: Battle) -> None:
    tally, decisions, _ = battle
    for name, seat in (("mlp", "p1"), ("lstm", "p2")):
        own = [one for one in decisions if one.agent == name]
        assert {one.seat for one in own} == {seat}
        assert [one.number for one in own] == list(range(1, len(own) + 1))
        choices = [move for move in tally.kept[0].journal.moves if move.side == seat]
        assert len(own) == len(choices)
    assert [one.turn for one in decisions] == sorted(one.turn for one in decisions)
    assert decisions[-1].turn == tally.played[0].turns


def test_probabilities_add_up_and_greed_takes_the_greatest(battle: Battle) -> None:
    for one in battle.decisions:
        [options] = one.options
        assert math.fsum(option.probability for option in options) == pytest.approx(1)
        assert [o.probability for o in options] == sorted(
            (o.probability for o in options), reverse=True
        )
        assert one.chosen == (options[0].name,)


def test_moves_and_pokemon_are_called_by_their_names(battle: Battle) -> None:
    _, decisions, lines = battle
    names = {option.name for one in decisions for option in one.options[0]}
    assert not [name for name in names if name.startswith("move ") or "Pokémon" in name]
    switches = [name for name in names if name.startswith("switch to ")]
    assert len(switches) >= 6
    assert all(name.removeprefix("switch to ")[0].isupper() for name in switches)
    standing = [one.own[0] for one in decisions if one.own]
    assert all(0 <= who.hp <= 1 for who in standing)
    split = [line.split("|") for line in lines]
    came_in = {words[3].split(",")[0] for words in split if words[1] in ("switch", "drag")}
    assert {who.name for who in standing} <= came_in
    used = {words[3] for words in split if words[1] == "move" and "[from]" not in words[-1]}
    chosen = {name for one in decisions for name in one.chosen if not name.startswith("switch")}
    assert len(used & chosen) >= 5


def test_lines_and_text_say_the_same(battle: Battle) -> None:
    decisions = battle.decisions
    lines = [json.loads(line) for line in to_lines("the battle", decisions).splitlines()]
    assert len(lines) == len(decisions)
    assert lines[0]["battle"] == "the battle"
    assert lines[0]["options"][0][0]["name"] == decisions[0].options[0][0].name
    assert lines[0]["value"] == pytest.approx(decisions[0].value)
    text = to_text("the battle", decisions)
    assert text.startswith("the battle\n\nturn 1, ")
    assert text.count("\n  > ") == len(decisions)
    assert f"value {decisions[0].value:+.2f}" in text


@pytest.mark.timeout(120)
def test_doubles_and_team_previews_can_be_read() -> None:
    of = observations("doubles", 9)
    entrants = [learned("pair", 3, of=of), Entrant.named("max")]
    with Arena("gen9vgc2025regi", parallel=1, teams=VGC_TEAM, bridge=config()) as arena:
        tally = Tally([("pair", "max")], 1, keep=1)
        arena.play(entrants, tally, seed=1, told=True)
    decisions = kept_battle(tally)
    previews = [one for one in decisions if one.asked == "preview"]
    assert len(previews) == 2
    picked = [name for one in previews for name in one.chosen]
    assert len(set(picked)) == 4
    assert all(name.startswith("pick ") for name in picked)
    moves = [one for one in decisions if one.asked == "move"]
    assert all(len(one.options) == len(one.chosen) == 2 for one in moves)
    assert len(moves[0].own) == len(moves[0].opponents) == 2
    for one in moves:
        for options in one.options:
            assert math.fsum(option.probability for option in options) == pytest.approx(1)
    names = {option.name for one in moves for place in one.options for option in place}
    aimed = {name for name in names if " at " in name}
    assert any(" at own " in name for name in aimed)
    assert any(name.endswith(", terastallize") for name in names)
    assert not [name for name in names if " at foe " in name and moves[0].opponents]
    assert "and then" in to_text("battle", decisions)


# Rows that are made by hand


def row_of(**moves: int) -> tuple[bytes, Observations]:
    """A Pokémon with four moves, of which some are legal; its PP and its state as given."""
    own = observations("singles", 9)
    raw = random_rows("singles", own.bytes, 1, seed=3)
    layout = SPEC.layout("singles")
    condition = layout.block("own_team", "condition")
    for index in range(6):
        write(raw, condition, index, "slot", int(index == 2))
        write(raw, layout.block("opponent_team", "condition"), index, "slot", 0)
    names = SPEC.names["moves"]
    for index, name in enumerate(("earthquake", "surf", "tackle", "thunder")):
        write(raw, layout.block("own_moves", "which"), 4 * 2 + index, "move", names.index(name))
        write(raw, layout.block("own_moves", "state"), 4 * 2 + index, "pp", moves.get("pp", 10))
    write(raw, layout.block("decision", "asked"), 0, "phase", SPEC.classes["phases"].index("move"))
    for index in range(moves.get("dittos", 0)):
        ditto = SPEC.names["species"].index("ditto")
        write(raw, layout.block("own_team", "who"), index, "species", ditto)
    charging = moves.get("mustrecharge", 0)
    write(raw, layout.block("actives", "volatiles"), 0, "mustrecharge", charging)
    return raw[0].tobytes(), own


def tell(row: bytes, own: Observations, legal: list[int], action: int) -> Decision:
    mask = np.zeros(own.actions.size, np.uint8)
    mask[legal] = 1
    logits = np.zeros(own.actions.size, np.float32)
    logits[action] = math.log(3)
    seen = own.actions.with_mask(row, mask)
    return Narrator(own).tell("agent", "p1", 5, seen, logits, action, 0.25)


def test_a_gimmick_is_said_with_the_move() -> None:
    row, own = row_of()
    decision = tell(row, own, [6, 7, 22], 22)
    assert decision.chosen == ("Earthquake, terastallize",)
    names = {option.name: option.probability for option in decision.options[0]}
    assert names == {
        "Earthquake, terastallize": pytest.approx(0.6),
        "Earthquake": pytest.approx(0.2),
        "Surf": pytest.approx(0.2),
    }
    assert decision.opponents == ()
    assert "against nobody" in to_text("battle", [decision])


def test_of_options_with_the_same_name_only_the_chosen_one_is_marked() -> None:
    row, own = row_of(dittos=2)
    decision = tell(row, own, [0, 1], 1)
    names = [option.name for option in decision.options[0]]
    assert names[0] == names[1] == decision.chosen[0]
    marked = [line for line in to_text("battle", [decision]).splitlines() if "  > " in line]
    assert len(marked) == 1
    assert "75 %" in marked[0]
    assert json.loads(to_lines("battle", [decision]))["actions"] == [1]


def test_what_a_pokemon_must_do_is_not_taken_for_its_first_move() -> None:
    assert tell(*row_of(mustrecharge=1), [6], 6).chosen == ("recharge",)
    assert tell(*row_of(pp=0), [6], 6).chosen == ("Struggle",)
    assert tell(*row_of(), [6], 6).chosen == ("Earthquake",)
