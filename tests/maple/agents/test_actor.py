"""What actors draw, with what chances, and what they remember of whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from bridge.sampling import Sampler, derive_keys, log_probability
from maple.agents import Actor, Decided, Network, NetworkConfig, make_network
from maple.env import Observations
from tests.maple.agents.batches import GAMES, KINDS, SMALL, Batch, observations_of, random_batch

NOBODY = np.zeros(0, np.int64)


def opinionated(kind: str, observations: Observations) -> Network:
    """A network that holds some actions to be much likelier than others."""
    network = make_network(SMALL[kind], observations, seed=1)
    with torch.no_grad():
        network.heads.policy.weight.mul_(100)  # type: ignore[union-attr, operator]
    return network


def calm(batch: Batch) -> Batch:
    """The same with features as small as those of battles."""
    return batch._replace(features=np.minimum(batch.features, 1))


def setting(kind: str, game: str, count: int) -> tuple[Observations, Network, Batch]:
    observations = observations_of(game)
    return observations, opinionated(kind, observations), calm(random_batch(observations, count))


def decide(actor: Actor, batch: Batch, numbers: Any, is_first: Any = True, **more: Any) -> Any:  # noqa: ANN401 - arrays of many kinds
    numbers = np.asarray(numbers)
    is_first = np.broadcast_to(is_first, numbers.shape)
    return actor.decide(numbers, *batch, is_first, **more)


# What is drawn


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("game", GAMES)
def test_actions_are_those_that_a_sampler_draws(kind: str, game: str, greedy: bool) -> None:
    observations, network, batch = setting(kind, game, 20)
    actions = observations.actions
    actor = Actor(network, actions, 20, greedy=greedy)
    decided = decide(actor, batch, range(20))
    second_mask: Any = actions.second_mask if game == "doubles" else None
    sampler = Sampler(network, second_mask=second_mask, greedy=greedy)
    drawn, chances, values = sampler((batch.features, batch.ids), batch.masks, batch.keys)
    assert decided.actions.tolist() == drawn.tolist()
    assert decided.values.tolist() == values.tolist()
    # Whoever takes the likeliest action is certain to take it.
    assert decided.chances.tolist() == ([0] * 20 if greedy else chances.tolist())
    assert decided.logits.shape == batch.masks.shape


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_decided_for_a_row_is_the_same_to_the_bit_in_any_batch(kind: str) -> None:
    observations = observations_of("singles")
    # Of the usual size: products of very narrow layers take another way.
    network = make_network(NetworkConfig(kind=kind), observations, seed=1)  # type: ignore[arg-type]
    batch = calm(random_batch(observations, 40))
    actor = Actor(network, observations.actions, 40)
    expected = decide(actor, batch, range(40))
    for rows in (range(1), range(17), range(39, 6, -1), range(0, 40, 3)):
        part = decide(actor, batch.rows(list(rows)), rows)
        for found, whole in zip(part, expected, strict=True):
            assert found.tolist() == whole[list(rows)].tolist()


def test_for_nobody_nothing_is_decided() -> None:
    for kind in KINDS:
        for game in GAMES:
            observations, network, batch = setting(kind, game, 1)
            actor = Actor(network, observations.actions, 3)
            decided = decide(actor, batch.rows(NOBODY), NOBODY)
            assert [len(part) for part in decided] == [0] * 5
            assert decided.logits.shape[1:] == batch.masks.shape[1:]
            assert decided.actions.shape[1:] == ((2,) if game == "doubles" else ())
            nobody = batch.rows(NOBODY)
            assert len(actor.values(NOBODY, nobody.features, nobody.ids, NOBODY.astype(bool))) == 0


# Exploration


def uniform_chances(
    observations: Observations, batch: Batch, actions: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """One over the number of legal actions, of both places if there are two."""
    if batch.masks.ndim == 2:
        return np.asarray(1 / batch.masks.sum(axis=1))
    second = observations.actions.second_mask(batch.masks, actions[:, 0])
    return np.asarray(1 / (batch.masks[:, 0].sum(axis=1) * second.sum(axis=1)))


def meant_chances(
    observations: Observations,
    batch: Batch,
    decided: Decided,
) -> npt.NDArray[np.float64]:
    """Of what was decided, as bridge.sampling has it."""
    logits, masks, actions = decided.logits, batch.masks, decided.actions
    if masks.ndim == 2:
        return np.asarray(np.exp(log_probability(logits, masks, actions)))
    then = observations.actions.second_mask(masks, actions[:, 0])
    chances = log_probability(logits[:, 0], masks[:, 0], actions[:, 0])
    return np.asarray(np.exp(chances + log_probability(logits[:, 1], then, actions[:, 1])))


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_the_chance_of_an_action_counts_both_ways_to_get_to_it(game: str, greedy: bool) -> None:
    observations, network, batch = setting("mlp", game, 50)
    actor = Actor(network, observations.actions, 50, greedy=greedy)
    plain = decide(actor, batch, range(50))
    decided = decide(actor, batch, range(50), epsilon=0.3)
    if greedy:
        is_same = (decided.actions == plain.actions).reshape(50, -1).all(axis=1)
        meant = is_same.astype(float)
        assert 20 < is_same.sum() < 50
    else:
        meant = meant_chances(observations, batch, decided)
    explored = uniform_chances(observations, batch, decided.actions)
    np.testing.assert_allclose(np.exp(decided.chances), 0.7 * meant + 0.3 * explored, rtol=1e-12)


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_actions_are_drawn_as_often_as_their_chances_say(game: str, greedy: bool) -> None:
    count = 6000
    observations, network, batch = setting("mlp", game, 1)
    # Two switches, a move at two targets or two moves, and one that terastallizes.
    few = [0, 1, 6, 7, 22] if game == "singles" else [1, 2, 7, 12, 87]
    batch.masks[:] = 0
    batch.masks[..., few] = 1
    many = batch.rows(np.zeros(count, np.int64))._replace(keys=derive_keys(7, np.arange(count)))
    actor = Actor(network, observations.actions, count, greedy=greedy)
    decided = decide(actor, many, range(count), epsilon=0.4)
    found: dict[Any, list[float]] = {}
    for action, chance in zip(decided.actions.tolist(), decided.chances, strict=True):
        found.setdefault(str(action), []).append(float(np.exp(chance)))
    assert all(len(set(chances)) == 1 for chances in found.values())
    # Within five standard deviations, of those that are not too rare for them to mean anything.
    common = {action: chances for action, chances in found.items() if chances[0] * count > 20}
    assert common
    for chances in common.values():
        deviation = np.sqrt(count * chances[0] * (1 - chances[0]))
        assert abs(len(chances) - count * chances[0]) < 5 * deviation + 1
    assert sum(chances[0] for chances in found.values()) == pytest.approx(1, abs=0.02)


def test_without_exploration_nothing_is_explored_and_with_all_of_it_nothing_else_is_done() -> None:
    observations, network, batch = setting("mlp", "singles", 30)
    actor = Actor(network, observations.actions, 30, greedy=True)
    decided = decide(actor, batch, range(30), epsilon=1.0)
    np.testing.assert_allclose(
        np.exp(decided.chances), uniform_chances(observations, batch, decided.actions)
    )
    assert (np.take_along_axis(batch.masks, decided.actions[:, None], axis=1) == 1).all()
    for epsilon in (-0.1, 1.1):
        with pytest.raises(ValueError, match="epsilon is a probability"):
            decide(actor, batch, range(30), epsilon=epsilon)


# Memory


def test_each_agent_remembers_its_own_decisions_whoever_decides_with_it() -> None:
    observations, network, _ = setting("lstm", "singles", 1)
    actor = Actor(network, observations.actions, 5)
    # Agent 2 decides each time, the others now and then, in any order.
    turns = [[2, 4], [0, 2], [2], [4, 3, 2], [1, 2, 0]]
    seen, decisions = [], []
    for turn, numbers in enumerate(turns):
        batch = calm(random_batch(observations, len(numbers), seed=turn))
        at = numbers.index(2)
        decided = decide(actor, batch, numbers, is_first=turn == 0)
        seen.append(batch.rows([at]).seen)
        decisions.append([part[at] for part in decided])
    features, ids = (torch.stack(part) for part in zip(*seen, strict=True))
    with torch.no_grad():
        logits, values = network.unroll(features, ids, torch.zeros(1, network.memory))
        # From what it is said to have remembered, the rest follows too.
        later = torch.from_numpy(decisions[2][3][None])
        rest, _ = network.unroll(features[2:], ids[2:], later)
    found = np.array([logits for *_, logits in decisions])
    np.testing.assert_allclose(found, logits[:, 0].numpy(), atol=1e-4)
    np.testing.assert_allclose([one[2] for one in decisions], values[:, 0].numpy(), atol=1e-4)
    np.testing.assert_allclose(found[2:], rest[:, 0].numpy(), atol=1e-4)
    assert not decisions[0][3].any()
    assert decisions[1][3].any()


def test_what_begins_anew_remembers_nothing_and_others_go_on() -> None:
    observations, network, batch = setting("lstm", "singles", 3)
    actor = Actor(network, observations.actions, 3)
    first = decide(actor, batch, range(3))
    again = decide(actor, batch, range(3), is_first=np.array([False, True, False]))
    assert again.memory.any(axis=1).tolist() == [True, False, True]
    assert again.values[1] == first.values[1]
    assert (again.values != first.values).tolist() == [True, False, True]


def test_a_look_at_values_is_not_remembered() -> None:
    observations, network, batch = setting("lstm", "singles", 3)
    one, other = (Actor(network, observations.actions, 3) for _ in range(2))
    for actor in (one, other):
        decide(actor, batch, range(3))
    later = calm(random_batch(observations, 3, seed=1))
    numbers, nobody = np.arange(3), np.zeros(3, bool)
    looked = one.values(numbers, later.features, later.ids, nobody)
    afresh = one.values(numbers, later.features, later.ids, ~nobody)
    decided = decide(one, later, numbers, is_first=False)
    assert decided.memory.tolist() == decide(other, later, numbers, is_first=False).memory.tolist()
    assert looked.tolist() == decided.values.tolist()
    assert (looked != afresh).all()


def test_what_was_decided_stays_as_it_was_when_more_is_decided() -> None:
    observations, network, batch = setting("lstm", "singles", 2)
    actor = Actor(network, observations.actions, 2)
    decide(actor, batch, range(2))
    decided = decide(actor, batch, range(2), is_first=False)
    kept = [part.copy() for part in decided]
    decide(actor, batch, range(2), is_first=False)
    assert all(np.array_equal(*pair) for pair in zip(decided, kept, strict=True))


def test_an_agent_cannot_decide_twice_at_once() -> None:
    observations, network, batch = setting("lstm", "singles", 3)
    actor = Actor(network, observations.actions, 3)
    with pytest.raises(ValueError, match="at most once"):
        decide(actor, batch, [0, 1, 0])


def test_other_weights_decide_from_the_next_decision_on() -> None:
    observations, network, batch = setting("mlp", "singles", 3)
    actor = Actor(network, observations.actions, 3)
    before = decide(actor, batch, range(3))
    with torch.no_grad():
        for weights in network.parameters():
            weights.mul_(1.5)
    assert (decide(actor, batch, range(3)).values != before.values).all()
