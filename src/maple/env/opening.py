"""How the battles of an environment begin, and which of those that do not are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from bridge import ControllerRegistry, Player, View, seeds
from bridge.errors import BattlePoisoned, ControllerDied, RoomClosed

from .actions import Actions
from .battle import Agent, Battle, Seat, Table
from .errors import OpponentFailed
from .keys import battle_key
from .seating import Seating

__all__ = ["Opening", "check_false_start"]

log = structlog.get_logger("maple.env")

# Battles of one environment that may fail in a row before they begin.
_FALSE_STARTS = 5


@dataclass(frozen=True, slots=True)
class Opening:
    """How the battles of all environments begin."""

    format: str
    view: View
    """What an agent's seat is shown."""
    actions: Actions
    seating: Seating
    """Who has the second seat of which battle."""
    teams: Callable[[seeds.Seed, int, int, int], str | None]
    """The team of a seat, by seed, environment, number of the battle, and seat."""
    input_logs: bool
    """Whether the end of a battle comes with its input log."""

    def make_battle(self, table: Table, seed: seeds.Seed, slot: int, number: int) -> Battle:
        """A battle that is to be opened: who plays in it is decided here."""
        return Battle(table, slot, number, self.seating.draw(seed, slot, number))

    async def open(
        self,
        registry: ControllerRegistry,
        battle: Battle,
        seed: seeds.Seed,
        agents: Sequence[Agent],
    ) -> None:
        """Opens the room of a battle. What it is like depends on seed, slot and number alone."""
        slot, number, opponent = battle.slot, battle.number, battle.rival.opponent
        teams = [self.teams(seed, slot, number, index) for index in range(2)]
        keys = [battle_key(seed, slot, number, index) for index in range(2)]
        names = ("Agent", "Agent 2" if opponent is None else "Opponent")
        second = (
            Player(names[1], teams[1], is_valid=True)
            if opponent is None
            else opponent.player(names[1], teams[1], keys[1])
        )
        room = await registry.open(
            self.format,
            seed=seeds.derive(seed, f"environment {slot}, battle {number}"),
            p1=Player(names[0], teams[0], is_valid=True),
            p2=second,
            view=(self.view, self.view if opponent is None else opponent.view),
        )
        first = Seat(battle, 0, agents[0], keys[0])
        if opponent is None:
            battle.begin(room, (first, Seat(battle, 1, agents[1], keys[1])))
            return
        try:
            second_seat = opponent.sit(battle, 1, keys[1])
        except BaseException:
            room.abandon(RoomClosed("nobody sat down", room=room.tag))
            raise
        battle.begin(room, (first, second_seat))


def check_false_start(error: BaseException, failures: int) -> None:
    """Raises what kept a battle from beginning, unless that is its own fault and the first few."""
    own_faults = BattlePoisoned | ControllerDied | OpponentFailed
    if not isinstance(error, own_faults) or failures >= _FALSE_STARTS:
        raise error
    log.warning("a battle did not begin, and is left out", cause=error.message)
