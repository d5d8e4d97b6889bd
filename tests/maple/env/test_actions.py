"""Actions: what they stand for, held against poke-env; what is refused; pairs; team previews."""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete
from poke_env.battle import Battle, DoubleBattle, Move, Pokemon
from poke_env.environment import DoublesEnv, SinglesEnv
from poke_env.player.battle_order import DoubleBattleOrder, SingleBattleOrder

from bridge import BridgeConfig, ControllerRegistry, Side, View
from bridge.errors import ChoiceRejected, ConfigError
from maple.env import Actions, IllegalAction, Preview
from maple.env.actions import Action
from tests.maple.env.rows import SPEC, write

SPECIES = ["Garchomp", "Pikachu", "Snorlax", "Gengar", "Gyarados", "Alakazam"]
MOVES = {
    "Garchomp": ["earthquake", "dragonclaw", "swordsdance", "stoneedge"],
    "Pikachu": ["thunderbolt", "surf", "helpinghand", "volttackle"],
    "Snorlax": ["bodyslam", "rest", "curse", "crunch"],
}
PHASES = SPEC.classes["phases"]


def row_of(
    game: str,
    *,
    phase: str = "move",
    legal: npt.ArrayLike | None = None,
    switches: list[int] | None = None,
    moves: list[int] | None = None,
    picks: int = 0,
) -> npt.NDArray[np.uint8]:
    """An observation of one decision; legal actions for each place, all of them by default."""
    layout = SPEC.layout(game)
    raw = np.zeros((1, layout.bytes), np.uint8)
    asked = layout.block("decision", "asked")
    write(raw, asked, 0, "phase", PHASES.index(phase))
    write(raw, asked, 0, "picks", picks)
    for index, position in enumerate(switches or range(1, 7)):
        write(raw, layout.block("decision", "switches"), index, "position", position)
    for index, position in enumerate(moves or [1, 2, 3, 4] * layout.slots):
        write(raw, layout.block("decision", "moves"), index, "position", position)
    mask = np.ones((layout.slots, layout.actions)) if legal is None else np.asarray(legal)
    width = layout.block("decision", "mask").count // layout.slots * 8
    bits = np.zeros((layout.slots, width), np.uint8)
    bits[:, : mask.shape[-1]] = mask
    for index, byte in enumerate(np.packbits(bits, bitorder="little")):
        write(raw, layout.block("decision", "mask"), index, "bits", byte)
    row: npt.NDArray[np.uint8] = raw[0]
    return row


def allow(*actions: list[int], size: int = 107) -> npt.NDArray[np.int8]:
    """A mask of these actions, place by place."""
    mask = np.zeros((len(actions), size), np.int8)
    for slot, legal in enumerate(actions):
        mask[slot, legal] = 1
    return mask


# Against poke-env


@pytest.mark.parametrize("generation", range(1, 10))
def test_there_are_as_many_actions_as_in_poke_env(generation: int) -> None:
    singles, doubles = Actions("singles", generation), Actions("doubles", generation)
    assert singles.size == SinglesEnv.get_action_space_size(generation)
    assert doubles.size == DoublesEnv.get_action_space_size(generation)
    assert singles.space == Discrete(singles.size)
    assert doubles.space == MultiDiscrete([doubles.size, doubles.size])


def request(order: list[str], active: int) -> dict[str, Any]:
    """What a side is asked whose team stands in this order, the first ones on the field."""
    pokemon = [
        {
            "ident": f"p1: {name}",
            "details": f"{name}, L50",
            "condition": "150/150",
            "active": place < active,
            "stats": {"atk": 100, "def": 100, "spa": 100, "spd": 100, "spe": 100},
            "moves": MOVES.get(name, ["tackle", "growl", "rest", "toxic"]),
            "baseAbility": "pressure",
            "item": "",
            "ability": "pressure",
            "teraType": "Fire",
        }
        for place, name in enumerate(order)
    ]
    asked = [
        {"moves": [{"id": move, "pp": 8, "maxpp": 8, "target": "normal"} for move in MOVES[name]]}
        for name in order[:active]
    ]
    return {"active": asked, "side": {"name": "Ada", "id": "p1", "pokemon": pokemon}, "rqid": 2}


def compare(choice: str, order: SingleBattleOrder, asked: dict[str, Any], place: int) -> None:
    """Asserts that a choice of ours and an order of poke-env's mean the same."""
    kind, _, rest = choice.partition(" ")
    if kind == "pass":
        assert order.order == "/choose pass"
        return
    number, *words = rest.split(" ")
    if kind == "switch":
        assert isinstance(order.order, Pokemon)
        ident = asked["side"]["pokemon"][int(number) - 1]["ident"]
        assert order.order.name == ident.removeprefix("p1: ")
        assert not words
        return
    assert isinstance(order.order, Move)
    assert asked["active"][place]["moves"][int(number) - 1]["id"] == order.order.id
    target = int(words.pop(0)) if words and words[0][0] in "+-" else 0
    assert target == order.move_target
    flags = {
        "mega": order.mega,
        "zmove": order.z_move,
        "dynamax": order.dynamax,
        "terastallize": order.terastallize,
    }
    assert words == [name for name, is_on in flags.items() if is_on]


def test_actions_in_singles_mean_what_they_mean_in_poke_env() -> None:
    battle = Battle("battle-gen9ou-1", "Ada", logging.getLogger(), gen=9)
    battle.parse_request(request(SPECIES, active=1))
    # The second and the first have changed places; actions go on counting as at the beginning.
    asked = request(["Pikachu", "Garchomp", *SPECIES[2:]], active=1)
    battle.parse_request(asked)
    row = row_of("singles", switches=[2, 1, 3, 4, 5, 6])
    actions = Actions("singles", 9)
    for action in range(actions.size):
        order = SinglesEnv.action_to_order(np.int64(action), battle, fake=True)
        assert isinstance(order, SingleBattleOrder)
        choice = actions.choice(row, action)
        compare(choice, order, asked, 0)
        assert actions.action(row, choice) == action


def test_actions_in_doubles_mean_what_they_mean_in_poke_env() -> None:
    battle = DoubleBattle("battle-gen9doublesou-1", "Ada", logging.getLogger(), gen=9)
    asked = request(SPECIES, active=2)
    battle.parse_request(asked)
    row = row_of("doubles")
    actions = Actions("doubles", 9)
    for action in range(1, actions.size):
        # A partner that can go with anything.
        for pair, place in (((action, 9), 0), ((9, action), 1)):
            order = DoublesEnv.action_to_order(np.array(pair), battle, fake=True)
            assert isinstance(order, DoubleBattleOrder)
            choice = actions.choice(row, pair)
            halves = choice.split(", ")
            for half, one, at in zip(
                halves, (order.first_order, order.second_order), (0, 1), strict=True
            ):
                compare(half, one, asked, at)
            assert actions.action(row, choice) == pair
            assert halves[1 - place] == "move 1"


def test_pairs_are_legal_where_poke_env_joins_them() -> None:
    battle = DoubleBattle("battle-gen9doublesou-1", "Ada", logging.getLogger(), gen=9)
    battle.parse_request(request(SPECIES, active=2))
    actions = Actions("doubles", 9)
    orders = [
        [
            DoublesEnv._action_to_order_individual(np.int64(action), battle, True, place)
            for action in range(actions.size)
        ]
        for place in (0, 1)
    ]
    [joint] = actions.joint_mask(np.ones((1, 2, actions.size), np.int8))
    for first, second in itertools.product(range(actions.size), repeat=2):
        joined = DoubleBattleOrder.join_orders([orders[0][first]], [orders[1][second]])
        assert joint[first, second] == bool(joined)


# Choices


def test_a_choice_names_the_place_in_the_request_that_the_observation_gives() -> None:
    actions = Actions("singles", 9)
    row = row_of("singles", switches=[4, 2, 3, 1, 6, 5], moves=[3, 1, 2, 4])
    assert actions.choice(row, 0) == "switch 4"
    assert actions.choice(row, np.int64(3)) == "switch 1"
    assert actions.choice(row.tobytes(), 6) == "move 3"
    assert actions.choice(row, 11) == "move 1 mega"
    assert actions.choice(row, 16) == "move 2 zmove"
    assert actions.choice(row, 18) == "move 3 dynamax"
    assert actions.choice(row, 25) == "move 4 terastallize"


def test_a_choice_in_doubles_joins_both_places() -> None:
    actions = Actions("doubles", 9)
    row = row_of("doubles", switches=[1, 2, 5, 4, 3, 6], moves=[1, 2, 3, 4, 4, 3, 2, 1])
    assert actions.choice(row, (0, 3)) == "pass, switch 5"
    assert actions.choice(row, np.array([7, 8])) == "move 1 -2, move 4 -1"
    assert actions.choice(row.tobytes(), [9 + 5 + 80, 7 + 4]) == "move 2 terastallize, move 4 +2"
    assert actions.choice(row, (7 + 20 + 3, 7 + 40 + 5)) == "move 1 +1 mega, move 3 -2 zmove"


def test_an_action_that_is_not_legal_is_refused_with_its_meaning_and_the_legal_ones() -> None:
    actions = Actions("singles", 9)
    row = row_of("singles", legal=allow([2, 7], size=26))
    with pytest.raises(IllegalAction) as refused:
        actions.choice(row, 22)
    assert refused.value.message == (
        "action 22 (move 1, terastallize) is not legal; legal: 2 (switch to Pokémon 3), 7 (move 2)"
    )
    with pytest.raises(IllegalAction, match=r"action 22 .* legal: none"):
        actions.choice(row_of("singles", phase="wait", legal=allow([], size=26)), 22)


@pytest.mark.parametrize("action", [-1, 26, 1000])
def test_a_number_that_is_no_action_is_refused(action: int) -> None:
    actions = Actions("singles", 9)
    with pytest.raises(IllegalAction, match=rf"action {action} \(no action: there are 26\)"):
        actions.choice(row_of("singles"), action)
    assert not actions.is_legal(row_of("singles"), action)


def test_actions_of_a_later_generation_are_none_in_an_earlier_one() -> None:
    row = row_of("singles")
    assert Actions("singles", 8).choice(row, 21) == "move 4 dynamax"
    with pytest.raises(IllegalAction):
        Actions("singles", 8).choice(row, 22)
    with pytest.raises(IllegalAction):
        Actions("singles", 3).choice(row, 10)


@pytest.mark.parametrize(
    "pair",
    [(3, 3), (9 + 20, 14 + 20), (9 + 40, 9 + 40), (9 + 60, 9 + 60), (9 + 80, 19 + 80), (0, 0)],
)
def test_halves_that_do_not_go_together_are_refused(pair: tuple[int, int]) -> None:
    actions = Actions("doubles", 9)
    row = row_of("doubles")
    assert not actions.is_legal(row, pair)
    with pytest.raises(IllegalAction, match=r"action \(\d+, \d+\) \("):
        actions.choice(row, pair)


def test_both_pass_where_nobody_can_switch() -> None:
    actions = Actions("doubles", 9)
    assert actions.choice(row_of("doubles", legal=allow([0], [0])), (0, 0)) == "pass, pass"


def test_an_action_for_another_number_of_places_is_refused() -> None:
    with pytest.raises(IllegalAction, match="action 7 is for 1 places, but there are 2"):
        Actions("doubles", 9).choice(row_of("doubles"), 7)
    assert not Actions("doubles", 9).is_legal(row_of("doubles"), (7, 7, 7))


def test_a_choice_that_no_legal_action_stands_for_is_refused() -> None:
    singles = Actions("singles", 9)
    row = row_of("singles", legal=allow([6], size=26))
    assert singles.action(row, "move 1") == 6
    for choice in ("move 2", "default", "move 1, move 1", "move 1 terastallize"):
        with pytest.raises(IllegalAction, match=choice):
            singles.action(row, choice)


def test_legal_actions_are_those_of_the_mask() -> None:
    random = np.random.default_rng(0)
    for game in ("singles", "doubles"):
        actions = Actions(game, 9)
        mask = random.integers(0, 2, (actions.slots, actions.size))
        row = row_of(game, legal=mask)
        assert actions.legal(row) == [np.flatnonzero(each).tolist() for each in mask]
        assert np.array_equal(actions.masks(row[None]).reshape(mask.shape), mask)


def test_every_action_is_described_in_words_of_its_own() -> None:
    singles, doubles = Actions("singles", 9), Actions("doubles", 9)
    assert len({singles.describe(action) for action in range(26)}) == 26
    assert len({doubles.describe((action, 0)) for action in range(107)}) == 107
    assert singles.describe(np.int64(13)) == "move 4, mega evolve"
    assert doubles.describe((0, 9 + 5 + 1 + 80)) == "pass; move 2 at foe 1, terastallize"
    assert doubles.describe((8, 3)) == "move 1 at own place 1; switch to Pokémon 3"


def test_unknown_games_and_generations_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown game"):
        Actions("double", 9)
    with pytest.raises(ConfigError, match="generation is 0"):
        Actions("doubles", 0)


# Pairs


def brute_force(masks: npt.NDArray[np.int8], size: int) -> npt.NDArray[np.bool_]:
    """Which pairs are legal, by the rules one after another."""
    joint = np.zeros((len(masks), size, size), bool)
    for row, (one, two) in enumerate(masks):
        can_switch = one[1:7].any() or two[1:7].any()
        for first, second in itertools.product(np.flatnonzero(one), np.flatnonzero(two)):
            gimmicks = [(action - 7) // 20 if action >= 7 else 0 for action in (first, second)]
            joint[row, first, second] = not (
                (first == second and 1 <= first <= 6)
                or (gimmicks[0] == gimmicks[1] > 0)
                or (first == second == 0 and can_switch)
            )
    return joint


@pytest.mark.parametrize("generation", [5, 6, 7, 8, 9])
def test_pairs_are_masked_as_by_brute_force(generation: int) -> None:
    actions = Actions("doubles", generation)
    random = np.random.default_rng(generation)
    masks = (random.random((12, 2, actions.size)) < 0.3).astype(np.int8)
    masks[:6, :, 0] = 1
    masks[:3, :, 1:7] = 0
    expected = brute_force(masks, actions.size)
    assert np.array_equal(actions.joint_mask(masks), expected)
    for row, mask in enumerate(masks):
        rows = np.repeat(mask[None], actions.size, axis=0)
        second = actions.second_mask(rows, np.arange(actions.size))
        legal = np.flatnonzero(mask[0])
        assert second.dtype == np.int8
        assert np.array_equal(second[legal], expected[row, legal])


def test_a_pair_is_legal_exactly_if_its_joint_mask_says_so() -> None:
    actions = Actions("doubles", 6)
    random = np.random.default_rng(1)
    masks = (random.random((1, 2, actions.size)) < 0.5).astype(np.int8)
    masks[:, :, 0] = 1
    row = row_of("doubles", legal=masks[0])
    [joint] = actions.joint_mask(masks)
    for pair in itertools.product(range(actions.size), repeat=2):
        assert actions.is_legal(row, pair) == joint[pair]


def test_masking_pairs_leaves_the_masks_as_they_were() -> None:
    actions = Actions("doubles", 9)
    masks = np.ones((3, 2, actions.size), np.int8)
    actions.second_mask(masks, np.array([0, 3, 90]))
    actions.joint_mask(masks)
    assert masks.all()


def test_switches_are_counted() -> None:
    singles, doubles = Actions("singles", 9), Actions("doubles", 9)
    assert singles.switches(np.array([0, 5, 6, 25])).tolist() == [1, 1, 0, 0]
    assert doubles.switches(np.array([[0, 1], [6, 5], [7, 0]])).tolist() == [1, 2, 0]


# Team previews


def preview(game: str, team: int, picks: int) -> npt.NDArray[np.uint8]:
    first = 0 if game == "singles" else 1
    legal = [list(range(first, first + team))] * (1 if game == "singles" else 2)
    positions = [*range(1, team + 1), *[0] * (6 - team)]
    size = SPEC.layout(game).actions
    return row_of(
        game, phase="preview", legal=allow(*legal, size=size), switches=positions, picks=picks
    )


def test_who_brings_everybody_picks_the_lead_and_the_others_follow() -> None:
    actions = Actions("singles", 9)
    picking = Preview(actions, preview("singles", 6, 6))
    assert np.flatnonzero(picking.mask()).tolist() == [0, 1, 2, 3, 4, 5]
    assert picking.pick(2) == "team 3,1,2,4,5,6"
    assert picking.done
    assert not picking.mask().any()


def test_who_brings_some_picks_them_one_by_one() -> None:
    picking = Preview(Actions("singles", 9), preview("singles", 6, 3))
    assert picking.pick(4) is None
    assert np.flatnonzero(picking.mask()).tolist() == [0, 1, 2, 3, 5]
    assert picking.pick(np.int64(0)) is None
    assert repr(picking) == "<Preview 2 of 3 picked>"
    assert picking.pick(5) == "team 5,1,6"


def test_a_preview_in_doubles_is_picked_by_twos() -> None:
    actions = Actions("doubles", 9)
    picking = Preview(actions, preview("doubles", 6, 4))
    assert [np.flatnonzero(mask).tolist() for mask in picking.mask()] == [[1, 2, 3, 4, 5, 6]] * 2
    assert picking.pick((6, 2)) is None
    masks = picking.mask()
    assert [np.flatnonzero(mask).tolist() for mask in masks] == [[1, 3, 4, 5]] * 2
    [second] = actions.second_mask(masks[None], np.array([3]))
    assert np.flatnonzero(second).tolist() == [1, 4, 5]
    assert picking.pick([3, 1]) == "team 6,2,3,1"


def test_who_brings_everybody_to_doubles_picks_both_leads() -> None:
    picking = Preview(Actions("doubles", 9), preview("doubles", 5, 6))
    assert picking.pick((4, 1)) == "team 4,1,2,3,5"


def test_the_last_pick_of_an_odd_number_is_picked_alone() -> None:
    picking = Preview(Actions("doubles", 9), preview("doubles", 6, 3))
    assert picking.pick((1, 2)) is None
    assert [np.flatnonzero(mask).tolist() for mask in picking.mask()] == [[3, 4, 5, 6], [0]]
    assert picking.pick((6, 0)) == "team 1,2,6"
    alone = Preview(Actions("doubles", 9), preview("doubles", 1, 1))
    assert alone.pick((1, 0)) == "team 1"


@pytest.mark.parametrize("wrong", [(2, 2), (2, 3), (1, 0), (7, 4), (4,), (-1, 4), (4, 107)])
def test_a_wrong_pick_is_refused_and_changes_nothing(wrong: tuple[int, ...]) -> None:
    picking = Preview(Actions("doubles", 9), preview("doubles", 6, 4))
    picking.pick((2, 5))
    with pytest.raises(IllegalAction, match=r"not legal in this team preview: picked .* \[2, 5\]"):
        picking.pick(wrong)
    assert picking.pick((4, 3)) == "team 2,5,4,3"


def test_a_preview_is_not_answered_by_a_single_choice() -> None:
    actions = Actions("singles", 9)
    row = preview("singles", 6, 6)
    assert actions.is_preview(row)
    with pytest.raises(IllegalAction, match="team preview, which is picked by Preview"):
        actions.choice(row, 0)
    with pytest.raises(IllegalAction, match="picked by Preview"):
        Actions("doubles", 9).choice(preview("doubles", 6, 4), (1, 2))


def test_there_is_nothing_to_pick_outside_of_a_preview() -> None:
    assert not Actions("singles", 9).is_preview(row_of("singles"))
    with pytest.raises(IllegalAction, match="no team preview"):
        Preview(Actions("singles", 9), row_of("singles"))


@pytest.mark.parametrize("game", ["singles", "doubles"])
def test_a_mask_is_written_back_into_an_observation_and_nothing_else(game: str) -> None:
    actions = Actions(game, 9)
    row = preview(game, 6, 4)
    picking = Preview(actions, row)
    picking.pick(0 if game == "singles" else (1, 3))
    changed = actions.with_mask(row, picking.mask())
    assert changed == actions.with_mask(row.tobytes(), picking.mask())
    again = np.frombuffer(changed, np.uint8)
    assert np.array_equal(actions.masks(again[None])[0], picking.mask())
    before = actions.masks(row[None])[0]
    assert actions.with_mask(changed, before) == row.tobytes()


# In battles


@pytest.mark.parametrize(
    "format",
    [
        "gen9randombattle",
        "gen7hackmonscup",
        "gen9randomdoublesbattle",
        "gen9bssfactory",
        "gen9challengecup1v1",
        "gen9challengecup2v2",
    ],
)
async def test_whatever_the_masks_allow_is_accepted(format: str, settings: BridgeConfig) -> None:
    random = np.random.default_rng(0)
    refusals: list[str] = []
    async with ControllerRegistry(settings) as registry:
        facts = await registry.describe_format(format)
        actions = Actions(facts.game_type, int(format[3]))
        for seed in range(2):
            room = await registry.open(format, seed=seed, view=View(lines=False, observe=()))
            sides = (room.p1, room.p2)
            await asyncio.gather(*(play(side, actions, random, refusals) for side in sides))
            assert (await room.result()).reason in ("win", "tie")
    # Nobody is told of a Pokémon that traps before it has tried to leave.
    assert all("trapped" in refusal for refusal in refusals)


async def play(
    side: Side, actions: Actions, random: np.random.Generator, refusals: list[str]
) -> None:
    """Plays a side to the end by its observations alone, with random actions of the masks."""
    while (update := await side.next()) is not None:
        if not update.must_choose:
            continue
        assert update.observation is not None
        try:
            await side.choose(choose(update.observation, actions, random), rqid=update.rqid)
        except ChoiceRejected as refusal:
            refusals.append(refusal.message)


def choose(row: bytes, actions: Actions, random: np.random.Generator) -> str:
    if not actions.is_preview(row):
        [mask] = actions.masks(np.frombuffer(row, np.uint8)[None])
        action = draw(mask, actions, random)
        choice = actions.choice(row, action)
        assert actions.choice(row, actions.action(row, choice)) == choice
        return choice
    picking = Preview(actions, row)
    while (team := picking.pick(draw(picking.mask(), actions, random))) is None:
        pass
    return team


def draw(mask: npt.NDArray[np.int8], actions: Actions, random: np.random.Generator) -> Action:
    if actions.slots == 1:
        return int(random.choice(np.flatnonzero(mask)))
    first = int(random.choice(np.flatnonzero(mask[0])))
    [second] = actions.second_mask(mask[None], np.array([first]))
    return first, int(random.choice(np.flatnonzero(second)))
