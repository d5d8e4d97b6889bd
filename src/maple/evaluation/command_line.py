"""`python -m maple.evaluate`: has agents play, prints who beat whom, and writes it to a folder.

Torch is imported only when there is something to play.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from bridge.arguments import (
    OneLineParser,
    at_least_one,
    end_on_sigterm,
    not_negative,
    output_file,
    warn_on_stderr,
)
from bridge.errors import BattleRejected, BridgeError, ConfigError
from maple.agents.errors import CheckpointMismatch, CheckpointUnreadable

from .defaults import BATTLES, PARALLEL

if TYPE_CHECKING:
    from maple.env.teams import TeamsArgument

    from .arena import Arena
    from .lineup import Lineup
    from .report import Report
    from .tally import Tally

__all__ = ["main"]

EPILOG: Final = """\
examples:
  python -m maple.evaluate runs/first
      the best checkpoint of a run against random, max and heuristics
  python -m maple.evaluate runs/first --against random,max,runs/second --battles 500 --greedy
      against others, also another run; the likeliest action is taken, none is drawn
  python -m maple.evaluate runs/*/checkpoints/best.pt --battles 100 --output ladder
      everybody against everybody, with ratings; tables, a picture and replays in ladder/
  python -m maple.evaluate runs/first --replays 3 --turns
      three replays of each pair, with the probabilities of all actions, decision by decision
  python -m maple.evaluate max --against random --format gen1randombattle --seed 7
      opponents by name can be asked about too

What is played is what the first checkpoint has learned to play, unless --format names something
else. The same seed gives the same results, however many battles are under way and processes there
are. Battles come in twos with the same teams, between which the players change seats. A tie is half
a win. Without --output, results are written to logs/evaluation/, into a folder named by the time.

Ctrl-C, or SIGTERM, ends it early and shows what was played so far. The exit status is 0 when all
was played, 1 after an error, also if only some battles came to no end, 2 for wrong arguments, 130
if it was interrupted.
"""
_AGAINST: Final = ("random", "max", "heuristics")
_FOLDER: Final = Path("logs/evaluation")
_INTERRUPTED: Final = 130
_PLAIN_WIDTH: Final = 120
"""Of tables where there is no terminal to measure."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    warn_on_stderr()
    end_on_sigterm()
    try:
        return _evaluate(options)
    except (ConfigError, BattleRejected, CheckpointMismatch, CheckpointUnreadable) as error:
        return _fail(error, 2)
    except BridgeError as error:
        return _fail(error, 1)
    except OSError as error:
        where = "" if error.filename is None else f" {error.filename}"
        print(f"maple.evaluate: cannot write{where}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("maple.evaluate: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _evaluate(options: argparse.Namespace) -> int:
    from .arena import Arena
    from .display import Display
    from .files import refuse_results
    from .lineup import make_lineup
    from .tally import Tally

    if options.output is not None:
        refuse_results(options.output)
    lineup = make_lineup(options.contestants, options.against, cross_play=options.cross_play)
    _require_networks(lineup, options)
    teams = _teams(options)
    display = Display(Console(stderr=True), lineup.pairs, options.battles)
    tally = Tally(
        lineup.pairs, options.battles, keep=options.replays, on_battle=display.battle_ended
    )
    with (
        Arena(
            options.format or lineup.format,
            parallel=options.parallel,
            pool=options.pool,
            teams=teams,
        ) as arena,
        _made_folder(options.output, replays=bool(options.replays)) as folder,
    ):
        with display:
            report = _play(arena, lineup, tally, options)
        _show(report)
        _write(report, arena, tally, folder, options)
    if report.ending == "finished" and report.failed:
        failed, all_of_them = len(report.failed), len(report.played)
        print(f"maple.evaluate: {failed} of {all_of_them} battles came to no end", file=sys.stderr)
        return 1
    return {"finished": 0, "interrupted": _INTERRUPTED, "failed": 1}[report.ending]


def _play(arena: Arena, lineup: Lineup, tally: Tally, options: argparse.Namespace) -> Report:
    """All battles, or those before Ctrl-C or before something went wrong for all of them."""
    from .report import Ending, Report

    ending: Ending = "finished"
    failure = None
    began = time.monotonic()
    try:
        arena.play(
            lineup.entrants,
            tally,
            seed=options.seed,
            greedy=options.greedy,
            told=options.turns,
        )
    except KeyboardInterrupt:
        ending = "interrupted"
    except BridgeError as error:
        if not tally.played:
            raise
        ending, failure = "failed", error.in_one_line()
    return Report(
        format=arena.format,
        seed=options.seed,
        wanted=options.battles,
        choosing="greedy" if options.greedy else "sample",
        pairs=lineup.pairs,
        players=lineup.players,
        played=tally.played,
        seconds=time.monotonic() - began,
        ending=ending,
        failure=failure,
    )


def _show(report: Report) -> None:
    from .tables import render

    console = Console()
    if not console.is_terminal:
        console = Console(width=_PLAIN_WIDTH)
    console.print(render(report), highlight=False)


def _write(
    report: Report, arena: Arena, tally: Tally, folder: Path, options: argparse.Namespace
) -> None:
    from .files import REPLAYS, write_replays, write_report

    files = write_report(report, folder)
    print(f"\nwritten to {folder}: {', '.join(file.name for file in files)}")
    if options.json is not None:
        options.json.write_bytes(report.to_json())
        print(f"written to {options.json}")
    if report.failure is not None:
        print(f"maple.evaluate: {report.failure}", file=sys.stderr)
        return
    if options.replays:
        pages = write_replays(arena, tally, folder / REPLAYS)
        some = "a replay" if len(pages) == 1 else f"{len(pages)} replays"
        print(f"{some} to look at in a browser: {folder / REPLAYS}")


def _require_networks(lineup: Lineup, options: argparse.Namespace) -> None:
    """Refuses what would change nothing."""
    if any(entrant.is_learned for entrant in lineup.entrants):
        return
    for name in ("greedy", "turns"):
        if getattr(options, name):
            raise ConfigError(f"--{name} is about networks, and none of these players is one")


def _fail(error: BridgeError, status: int) -> int:
    # As programs give them.
    here = " (here --teams PATH)" if "teams=" in error.message else ""
    print(f"maple.evaluate: {error.in_one_line()}{here}", file=sys.stderr)
    return status


@contextlib.contextmanager
def _made_folder(wanted: Path | None, *, replays: bool) -> Iterator[Path]:
    """A folder that is there before anything is played, and gone again if nothing can be."""
    from .files import REPLAYS

    folder = wanted or _folder_of_now()
    was_there = wanted is not None and folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if replays:
            (folder / REPLAYS).mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make the folder {folder}: {error.strerror}") from error
    try:
        yield folder
    except BridgeError:
        # What has something in it stays.
        with contextlib.suppress(OSError):
            if replays:
                (folder / REPLAYS).rmdir()
            if not was_there:
                folder.rmdir()
        raise


def _folder_of_now() -> Path:
    """A new folder that is named by the time, and numbered if somebody else began just now."""
    for number in itertools.count(1):
        folder = _FOLDER / (_name_of_now() + f"-{number}" * (number > 1))
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise ConfigError(f"cannot make the folder {folder}: {error.strerror}") from error
        return folder
    raise AssertionError("there is always another number")


def _name_of_now() -> str:
    return datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")


def _teams(options: argparse.Namespace) -> TeamsArgument:
    from maple.env import TeamPool
    from maple.env.team_files import read_teams

    def read(path: Path) -> TeamPool:
        found = read_teams(path)
        return TeamPool(found.teams, found.weights, found.names)

    if options.teams is None:
        return None
    own = read(options.teams)
    return (
        own if options.opponent_teams is None else {"p1": own, "p2": read(options.opponent_teams)}
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = OneLineParser(
        "maple.evaluate",
        description="Has agents play, and says how strong they are.",
        epilog=EPILOG,
    )
    parser.prog = "python -m maple.evaluate"
    parser.add_argument(
        "contestants",
        nargs="+",
        metavar="RUN|CHECKPOINT",
        help="who is asked about: the folder of a run, whose best checkpoint is taken, or a file",
    )
    _add_battles(parser.add_argument_group("what is played"))
    _add_machine(parser.add_argument_group("the machine"))
    _add_results(parser.add_argument_group("results"))
    options = parser.parse_args(arguments)
    options.against = [word for word in options.against.split(",") if word]
    if options.cross_play is None:
        options.cross_play = len(options.contestants) > 1
    if options.turns and not options.replays:
        parser.error("--turns is about the battles of --replays: give at least one")
    if options.opponent_teams is not None and options.teams is None:
        parser.error("--opponent-teams goes with --teams")
    return options


def _add_battles(played: argparse._ArgumentGroup) -> None:
    played.add_argument(
        "--against",
        default=",".join(_AGAINST),
        metavar="WHO,…",
        help="opponents: random, max, heuristics, runs and checkpoints (%(default)s)",
    )
    played.add_argument(
        "--battles", type=at_least_one, default=BATTLES, help="of each pair (%(default)s)"
    )
    played.add_argument(
        "--cross-play",
        action=argparse.BooleanOptionalAction,
        help="everybody plays everybody, also the opponents (if several are asked about)",
    )
    played.add_argument("--format", help="as Showdown names it (that of the first checkpoint)")
    played.add_argument(
        "--teams", type=Path, metavar="PATH", help="a file with a team, or a folder of such files"
    )
    played.add_argument(
        "--opponent-teams", type=Path, metavar="PATH", help="others for opponents (the same)"
    )
    played.add_argument(
        "--seed", type=int, default=0, help="decides all battles and draws (%(default)s)"
    )
    choosing = played.add_mutually_exclusive_group()
    choosing.add_argument(
        "--sample",
        dest="greedy",
        action="store_false",
        default=False,
        help="networks draw their actions, as they do while they learn (the default)",
    )
    choosing.add_argument(
        "--greedy", action="store_true", help="networks take the likeliest action"
    )


def _add_machine(machine: argparse._ArgumentGroup) -> None:
    machine.add_argument(
        "--parallel",
        type=at_least_one,
        default=PARALLEL,
        metavar="BATTLES",
        help="how many are under way at a time, of all pairs together (%(default)s)",
    )
    machine.add_argument("--pool", type=at_least_one, help="Node processes (one for each core)")


def _add_results(results: argparse._ArgumentGroup) -> None:
    results.add_argument(
        "--output", type=Path, metavar="FOLDER", help="for all files (logs/evaluation/TIME)"
    )
    results.add_argument(
        "--replays",
        type=not_negative,
        default=1,
        metavar="BATTLES",
        help="how many of the first battles of each pair are written as pages and input logs "
        "(%(default)s)",
    )
    results.add_argument(
        "--turns",
        action="store_true",
        help="write down every decision of networks in these battles, with all probabilities",
    )
    results.add_argument(
        "--json", type=output_file, metavar="FILE", help="all figures, also of each battle"
    )
