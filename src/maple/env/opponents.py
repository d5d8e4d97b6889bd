"""Who decides for the seat that no agent has: at random, by base power, or by a policy."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Protocol,
    TypeAlias,
    TypeGuard,
    cast,
    runtime_checkable,
)

import numpy as np
import numpy.typing as npt

from bridge import InferenceQueue, Player, View
from bridge.errors import ConfigError
from bridge.inference import DEFAULT, Policy
from bridge.sampling import Sampler

from .actions import Action, Actions
from .battle import Battle, Opponent, Seat
from .errors import OpponentFailed
from .observation import Observations
from .spec import ObservationSpec

if TYPE_CHECKING:
    import poke_env.player

__all__ = [
    "MaxBasePowerOpponent",
    "OpponentKind",
    "PolicyOpponent",
    "QueuedPolicy",
    "RandomOpponent",
    "RowsOpponent",
    "RowsPolicy",
    "make_opponent",
]

Rows: TypeAlias = npt.NDArray[np.uint8]
Keys: TypeAlias = npt.NDArray[np.uint64]
Values: TypeAlias = Any
"""An array, or what becomes one."""

_WORD: Final = (1 << 64) - 1
_STEP: Final = 0x9E3779B97F4A7C15
# Masks whose legal actions are remembered: most battles have a few dozen.
_MASKS_KEPT: Final = 4096
# Pairs of actions that are drawn before a mask counts as one that allows none.
_DRAWS: Final = 1000


@runtime_checkable
class RowsPolicy(Protocol):
    """Decides for many rows at once."""

    def act(self, rows: Rows, masks: npt.NDArray[np.int8], keys: Keys) -> Values:
        """An action for each row of bytes; a key is a number to draw by, of one decision alone."""


@dataclass(frozen=True, slots=True)
class QueuedPolicy:
    """An opponent that is one of the policies of a queue, in which the learner's may be too.

    Its rows are ((features, ids), mask, key), and it returns actions, or a tuple that begins with
    them: a `bridge.sampling.Sampler` does. The environment that it plays in serves the queue on its
    own event loop, for `VectorEnv.infer` too, and closes it in the end. No other can use it.
    """

    queue: InferenceQueue
    name: str = DEFAULT


OpponentKind: TypeAlias = (
    "str | RowsPolicy | QueuedPolicy | Callable[..., Any] | poke_env.player.Player"
)
"""A name ("random", "max", "heuristics"), a policy, or a player of poke-env."""


def make_opponent(kind: OpponentKind, observations: Observations, format: str) -> Opponent:
    """The opponent that a user asks for; needs a running event loop."""
    match kind:
        case "random":
            return RandomOpponent(observations.actions)
        case "max":
            return MaxBasePowerOpponent(observations.actions)
        case "heuristics":
            from .players import heuristics

            return heuristics(format)
        case str():
            raise ConfigError(
                f"unknown opponent {kind!r}: it is 'self', 'random', 'max' or 'heuristics', a "
                "policy, or a player of poke-env"
            )
    if isinstance(kind, type):
        raise ConfigError(f"{kind.__name__} is a class: give one that was made of it")
    if isinstance(kind, QueuedPolicy):
        return PolicyOpponent(kind, observations, _unchanged)
    if _acts(kind):
        return RowsOpponent(kind, observations)
    if hasattr(kind, "choose_move") and hasattr(kind, "teampreview"):
        from .players import PlayerOpponent

        return PlayerOpponent(cast(Any, kind), format)
    if callable(kind):
        drawn = partial(_sampler, observations.actions)
        return PolicyOpponent(QueuedPolicy(InferenceQueue(drawn(kind))), observations, drawn)
    raise ConfigError(f"{kind!r} cannot be an opponent: it neither acts nor can be called")


def _acts(kind: object) -> TypeGuard[RowsPolicy]:
    """Whether it decides by itself; a module of torch gives logits, whatever else it can do."""
    torch = sys.modules.get("torch")
    is_module = torch is not None and isinstance(kind, torch.nn.Module)
    return isinstance(kind, RowsPolicy) and not is_module


class _RowOpponent:
    """Decides for one row at a time, as soon as it is asked."""

    groups: tuple[str, ...] = ("decision",)
    has_own_team = False

    def __init__(self, actions: Actions) -> None:
        self._actions = actions
        self.view = View(lines=False, observe=self.groups)

    def sit(self, battle: Battle, index: int, key: int) -> Seat:
        return Seat(battle, index, None, key)

    def player(self, name: str, team: str | None, key: int) -> Player:
        return Player(name, team, is_valid=True)

    def decide(self, seat: Seat) -> None:
        actions = self._actions
        while seat.is_asked:
            action = self.pick(seat.observation, seat.next_key())
            if actions.is_preview(seat.observation):
                seat.pick(actions, action)
            else:
                seat.choose(actions.choice(seat.observation, action))
        seat.battle.table.chosen(seat.battle)

    def update(self, policy: object) -> None:
        raise ConfigError("this opponent has no policy that could be replaced")

    async def close(self) -> None:
        """It holds nothing."""

    def pick(self, row: bytes, key: int) -> Action:
        raise NotImplementedError


class RandomOpponent(_RowOpponent):
    """Each legal action is as likely as any other; in doubles each pair that is legal together."""

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions)
        self._masks = [_Mask(actions, slot) for slot in range(actions.slots)]

    def pick(self, row: bytes, key: int) -> Action:
        if self._actions.slots == 1:
            legal = self._masks[0].legal(row)
            return legal[key % len(legal)]
        first, second = (mask.legal(row) for mask in self._masks)
        # Pairs that do not go together are drawn again, which leaves the others equally likely.
        for _ in range(_DRAWS):
            pair = first[(key >> 32) % len(first)], second[(key & 0xFFFFFFFF) % len(second)]
            if self._actions.is_legal(row, pair):
                return pair
            key = (key * _STEP + 1) & _WORD
        raise OpponentFailed("no pair of actions is legal")


class MaxBasePowerOpponent(_RowOpponent):
    """Uses the legal move of the highest base power, as poke-env's MaxBasePowerPlayer does.

    Whoever has no move, or has to switch, does something random.
    """

    groups = ("decision", "own_team", "own_moves")

    def __init__(self, actions: Actions) -> None:
        super().__init__(actions)
        spec = ObservationSpec.load()
        layout = spec.layout(actions.game)
        self._random = RandomOpponent(actions)
        self._masks = [_Mask(actions, slot) for slot in range(actions.slots)]
        condition = layout.block("own_team", "condition")
        self._places_at = [condition.at(index, "slot") for index in range(actions.team)]
        self._moves_at = layout.block("own_moves", "which").offset
        self._targets = 1 if actions.slots == 1 else 5
        self._power: list[int] = _column(spec, actions.generation, "moves", "base_power")

    def pick(self, row: bytes, key: int) -> Action:
        actions = self._actions
        drawn = self._random.pick(row, key)
        if actions.is_preview(row):
            return drawn
        if actions.slots == 1:
            strongest = self._strongest(row, 0, key)
            return drawn if strongest is None else strongest
        assert isinstance(drawn, tuple)
        strongest_each = [self._strongest(row, slot, key >> slot) for slot in range(actions.slots)]
        pair = [drawn[i] if one is None else one for i, one in enumerate(strongest_each)]
        return tuple(pair) if actions.is_legal(row, pair) else drawn

    def _strongest(self, row: bytes, slot: int, key: int) -> int | None:
        """The first of the strongest moves, with no gimmick; None if there is no move.

        In doubles it is aimed at a foe, if it can be, which the key decides.
        """
        first, targets = self._actions.first_move, self._targets
        place = slot + 1
        index = next((i for i, at in enumerate(self._places_at) if row[at] == place), None)
        plain = [a for a in self._masks[slot].legal(row) if first <= a < first + 4 * targets]
        if index is None or not plain:
            return None

        def power(action: int) -> int:
            at = self._moves_at + 2 * (4 * index + (action - first) // targets)
            return self._power[int(row[at]) | int(row[at + 1]) << 8]

        best = max(plain, key=power)
        if targets == 1:
            return best
        start = best - (best - first) % targets
        aims = [a for a in plain if start <= a < start + targets]
        foes = [a for a in aims if a - start > 2]
        return (foes or aims)[key % len(foes or aims)]


class _Mask:
    """Reads which actions of a place on the field are legal."""

    __slots__ = ("_at", "_end", "_known", "_size")

    def __init__(self, actions: Actions, slot: int) -> None:
        block = ObservationSpec.load().layout(actions.game).block("decision", "mask")
        each = block.bytes // actions.slots
        self._at = block.offset + slot * each
        self._end = self._at + each
        self._size = actions.size
        self._known: dict[bytes, tuple[int, ...]] = {}

    def legal(self, row: bytes) -> tuple[int, ...]:
        packed = row[self._at : self._end]
        legal = self._known.get(packed)
        if legal is None:
            if len(self._known) >= _MASKS_KEPT:
                self._known.clear()
            bits = int.from_bytes(packed, "little")
            legal = tuple(action for action in range(self._size) if bits >> action & 1)
            if not legal:
                raise OpponentFailed("no action is legal")
            self._known[packed] = legal
        return legal


def _column(spec: ObservationSpec, generation: int, table: str, name: str) -> list[int]:
    """One column of a table, 0 where there is nothing."""
    index = [field.name for field in spec.columns[table]].index(name)
    return [0 if row is None else row[index] for row in spec.tables(generation)[table]]


class _BatchOpponent:
    """Decides for all rows that are asked in a turn of the event loop together."""

    has_own_team = False

    def __init__(self, observations: Observations) -> None:
        self._observations = observations
        self._actions = observations.actions
        self._loop = asyncio.get_running_loop()
        self._asked: list[Seat] = []
        self._deciding: set[asyncio.Task[None]] = set()
        self.view = View(lines=False, observe=observations.groups)

    def sit(self, battle: Battle, index: int, key: int) -> Seat:
        return Seat(battle, index, None, key)

    def player(self, name: str, team: str | None, key: int) -> Player:
        return Player(name, team, is_valid=True)

    def decide(self, seat: Seat) -> None:
        self._asked.append(seat)
        if len(self._asked) == 1:
            self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        seats, self._asked = self._asked, []
        task = self._loop.create_task(self._decide(seats))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)

    async def _decide(self, seats: list[Seat]) -> None:
        table = seats[0].battle.table
        try:
            raw = self._observations.stack([seat.observation for seat in seats])
            keys = np.array([seat.next_key() for seat in seats], np.uint64)
            taken = np.asarray(await self.act(raw, keys))
            if len(taken) != len(seats):
                raise ValueError(f"{len(taken)} actions for {len(seats)} rows")
            for seat, action in zip(seats, taken.tolist(), strict=True):
                self._take(seat, action)
        except asyncio.CancelledError:
            raise
        except Exception as cause:  # noqa: BLE001 - whoever waits for these battles is told
            if all(seat.battle.room.is_over for seat in seats):
                # They were given up meanwhile: nobody waits for them.
                return
            error = OpponentFailed(f"the opponent failed: {type(cause).__name__}: {cause}")
            error.__cause__ = cause
            table.break_down(error)

    def _take(self, seat: Seat, action: Action) -> None:
        if self._actions.is_preview(seat.observation):
            seat.pick(self._actions, action)
        else:
            seat.choose(self._actions.choice(seat.observation, action))
        if seat.is_asked:
            self.decide(seat)
        else:
            seat.battle.table.chosen(seat.battle)

    async def act(self, raw: Rows, keys: Keys) -> Values:
        raise NotImplementedError

    async def close(self) -> None:
        for task in self._deciding:
            task.cancel()
        await asyncio.gather(*self._deciding, return_exceptions=True)


class RowsOpponent(_BatchOpponent):
    """Whoever decides by bytes, masks and keys."""

    def __init__(self, policy: RowsPolicy, observations: Observations) -> None:
        super().__init__(observations)
        self._policy = policy

    def update(self, policy: object) -> None:
        if not _acts(policy):
            raise ConfigError(f"{policy!r} does not act, as the policy before it")
        self._policy = policy

    async def act(self, raw: Rows, keys: Keys) -> Values:
        return self._policy.act(raw, self._actions.masks(raw), keys)


class PolicyOpponent(_BatchOpponent):
    """A policy in a queue, and so in the thread of that queue.

    `prepare` makes what the queue calls of what a user hands in.
    """

    def __init__(
        self,
        policy: QueuedPolicy,
        observations: Observations,
        prepare: Callable[[Policy], Policy],
    ) -> None:
        super().__init__(observations)
        if policy.name not in policy.queue.policies:
            known = ", ".join(map(repr, policy.queue.policies))
            raise ConfigError(f"the queue has no policy {policy.name!r}, but {known}")
        policy.queue.bind()
        self.queue = policy.queue
        self._name = policy.name
        self._prepare = prepare

    def update(self, policy: object) -> None:
        if not callable(policy):
            raise ConfigError(f"{policy!r} cannot be called, as the policy before it")
        self.queue.update_policy(self._prepare(policy), name=self._name)

    async def act(self, raw: Rows, keys: Keys) -> Values:
        seen = self._observations.expand(raw)
        rows = (seen["features"], seen["ids"]), seen["action_mask"], keys
        answer = await self.queue.submit_many(rows, policy=self._name)
        return answer[0] if isinstance(answer, tuple) else answer

    async def close(self) -> None:
        await super().close()
        await self.queue.close()


def _unchanged(policy: Policy) -> Policy:
    return policy


def _sampler(actions: Actions, policy: Policy) -> Sampler:
    """Draws actions of logits, which a policy makes from features and ids."""
    pairs: Any = actions.second_mask if actions.slots == 2 else None
    return Sampler(policy, second_mask=pairs)
