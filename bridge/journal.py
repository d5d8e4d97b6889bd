"""What decides how a battle goes: format, seeds, players, moves. Enough to play it again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from .wire import Fields

__all__ = ["Journal", "Move", "Player", "SideId"]

SideId = Literal["p1", "p2"]
_SIDES: dict[str, SideId] = {"p1": "p1", "p2": "p2"}


@dataclass(frozen=True, slots=True)
class Player:
    """Who sits in a seat; the team, if the format wants one, is packed or export text."""

    name: str
    team: str | None = None
    seed: str | None = None

    def as_field(self) -> dict[str, Any]:
        return {"name": self.name, "team": self.team, "seed": self.seed}


class Move(Struct, frozen=True, gc=False):
    """What a side did.

    All rooms together keep hundreds of thousands of these, all strings: nothing that Python's
    garbage collector should count, or look through.
    """

    operation: Literal["choose", "forfeit"]
    side: SideId
    choice: str = ""


@dataclass(slots=True)
class Journal:
    """One battle from its start to now.

    A move is in here if the simulator accepted it, or if it refused it but asked again, because
    then it knows more than before. Replaying the journal therefore leads to the same state,
    request numbers included.
    """

    format: str
    seed: str
    p1: Player
    p2: Player
    moves: list[Move] = field(default_factory=list)

    def opening(self, tag: str) -> Fields:
        """The fields of the command that starts the battle."""
        return {
            "room": tag,
            "format": self.format,
            "seed": self.seed,
            "p1": self.p1.as_field(),
            "p2": self.p2.as_field(),
        }

    def copy(self) -> Journal:
        return replace(self, moves=self.moves.copy())

    def settle_teams(self, teams: list[str | None]) -> None:
        """Takes over the teams as packed, so that a replay need not validate again."""
        self.p1 = replace(self.p1, team=teams[0])
        self.p2 = replace(self.p2, team=teams[1])

    def input_log(self) -> str:
        """The battle in the simulator's own input language, as its `simulate-battle` reads it."""
        start = json.dumps({"formatid": self.format, "seed": self.seed})
        lines = [f">start {start}"]
        for side, player in (("p1", self.p1), ("p2", self.p2)):
            fields = {k: v for k, v in player.as_field().items() if v is not None}
            lines.append(f">player {side} {json.dumps(fields)}")
        for move in self.moves:
            if move.operation == "forfeit":
                lines.append(f">forcelose {move.side}")
            else:
                lines.append(f">{move.side} {move.choice}")
        return "\n".join(lines) + "\n"

    def write_input_log(self, folder: Path, tag: str) -> Path:
        """Writes the input log to a file named by the room and the seed."""
        path = folder / f"{tag}-{self.seed.replace(',', '-')}.log"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(self.input_log(), encoding="utf-8")
        return path

    @classmethod
    def from_input_log(cls, text: str) -> Journal:
        """The journal that `input_log` wrote, or a ValueError; comments start with a hash."""
        start: tuple[str, str] | None = None
        players: dict[SideId, Player] = {}
        moves: list[Move] = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line or line.startswith("#"):
                continue
            word, _, rest = line.removeprefix(">").partition(" ")
            try:
                if word == "start":
                    fields = json.loads(rest)
                    start = str(fields["formatid"]), str(fields["seed"])
                elif word == "player":
                    side, _, fields = rest.partition(" ")
                    players[_SIDES[side]] = Player(**json.loads(fields))
                elif word == "forcelose":
                    moves.append(Move("forfeit", _SIDES[rest]))
                else:
                    moves.append(Move("choose", _SIDES[word], rest))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"line {number} of the input log is not understood: {line[:80]}"
                ) from error
        if start is None or len(players) != 2:
            raise ValueError("the input log does not start a battle of two players")
        return cls(*start, players["p1"], players["p2"], moves)
