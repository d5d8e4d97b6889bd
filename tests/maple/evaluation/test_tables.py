"""What is shown of results: counts, rates, matrix, ratings, as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from maple.evaluation.report import Report
from maple.evaluation.results import Result
from maple.evaluation.tables import (
    battles_csv,
    matches_csv,
    matrix_csv,
    ratings_csv,
    render,
    share,
)

from .reports import make_report


def shown(report: Report, width: int = 120) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(render(report))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_rates_count_a_tie_as_half_a_win_and_a_failure_as_nothing() -> None:
    result = Result("a", "b", wins=10, losses=4, ties=2, turns=320, failed=3)
    assert result.battles == 16
    assert result.win_rate == 11 / 16
    assert result.mean_turns == 20
    low, high = result.interval
    assert low < 11 / 16 < high
    back = result.reversed()
    assert back.win_rate == 5 / 16
    assert back.interval == pytest.approx((1 - high, 1 - low))
    assert back.reversed() == result


def test_of_no_battles_there_is_no_rate() -> None:
    result = Result("a", "b", failed=2)
    assert result.win_rate is None
    assert result.mean_turns is None
    assert result.interval == (0.0, 1.0)
    assert share(None) == "\N{EN DASH}"


def test_a_report_names_rates_matrix_and_ratings() -> None:
    text = shown(make_report())
    assert "gen9randombattle, 20 battles for each pair, seed 7" in text
    line = next(line for line in text.splitlines() if "| first " in line and "random" in line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["first", "random", "15/5/0", "75.0 %", "53.1 to 88.8 %", "30.0"]
    assert "75 (53\N{EN DASH}89)" in text
    assert "25 (11\N{EN DASH}47)" in text
    assert "1000 of random, ± at 95 %" in text
    assert "tie" not in text.partition("Win rates")[2]


def test_on_a_narrow_terminal_names_are_folded_and_figures_are_not() -> None:
    text = shown(make_report(), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "53.1 to 88.8 %" in text
    assert "second/upd" in text


def test_names_are_no_markup() -> None:
    assert "[red]a[/]" in shown(make_report(("[red]a[/]", "random", "max")))


def test_who_has_met_everybody_has_a_row() -> None:
    assert make_report().rows == ["first", "second/update-000120", "random", "max"]
    assert make_report(contestants=2).rows == ["first", "second/update-000120"]


def test_the_diagonal_and_pairs_that_did_not_play_are_empty() -> None:
    found = rows(matrix_csv(make_report(contestants=1)))
    assert found == [
        {"": "first", "first": "", "second/update-000120": "0.75", "random": "0.75", "max": "0.75"}
    ]
    whole = rows(matrix_csv(make_report()))
    assert [row["max"] for row in whole] == ["0.75", "0.75", "0.75", ""]
    assert whole[3]["first"] == "0.25"


def test_two_players_need_no_matrix() -> None:
    assert "the row against the column" not in shown(make_report(("first", "random")))


def test_csv_has_every_pair_player_and_battle() -> None:
    report = make_report(ties=1)
    matches = rows(matches_csv(report))
    assert len(matches) == 6
    assert matches[0]["win_rate"] == "0.775"
    assert float(matches[0]["low"]) < 0.775 < float(matches[0]["high"])
    ratings = rows(ratings_csv(report))
    assert ratings[0]["player"] == "first"
    assert ratings[-2]["player"] == "random"
    assert float(ratings[-2]["elo"]) == 1000
    battles = rows(battles_csv(report))
    assert len(battles) == 120
    assert battles[1]["seat"] == "p2"
    assert battles[0]["seed"] == "1,2,3,4"


def test_json_has_all_of_it() -> None:
    report = make_report(failed=1)
    data = json.loads(report.to_json())
    assert data["results"][0]["win_rate"] == 14 / 19
    assert data["results"][0]["failed"] == 1
    assert len(data["battles"]) == 120
    assert {rating["name"] for rating in data["ratings"]} == set(report.players)
    assert data["ending"] == "finished"


def test_it_is_said_what_is_missing() -> None:
    text = shown(make_report(ties=2, failed=1, ending="interrupted", wanted=50))
    assert "A tie is half a win." in text
    assert "It was interrupted after 120 of 300 battles." in text
    assert "6 came to no end, and are left out: BattlePoisoned: the battle failed 2 times" in text


def test_before_the_first_battle_has_ended_there_is_a_dash() -> None:
    text = shown(make_report(battles=0, ending="interrupted", wanted=10))
    line = next(line for line in text.splitlines() if "| first " in line and "random" in line)
    assert line.count("\N{EN DASH}") == 3
    assert "Elo" not in text
