"""The command line of `python -m maple.play`: options, their help, and how its failures read."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bridge.arguments import OneLineParser, at_least_one, warn_on_stderr
from bridge.errors import BattleRejected, BridgeError, ConfigError
from bridge.lobby.names import clean_name
from maple.agents.errors import CheckpointMismatch, CheckpointUnreadable

if TYPE_CHECKING:
    from poke_env.ps_client import AccountConfiguration

    from maple.agents import Checkpoint

    from .session import Session, Way

__all__ = ["main"]

_DESCRIPTION: Final = """\
Let a trained agent play on a Pokémon Showdown server, ours or any other.

CHECKPOINT is a file that training has written, or the folder of a run, of which the
best checkpoint is taken. The agent accepts challenges (--accept, which it does unless
something else is asked for), challenges somebody, or plays on the ladder. Each battle
that ends is a line, and the totals are the last one.

Ctrl-C ends it: what is being played is forfeited, so that nobody is kept waiting.
The exit status is 0 when all battles were played, 130 when they were cut short, 1 when
something failed, and 2 when an option is wrong.
"""
_EXAMPLES: Final = """\
examples:
  python -m bridge.serve                             # a server of ours, in another terminal
  python -m maple.play runs/first                    # accepts whoever challenges, until Ctrl-C
  python -m maple.play runs/first --accept 10 --concurrent 5
  python -m maple.play runs/first/checkpoints/best.pt --challenge "RandomPlayer 1" 3 --greedy
  python -m maple.play runs/vgc --team team.txt --save-replays replays
  MAPLE_PASSWORD=… python -m maple.play runs/first --server showdown --username NAME --ladder 20
"""
_PASSWORD: Final = "MAPLE_PASSWORD"
_TOKEN: Final = "MAPLE_TOKEN"
_FAILURE: Final = 1
_USAGE_ERROR: Final = 2
_INTERRUPTED: Final = 130
_MOST_LETTERS: Final = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays, and returns the exit status."""
    options = _build_parser().parse_args(arguments)
    warn_on_stderr()
    try:
        return asyncio.run(_play(options))
    except (ConfigError, CheckpointMismatch, CheckpointUnreadable) as error:
        return _complain(error, _USAGE_ERROR)
    except BattleRejected as error:
        hint = "; --team FILE gives the agent one" if _wants_team(error, options) else ""
        return _complain(error, _FAILURE, hint)
    except BridgeError as error:
        return _complain(error, _FAILURE)
    except KeyboardInterrupt:
        # Before anything was played.
        return _INTERRUPTED


async def _play(options: Namespace) -> int:
    from bridge.serve.signals import EndSignals

    way = _way_of(options)
    session = _session(options, way)
    signals = EndSignals(lambda: None)
    ended = asyncio.Event()
    watching = asyncio.ensure_future(signals.wait())
    watching.add_done_callback(lambda _: ended.set())
    try:
        await session.run(ended)
    finally:
        watching.cancel()
        if session.results or not sys.exc_info()[0]:
            print(session.totals(), flush=True)
    if session.is_cut_short:
        return _INTERRUPTED
    return _FAILURE if session.given_up else 0


def _session(options: Namespace, way: Way) -> Session:
    # Late: torch and poke-env take seconds, and --help needs neither.
    from maple.agents import find_checkpoint, load_checkpoint

    from .player import AgentPlayer
    from .servers import find_server
    from .session import Session

    server = find_server(options.server, options.token)
    account = _account(options)
    file = find_checkpoint(options.checkpoint)
    checkpoint = load_checkpoint(file)
    _refuse_sets(options.format or checkpoint.format)
    if options.team is None and options.format is None and checkpoint.facts.get("wants_team"):
        raise ConfigError(f"{checkpoint.format} wants a team: --team FILE gives the agent one")
    player = AgentPlayer(
        checkpoint,
        greedy=options.greedy,
        seed=options.seed,
        battle_format=options.format,
        team=_team_of(options),
        save_replays=_replay_folder(options),
        account_configuration=account,
        server_configuration=server,
        start_timer_on_battle_start=options.timer,
        # As many as begin: the session sees to it that those are not too many.
        max_concurrent_battles=0,
        # What goes wrong is told here, and told once.
        log_level=logging.CRITICAL + 1,
        loop=asyncio.get_running_loop(),
        start_listening=False,
    )
    print(_described(file, checkpoint, player.format, greedy=options.greedy), flush=True)
    return Session(player, way, concurrent=options.concurrent, tell=partial(print, flush=True))


def _described(file: Path, checkpoint: Checkpoint, played: str, *, greedy: bool) -> str:
    how = "always the likeliest action" if greedy else "actions drawn by their probabilities"
    facts = [f"{name} {told}" for name, value in checkpoint.facts.items() if (told := _told(value))]
    return f"{file}: {checkpoint.config.kind}, {played}, {how}" + "".join(f"; {f}" for f in facts)


def _told(value: object) -> str:
    """A fact in a few letters; nothing for one that has many."""
    if isinstance(value, float):
        return f"{value:.4g}"
    is_short = isinstance(value, int | str) and len(str(value)) < _MOST_LETTERS
    return str(value) if is_short else ""


def _way_of(options: Namespace) -> Way:
    from .session import Accept, Challenge, Ladder

    if options.challenge is not None:
        name, *count = options.challenge
        if len(count) > 1:
            raise ConfigError(
                "--challenge takes a name and a number: put quotes around a name of several words"
            )
        return Challenge(name, _count(count[0]) if count else 1)
    if options.ladder is not None:
        return Ladder(options.ladder)
    return Accept(options.accept or None)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"{text!r} is not a number of battles: at least 1")
    return int(text)


def _account(options: Namespace) -> AccountConfiguration:
    from poke_env.ps_client import AccountConfiguration

    from .servers import SHOWDOWN

    password = _password(options)
    if options.username is None:
        if password is not None or options.server == SHOWDOWN:
            raise ConfigError(
                "--username is missing: whose password it is, and on Showdown's own server who "
                "plays. Register a name there first"
            )
        return AccountConfiguration.generate("Maple", rand=True)
    if options.server == SHOWDOWN and password is None:
        raise ConfigError(
            f"Showdown's own server wants the password of {options.username}: set {_PASSWORD} in "
            "the environment, or give --password-file FILE"
        )
    called = clean_name(options.username)
    if called != options.username:
        raise ConfigError(
            f"the server would call {options.username!r} {called!r}, and the agent would wait for "
            "its own name: give one that servers take as it is"
        )
    return AccountConfiguration(options.username, password)


def _password(options: Namespace) -> str | None:
    """From a file or the environment: what stands on a command line, others can see."""
    if options.password_file is None:
        return os.environ.get(_PASSWORD) or None
    lines = _text_of(options.password_file, "password").splitlines()
    if not lines or not lines[0]:
        raise ConfigError(f"{options.password_file} has no password in its first line")
    return lines[0]


def _team_of(options: Namespace) -> str | None:
    if options.team is None:
        return None
    from poke_env.teambuilder import ConstantTeambuilder

    text = _text_of(options.team, "team").strip()
    try:
        packed = ConstantTeambuilder(text).packed_team
    except Exception as error:
        raise ConfigError(f"{options.team} is no team: {type(error).__name__}: {error}") from error
    if not packed:
        raise ConfigError(f"{options.team} is no team: nobody is in it")
    return packed


def _text_of(file: Path, what: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the {what} in {file}: {error}") from error


def _replay_folder(options: Namespace) -> str | bool:
    if options.save_replays is None:
        return False
    folder: Path = options.save_replays
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot save replays in {folder}: {error.strerror}") from error
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"cannot save replays in {folder}: it cannot be written")
    return str(folder)


def _refuse_sets(format: str) -> None:
    if "bo3" in format:
        raise ConfigError(
            f"{format} is played in sets of several battles, which is for AgentPlayer in a program "
            "of yours; play the format without them"
        )


def _build_parser() -> ArgumentParser:
    parser = OneLineParser("python -m maple.play", description=_DESCRIPTION, epilog=_EXAMPLES)
    parser.prog = "python -m maple.play"
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="who plays: a file, or a run")
    where = parser.add_argument_group("where")
    where.add_argument(
        "--server",
        default="localhost:8000",
        metavar="SERVER",
        help="host and port, a URL, or showdown for play.pokemonshowdown.com "
        "(default: %(default)s, where `python -m bridge.serve` serves)",
    )
    where.add_argument(
        "--token",
        default=os.environ.get(_TOKEN) or None,
        help=f"what a server of ours on another machine wants (default: {_TOKEN} in the "
        "environment, or none)",
    )
    where.add_argument(
        "--username",
        metavar="NAME",
        help="what the agent is called (default: Maple and some letters)",
    )
    where.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help=f"its password, in the first line of a file (default: {_PASSWORD} in the environment, "
        "or none)",
    )
    _add_ways(parser)
    how = parser.add_argument_group("how")
    chosen = how.add_mutually_exclusive_group()
    chosen.add_argument(
        "--greedy", action="store_true", help="always take the likeliest action of all"
    )
    chosen.add_argument(
        "--sample",
        dest="greedy",
        action="store_false",
        help="draw actions by their probabilities (default)",
    )
    how.add_argument(
        "--seed", type=int, metavar="N", help="what actions are drawn by (default: another one)"
    )
    how.add_argument(
        "--format",
        metavar="FORMAT",
        help="another format than that which was learned, of the same generation and kind",
    )
    how.add_argument(
        "--team",
        type=Path,
        metavar="FILE",
        help="a team, packed or as Showdown exports it, for formats that want one",
    )
    how.add_argument(
        "--concurrent",
        type=at_least_one,
        default=1,
        metavar="N",
        help="battles at a time (default: %(default)s)",
    )
    how.add_argument("--timer", action="store_true", help="start the timer of each battle")
    how.add_argument(
        "--save-replays", type=Path, metavar="FOLDER", help="save a page of each battle"
    )
    return parser


def _add_ways(parser: ArgumentParser) -> None:
    ways = parser.add_argument_group("against whom").add_mutually_exclusive_group()
    ways.add_argument(
        "--accept",
        nargs="?",
        type=at_least_one,
        const=0,
        metavar="N",
        help="whoever challenges the agent, N times or until Ctrl-C (default)",
    )
    ways.add_argument(
        "--challenge",
        nargs="+",
        metavar=("NAME", "N"),
        help="somebody by name, N times (default: once)",
    )
    ways.add_argument(
        "--ladder", type=at_least_one, metavar="N", help="whom the server finds, N times"
    )


def _wants_team(error: BattleRejected, options: Namespace) -> bool:
    return options.team is None and "team" in error.message.lower()


def _complain(error: BridgeError, status: int, hint: str = "") -> int:
    print(f"error: {error.in_one_line()}{hint}", file=sys.stderr)
    return status
