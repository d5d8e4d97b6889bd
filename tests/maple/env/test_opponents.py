"""Whoever has the other seat: each kind plays, draws fairly, and does what its name says."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from typing import Any, cast

import numpy as np
import pytest
from poke_env.battle import AbstractBattle
from poke_env.data import GenData
from poke_env.player import MaxBasePowerPlayer, Player, RandomPlayer
from poke_env.player.battle_order import BattleOrder

from bridge import BridgeConfig, ControllerRegistry, InferenceQueue, Update, View
from bridge.errors import ConfigError, InferenceFailed, UnknownPolicy
from bridge.inference import Policy
from bridge.sampling import Sampler, derive_keys
from bridge.wire import News
from maple.env import Actions, ObservationSpec, QueuedPolicy, StepTimeout, VectorEnv
from maple.env.battle import Battle, Rival, Table
from maple.env.keys import battle_key, step_key
from maple.env.opponents import MaxBasePowerOpponent, OpponentKind, RandomOpponent
from tests.bridge.poke_env.cast import Quitter, team_of

from .hands import choose

QUICK = "gen1randombattle"


def results(settings: BridgeConfig, opponent: Any, ends: int, **named: Any) -> Counter[str]:  # noqa: ANN401
    """Who won, in battles of an agent that draws at random."""
    played = named.pop("format", QUICK)
    with VectorEnv(played, 8, seed=2, opponent=opponent, bridge=settings, **named) as env:
        observation, _ = env.reset()
        won: Counter[str] = Counter()
        while won.total() < ends:
            observation, _, terminated, truncated, info = env.step(choose(observation))
            assert not truncated.any()
            won.update(info["winner"][row] for row in np.flatnonzero(terminated))
    return won


# Draws


def row_with(actions: Actions, legal: list[list[int]]) -> bytes:
    """An observation that allows these actions, and says nothing else."""
    layout = ObservationSpec.load().layout(actions.game)
    mask = np.zeros((actions.slots, actions.size), np.int8)
    for slot, allowed in enumerate(legal):
        mask[slot, allowed] = 1
    return actions.with_mask(bytes(layout.bytes), mask if actions.slots > 1 else mask[0])


def test_every_legal_action_is_equally_likely() -> None:
    actions = Actions("singles", 9)
    opponent = RandomOpponent(actions)
    row = row_with(actions, [[0, 5, 6, 9, 25]])
    drawn = Counter(opponent.pick(row, step_key(99, step)) for step in range(5000))
    assert drawn.keys() == {0, 5, 6, 9, 25}
    assert all(880 < count < 1120 for count in drawn.values()), drawn


def test_every_pair_that_is_legal_together_is_equally_likely() -> None:
    actions = Actions("doubles", 9)
    opponent = RandomOpponent(actions)
    row = row_with(actions, [[0, 3, 4, 9], [0, 3, 4]])
    drawn = Counter(opponent.pick(row, step_key(7, step)) for step in range(9000))
    # Not both to the same Pokémon, and not both passing while one can switch.
    assert drawn.keys() == {(0, 3), (0, 4), (3, 0), (3, 4), (4, 0), (4, 3), (9, 0), (9, 3), (9, 4)}
    assert all(880 < count < 1120 for count in drawn.values()), drawn


def test_keys_are_those_that_rows_of_a_batch_are_sampled_by() -> None:
    key = battle_key("a seed", 3, 14, 1)
    assert [key] == derive_keys("a seed", 3, 14, 1).tolist()
    steps = np.arange(50)
    derived = derive_keys(np.full(50, key, np.uint64), steps).tolist()
    assert [step_key(key, int(step)) for step in steps] == derived


# By name


def test_at_random_nobody_is_better_and_by_power_the_opponent_is(settings: BridgeConfig) -> None:
    even = results(settings, "random", 24)
    assert min(even["p1"], even["p2"]) >= 5
    power = results(settings, "max", 16)
    assert power["p2"] > 4 * power["p1"]
    heuristics = results(settings, "heuristics", 16)
    assert heuristics["p2"] > 4 * heuristics["p1"]


@pytest.mark.parametrize("generation", [1, 4, 7, 8, 9])
async def test_max_is_the_move_that_poke_env_takes_for_the_strongest(
    settings: BridgeConfig, generation: int
) -> None:
    """The same base power, that is: of moves that are equally strong either may be first."""
    name = f"gen{generation}randombattle"
    actions = Actions("singles", generation)
    ours = MaxBasePowerOpponent(actions)
    theirs = MaxBasePowerPlayer(battle_format=name, start_listening=False)
    moves = GenData.from_gen(generation).moves
    view = View(lines=True, observe=ours.groups)
    compared = 0
    async with ControllerRegistry(settings) as registry:
        for seed in range(3):
            room = await registry.open(name, seed=seed, p1=theirs.username, view=view)
            model = _model(theirs, room.tag)
            while (update := await room.p1.next()) is not None:
                _feed(model, update)
                if update.must_choose:
                    assert update.observation is not None
                    action = ours.pick(update.observation, seed)
                    choice = actions.choice(update.observation, action)
                    if model.available_moves:
                        assert update.request is not None
                        listed = [move["id"] for move in update.request["active"][0]["moves"]]
                        chosen = listed[int(choice.removeprefix("move ")) - 1]
                        order = theirs.choose_move(model)
                        assert _power(moves, chosen) == order.order.base_power, order.message
                        compared += 1
                    room.p1.choose(choice, rqid=update.rqid)
                other = await room.p2.next()
                if other is not None and other.must_choose:
                    room.p2.choose("default", rqid=other.rqid)
    assert compared > 30


def _power(moves: dict[str, Any], name: str) -> int:
    return int(moves[name]["basePower"]) if name in moves else 0


def _model(player: Player, tag: str) -> Any:  # noqa: ANN401 - poke-env's singles model
    from maple.env.players import _new_model

    return _new_model(player, tag)


def _feed(model: Any, update: Any) -> None:  # noqa: ANN401
    for line in update.lines:
        words = line.split("|")
        if len(words) > 1 and words[1] not in ("win", "tie", *Player.MESSAGES_TO_IGNORE):
            model.parse_message(words)
    if update.request is not None:
        model.parse_request(update.request, False)


# Policies


def test_a_network_of_torch_is_an_opponent(settings: BridgeConfig) -> None:
    torch = pytest.importorskip("torch")

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.LazyLinear(26)
            self.rows = 0
            self.graphs = 0

        def forward(self, features: Any, ids: Any) -> Any:  # noqa: ANN401
            self.rows += len(features)
            self.graphs += torch.is_grad_enabled()
            assert features.dtype == torch.float32
            assert ids.dtype == torch.int32
            logits = self.layer(features)
            return logits, logits.sum(dim=1)

    network = Network()
    won = results(settings, network, 2, format="gen9randombattle")
    assert won.total() >= 2
    assert network.rows > 100
    assert network.graphs == 0


def test_a_module_of_torch_is_a_policy_even_if_it_has_a_way_to_act(settings: BridgeConfig) -> None:
    torch = pytest.importorskip("torch")

    class ActorCritic(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, features: Any, ids: Any) -> Any:  # noqa: ANN401
            return torch.zeros((len(features), 10))

        def act(self, observation: Any) -> Any:  # noqa: ANN401
            raise AssertionError("nobody asks it to act")

    with VectorEnv(QUICK, 2, seed=2, opponent=ActorCritic(), bridge=settings) as env:
        observation, _ = env.reset()
        env.step(choose(observation))


def test_a_policy_that_insists_on_an_action_gets_its_way_in_doubles(settings: BridgeConfig) -> None:
    """Both slots would switch to the same Pokémon, if that were legal."""
    batches: list[int] = []

    def policy(features: np.ndarray, ids: np.ndarray) -> np.ndarray:
        batches.append(len(features))
        return np.broadcast_to(-40.0 * np.arange(107), (len(features), 2, 107))

    with VectorEnv("gen9randomdoublesbattle", 4, seed=2, opponent=policy, bridge=settings) as env:
        observation, _ = env.reset()
        for _ in range(60):
            observation, _, _, truncated, _ = env.step(choose(observation))
            assert not truncated.any()
    assert max(batches) >= 4, "rows of several battles are computed together"


def test_the_policy_of_an_opponent_is_replaced_from_its_next_batch_on(
    settings: BridgeConfig,
) -> None:
    calls: list[str] = []

    def named(name: str) -> Any:  # noqa: ANN401 - a policy
        def policy(features: np.ndarray, ids: np.ndarray) -> np.ndarray:
            calls.append(name)
            return np.zeros((len(features), 10))

        return policy

    with VectorEnv(QUICK, 2, seed=2, opponent=named("first"), bridge=settings) as env:
        observation, _ = env.reset()
        for _ in range(5):
            observation, *_ = env.step(choose(observation))
        assert set(calls) == {"first"}
        env.update_opponent(named("second"))
        calls.clear()
        for _ in range(5):
            observation, *_ = env.step(choose(observation))
        # What was computed before the change may have been by the first.
        assert calls[-1] == "second"
        with pytest.raises(ConfigError, match="cannot be called"):
            env.update_opponent("random")
    for opponent in ("random", "self"):
        other = VectorEnv(QUICK, 1, opponent=opponent, bridge=settings)
        with other, pytest.raises(ConfigError):
            other.update_opponent(named("third"))


# A queue that the learner and its opponents share


def policy_of(factor: float) -> Policy:
    """Logits that differ from row to row, and are the same to the bit in any batch."""
    return lambda features, ids: factor * features[:, :10]


def learn_against(
    settings: BridgeConfig, opponent: OpponentKind, policy: Policy | None = None
) -> list[bytes]:
    """What a learner sees that infers with the environment, or by itself with a policy."""
    seen = []
    with VectorEnv(QUICK, 4, seed=2, opponent=opponent, bridge=settings) as env:
        observation, _ = env.reset()
        for _ in range(40):
            inputs = observation["features"], observation["ids"]
            rows = inputs, observation["action_mask"], env.keys()
            actions, _ = policy(*rows) if policy else env.infer(rows)
            observation, *_ = env.step(actions)
            seen.append(observation["features"].tobytes())
    return seen


def test_a_learner_and_its_opponent_share_a_queue(settings: BridgeConfig) -> None:
    queue = InferenceQueue(Sampler(policy_of(3.0)))
    queue.update_policy(Sampler(policy_of(-2.0)), name="past")
    shared = learn_against(settings, QueuedPolicy(queue, "past"))
    apart = learn_against(settings, policy_of(-2.0), Sampler(policy_of(3.0)))
    assert shared == apart
    learner, past = (queue.stats()["policies"][name] for name in ("default", "past"))
    assert learner["rows"] == 160
    assert past["rows"] > 100
    assert "closed" in repr(queue), "the environment ends what it has served"


def test_a_queue_that_fails_the_learner_goes_on(settings: BridgeConfig) -> None:
    queue = InferenceQueue(Sampler(policy_of(3.0)))
    queue.update_policy(lambda rows: rows[:-1], name="short")
    with VectorEnv(QUICK, 2, seed=2, opponent=QueuedPolicy(queue), bridge=settings) as env:
        observation, _ = env.reset()
        with pytest.raises(InferenceFailed, match="returned 1 results for 2 rows"):
            env.infer(np.zeros((2, 3)), policy="short")
        with pytest.raises(UnknownPolicy, match="no policy 'nobody' among default, short"):
            env.infer(np.zeros((2, 3)), policy="nobody")
        env.step(choose(observation))


def test_a_forward_that_does_not_end_is_waited_for_as_long_as_a_step(
    settings: BridgeConfig,
) -> None:
    held = threading.Event()
    queue = InferenceQueue(Sampler(policy_of(3.0)))
    queue.update_policy(lambda rows: held.wait() and rows, name="held")
    with VectorEnv(QUICK, 2, seed=2, opponent=QueuedPolicy(queue), bridge=settings) as env:
        env.reset()
        env._stage.battles.timeout = 0.5
        with pytest.raises(StepTimeout, match="policy 'held' returned nothing within"):
            env.infer(np.zeros((2, 3)), policy="held")
        held.set()


def test_a_policy_in_a_queue_is_replaced_as_it_was_handed_in(settings: BridgeConfig) -> None:
    queue = InferenceQueue(Sampler(policy_of(3.0)))
    greedy = Sampler(policy_of(-2.0), greedy=True)
    with VectorEnv(QUICK, 4, seed=2, opponent=QueuedPolicy(queue), bridge=settings) as env:
        observation, _ = env.reset()
        env.update_opponent(greedy)
        for _ in range(5):
            observation, *_ = env.step(choose(observation))
        assert queue.stats()["policies"]["default"]["version"] == 1


def test_a_queue_is_served_in_one_environment(settings: BridgeConfig) -> None:
    queue = InferenceQueue(Sampler(policy_of(3.0)))
    with VectorEnv(QUICK, 1, seed=2, opponent=QueuedPolicy(queue), bridge=settings) as env:
        with pytest.raises(RuntimeError, match="make a queue for each"):
            VectorEnv(QUICK, 1, opponent=QueuedPolicy(queue), bridge=settings)
        observation, _ = env.reset()
        env.step(choose(observation))


def test_who_is_in_no_queue_cannot_infer(settings: BridgeConfig) -> None:
    queue = InferenceQueue(policy_of(3.0))
    with pytest.raises(ConfigError, match="no policy 'past', but 'default'"):
        VectorEnv(QUICK, 2, opponent=QueuedPolicy(queue, "past"), bridge=settings)
    for opponent in ("random", "self"):
        env = VectorEnv(QUICK, 1, opponent=opponent, bridge=settings)
        with env, pytest.raises(ConfigError, match="there is no queue"):
            env.infer(np.zeros((2, 3)))


# Players of poke-env


class Ponderer(RandomPlayer):
    """Takes its time, and counts what it has chosen."""

    def __init__(self, **named: Any) -> None:
        super().__init__(start_listening=False, **named)
        self.chosen = 0
        self.finished: list[bool | None] = []

    async def choose_move(self, battle: AbstractBattle) -> BattleOrder:  # type: ignore[override]
        await asyncio.sleep(0)
        self.chosen += 1
        return self.choose_random_move(battle)

    def _battle_finished_callback(self, battle: AbstractBattle) -> None:
        self.finished.append(battle.won)


def test_a_player_may_choose_in_a_coroutine_and_hears_how_it_ended(settings: BridgeConfig) -> None:
    player = Ponderer(battle_format=QUICK)
    won = results(settings, player, 6)
    assert player.chosen > 6 * 10
    assert Counter(player.finished)[True] >= won["p2"]
    assert len(player.finished) >= won.total()


def test_a_player_brings_its_team_and_picks_from_it(settings: BridgeConfig) -> None:
    shown: list[int] = []

    class Previewer(RandomPlayer):
        def teampreview(self, battle: AbstractBattle) -> str:
            shown.append(len(battle.teampreview_opponent_team))
            return "/team 21"

    player = Previewer(battle_format="gen9ou", team=team_of(9), start_listening=False)
    won = results(settings, player, 4, format="gen9ou", teams={"p1": team_of(9)})
    assert won.total() >= 4
    assert set(shown) == {2}


def test_a_format_may_be_named_as_people_name_it(settings: BridgeConfig) -> None:
    for opponent in ("heuristics", RandomPlayer(battle_format=QUICK, start_listening=False)):
        with VectorEnv(
            "[Gen 1] Random Battle", 1, seed=2, opponent=opponent, bridge=settings
        ) as env:
            observation, _ = env.reset()
            env.step(choose(observation))


def test_the_team_that_a_player_draws_is_decided_by_the_seed(settings: BridgeConfig) -> None:
    class Drawer(RandomPlayer):
        drawn: list[float]

        @property
        def next_team(self) -> str:
            self.drawn.append(random.random())
            return team_of(9)

    def draws(seed: int) -> list[float]:
        player = Drawer(battle_format="gen9ou", start_listening=False)
        player.drawn = []
        teams = {"p1": team_of(9)}
        with VectorEnv("gen9ou", 2, opponent=player, teams=teams, bridge=settings) as env:
            env.reset(seed=seed)
            env.reset()
        return player.drawn

    first = draws(1)
    assert len(set(first)) == 4
    assert draws(1) == first
    assert set(draws(2)).isdisjoint(first)


WARNING = "You will auto-tie if the battle doesn't end in 500 turns (on turn 1000)."


@pytest.mark.parametrize("line", [f"|bigerror|{WARNING}", "|error|[Invalid choice] Can't move"])
async def test_what_the_simulator_only_says_is_no_fault(line: str) -> None:
    from maple.env.players import heuristics

    class Nobody:
        """A table at which nothing happens."""

    battle = Battle(cast(Table, Nobody()), 0, 0, Rival("Heuristics", None))
    seat = heuristics(QUICK).sit(battle, 1, 7)
    seat.hear(Update(News(text=f"|turn|500\n{line}")))
    assert battle.spoiled is None


def test_a_player_may_give_up(settings: BridgeConfig) -> None:
    with VectorEnv(
        QUICK, 2, opponent=Quitter(battle_format=QUICK, start_listening=False), bridge=settings
    ) as env:
        observation, _ = env.reset(seed=1)
        ended = 0
        while ended < 4:
            observation, reward, terminated, truncated, info = env.step(choose(observation))
            for row in np.flatnonzero(terminated):
                assert (info["reason"][row], info["winner"][row]) == ("forfeit", "p1")
                assert reward[row] == 1
                ended += 1
            assert not truncated.any()
