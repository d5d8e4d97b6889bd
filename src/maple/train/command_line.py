"""`python -m maple.train`: reads settings, trains, and says what was done and how to go on.

Torch is imported only when it is known how many threads it gets.
"""

from __future__ import annotations

import shlex
import sys
import textwrap
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from bridge.arguments import OneLineParser
from bridge.errors import BattleRejected, BridgeError, ConfigError
from bridge.throughput.quantities import number
from maple.agents.errors import CheckpointMismatch, CheckpointUnreadable

from .config import TrainConfig, load_train_config, read_train_config
from .display import Display, clock_time
from .errors import RunNotFound, RunUnusable
from .layout import Layout, lay_out
from .options import describe_settings, read_overrides
from .run_folder import RunFolder
from .threads import set_environment

if TYPE_CHECKING:
    from maple.agents import Checkpoint

    from .stage import Stage
    from .trainer import Trainer

__all__ = ["main"]

_DESCRIPTION: Final = """\
Trains an agent. Ctrl-C saves, and says how to go on.

  python -m maple.train --config config/train.yml
  python -m maple.train --config config/train.yml --episodes 500 --parallel 16 --name first
  python -m maple.train --resume runs/first --episodes 1000

Every setting of the YAML file can be given on the command line, where it counts more:
"""
_EPILOG: Final = """\
A run is a folder: its settings, log, figures (metrics.csv, and for `tensorboard --logdir`),
checkpoints, replays, profile. `python -m maple.evaluate RUN` measures what it has learned. The exit
status is 0 for a run that came to its end, 1 after an error, 2 for wrong settings, 130 for one that
was interrupted.
"""
_INTERRUPTED: Final = 130
# Errors of whoever gave the settings.
_MISTAKES: Final = (
    *(ConfigError, BattleRejected, CheckpointMismatch, CheckpointUnreadable),
    *(RunNotFound, RunUnusable),
)


def main(arguments: Sequence[str] | None = None) -> int:
    options, overrides = _parse(arguments)
    console = Console(stderr=True)
    try:
        given = read_overrides(overrides)
        if options.resume is not None:
            _refuse_names(given)
            folder = RunFolder.find(options.resume)
            config = folder.read_config(given)
        else:
            config = (
                read_train_config({}, given)
                if options.config is None
                else load_train_config(options.config, given)
            )
            folder = None
    except BridgeError as error:
        return _fail(error)
    layout = lay_out(config)
    set_environment(layout.threads)
    try:
        return _train(config, layout, folder, console)
    except BridgeError as error:
        return _fail(error)
    except KeyboardInterrupt:
        print("maple.train: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _train(config: TrainConfig, layout: Layout, resumed: RunFolder | None, console: Console) -> int:
    from maple.agents import load_checkpoint

    from .opponents import check_opponents
    from .stage import set_stage
    from .threads import use_threads
    from .trainer import choose_device

    use_threads(layout.threads)
    checkpoint = None if resumed is None else load_checkpoint(resumed.latest)
    # What is wrong is told before there is a folder.
    choose_device(config.device)
    stage = set_stage(config)
    check_opponents(config, stage.observations)
    folder = RunFolder.create(config) if resumed is None else resumed
    with folder.hold(), Display(console) as display:
        display.say(f"{folder.path}: {layout}")
        try:
            return _run(config, stage, layout, folder, checkpoint, display)
        except KeyboardInterrupt:
            display.say(f"to go on from the last checkpoint: {_resume(folder)}")
            raise


def _run(
    config: TrainConfig,
    stage: Stage,
    layout: Layout,
    folder: RunFolder,
    checkpoint: Checkpoint | None,
    display: Display,
) -> int:
    from .interruption import Interruption
    from .run_log import logging_to
    from .trainer import Ending, Trainer

    with (
        logging_to(folder.log, display.say),
        _profiled(config, folder, display),
        Interruption() as interruption,
    ):
        trainer = Trainer(config, stage, layout, folder, checkpoint=checkpoint, show=display.show)
        if checkpoint is not None:
            _go_on(config, trainer, folder, display)
        try:
            ending = trainer.run(interruption)
        finally:
            trainer.close()
    display.close()
    _draw(config, folder, display)
    _tell(config, trainer, folder, display, is_complete=ending is Ending.COMPLETE)
    if ending is Ending.INTERRUPTED:
        return _INTERRUPTED
    if config.evaluation.battles:
        _evaluate(config, trainer, folder, display)
    return 0 if trainer.is_saved else 1


def _go_on(config: TrainConfig, trainer: Trainer, folder: RunFolder, display: Display) -> None:
    counters = trainer.counters
    display.say(
        f"it goes on from update {number(counters.updates)}, after {clock_time(counters.seconds)} "
        f"and {number(counters.decisions)} decisions"
    )
    # Who goes on once more goes on with these settings.
    folder.write_config(config)


def _tell(
    config: TrainConfig,
    trainer: Trainer,
    folder: RunFolder,
    display: Display,
    *,
    is_complete: bool,
) -> None:
    counters = trainer.counters
    display.say(
        f"{number(counters.decisions)} decisions of {number(counters.battles)} battles in "
        f"{clock_time(counters.seconds)}, {number(counters.updates)} updates"
    )
    if not trainer.is_saved:
        lost = counters.updates - (trainer.saved or 0)
        display.say(f"the last {number(lost)} updates are in no checkpoint, and are done again")
    display.say(f"to go on:   {_resume(folder)}{_longer(config) if is_complete else ''}")
    teams = folder.read_config({}).teams
    wanted = "" if teams is None else f" --teams {shlex.quote(teams)}"
    display.say(f"to measure: python -m maple.evaluate {shlex.quote(str(folder.path))}{wanted}")


def _resume(folder: RunFolder) -> str:
    return f"python -m maple.train --resume {shlex.quote(str(folder.path))}"


def _longer(config: TrainConfig) -> str:
    """Twice as long as it was, for one that has come to its end."""
    ends = ("minutes", "decisions", "episodes")
    return "".join(
        f" --{name} {2 * value:g}" if isinstance(value, float) else f" --{name} {2 * value}"
        for name in ends
        if (value := getattr(config, name)) is not None
    )


def _draw(config: TrainConfig, folder: RunFolder, display: Display) -> None:
    from .curves import draw_curves

    title = f"{folder.path.name}: {config.format}, {config.network.kind}, {config.opponents.mix}"
    try:
        if draw_curves(folder.metrics, folder.curves, title):
            display.say(f"how it went: {folder.curves}")
    except OSError as error:
        display.say(f"its curves are not drawn: {error.strerror}")


def _evaluate(config: TrainConfig, trainer: Trainer, folder: RunFolder, display: Display) -> None:
    """The battles after the last update; the run is whole without them."""
    from .last_battles import play_last_battles

    play_last_battles(config, trainer, folder, display.say)


@contextmanager
def _profiled(config: TrainConfig, folder: RunFolder, display: Display) -> Iterator[None]:
    """Records where the time goes, if that is wanted; also of a run that is interrupted."""
    if not config.profile:
        yield
        return
    from maple.profiling import get_profiler

    profiler = get_profiler()
    profiler.enable()
    try:
        yield
    finally:
        profiler.disable()
        saved = profiler.save(config.profile_name or folder.path.name, folder.profile)
        display.say(f"where the time went: {saved.report}")


def _parse(arguments: Sequence[str] | None) -> tuple[Namespace, list[str]]:
    parser = OneLineParser("maple.train", description=_DESCRIPTION + _settings(), epilog=_EPILOG)
    parser.usage = "python -m maple.train (--config FILE | --resume RUN) [--setting value …]"
    begun = parser.add_mutually_exclusive_group()
    begun.add_argument("--config", type=Path, metavar="FILE", help="settings, as config/train.yml")
    begun.add_argument(
        "--resume", type=Path, metavar="RUN", help="the folder of a run that is to go on"
    )
    return parser.parse_known_args(arguments)


def _refuse_names(given: Mapping[str, Any]) -> None:
    for name in ("name", "folder"):
        if name in given:
            raise ConfigError(f"--{name} changes nothing: a run goes on in the folder that it has")


def _settings() -> str:
    """What all settings mean, for --help."""
    lines = []
    for name, text in describe_settings():
        lines.append(f"  {name}")
        lines += textwrap.wrap(text, 90, initial_indent="      ", subsequent_indent="      ")
    return "\n".join(lines)


def _fail(error: BridgeError) -> int:
    print(f"maple.train: {error.in_one_line()}", file=sys.stderr)
    return 2 if isinstance(error, _MISTAKES) else 1
