"""Whose the columns of an observation are, held against their names."""

from __future__ import annotations

import numpy as np
import pytest

from maple.agents.columns import divide_columns
from tests.maple.agents.batches import GAMES, every_group, observations_of

SELECTIONS = [None, every_group(), ("damage",), ("own_moves", "opponent_team"), ()]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("groups", SELECTIONS)
def test_every_column_is_somebodys_and_nobody_elses(
    game: str, groups: tuple[str, ...] | None
) -> None:
    observations = observations_of(game, groups)
    columns = divide_columns(observations)
    everybody = (columns.own, columns.opponent, columns.field)
    features = np.concatenate([each.features.reshape(-1) for each in everybody])
    assert sorted(features) == list(range(observations.feature_count))
    kinds = np.array(observations.id_kinds())
    for kind in set(kinds):
        ids = np.concatenate([each.ids[kind].reshape(-1) for each in everybody])
        assert sorted(ids) == np.flatnonzero(kinds == kind).tolist()


@pytest.mark.parametrize("game", GAMES)
def test_a_pokemon_has_its_moves_and_what_they_do(game: str) -> None:
    observations = observations_of(game)
    columns, slots = divide_columns(observations), observations.actions.slots
    names = np.array(observations.feature_names())
    own = set(names[columns.own.features[2]])
    assert {"own_team.2.condition.hp", "own_team.2.who.species.spe"} <= own
    assert {f"own_moves.{move}.state.pp" for move in (8, 9, 10, 11)} <= own
    # node/observation/encoder.js: own move × target, and their move × whom it hits.
    done = {f"damage.{move * slots + at}.own.estimate" for move in (8, 11) for at in range(slots)}
    assert done <= own
    assert {f"damage.{move * 6 + 2}.opponent.estimate" for move in range(4 * slots)} <= own
    assert not {name for name in own if name.startswith(("own_team.3", "own_moves.12"))}
    theirs = set(names[columns.opponent.features[5]])
    assert {"opponent_team.5.condition.slot", "opponent_moves.20.state.pp"} <= theirs
    assert all(name.startswith("opponent_") for name in theirs)
    field = set(names[columns.field.features[0]])
    assert {"decision.0.asked.turn", "actives.0.state.atk", "sides.1.state.left"} <= field


@pytest.mark.parametrize("game", GAMES)
def test_a_move_has_what_it_is_and_what_it_does(game: str) -> None:
    observations = observations_of(game)
    moves, slots = divide_columns(observations).own_moves, observations.actions.slots
    assert moves is not None
    names = np.array(observations.feature_names())
    expected = {name for name in names if name.startswith("own_moves.14.")}
    expected |= {f"damage.{14 * slots + target}.own.estimate" for target in range(slots)}
    assert set(names[moves.features[3, 2]]) == expected
    assert moves.features.shape == (6, 4, len(expected))
    id_names = np.array(observations.id_names())
    assert id_names[moves.ids["types"][3, 2]].tolist() == ["own_moves.14.which.move.type"]
    assert not moves.ids["species"].size
    assert divide_columns(observations_of(game, ("own_team",))).own_moves is None


@pytest.mark.parametrize("game", GAMES)
def test_a_column_of_one_pokemon_means_the_same_of_all_others(game: str) -> None:
    observations = observations_of(game)
    columns = divide_columns(observations)
    names = [name.split(".", 2) for name in observations.feature_names()]
    for team in (columns.own, columns.opponent):
        meanings = [[(names[at][0], names[at][2]) for at in each] for each in team.features]
        assert all(meaning == meanings[0] for meaning in meanings)
        # Of several moves or targets, the first stands first.
        for each in team.features:
            entries: dict[tuple[str, str], list[int]] = {}
            for at in each:
                entries.setdefault((names[at][0], names[at][2]), []).append(int(names[at][1]))
            assert all(found == sorted(found) for found in entries.values())


def test_a_team_of_which_nothing_is_seen_has_no_pokemon() -> None:
    columns = divide_columns(observations_of("singles", ("own_team",)))
    assert (len(columns.own), len(columns.opponent), len(columns.field)) == (6, 0, 1)
    assert columns.own.places is not None
    assert columns.own.places.values == (0.5,)
    assert columns.opponent.places is None
    columns = divide_columns(observations_of("doubles", ("own_moves",)))
    assert len(columns.own) == 6
    assert columns.own.places is None
