"""The commands that clients give: what each is called, and whom it concerns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from .names import to_id
from .users import Connection, Game, User

if TYPE_CHECKING:
    from .lobby import Lobby

__all__ = ["Saying", "obey"]


@dataclass(slots=True)
class Saying:
    """A line that a client has said: where, and if it is a command, which, to whom or of what."""

    connection: Connection
    room: str
    word: str
    target: str

    def complain(self, message: str) -> None:
        self.connection.complain(message, self.room if self.game else "")

    @property
    def user(self) -> User | None:
        return self.connection.user

    @property
    def game(self) -> Game | None:
        user = self.connection.user
        return None if user is None else user.games.get(self.room)


def obey(lobby: Lobby, saying: Saying) -> None:
    """Does what a command says, or says why not."""
    word = _ALIASES.get(saying.word, saying.word)
    user, game = saying.user, saying.game
    if word in _ANYWHERE:
        _ANYWHERE[word](lobby, saying)
    elif word in _OF_USERS:
        if user is None:
            saying.connection.popup("You must choose a username before you do that.")
        else:
            _OF_USERS[word](lobby, user, saying)
    elif word in _OF_GAMES:
        if user is None or game is None:
            _complain_of_absence(saying)
        else:
            _OF_GAMES[word](user, game, saying)
    else:
        given = saying.word
        saying.complain(
            f'The command "/{given}" does not exist. To send a message starting with "/{given}", '
            f'type "//{given}".'
        )


def _complain_of_absence(saying: Saying) -> None:
    given = f"/{saying.word} {saying.target}".strip()
    if saying.room:
        # Not in that room: clients that have left it have forgotten it.
        saying.connection.complain(
            f'You tried to send "{given}" to the room "{saying.room}" but it failed because you '
            "were not in that room."
        )
    else:
        saying.complain(f'The command "{given}" can only be used in a battle room.')


# Anybody


def _take_name(lobby: Lobby, saying: Saying) -> None:
    lobby.log_in(saying.connection, saying.target.partition(",")[0])


def _log_out(lobby: Lobby, saying: Saying) -> None:
    lobby.log_out(saying.connection)


def _answer_query(lobby: Lobby, saying: Saying) -> None:
    query, _, about = saying.target.partition(" ")
    answer: dict[str, object] | None = None
    if query == "userdetails":
        answer = _details(lobby, about)
    elif query == "rooms":
        answer = {"chat": [], "userCount": lobby.user_count, "battleCount": lobby.game_count}
    saying.connection.send(f"|queryresponse|{query}|{orjson.dumps(answer).decode()}")


def _details(lobby: Lobby, name: str) -> dict[str, object]:
    """What a client may know of a user, who may not be there."""
    user = lobby.find_user(name)
    if user is None or user.connection is None:
        return {"id": to_id(name), "userid": to_id(name), "name": name, "rooms": False}
    rooms: dict[str, object] = {tag: {} for tag in user.games}
    known = {"id": user.id, "userid": user.id, "name": user.name, "avatar": user.avatar}
    return known | {"group": " ", "rooms": rooms}


def _keep_quiet(lobby: Lobby, saying: Saying) -> None:
    """Settings of a client that mean nothing here, and that Showdown takes without a word."""


# Users


def _take_avatar(lobby: Lobby, user: User, saying: Saying) -> None:
    avatar = saying.target.strip().lower()
    if not avatar or len(avatar) > 64 or not avatar.replace("-", "").isalnum():
        user.popup("Invalid avatar.")
        return
    user.avatar = avatar
    user.update()


def _take_team(lobby: Lobby, user: User, saying: Saying) -> None:
    user.team = None if saying.target in ("", "null") else saying.target


def _validate_team(lobby: Lobby, user: User, saying: Saying) -> None:
    lobby.spawn(lobby.validate(user, saying.target))


def _challenge(lobby: Lobby, user: User, saying: Saying) -> None:
    name, _, wanted = saying.target.partition(",")
    opponent = lobby.find_user(name)
    if "|" in wanted:
        user.popup("Your selected format is invalid:\n\n- A format has no bar in its name.")
    elif opponent is None or opponent.connection is None:
        user.popup(f"The user '{name.strip()}' was not found.")
    else:
        lobby.spawn(lobby.matchmaker.challenge(user, opponent, wanted.strip()))


def _other(lobby: Lobby, user: User, saying: Saying) -> User | None:
    other = lobby.find_user(saying.target)
    if other is None:
        user.popup(f'User "{saying.target.strip()}" not found.')
    return other


def _accept(lobby: Lobby, user: User, saying: Saying) -> None:
    if (challenger := _other(lobby, user, saying)) is not None:
        lobby.spawn(lobby.matchmaker.accept(user, challenger))


def _reject(lobby: Lobby, user: User, saying: Saying) -> None:
    if (challenger := _other(lobby, user, saying)) is not None:
        lobby.matchmaker.reject(user, challenger)


def _cancel_challenge(lobby: Lobby, user: User, saying: Saying) -> None:
    if (opponent := _other(lobby, user, saying)) is not None:
        lobby.matchmaker.cancel(user, opponent)


def _search(lobby: Lobby, user: User, saying: Saying) -> None:
    lobby.spawn(lobby.matchmaker.search(user, saying.target.strip()))


def _cancel_search(lobby: Lobby, user: User, saying: Saying) -> None:
    lobby.matchmaker.cancel_searches(user, to_id(saying.target))


def _message(lobby: Lobby, user: User, saying: Saying) -> None:
    name, _, text = saying.target.partition(",")
    receiver = lobby.find_user(name)
    text = text.strip()
    # What begins with a slash has a meaning in a message, such as a challenge that nobody made.
    if receiver is None or receiver.connection is None:
        saying.complain(f"User {name.strip()} not found. Did you misspell their name?")
    elif len(text) > lobby.limits.longest_chat:
        saying.complain("Your message is too long.")
    elif not text or text.startswith("/"):
        saying.complain("A private message is a text that begins with no slash.")
    else:
        for each in {user, receiver}:
            each.send(f"|pm|{user.identity}|{receiver.identity}|{text}")


def _send_elsewhere(lobby: Lobby, user: User, saying: Saying) -> None:
    room, _, text = saying.target.partition(",")
    text = text.strip()
    if text.lower().startswith("/msgroom"):
        # One inside the other, thousands of them fit into a message.
        saying.complain("A message to a room cannot send another one.")
        return
    lobby.say(saying.connection, room.strip(), text)


def _join(lobby: Lobby, user: User, saying: Saying) -> None:
    tag = saying.target.strip()
    if (game := user.games.get(tag)) is not None:
        game.join(user)
    elif lobby.has_game(tag):
        reason = "is invite-only, and you haven't been invited."
        saying.connection.send(f'|noinit|joinfailed|The room "{tag}" {reason}', tag)
    elif tag:
        saying.connection.send(f'|noinit|nonexistent|The room "{tag}" does not exist.', tag)


def _leave(lobby: Lobby, user: User, saying: Saying) -> None:
    tag = saying.target.strip() or saying.room
    if (game := user.games.get(tag)) is not None:
        game.leave(user)
    user.update_search(left=tag)


# Players of a game


def _choose(user: User, game: Game, saying: Saying) -> None:
    choice, _, rqid = saying.target.partition("|")
    game.choose(user, choice, rqid)


def _choose_kind(kind: str) -> Callable[[User, Game, Saying], None]:
    def choose(user: User, game: Game, saying: Saying) -> None:
        choice, _, rqid = saying.target.partition("|")
        game.choose(user, f"{kind} {choice}", rqid)

    return choose


def _undo(user: User, game: Game, saying: Saying) -> None:
    game.undo(user)


def _forfeit(user: User, game: Game, saying: Saying) -> None:
    game.forfeit(user)


def _set_timer(user: User, game: Game, saying: Saying) -> None:
    game.set_timer(user, to_id(saying.target))


def _accept_sheets(user: User, game: Game, saying: Saying) -> None:
    game.decide_on_sheets(user, accepts=True)


def _reject_sheets(user: User, game: Game, saying: Saying) -> None:
    game.decide_on_sheets(user, accepts=False)


def _confirm_ready(user: User, game: Game, saying: Saying) -> None:
    game.confirm_ready(user)


def _save_replay(user: User, game: Game, saying: Saying) -> None:
    """Gives the client what it has seen: nobody keeps replays here."""
    replay = {"id": game.tag.removeprefix("battle-"), "log": game.log_of(user)}
    user.send(f"|queryresponse|savereplay|{orjson.dumps(replay).decode()}")


_ANYWHERE: Final[dict[str, Callable[[Lobby, Saying], None]]] = {
    "trn": _take_name,
    "logout": _log_out,
    "cmd": _answer_query,
    "noreply": _keep_quiet,
    "autojoin": _keep_quiet,
    "updatesettings": _keep_quiet,
    "ip": _keep_quiet,
}
_OF_USERS: Final[dict[str, Callable[[Lobby, User, Saying], None]]] = {
    "avatar": _take_avatar,
    "useteam": _take_team,
    "vtm": _validate_team,
    "challenge": _challenge,
    "cancelchallenge": _cancel_challenge,
    "accept": _accept,
    "reject": _reject,
    "search": _search,
    "cancelsearch": _cancel_search,
    "msg": _message,
    "msgroom": _send_elsewhere,
    "join": _join,
    "leave": _leave,
}
_OF_GAMES: Final[dict[str, Callable[[User, Game, Saying], None]]] = {
    "choose": _choose,
    "move": _choose_kind("move"),
    "switch": _choose_kind("switch"),
    "team": _choose_kind("team"),
    "undo": _undo,
    "forfeit": _forfeit,
    "timer": _set_timer,
    "acceptopenteamsheets": _accept_sheets,
    "rejectopenteamsheets": _reject_sheets,
    "confirmready": _confirm_ready,
    "savereplay": _save_replay,
}
_ALIASES: Final = {
    "query": "cmd",
    "crq": "cmd",
    "signout": "logout",
    "utm": "useteam",
    "saveteam": "useteam",
    "chall": "challenge",
    "cchall": "cancelchallenge",
    "pm": "msg",
    "dm": "msg",
    "w": "msg",
    "whisper": "msg",
    "j": "join",
    "part": "leave",
    "guess": "choose",
    "mv": "move",
    "attack": "move",
    "sw": "switch",
    "uploadreplay": "savereplay",
}
