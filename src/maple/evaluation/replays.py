"""Makes pages of battles that can be watched, out of their input logs.

A battle is played again, from what was put into it, and what a spectator would have seen of it is
written into a page of the kind that Showdown's own client saves. Knows neither agents nor results.
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bridge import BattleRoom, ControllerRegistry, Result, Side, Update
from bridge.errors import ChoiceRejected
from bridge.journal import FORFEITED, Journal, Move
from bridge.observation import LINES

__all__ = ["Spectated", "render_page", "spectate", "write_replay"]

_PLAYER: Final = "https://play.pokemonshowdown.com/js/replay-embed.js"
# How much HP is left: the own side reads it exactly, everybody else in percent or in pixels.
_HP: Final = re.compile(r"\b\d+/\d+\b")
_OWNER: Final = re.compile(r"\|(p[12])[a-c]?: ")
_PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
</head>
<body>
<div class="wrapper replay-wrapper" style="max-width: 1180px; margin: 0 auto">
<input type="hidden" name="replayid" value="{identity}">
<div class="battle"></div><div class="battle-log"></div>
<div class="replay-controls"></div><div class="replay-controls-2"></div>
<h1 style="font-weight: normal; text-align: center">{heading}</h1>
<script type="text/plain" class="battle-log-data">{log}</script>
</div>
<p style="text-align: center">The battle is in this page; what shows it is loaded from
play.pokemonshowdown.com, and needs the network.</p>
<script src="{player}"></script>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Spectated:
    """What a spectator saw of a battle.

    Args:
        journal: What was put into it.
        lines: What was seen, without the time of day.
        result: How it ended; None if it does not end where the journal does.
    """

    journal: Journal
    lines: tuple[str, ...]
    result: Result | None


async def spectate(journal: Journal, registry: ControllerRegistry) -> Spectated:
    """Plays a journal again, move by move, and looks on."""
    room = await registry.open(
        journal.format,
        seed=journal.seed,
        # Their teams were validated when it was played for the first time.
        p1=replace(journal.p1, is_valid=True),
        p2=replace(journal.p2, is_valid=True),
        rated=journal.rated,
        view=LINES,
    )
    async with room:
        gallery = _Gallery(room)
        for move in journal.moves:
            await _make(room, move)
            gallery.look()
        return Spectated(journal, tuple(gallery.lines), room.outcome)


async def _make(room: BattleRoom, move: Move) -> None:
    side: Side = room.p2 if move.side == "p2" else room.p1
    match move.operation:
        case "choose":
            try:
                await side.choose(move.words)
            except ChoiceRejected:
                # It was refused the first time too, and told the side something.
                return
        case "undo":
            await side.undo()
        case "forfeit":
            await side.forfeit(move.words or FORFEITED)
        case "tie":
            await room.tie(move.words)
        case "sheets":
            await room.show_team_sheets()


class _Gallery:
    """Sees what both sides are shown, and tells what of it everybody may see."""

    def __init__(self, room: BattleRoom) -> None:
        self.lines: list[str] = []
        self._shown: tuple[list[str], list[str]] = ([], [])
        for side, shown in zip((room.p1, room.p2), self._shown, strict=True):
            side.listen(_Reader(shown))
        self.look()

    def look(self) -> None:
        """Takes note of what happened since the last look."""
        self.lines += _public(*self._shown)
        for shown in self._shown:
            shown.clear()


class _Reader:
    """Keeps the lines of a side."""

    def __init__(self, shown: list[str]) -> None:
        self._shown = shown

    def __call__(self, update: Update) -> None:
        self._shown += update.lines


def _public(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """The lines that a spectator sees, of those that the two sides were shown for the same events.

    Whose Pokémon it is reads its HP exactly, and the other side what everybody does. A line that
    only one side was shown is meant for nobody else.
    """
    marked, other = ([_HP.sub("#", line) for line in lines] for lines in (first, second))
    shared = difflib.SequenceMatcher(None, marked, other, autojunk=False).get_matching_blocks()
    seen = (
        _seen(first[one + offset], second[two + offset])
        for one, two, length in shared
        for offset in range(length)
    )
    return [line for line in seen if not _is_private(line)]


def _seen(first: str, second: str) -> str:
    owner = _OWNER.search(first)
    return second if owner is not None and owner[1] == "p1" else first


def _is_private(line: str) -> bool:
    """The time of day, of the second time; and what each player alone is asked."""
    return line.startswith(("|t:|", "|uhtml|otsrequest|", "|uhtmlchange|otsrequest|"))


# Pages


def render_page(spectated: Spectated, title: str, identity: str) -> str:
    """The battle as a page that plays it, by Showdown's own player."""
    journal = spectated.journal
    versus = f"{journal.p1.name} vs. {journal.p2.name}"
    return _PAGE.format(
        title=html.escape(f"{title}: {versus}"),
        heading=f"<strong>{html.escape(title)}</strong><br>{html.escape(versus)}",
        identity=html.escape(identity),
        log=_escape("\n".join(spectated.lines)),
        player=_PLAYER,
    )


def _escape(log: str) -> str:
    """The log as the player reads it out of a script, which nothing in it can end."""
    return log.replace("/", "\\/").replace("<!--", "<! --")


def write_replay(spectated: Spectated, folder: Path, name: str, title: str) -> Path:
    """Writes NAME.html, and NAME.log, which `python -m bridge.replay` plays again."""
    page = folder / f"{name}.html"
    page.write_text(render_page(spectated, title, name), encoding="utf-8")
    (folder / f"{name}.log").write_text(spectated.journal.input_log(), encoding="utf-8")
    return page
