"""How users find each other: challenges, the ladder, and the games that come of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Final, Protocol

from .. import seeds
from ..errors import BattleRejected, BridgeError, RegistryClosed
from ..formats import FormatFacts
from ..journal import Player
from ..registry import ControllerRegistry
from .battle import Battle, Host
from .best_of import BestOf
from .limits import Limits
from .users import User

__all__ = ["Challenge", "Matchmaker", "Ready"]

# Each may be a question to Node, for which the battles of others wait.
_MOST_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Ready:
    """A user with a format and a team that is legal in it."""

    user: User
    facts: FormatFacts
    team: str | None
    is_challenge: bool


@dataclass(frozen=True, slots=True)
class Challenge:
    """Who wants to play whom."""

    ready: Ready
    opponent: User

    @property
    def challenger(self) -> User:
        return self.ready.user


class Directory(Host, Protocol):
    """What matchmaking needs of the lobby."""

    registry: ControllerRegistry
    limits: Limits


class Matchmaker:
    """Keeps who waits for whom, and begins a game for two who have found each other."""

    def __init__(self, lobby: Directory, seed: seeds.Seed | None) -> None:
        self._lobby = lobby
        self._seed = seed
        self._meetings: Counter[str] = Counter()
        self._challenges: dict[User, Challenge] = {}
        """By the challenger, who has one at a time."""
        self._searches: dict[str, dict[User, Ready]] = {}
        self._sets = 0

    async def prepare(self, user: User, format: str, *, is_challenge: bool) -> Ready | None:
        """A user who can play the format, or None if it was told why not."""
        # Read before anything is awaited: the next challenge may come with another team.
        team = user.team
        if self._has_too_many_games(user):
            return None
        if user.preparing >= _MOST_AT_ONCE:
            user.popup("You are challenging and searching too much at once.")
            return None
        user.preparing += 1
        try:
            facts = await self._lobby.registry.describe_format(format)
            if is_challenge or facts.is_ladder:
                team = await self._lobby.registry.validate_team(facts.id, team)
                return Ready(user, facts, team, is_challenge)
            user.popup(f"Error: Your format {facts.id} is not ladderable.")
        except BattleRejected as error:
            user.popup(_rejection(error))
        except RegistryClosed:
            user.popup(
                "The server is restarting. Battles will be available again in a few minutes."
            )
        except BridgeError as error:
            user.popup(f"The battle could not be started: {error}")
        finally:
            user.preparing -= 1
        return None

    def _has_too_many_games(self, user: User) -> bool:
        most = self._lobby.limits.games_per_user
        if len(user.games) < most:
            return False
        user.popup(f"You are limited to {most} games at the same time.")
        return True

    # Challenges

    def challenge_between(self, one: User, other: User) -> Challenge | None:
        for challenger, opponent in ((one, other), (other, one)):
            challenge = self._challenges.get(challenger)
            if challenge is not None and challenge.opponent is opponent:
                return challenge
        return None

    async def challenge(self, user: User, opponent: User, format: str) -> None:
        if user is opponent:
            user.popup("You can't battle yourself. Log in with another name, and battle that name.")
            return
        if user in self._challenges:
            user.popup(
                "You are already challenging someone. Cancel that challenge before challenging "
                "someone else."
            )
            return
        ready = await self.prepare(user, format, is_challenge=True)
        if ready is None or user.connection is None or user in self._challenges:
            return
        if opponent.connection is None:
            user.popup(_went_offline(opponent))
            return
        theirs = self.challenge_between(user, opponent)
        if theirs is None:
            self._challenges[user] = Challenge(ready, opponent)
            _tell_both(user, opponent, _offer(ready.facts.id))
            _tell_both(user, opponent, f"/log {user.name} wants to battle!")
        elif theirs.ready.facts == ready.facts:
            self._withdraw(theirs)
            await self._begin(theirs.ready, ready)
        else:
            user.popup(
                f"There's already a challenge ({theirs.ready.facts.id}) between you and "
                f"{opponent.name}!"
            )

    async def accept(self, user: User, challenger: User) -> None:
        challenge = self._received(user, challenger, "accepted")
        if challenge is None:
            return
        ready = await self.prepare(user, challenge.ready.facts.id, is_challenge=True)
        # It may have been cancelled while the team was looked at.
        if ready is None or self._received(user, challenger, "accepted") is None:
            return
        self._withdraw(challenge)
        tag = await self._begin(challenge.ready, ready)
        if tag is not None:
            accepted = f"{escape(user.name)} accepted the challenge, starting"
            link = f'&laquo;<a href="/{tag}">{tag}</a>&raquo;'
            _tell_both(user, challenger, f"/nonotify {accepted} {link}")

    def reject(self, user: User, challenger: User) -> None:
        challenge = self._received(user, challenger, "rejected")
        if challenge is not None:
            _tell_both(user, challenger, f"/nonotify {user.name} rejected the challenge.")
            self._withdraw(challenge)

    def cancel(self, user: User, opponent: User) -> None:
        challenge = self._challenges.get(user)
        if challenge is None or challenge.opponent is not opponent:
            user.popup(
                f"You are not challenging {opponent.name}. Maybe they accepted/rejected before "
                "you cancelled?"
            )
            return
        _tell_both(user, opponent, f"/log {user.name} cancelled the challenge.")
        self._withdraw(challenge)

    def _received(self, user: User, challenger: User, deed: str) -> Challenge | None:
        challenge = self._challenges.get(challenger)
        if challenge is None or challenge.opponent is not user:
            user.popup(
                f"{challenger.id} is not challenging you. Maybe they cancelled before you {deed}?"
            )
            return None
        return challenge

    def _withdraw(self, challenge: Challenge) -> None:
        del self._challenges[challenge.challenger]
        _tell_both(challenge.challenger, challenge.opponent, "/challenge")

    # The ladder

    async def search(self, user: User, format: str) -> None:
        ready = await self.prepare(user, format, is_challenge=False)
        if ready is None or user.connection is None:
            return
        waiting = self._searches.setdefault(ready.facts.id, {})
        if user in waiting:
            user.popup(f"Couldn't search: You are already searching for a {ready.facts.id} battle.")
            return
        opponent = next(iter(waiting.values()), None)
        if opponent is None:
            waiting[user] = ready
            self._show_searches(user)
        else:
            self.cancel_searches(opponent.user)
            await self._begin(ready, opponent)

    def cancel_searches(self, user: User, format: str = "") -> None:
        for name, waiting in list(self._searches.items()):
            if format in ("", name):
                waiting.pop(user, None)
            if not waiting:
                del self._searches[name]
        self._show_searches(user)

    def _show_searches(self, user: User) -> None:
        user.searching = [name for name, waiting in self._searches.items() if user in waiting]
        user.update_search()

    def forget(self, user: User) -> None:
        """A user has gone, and waits for nobody any more."""
        self.cancel_searches(user)
        for challenge in list(self._challenges.values()):
            if user in (challenge.challenger, challenge.opponent):
                self._withdraw(challenge)
                challenge.challenger.popup(_went_offline(challenge.opponent))

    # Games

    async def _begin(self, first: Ready, second: Ready) -> str | None:
        """Begins a game of two; returns its tag, or None if both were told why there is none."""
        users = (first.user, second.user)
        for user, other in (users, users[::-1]):
            if user.connection is None:
                other.popup(_went_offline(user))
                return None
        for user, other in (users, users[::-1]):
            if self._has_too_many_games(user):
                other.popup(f"Your opponent {user.id} plays too many games already.")
                return None
        for user in users:
            self.cancel_searches(user)
        facts = first.facts
        if facts.best_of is not None:
            self._sets += 1
            tag = f"game-bestof{facts.best_of}-{facts.id.partition('@@@')[0]}-{self._sets}"

            open_next = partial(self._open, first, second)
            BestOf(self._lobby, tag, facts.best_of, users, open_next).begin()
            return tag
        battle = await self._open(first, second)
        if battle is None:
            return None
        battle.begin()
        return battle.tag

    async def _open(
        self,
        first: Ready,
        second: Ready,
        on_end: Callable[[Battle, User | None], None] | None = None,
    ) -> Battle | None:
        facts = first.facts
        is_rated = not first.is_challenge and facts.rated
        try:
            room = await self._lobby.registry.open(
                facts.id,
                seed=self._next_seed(first.user, second.user, facts.id),
                p1=_seat(first),
                p2=_seat(second),
                rated="Rated battle" if is_rated else None,
            )
        except BridgeError as error:
            for ready in (first, second):
                ready.user.popup(f"The battle could not be started: {error}")
            return None
        users = (first.user, second.user)
        is_challenge = first.is_challenge
        return Battle(self._lobby, room, facts, users, is_challenge=is_challenge, on_end=on_end)

    def _next_seed(self, one: User, other: User, format: str) -> str | None:
        """The seed of a battle by who plays whom how often, and not by who is faster."""
        if self._seed is None:
            return None
        meeting = f"{format}/{one.number}/{other.number}"
        self._meetings[meeting] += 1
        return seeds.derive(self._seed, f"{meeting}/{self._meetings[meeting]}")


def _rejection(error: BattleRejected) -> str:
    """Why a format or a team will not do, in Showdown's words."""
    if not error.problems:
        return f"Your selected format is invalid:\n\n- {error.message}"
    problems = "".join(f"\n- {problem}" for problem in error.problems)
    return f"Your team was rejected for the following reasons:\n{problems}"


def _seat(ready: Ready) -> Player:
    user, team = ready.user, ready.team
    return Player(user.name, team, avatar=user.avatar, is_valid=team is not None)


def _offer(format: str) -> str:
    return f"/challenge {format}|{format}|||"


def _went_offline(user: User) -> str:
    return f"Sorry, your opponent {user.id} went offline before your battle could start."


def _tell_both(sender: User, receiver: User, message: str) -> None:
    text = f"|pm|{sender.identity}|{receiver.identity}|{message}"
    sender.send(text)
    receiver.send(text)
