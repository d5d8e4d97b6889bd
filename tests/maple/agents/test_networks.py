"""What holds for networks of every kind, and what each kind is for."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from maple.agents import NetworkConfig, make_network, weight_count
from maple.agents.blocks.embeddings import Embeddings
from maple.agents.blocks.heads import Heads
from maple.agents.blocks.standing import Focus
from maple.agents.columns import Entities, divide_columns
from maple.env import Actions
from tests.maple.agents.batches import (
    GAMES,
    KINDS,
    SMALL,
    every_group,
    observations_of,
    random_batch,
)

SELECTIONS = [
    every_group(),
    ("own_team",),
    ("own_moves", "damage"),
    ("opponent_team", "actives"),
    (),
]


def exactly(network: torch.nn.Module, *given: Tensor) -> list[Tensor]:
    """Makes the network one of double precision, in which orders of sums hardly count."""
    network.double()
    return [part.double() if part.is_floating_point() else part for part in given]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("groups", [None, *SELECTIONS])
def test_each_kind_decides_in_every_game_whatever_is_observed(
    kind: str, game: str, groups: tuple[str, ...] | None
) -> None:
    observations = observations_of(game, groups)
    network = make_network(SMALL[kind], observations, seed=1)
    batch = random_batch(observations, 5)
    logits, values, memory = network.step(*batch.seen, torch.rand(5, network.memory))
    assert memory.shape == (5, network.memory)
    assert logits.shape == batch.masks.shape
    assert values.shape == (5,)
    (logits.square().sum() + values.square().sum()).backward()  # type: ignore[no-untyped-call]
    for name, weights in network.named_parameters():
        assert weights.grad is not None, f"{name} has no effect"
        assert weights.grad.any(), f"{name} has no effect"


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_the_seed_and_no_random_number_of_others_is_used(kind: str) -> None:
    observations = observations_of("singles")
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, same, other = (make_network(SMALL[kind], observations, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    weights = [list(network.state_dict().values()) for network in (one, same, other)]
    assert all(torch.equal(*pair) for pair in zip(weights[0], weights[1], strict=True))
    # Biases begin as constants.
    drawn = [pair for pair in zip(weights[0], weights[2], strict=True) if pair[0].ndim > 1]
    assert not any(torch.equal(*pair) for pair in drawn)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_a_sequence_gives_what_its_decisions_give_one_by_one(kind: str, game: str) -> None:
    observations = observations_of(game)
    network = make_network(SMALL[kind], observations, seed=1)
    batch = random_batch(observations, 12)
    features, ids = exactly(network, *batch.seen)
    features, ids = features.reshape(4, 3, -1), ids.reshape(4, 3, -1)
    memory = torch.rand(3, network.memory, dtype=torch.float64)
    logits, values = network.unroll(features, ids, memory)
    assert logits.shape[:2] == values.shape == (4, 3)
    for place in range(4):
        one, value, memory = network.step(features[place], ids[place], memory)
        torch.testing.assert_close(one, logits[place])
        torch.testing.assert_close(value, values[place])


@pytest.mark.parametrize("kind", KINDS)
def test_a_decision_by_itself_is_a_step_without_memories(kind: str) -> None:
    observations = observations_of("singles")
    network = make_network(SMALL[kind], observations, seed=1)
    batch = random_batch(observations, 4)
    logits, values, _ = network.step(*batch.seen, torch.zeros(4, network.memory))
    for part, same in zip(network(*batch.seen), (logits, values), strict=True):
        assert torch.equal(part, same)


def test_an_lstm_decides_by_what_it_has_seen_before_and_the_others_do_not() -> None:
    observations = observations_of("singles")
    batch = random_batch(observations, 3)
    features, ids = batch.seen
    for kind in KINDS:
        network = make_network(SMALL[kind], observations, seed=1)
        assert network.memory == (16 if kind == "lstm" else 0)
        two = torch.stack((features[:1], features[1:2])), torch.stack((ids[:1], ids[1:2]))
        other = torch.stack((features[2:], features[1:2])), torch.stack((ids[2:], ids[1:2]))
        memory = torch.zeros(1, network.memory)
        after, after_another = (network.unroll(*seen, memory)[1][1] for seen in (two, other))
        assert torch.equal(after, after_another) == (kind != "lstm")


def test_an_lstm_learns_from_what_came_long_before() -> None:
    observations = observations_of("singles")
    network = make_network(SMALL["lstm"], observations, seed=1)
    features, ids = random_batch(observations, 6).seen
    features.requires_grad_()
    _, values = network.unroll(features[:, None], ids[:, None], torch.zeros(1, network.memory))
    values[-1].sum().backward()  # type: ignore[no-untyped-call]
    assert features.grad is not None
    assert features.grad[0].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_training", [True, False])
def test_rows_do_not_depend_on_each_other_while_training_or_not(
    kind: str, is_training: bool
) -> None:
    observations = observations_of("doubles")
    network = make_network(SMALL[kind], observations, seed=1).train(is_training)
    features, ids = exactly(network, *random_batch(observations, 5).seen)
    logits, values = network(features, ids)
    for row in range(5):
        alone = network(features[row : row + 1], ids[row : row + 1])
        torch.testing.assert_close(alone[0][0], logits[row])
        torch.testing.assert_close(alone[1][0], values[row])


def test_at_first_all_actions_are_about_as_likely() -> None:
    observations = observations_of("singles")
    for kind in KINDS:
        network = make_network(NetworkConfig(kind=kind), observations, seed=1)  # type: ignore[arg-type]
        # Random bytes make features that are larger than any of a battle.
        _, ids = random_batch(observations, 20).seen
        logits, _ = network(torch.rand(20, observations.feature_count), ids)
        assert 0 < logits.abs().max() < 0.5


CHANGES: dict[str, Any] = {
    "hidden": (16, 16),
    "moves": 0,
    "memory": 4,
    "entity": 16,
    "heads": 1,
    "layers": 0,
    "species_size": 5,
    "move_size": 5,
    "item_size": 5,
    "ability_size": 5,
    "type_size": 5,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_of_a_kind_makes_another_network(kind: str) -> None:
    observations = observations_of("singles")
    batch = random_batch(observations, 4)
    config = SMALL[kind]
    ours = make_network(config, observations, seed=1)
    names = {field.name for field in dataclasses.fields(config)} - {"kind"}
    assert names == set(CHANGES)
    for name in names:
        if getattr(config, name) is None:
            continue
        changed = dataclasses.replace(config, **{name: CHANGES[name]})
        other = make_network(changed, observations, seed=1)
        is_other = weight_count(other) != weight_count(ours)
        assert is_other or not torch.equal(other(*batch.seen)[1], ours(*batch.seen)[1]), name


# Who stands on the field


@pytest.mark.parametrize("game", GAMES)
def test_whoever_stands_on_the_field_is_shown_in_the_same_columns(game: str) -> None:
    observations = observations_of(game)
    slots = observations.actions.slots
    team = divide_columns(observations).opponent
    assert team.places is not None
    focus = Focus(team.places, team.features, team.ids)
    # Every value is one of its own, so that they can be told apart.
    features = torch.arange(float(2 * observations.feature_count)).reshape(2, -1) + 10
    ids = torch.arange(2 * observations.id_count).reshape(2, -1).int()
    features[:, team.places.columns] = 0
    # In the first row number 4 and then 2 stand there; in the second only one does, or nobody.
    standing: list[list[int | None]] = [[4, 2], [None, 5]]
    for row, numbers in enumerate(standing):
        for place, number in enumerate(numbers[:slots]):
            if number is not None:
                features[row, team.places.columns[number]] = team.places.values[place]
    seen, seen_ids = focus(features, ids)
    for row, numbers in enumerate(standing):
        for place, number in enumerate(numbers[:slots]):
            for shown, of, columns in (
                (seen, features, team.features),
                (seen_ids["species"], ids, team.ids["species"]),
                (seen_ids["moves"], ids, team.ids["moves"]),
            ):
                nothing = [0] * columns.shape[1]
                expected = nothing if number is None else of[row, columns[number]].tolist()
                assert shown[row, place].tolist() == expected


def turn(
    features: Tensor, ids: Tensor, team: Entities, order: npt.NDArray[np.int64]
) -> tuple[Tensor, Tensor]:
    """The same of a team in another order."""
    features, ids = features.clone(), ids.clone()
    features[:, team.features.reshape(-1)] = features[:, team.features[order].reshape(-1)]
    for table in team.ids.values():
        ids[:, table.reshape(-1)] = ids[:, table[order].reshape(-1)]
    return features, ids


# Moves


def move_of(actions: Actions, action: int) -> int | None:
    """The number of the move that an action uses, from 0 on."""
    found = re.match(r"move (\d)", actions.describe_one(action))
    return int(found[1]) - 1 if found else None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_a_move_is_judged_alike_whatever_its_number_and_whoever_has_it(
    kind: str, game: str
) -> None:
    observations = observations_of(game)
    network = make_network(SMALL[kind], observations, seed=1)
    heads, actions = network.heads, observations.actions
    assert isinstance(heads, Heads)
    assert heads.moves is not None
    features, ids = exactly(network, *random_batch(observations, 6).seen)
    columns = divide_columns(observations)
    assert columns.own_moves is not None
    order, team = np.array([2, 0, 3, 1]), np.array([3, 0, 1, 5, 4, 2])
    turned, turned_ids = turn(features, ids, columns.own, team)
    for given, tables in (
        (turned, [columns.own_moves.features]),
        (turned_ids, list(columns.own_moves.ids.values())),
    ):
        for table in tables:
            given[:, table.reshape(-1)] = given[:, table[:, order].reshape(-1)]
    inner = torch.rand(6, heads.policy.in_features, dtype=torch.float64)
    embeddings = next(part for part in network.modules() if isinstance(part, Embeddings))
    before, after = (
        heads.moves(inner, *seen, embeddings) for seen in ((features, ids), (turned, turned_ids))
    )
    # Another move has the number, and all else of the action is the same.
    for action in range(actions.size):
        move = move_of(actions, action)
        if move is None:
            assert not before[..., action].any()
            continue
        name = actions.describe_one(action).replace(f"move {move + 1}", f"move {order[move] + 1}")
        [same] = [a for a in range(actions.size) if actions.describe_one(a) == name]
        torch.testing.assert_close(after[..., action], before[..., same])
    assert before[..., actions.first_move :].std(-1).min() > 0
    logits, _ = heads(inner, features, ids, embeddings)
    with torch.no_grad():
        heads.policy.weight.zero_()
    alone, _ = heads(inner, features, ids, embeddings)
    torch.testing.assert_close(alone, before if game == "doubles" else before[:, 0])
    assert not torch.equal(alone, logits)


# Attention


@pytest.mark.parametrize("game", GAMES)
def test_to_attention_the_order_of_a_team_is_a_matter_of_the_switches_alone(game: str) -> None:
    observations = observations_of(game)
    network = make_network(SMALL["attention"], observations, seed=1)
    features, ids = exactly(network, *random_batch(observations, 6).seen)
    columns, actions = divide_columns(observations), observations.actions
    own, theirs = np.array([3, 0, 1, 5, 4, 2]), np.array([1, 2, 3, 4, 5, 0])
    turned = turn(*turn(features, ids, columns.own, own), columns.opponent, theirs)
    logits, values = network(features, ids)
    logits_then, values_then = network(*turned)
    torch.testing.assert_close(values, values_then)
    switches = slice(actions.first_move - actions.team, actions.first_move)
    others = [at for at in range(actions.size) if not switches.start <= at < switches.stop]
    torch.testing.assert_close(logits[..., others], logits_then[..., others])
    # What a switch gets beside what its number gets is that of whom it is to.
    with torch.no_grad():
        network.heads.policy.weight.zero_()  # type: ignore[union-attr, operator]
    logits, logits_then = network(features, ids)[0], network(*turned)[0]
    torch.testing.assert_close(logits_then[..., switches], logits[..., switches][..., own])
    assert logits[..., switches].std(-1).min() > 0
