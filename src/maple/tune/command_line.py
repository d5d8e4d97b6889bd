"""`python -m maple.tune`: tries settings until the time is up, and prints the best as YAML.

What was tried goes to stderr as it comes, the settings to stdout.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bridge.arguments import OneLineParser, end_on_sigterm, positive, warn_on_stderr
from bridge.errors import BridgeError, ConfigError
from bridge.machine import cpu_count
from bridge.settings import suggest
from maple.train.config import TrainConfig, load_train_config, read_train_config
from maple.train.options import read_overrides

from .errors import TrialFailed
from .report import as_options, as_yaml, headings, line
from .search import SETTINGS, Choice, Search
from .trial import measure

if TYPE_CHECKING:
    from maple.train.stage import Stage

__all__ = ["main"]

_DESCRIPTION: Final = """\
Finds the settings with which training is fastest on this machine: how many battles at a time,
workers, Node processes and threads of torch, and the batch. Each is tried by training for some
seconds; what is faster by more than 5 % is gone on from, one setting at a time.

  python -m maple.tune
  python -m maple.tune --config config/train.yml --minutes 5 > fast.yml
  python -m maple.tune --only parallel,pool --network.kind attention
"""
_EPILOG: Final = """\
Any setting of `python -m maple.train` can be given besides, as its --help has them. The settings
that were found are printed as YAML, for config/train.yml, and as options of a command line.

Ctrl-C, or SIGTERM, ends it early, and prints what was best until then. The exit status is 0 when it
came to its end, 1 after an error, 2 for wrong arguments, 130 if it was interrupted.
"""
_INTERRUPTED: Final = 130
# It ends by the clock, and a schedule that depends on an end stays where it begins.
_ENDLESS: Final = {"decisions": 10**15, "episodes": None, "minutes": None}
_ELSEWHERE: Final = {
    "episodes": "--minutes says how long it takes",
    "decisions": "--minutes says how long it takes",
    "name": "nothing is kept",
    "folder": "nothing is kept",
    "checkpoints": "nothing is kept",
    "tensorboard": "nothing is kept",
    "profile": "nothing is kept",
    "profile_name": "nothing is kept",
    "evaluation": "nothing is played after the last update",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options, overrides = _parse(arguments)
    warn_on_stderr()
    end_on_sigterm()
    began = time.monotonic()
    search = None
    try:
        config = _read(options.config, read_overrides(overrides))
        search = Search(config, cpu_count(), options.only)
        status = _tune(search, began + 60 * options.minutes, options.seconds)
    except ConfigError as error:
        return _fail(error, 2)
    except BridgeError as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        status = _INTERRUPTED
    if search is None or not search.speeds:
        _say("maple.tune: interrupted before anything was measured")
        return _INTERRUPTED
    _conclude(search)
    return status


def _tune(search: Search, until: float, seconds: float) -> int:
    from maple.train.stage import set_stage

    stage = set_stage(search.config)
    _say(headings())
    longest = 0.0
    while (choice := search.next()) is not None:
        began = time.monotonic()
        # Each setting has its turn in any case.
        if not search.has_untried and began + longest > until:
            _say("the time is up; --minutes gives it more, and there is more to try")
            return 0
        _try(stage, search, choice, seconds)
        longest = max(longest, time.monotonic() - began)
    _say("nothing that is near the best is faster")
    return 0


def _try(stage: Stage, search: Search, choice: Choice, seconds: float) -> None:
    layout = search.layout(choice)
    speed = 0.0
    try:
        speed = measure(choice.apply(search.config), stage, layout, seconds)
    except TrialFailed as error:
        if not search.speeds:
            raise
        _say(f"maple.tune: {error.in_one_line()}")
    search.hear(choice, speed)
    _say(line(choice, layout, speed, is_best=search.best == choice))


def _conclude(search: Search) -> None:
    print(as_yaml(search), end="", flush=True)
    _say(f"python -m maple.train … {as_options(search)}")


def _read(file: Path | None, given: Mapping[str, Any]) -> TrainConfig:
    for name in given:
        if name in _ELSEWHERE:
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{option} changes nothing here: {_ELSEWHERE[name]}")
    if file is None:
        return read_train_config({}, {**given, **_ENDLESS})
    return load_train_config(file, {**given, **_ENDLESS})


def _parse(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = OneLineParser("maple.tune", description=_DESCRIPTION, epilog=_EPILOG)
    parser.usage = "python -m maple.tune [--config FILE] [--minutes N] [--setting value …]"
    # A setting is not to be taken for the beginning of an option.
    parser.allow_abbrev = False
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="what is trained, as config/train.yml"
    )
    parser.add_argument(
        "--minutes", type=positive, default=1.0, help="after which no more is tried (1)"
    )
    parser.add_argument(
        "--seconds",
        type=positive,
        default=2.0,
        help="that are measured of each choice, after as many to become warm (2)",
    )
    parser.add_argument(
        "--only",
        type=_settings,
        default=SETTINGS,
        metavar="NAME,NAME",
        help=f"which settings are tuned ({','.join(SETTINGS)})",
    )
    return parser.parse_known_args(arguments)


def _settings(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in SETTINGS:
            raise argparse.ArgumentTypeError(f"{name!r} is not tuned; {suggest(name, SETTINGS)}")
    return names


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _fail(error: BridgeError, status: int) -> int:
    _say(f"maple.tune: {error.in_one_line()}")
    return status
