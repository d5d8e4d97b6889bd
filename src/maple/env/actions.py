"""What an agent can do: actions by number, their masks, and the choices that they stand for.

The numbers are those of poke-env's SinglesEnv and DoublesEnv. Which of them are legal, and which
place in the request each stands for, is read from the bytes of an observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import IllegalAction
from .spec import ObservationSpec, check_generation

if TYPE_CHECKING:
    from gymnasium.spaces import Discrete, MultiDiscrete

__all__ = ["Action", "Actions", "Preview", "Row"]

Row: TypeAlias = bytes | npt.NDArray[np.uint8]
"""The observation of one agent, as bytes or as a row of a batch."""
Action: TypeAlias = int | Sequence[int] | npt.NDArray[Any] | np.integer[Any]
"""A number in singles, one for each place on the field in doubles."""
Mask: TypeAlias = npt.NDArray[np.int8]

GIMMICKS = ("mega", "zmove", "dynamax", "terastallize")
GIMMICK_WORDS = ("mega evolve", "use its Z-move", "dynamax", "terastallize")
TARGETS = (-2, -1, 0, 1, 2)
TARGET_WORDS = {-2: " at own place 2", -1: " at own place 1", 0: "", 1: " at foe 1", 2: " at foe 2"}
PASS = 0
# Texts of numbers, looked up because formatting one of numpy's takes longer than all the rest.
DIGITS = tuple(str(number) for number in range(256))


class _Entry(NamedTuple):
    """Where the bytes say whether an action is legal and what it stands for, and its text."""

    mask_at: int
    bit: int
    position_at: int
    before: str
    after: str


class Actions:
    """The actions of a game, as many as a generation has; `slots` of them make a choice."""

    def __init__(self, game: str, generation: int) -> None:
        check_generation(generation)
        spec = ObservationSpec.load()
        layout = spec.layout(game)
        self.game = game
        self.generation = generation
        self.slots = layout.slots
        self.team = spec.data["team"]
        self._moves = spec.data["moves"]
        self._targets = 1 if self.slots == 1 else len(TARGETS)
        self._first_switch = self.slots - 1
        self.first_move = self._first_switch + self.team
        self._step = self._moves * self._targets
        self.size = self.first_move + self._step * (1 + _gimmicks(generation))
        asked = layout.block("decision", "asked")
        self._phase_at = asked.at(0, "phase")
        self._picks_at = asked.at(0, "picks")
        self._preview = spec.classes["phases"].index("preview")
        self._switches_at = layout.block("decision", "switches").offset
        self._moves_at = layout.block("decision", "moves").offset
        mask = layout.block("decision", "mask")
        self._mask_at = mask.offset
        self._mask_bytes = mask.bytes // self.slots
        # By number, and not in a list, where a negative one would stand for another.
        self._entries = tuple(
            {action: self._entry(slot, action) for action in range(self.size)}
            for slot in range(self.slots)
        )

    def __repr__(self) -> str:
        return f"<Actions of {self.game} in generation {self.generation}: {self.size}>"

    @property
    def space(self) -> Discrete[Any] | MultiDiscrete:
        """Gymnasium's description of them."""
        from gymnasium.spaces import Discrete, MultiDiscrete

        return Discrete(self.size) if self.slots == 1 else MultiDiscrete([self.size] * self.slots)

    # One agent

    def choice(self, row: Row, action: Action) -> str:
        """The choice that an action stands for, as the simulator reads it.

        Raises IllegalAction if the mask forbids it, and in a team preview, which takes several
        actions: see Preview.
        """
        if self.slots == 1:
            entry = self._entries[0].get(action)  # type: ignore[arg-type]  # one number
            if (
                entry is None
                or not row[entry[0]] & entry[1]
                or row[self._phase_at] == self._preview
            ):
                raise self._illegal(row, action)
            return entry[3] + DIGITS[row[entry[2]]] + entry[4]
        if row[self._phase_at] == self._preview or not self.is_legal(row, action):
            raise self._illegal(row, action)
        first, second = _each(action)
        one, two = self._entries[0][first], self._entries[1][second]
        return f"{self._text(row, one)}, {self._text(row, two)}"

    def action(self, row: Row, choice: str) -> Action:
        """The legal action that stands for a choice: the other way round.

        Raises IllegalAction if there is none, as for a choice that leaves something open.
        """
        found = []
        parts = choice.split(", ")
        for slot, legal in enumerate(self.legal(row)):
            texts = {self._text(row, self._entries[slot][one]): one for one in legal}
            if len(parts) != self.slots or parts[slot] not in texts:
                raise IllegalAction(f"no action that is legal here stands for {choice!r}")
            found.append(texts[parts[slot]])
        return found[0] if self.slots == 1 else tuple(found)

    def legal(self, row: Row) -> list[list[int]]:
        """The actions that the mask allows, for each place on the field by itself."""
        return [
            [action for action, entry in entries.items() if row[entry.mask_at] & entry.bit]
            for entries in self._entries
        ]

    def is_legal(self, row: Row, action: Action) -> bool:
        """Whether the mask allows it; in doubles also whether its two halves go together."""
        each = _each(action)
        if len(each) != self.slots:
            return False
        for entries, one in zip(self._entries, each, strict=True):
            entry = entries.get(one)
            if entry is None or not row[entry[0]] & entry[1]:
                return False
        if self.slots == 1:
            return True
        first, second = each
        if first == second == PASS:
            return not any(self._may_switch(row, slot) for slot in range(self.slots))
        # A move without a gimmick goes with anything, and most pairs have one.
        low, high = self.first_move, self.first_move + self._step
        return low <= first < high or low <= second < high or bool(self._compatible[first, second])

    def is_preview(self, row: Row) -> bool:
        """Whether the team is to be picked, by Preview, and not an action chosen."""
        return bool(row[self._phase_at] == self._preview)

    def with_mask(self, row: Row, mask: npt.NDArray[Any]) -> bytes:
        """The same observation with another mask, as `Preview.mask` gives it."""
        padded = np.zeros((self.slots, self._mask_bytes * 8), np.uint8)
        padded[:, : self.size] = mask
        end = self._mask_at + self._mask_bytes * self.slots
        packed = np.packbits(padded, bitorder="little").tobytes()
        return bytes(row[: self._mask_at]) + packed + bytes(row[end:])

    def describe(self, action: Action) -> str:
        """What an action means, in words."""
        return "; ".join(self.describe_one(one) for one in _each(action))

    # Batches

    def masks(self, raw: npt.NDArray[np.uint8]) -> Mask:
        """The masks of rows: [rows, size] in singles, [rows, 2, size] in doubles."""
        packed = raw[:, self._mask_at : self._mask_at + self._mask_bytes * self.slots]
        if self.slots > 1:
            packed = packed.reshape(len(raw), self.slots, self._mask_bytes)
        return np.unpackbits(packed, axis=-1, count=self.size, bitorder="little").view(np.int8)

    def switches(self, actions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """How many switches are in each action: [rows] in singles, [rows, 2] in doubles."""
        are = (actions >= self._first_switch) & (actions < self.first_move)
        each: npt.NDArray[np.int64] = are.reshape(len(actions), self.slots).sum(axis=1)
        return each

    def second_mask(self, masks: npt.NDArray[Any], first: npt.NDArray[Any]) -> Mask:
        """What the second place may do once the first has chosen.

        Masks [rows, 2, size] and first actions [rows] → [rows, size].
        """
        first = np.asarray(first)
        second: Mask = masks[:, 1] & self._compatible.view(np.int8)[first]
        second[(first == PASS) & self._any_switch(masks), PASS] = 0
        return second

    def joint_mask(self, masks: Mask) -> npt.NDArray[np.bool_]:
        """Which pairs are legal: masks [rows, 2, size] → [rows, size, size]."""
        joint = (masks[:, 0, :, None] & masks[:, 1, None, :]).astype(bool) & self._compatible
        joint[self._any_switch(masks), PASS, PASS] = False
        return joint

    # Inside

    def _entry(self, slot: int, action: int) -> _Entry:
        mask_at = self._mask_at + slot * self._mask_bytes + action // 8
        bit = 1 << action % 8
        if action < self._first_switch:
            return _Entry(mask_at, bit, -1, "pass", "")
        if action < self.first_move:
            position_at = self._switches_at + action - self._first_switch
            return _Entry(mask_at, bit, position_at, "switch ", "")
        move, target, gimmick = self._split(action)
        after = f" {target:+d}" if target else ""
        after += f" {GIMMICKS[gimmick - 1]}" if gimmick else ""
        return _Entry(mask_at, bit, self._moves_at + slot * self._moves + move, "move ", after)

    def _split(self, action: int) -> tuple[int, int, int]:
        """Move, target and gimmick (0 for none) of an action that is a move."""
        gimmick, rest = divmod(action - self.first_move, self._step)
        move, target = divmod(rest, self._targets)
        return move, TARGETS[target] if self._targets > 1 else 0, gimmick

    def describe_one(self, action: int) -> str:
        if not 0 <= action < self.size:
            return f"no action: there are {self.size}"
        if action < self._first_switch:
            return "pass"
        if action < self.first_move:
            return f"switch to Pokémon {action - self._first_switch + 1}"
        move, target, gimmick = self._split(action)
        told = f", {GIMMICK_WORDS[gimmick - 1]}" if gimmick else ""
        return f"move {move + 1}{TARGET_WORDS[target]}{told}"

    def _text(self, row: Row, entry: _Entry) -> str:
        _, _, position_at, before, after = entry
        return before + (DIGITS[row[position_at]] if position_at >= 0 else "") + after

    def _illegal(self, row: Row, action: Action) -> IllegalAction:
        each = _each(action)
        told = each[0] if len(each) == 1 else tuple(each)
        if self.is_preview(row):
            return IllegalAction(f"action {told} in a team preview, which is picked by Preview")
        if len(each) != self.slots:
            return IllegalAction(
                f"action {told} is for {len(each)} places, but there are {self.slots}"
            )
        legal = "; ".join(
            ", ".join(f"{one} ({self.describe_one(one)})" for one in allowed) or "none"
            for allowed in self.legal(row)
        )
        return IllegalAction(
            f"action {told} ({self.describe(action)}) is not legal; legal: {legal}"
        )

    def _may_switch(self, row: Row, slot: int) -> bool:
        return any(
            row[entry.mask_at] & entry.bit
            for action, entry in self._entries[slot].items()
            if self._first_switch <= action < self.first_move
        )

    def _any_switch(self, masks: Mask) -> npt.NDArray[np.bool_]:
        switches = masks[:, :, self._first_switch : self.first_move]
        found: npt.NDArray[np.bool_] = np.any(switches, axis=(1, 2))
        return found

    @cached_property
    def _compatible(self) -> npt.NDArray[np.bool_]:
        """Which pairs go together whatever the masks: nobody comes in twice, a gimmick is once."""
        actions = np.arange(self.size)
        gimmicks = np.maximum(actions - self.first_move, 0) // self._step
        compatible: npt.NDArray[np.bool_] = (gimmicks[:, None] != gimmicks) | (gimmicks == 0)
        switches = actions[self._first_switch : self.first_move]
        compatible[switches, switches] = False
        return compatible


class Preview:
    """The picks of one side in its team preview, as many at a time as it has places on the field.

    Whoever brings everybody only says who leads, and the others follow in their order.
    """

    def __init__(self, actions: Actions, row: Row) -> None:
        self._actions = actions
        self._positions = tuple(
            int(row[actions._switches_at + index]) for index in range(actions.team)
        )
        first = actions._first_switch
        self._team = [action - first for action in actions.legal(row)[0]]
        asked = int(row[actions._picks_at])
        if not actions.is_preview(row) or not self._team or not asked:
            raise IllegalAction("there is nothing to pick: the observation is of no team preview")
        self._all = asked >= len(self._team)
        self._wanted = min(actions.slots, len(self._team)) if self._all else asked
        self.picked: list[int] = []

    def __repr__(self) -> str:
        return f"<Preview {len(self.picked)} of {self._wanted} picked>"

    @property
    def done(self) -> bool:
        return len(self.picked) == self._wanted

    def mask(self) -> Mask:
        """Whom the next action can pick: [size] in singles, [2, size] in doubles."""
        actions = self._actions
        mask = np.zeros((actions.slots, actions.size), np.int8)
        left = [index + actions._first_switch for index in self._team if index not in self.picked]
        wanted = self._wanted - len(self.picked)
        for slot in range(actions.slots):
            mask[slot, left if slot < wanted else PASS] = 1
        if self.done:
            mask[:] = 0
        return mask if actions.slots > 1 else mask[0]

    def pick(self, action: Action) -> str | None:
        """Picks; the choice once nobody is left to pick, before that None."""
        actions = self._actions
        each = _each(action)
        mask = self.mask().reshape(actions.slots, actions.size)
        allowed = len(each) == actions.slots and all(
            0 <= one < actions.size and mask[slot, one] for slot, one in enumerate(each)
        )
        picked = [one - actions._first_switch for one in each if one >= actions._first_switch]
        if not allowed or len(set(picked)) < len(picked):
            raise IllegalAction(
                f"action {action} ({actions.describe(action)}) is not legal in this team preview: "
                f"picked already are {[index + 1 for index in self.picked]} "
                f"of {[index + 1 for index in self._team]}"
            )
        self.picked += picked
        return self.choice() if self.done else None

    def choice(self) -> str:
        """What has been picked, as the simulator reads it."""
        rest = [index for index in self._team if index not in self.picked] if self._all else []
        return "team " + ",".join(str(self._positions[index]) for index in self.picked + rest)


def _gimmicks(generation: int) -> int:
    """How many of the gimmicks have actions: from generation 6 on each brought one more."""
    return max(0, generation - 5)


def _each(action: Action) -> Sequence[int]:
    if isinstance(action, list | tuple):
        return action
    if isinstance(action, int | np.integer):
        return (int(action),)
    return [int(one) for one in action]
