"""The journal of a battle, and the input log that it is written to and read from."""

from __future__ import annotations

import gc
import random
from pathlib import Path

import pytest

from bridge.journal import Journal, Move, Player

NAMES = {
    "plain": "Ash",
    "quotes": "\"Ash\" 'n' `Misty`",
    "backslashes": "\\n \\u0041 \\\\",
    "emoji": "🐉 Flabébé 👩‍👩‍👧",
    "line separators": "a\u2028b\u2029c\x85d",
    "a command": ">p2 move 1",
    "a comment": "# Ash",
    "braces": '{"name": "Gary"}',
    "spaces": "  Ash  Ketchum  ",
    "line breaks": "a\nb\rc",
}
TEAM = "Pika\u2028chu|||static|thunderbolt,,,]Mew|\"'\\||synchronize|psychic||||||"
MOVES = [
    Move("choose", "p1", "move 1"),
    Move("choose", "p2", "switch 3, move 2 +1 terastallize"),
    Move("choose", "p1", ""),
    Move("choose", "p2", "move Will-O-Wisp"),
    Move("choose", "p2", "  move  Flabébé\u00a0🐉 "),
    Move("choose", "p1", "p2 move 1"),
    Move("choose", "p1", "# not a comment"),
    Move("undo", "p1"),
    Move("sheets", None),
    Move("tie", None, "All players are inactive."),
    Move("tie", None),
    Move("forfeit", "p1", " lost due to inactivity."),
    Move("forfeit", "p2"),
]


def journal(p1: Player, p2: Player, moves: list[Move] | None = None) -> Journal:
    return Journal("gen9randombattle", "1,2,3,4", p1, p2, moves or [])


ASH = Player("Ash", seed="5,6,7,8")
GARY = Player("Gary", seed="9,10,11,12")


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_log_gives_back_every_name(name: str, tmp_path: Path) -> None:
    original = journal(Player(name, seed="5,6,7,8"), GARY)
    path = tmp_path / "battle.log"
    path.write_text(original.input_log(), encoding="utf-8")
    assert Journal.from_input_log(path.read_text(encoding="utf-8")) == original


def test_a_log_gives_back_teams_and_moves(tmp_path: Path) -> None:
    original = journal(Player("Ash", TEAM, "5,6,7,8"), Player("Gary", "", "9,1,1,1"), MOVES)
    path = tmp_path / "battle.log"
    path.write_text(original.input_log(), encoding="utf-8")
    assert Journal.from_input_log(path.read_text(encoding="utf-8")) == original


@pytest.mark.parametrize("format", ["gen9ou", "[Gen 9] OU", 'gen9ou@@@!"Sleep Clause", +Mew é'])
def test_a_log_gives_back_the_format_as_it_was_named(format: str) -> None:
    original = Journal(format, "sodium,00ff", ASH, GARY, [])
    assert Journal.from_input_log(original.input_log()) == original


def test_a_log_gives_back_what_anybody_may_type() -> None:
    draw = random.Random(5)
    letters = "".join(NAMES.values()) + TEAM + "|,]\t\x00\x7f"

    def text(forbidden: str = "") -> str:
        drawn = (draw.choice(letters) for _ in range(draw.randrange(30)))
        return "".join(letter for letter in drawn if letter not in forbidden)

    for _ in range(300):
        # Node refuses a choice with a line break before it gets into a journal.
        moves = [Move("choose", "p1", text("\n\r")) for _ in range(draw.randrange(4))]
        original = journal(Player(text(), text(), "1,1,1,1"), Player(text()), moves)
        assert Journal.from_input_log(original.input_log()) == original


def test_a_log_is_in_the_language_of_the_simulator() -> None:
    assert journal(ASH, Player("Gary", "Mew|||x|"), MOVES[:1] + MOVES[-1:]).input_log() == (
        '>start {"formatid": "gen9randombattle", "seed": "1,2,3,4"}\n'
        '>player p1 {"name": "Ash", "seed": "5,6,7,8"}\n'
        '>player p2 {"name": "Gary", "team": "Mew|||x|"}\n'
        ">p1 move 1\n"
        ">forcelose p2\n"
    )


def test_comments_and_empty_lines_are_skipped() -> None:
    log = journal(ASH, GARY, MOVES).input_log()
    commented = "# a battle\n\n" + log.replace("\n", "\n# more\n\n")
    assert Journal.from_input_log(commented) == journal(ASH, GARY, MOVES)


def test_more_than_the_bridge_writes_may_stand_in_the_first_line() -> None:
    log = journal(ASH, GARY).input_log().replace('"seed": "1', '"strictChoices": true, "seed": "1')
    assert Journal.from_input_log(log) == journal(ASH, GARY)


def test_a_log_gives_back_what_is_only_shown() -> None:
    ash = Player("Ash", seed="5,6,7,8", avatar="red", rating=1500)
    original = journal(ash, GARY)
    original.rated = "Tournament battle"
    assert Journal.from_input_log(original.input_log()) == original


@pytest.mark.parametrize(
    ("written", "rated"), [("true", "Rated battle"), ("false", None), ('"Cup"', "Cup")]
)
def test_a_log_may_say_that_its_battle_is_rated(written: str, rated: str | None) -> None:
    log = journal(ASH, GARY).input_log().replace('"seed": "1', f'"rated": {written}, "seed": "1')
    assert Journal.from_input_log(log).rated == rated


def test_what_somebody_said_is_no_reason_for_an_end() -> None:
    log = journal(ASH, GARY).input_log()
    chat = ">chat-inputlogonly Ash|hello\n>forcelose p1\n"
    assert Journal.from_input_log(log + chat).moves == [Move("forfeit", "p1")]
    earlier = ">chat-inputlogonly hello\n>p1 move 1\n>forcetie\n"
    assert Journal.from_input_log(log + earlier).moves[-1] == Move("tie", None)


START, P1, P2 = journal(ASH, GARY).input_log().splitlines()


@pytest.mark.parametrize(
    "log",
    ["", "\n\n", START, f"{START}\n{P1}", f"{P1}\n{P2}", f"{START}\n{P1}\n{P1}", ">p1 move 1"],
)
def test_a_log_needs_a_start_and_two_players(log: str) -> None:
    with pytest.raises(ValueError, match="does not start a battle of two players"):
        Journal.from_input_log(log)


@pytest.mark.parametrize(
    "line",
    [
        "Dear diary,",
        ">start",
        ">start {",
        ">start 5",
        ">start []",
        '>start {"formatid": "gen9ou"}',
        '>start {"seed": "1,2,3,4"}',
        ">player",
        ">player p1",
        ">player p1 {",
        ">player p1 []",
        '>player p1 {"team": ""}',
        '>player p1 {"name": "Ash", "nickname": "A"}',
        '>player p3 {"name": "Brock"}',
        ">p3 move 1",
        ">forcelose",
        ">forcelose p3",
        ">eval battle.lose('p1')",
        ">>> p1 move 1",
        "\x7fELF\x02\x01",
    ],
)
def test_a_line_that_is_not_understood_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 4 of the input log is not understood") as caught:
        Journal.from_input_log(f"{START}\n{P1}\n{P2}\n{line}\n")
    assert line in str(caught.value)


def test_a_long_line_that_is_not_understood_is_cut_short() -> None:
    with pytest.raises(ValueError, match="line 1 of the input log") as caught:
        Journal.from_input_log("x" * 1_000_000)
    assert len(str(caught.value)) < 200


def test_a_copy_goes_its_own_way() -> None:
    original = journal(ASH, GARY, MOVES[:2])
    copy = original.copy()
    assert copy == original
    copy.moves.append(MOVES[2])
    copy.settle_teams(["Mew", None])
    assert original == journal(ASH, GARY, MOVES[:2])


def test_moves_are_nothing_to_the_garbage_collector() -> None:
    counted = gc.get_count()[0]
    moves = [Move("choose", "p1", str(number)) for number in range(100)]
    assert gc.get_count()[0] < counted + 50
    assert not any(map(gc.is_tracked, moves))


def test_settled_teams_are_what_the_battle_is_opened_with() -> None:
    battle = journal(Player("Ash", "export text"), GARY)
    battle.settle_teams(["packed", None])
    assert battle.opening("battle-1") == {
        "room": "battle-1",
        "format": "gen9randombattle",
        "seed": "1,2,3,4",
        "p1": {"name": "Ash", "team": "packed", "seed": None},
        "p2": {"name": "Gary", "team": None, "seed": "9,10,11,12"},
    }
