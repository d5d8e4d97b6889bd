"""A set of battles that ends when one player has won most of them: a room beside its battles."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from html import escape
from typing import Final

from .battle import Battle, Host
from .timer import TICK
from .users import User

__all__ = ["BestOf"]

# Showdown gives forty seconds between two battles of a set.
_TICKS_BETWEEN: Final = 40 // TICK
_NEVER: Final = "The battle is not currently waiting for ready confirmation."

OpenBattle = Callable[[Callable[[Battle, User | None], None]], Awaitable[Battle | None]]
"""Opens a battle of the set, and tells of its end."""


class BestOf:
    """A best-of-three, or of any other number."""

    def __init__(
        self, host: Host, tag: str, best_of: int, users: tuple[User, User], open_battle: OpenBattle
    ) -> None:
        self.tag = tag
        self.title = f"{users[0].name} vs. {users[1].name}"
        self.users = users
        self.is_over = False
        self._host = host
        self._best_of = best_of
        self._open_battle = open_battle
        self._log: list[str] = []
        self._wins = dict.fromkeys(users, 0)
        self._games = 0
        self._battle: Battle | None = None
        self._ready: set[User] | None = None
        self._next_game: asyncio.TimerHandle | None = None
        self._is_timed = False

    def __repr__(self) -> str:
        score = " to ".join(str(self._wins[user]) for user in self.users)
        state = "over" if self.is_over else f"game {self._games}"
        return f"<BestOf {self.tag}: {state}, {score}>"

    def begin(self) -> None:
        self._host.add_game(self, self.users)
        for user in self.users:
            user.send(self._opening(), self.tag)
        self._host.spawn(self._play())

    def _opening(self) -> str:
        return f"|init|battle\n|title|{self.title}"

    async def _play(self) -> None:
        """Begins the next battle."""
        self._stop_waiting()
        if self.is_over:
            return
        for user in self.users:
            if user.connection is None:
                self.forfeit(user, " lost by being unavailable at the start of a game.")
                return
        self._games += 1
        self._add(f"|html|<h2>Game {self._games}</h2>")
        battle = await self._open_battle(self._on_battle_end)
        if battle is None:
            self._end(None)
            return
        self._battle = battle
        if self.is_over:
            # Given up in the meantime, by somebody whom the battle did not know yet.
            await battle.room.close()
            return
        battle.begin()
        if self._is_timed:
            battle.start_timer()
        self._add(f'|uhtml|game{self._games}|<a href="/{battle.tag}">{escape(battle.title)}</a>')

    def _on_battle_end(self, battle: Battle, winner: User | None) -> None:
        if self.is_over:
            return
        if winner is None:
            self._add(f"|html|Game {self._games} was a tie.")
            self._best_of -= 1
        else:
            self._wins[winner] += 1
            self._add(f"|html|{escape(winner.name)} won game {self._games}!")
        leader = max(self.users, key=lambda user: self._wins[user])
        if self._wins[leader] > self._best_of // 2:
            self._end(leader)
        elif self._games_left() == 0:
            self._end(None)
        else:
            self._wait_for_players()

    def _games_left(self) -> int:
        return self._best_of - sum(self._wins.values())

    def _wait_for_players(self) -> None:
        self._ready = set()
        for user in self.users:
            self._show_button(user)
        seconds = _TICKS_BETWEEN * self._host.tick_seconds
        self._next_game = asyncio.get_running_loop().call_later(
            seconds, lambda: self._host.spawn(self._play())
        )

    def _show_button(self, user: User) -> None:
        assert self._ready is not None
        if user in self._ready:
            button = '<button class="button" disabled>I\'m ready!</button>'
        else:
            command = f"/msgroom {self.tag},/confirmready"
            button = f'<button class="button" name="send" value="{command}">I\'m ready!</button>'
        question = f"Are you ready for game {self._games + 1}, {escape(user.name)}?"
        user.send(f"|c|~|/uhtml controls,<p>{question}</p><p>{button}</p>", self.tag)

    def _stop_waiting(self) -> None:
        self._ready = None
        if self._next_game is not None:
            self._next_game.cancel()
            self._next_game = None

    def _end(self, winner: User | None) -> None:
        self._add(f"|win|{winner.name}\n|deinit" if winner else "|tie\n|deinit")
        self.close()

    def close(self) -> None:
        self.is_over = True
        self._stop_waiting()
        self._host.remove_game(self, self.users)

    def _add(self, line: str, *, is_kept: bool = True) -> None:
        """Says something to both, and again to whoever comes back."""
        if is_kept:
            self._log.append(line)
        for user in self.users:
            user.send(line, self.tag)

    # What players do

    def confirm_ready(self, user: User) -> None:
        if self._ready is None:
            user.send(f"|error|{_NEVER}", self.tag)
            return
        if user in self._ready:
            return
        self._ready.add(user)
        self._show_button(user)
        self._add(f"||{user.name} is ready for game {self._games + 1}.")
        if len(self._ready) == len(self.users):
            self._stop_waiting()
            self._host.spawn(self._play())

    def forfeit(self, user: User, reason: str = " forfeited.") -> None:
        """Gives the whole set up, with the battle that is being played."""
        if self.is_over:
            return
        first, second = self.users
        self._add(f"||{user.name}{reason}")
        self._end(second if user is first else first)
        if self._battle is not None and not self._battle.is_over:
            self._battle.forfeit(user, reason)

    def set_timer(self, user: User, state: str) -> None:
        self._is_timed = True
        if self._battle is not None and not self._battle.is_over:
            self._battle.set_timer(user, state)

    def join(self, user: User) -> None:
        user.send("\n".join((self._opening(), *self._log)), self.tag)
        if self._ready is not None:
            self._show_button(user)

    def leave(self, user: User) -> None:
        """The battles notice who is missing; a set waits for its players between them."""

    def chat(self, user: User, line: str) -> None:
        self._add(f"|c|☆{user.name}|{line}", is_kept=False)

    def log_of(self, user: User) -> str:
        return "\n".join(self._log)

    def choose(self, user: User, choice: str, rqid: str = "") -> None:
        user.send("|error|This game doesn't support /choose", self.tag)

    def undo(self, user: User) -> None:
        user.send("|error|This game doesn't support /undo", self.tag)

    def decide_on_sheets(self, user: User, *, accepts: bool) -> None:
        user.send("|error|Must be in a battle room.", self.tag)
