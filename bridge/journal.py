"""What decides how a battle goes: format, seeds, players, moves. Enough to play it again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from .observation import LINES, View
from .wire import Fields

__all__ = ["FORFEITED", "Journal", "Move", "Player", "SideId"]

SideId = Literal["p1", "p2"]
FORFEITED: Final = " forfeited."
"""What is said of a player who gives up, if nothing else is."""
# In the input language, what somebody said; the bridge writes a reason so, which has no |.
_SAID: Final = "chat-inputlogonly"
_SIDES: dict[str, SideId] = {"p1": "p1", "p2": "p2"}


@dataclass(frozen=True, slots=True)
class Player:
    """Who sits in a seat; the team, if the format wants one, is packed or export text.

    `avatar` and `rating` are only shown. `is_valid` says that the team was validated before, as by
    `ControllerRegistry.validate_team`, which is then not done again.
    """

    name: str
    team: str | None = None
    seed: str | None = None
    avatar: str | None = None
    rating: int | None = None
    is_valid: bool = field(default=False, compare=False)

    def as_field(self) -> dict[str, Any]:
        fields = {"name": self.name, "team": self.team, "seed": self.seed}
        shown = {"avatar": self.avatar, "rating": self.rating}
        return fields | {name: value for name, value in shown.items() if value is not None}


class Move(Struct, frozen=True, gc=False):
    """What a side did, or somebody who stands above the sides.

    All rooms together keep hundreds of thousands of these, all strings: nothing that Python's
    garbage collector should count, or look through.
    """

    operation: Literal["choose", "undo", "forfeit", "tie", "sheets"]
    side: SideId | None
    words: str = ""
    """What was chosen, or why the battle ended, if not for the usual reason."""

    def input_lines(self) -> list[str]:
        """The move in the simulator's own input language."""
        said = [f">{_SAID} {self.words}"] if self.words else []
        match self.operation:
            case "choose":
                return [f">{self.side} {self.words}"]
            case "undo":
                return [f">{self.side} undo"]
            case "forfeit":
                return [*said, f">forcelose {self.side}"]
            case "tie":
                return [*said, ">forcetie"]
            case "sheets":
                return [">show-openteamsheets"]


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
    rated: str | None = None
    view: tuple[View, View] = (LINES, LINES)
    """What each side is shown, which decides nothing, but must go on as it was."""

    def opening(self, tag: str) -> Fields:
        """The fields of the command that starts the battle."""
        fields: Fields = {
            "room": tag,
            "format": self.format,
            "seed": self.seed,
            "p1": self.p1.as_field() | ({"valid": True} if self.p1.is_valid else {}),
            "p2": self.p2.as_field() | ({"valid": True} if self.p2.is_valid else {}),
        }
        if self.rated is not None:
            fields["rated"] = self.rated
        if self.view != (LINES, LINES):
            fields["view"] = {"p1": self.view[0].as_field(), "p2": self.view[1].as_field()}
        return fields

    def copy(self) -> Journal:
        return replace(self, moves=self.moves.copy())

    def settle_teams(self, teams: list[str | None]) -> None:
        """Takes over the teams as packed, so that a replay need not validate again."""
        self.p1 = replace(self.p1, team=teams[0])
        self.p2 = replace(self.p2, team=teams[1])

    def input_log(self) -> str:
        """The battle in the simulator's own input language, as its `simulate-battle` reads it."""
        start = {"formatid": self.format, "seed": self.seed}
        if self.rated is not None:
            start["rated"] = self.rated
        lines = [f">start {json.dumps(start)}"]
        for side, player in (("p1", self.p1), ("p2", self.p2)):
            fields = {k: v for k, v in player.as_field().items() if v is not None}
            lines.append(f">player {side} {json.dumps(fields)}")
        for move in self.moves:
            lines += move.input_lines()
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
        start: dict[str, Any] | None = None
        players: dict[SideId, Player] = {}
        moves: list[Move] = []
        said = ""
        for number, line in enumerate(text.split("\n"), start=1):
            if not line or line.startswith("#"):
                continue
            word, _, rest = line.removeprefix(">").partition(" ")
            try:
                if word == "start":
                    start = _read_start(json.loads(rest))
                elif word == "player":
                    side, _, fields = rest.partition(" ")
                    players[_SIDES[side]] = Player(**json.loads(fields))
                elif word != _SAID:
                    moves.append(_read_move(word, rest, said))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"line {number} of the input log is not understood: {line[:80]}"
                ) from error
            said = rest if word == _SAID and "|" not in rest else ""
        if start is None or len(players) != 2:
            raise ValueError("the input log does not start a battle of two players")
        return cls(p1=players["p1"], p2=players["p2"], moves=moves, **start)


def _read_start(fields: Fields) -> dict[str, Any]:
    battle_format, seed = str(fields["formatid"]), str(fields["seed"])
    rated = fields.get("rated") or None
    # These words and `true` are the same to the simulator.
    rated = "Rated battle" if rated is True else rated
    return {"format": battle_format, "seed": seed, "rated": rated}


def _read_move(word: str, rest: str, said: str) -> Move:
    match word:
        case "forcelose":
            return Move("forfeit", _SIDES[rest], said)
        case "forcetie":
            return Move("tie", None, said)
        case "show-openteamsheets":
            return Move("sheets", None)
        case _ if rest == "undo":
            return Move("undo", _SIDES[word])
        case _:
            return Move("choose", _SIDES[word], rest)
