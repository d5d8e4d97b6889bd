"""Teams to draw from: how often each is brought, and what is said of those that are not legal."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from bridge import BridgeConfig
from bridge.errors import BattleRejected, ConfigError
from maple.env import TeamPool, VectorEnv
from maple.env.keys import step_key
from maple.env.teams import Teams

from .hands import TEAM, step

FORMAT = "gen9nationaldex"
ONE, OTHER, THIRD = ("]".join(TEAM.split("]")[first : first + 2]) for first in (0, 2, 4))


def test_each_team_is_drawn_as_often_as_its_weight_says() -> None:
    pool = TeamPool([ONE, OTHER, THIRD], [6, 3, 1])
    drawn = Counter(pool.draw(step_key(4, index)) for index in range(10_000))
    assert [round(drawn[index] / 1000) for index in range(3)] == [6, 3, 1]
    alike = TeamPool([ONE, OTHER, THIRD])
    drawn = Counter(alike.draw(step_key(4, index)) for index in range(9_000))
    assert all(abs(drawn[index] - 3000) < 200 for index in range(3))


def test_a_pool_without_weights_draws_as_a_list_does(settings: BridgeConfig) -> None:
    seen = []
    for teams in (
        [ONE, OTHER],
        TeamPool([ONE, OTHER]),
        {"p1": TeamPool([ONE, OTHER]), "p2": [ONE, OTHER]},
        TeamPool([ONE, OTHER], [1000, 1]),
    ):
        with VectorEnv(FORMAT, 4, seed=5, teams=cast(Any, teams), bridge=settings) as env:
            seen.append(step(env, 12, range(4)))
    assert seen[0] == seen[1] == seen[2]
    assert seen[3] != seen[0]


def test_seats_draw_by_themselves_and_by_the_seed() -> None:
    teams = Teams(TeamPool([ONE, OTHER], [1, 2]), TeamPool([ONE, OTHER], [1, 2]), needed=True)
    first, second, again = (
        [teams("a seed", 0, number, seat) for number in range(300)] for seat in (0, 1, 0)
    )
    assert first == again
    assert first != second
    assert 170 < Counter(first)[OTHER] < 230


def test_a_team_that_is_not_legal_is_named(settings: BridgeConfig) -> None:
    wrong = ONE.replace("roughskin", "levitate")
    pool = TeamPool([ONE, wrong], names=["sand", "moles.txt"])
    for teams, name in ((pool, "moles.txt"), ([ONE, OTHER, wrong], "team 3")):
        with pytest.raises(BattleRejected, match=f"^{name}: .*Levitate") as refused:
            VectorEnv(FORMAT, 1, teams=teams, bridge=settings)
        assert refused.value.problems
    with pytest.raises(BattleRejected, match=r"^(?!team)"):
        VectorEnv(FORMAT, 1, teams=wrong, bridge=settings)


def test_pools_that_make_no_sense_are_refused() -> None:
    for arguments, words in (
        ((ONE,), "several teams"),
        (([],), "no teams"),
        (([ONE], [1, 2]), "2 weights for 1 teams"),
        (([ONE], None, ["one", "two"]), "2 names for 1 teams"),
        (([ONE, OTHER], [1, 0]), "the weight of team 2 is 0"),
        (([ONE], [float("nan")], ["sand"]), "the weight of sand is nan"),
    ):
        with pytest.raises(ConfigError, match=words):
            TeamPool(*cast(Any, arguments))
