#!/usr/bin/env python3
"""Measures where the time of PPO training goes, with turbo, without it, or both side by side."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from bridge.arguments import (
    OneLineParser,
    at_least_one,
    end_on_sigterm,
    not_negative,
    output_file,
    warn_on_stderr,
)
from bridge.errors import BridgeError, ConfigError
from maple.profiling import ProfilingError, get_profiler, load_profiling_config
from maple.profiling.training import (
    Measured,
    load_measured_config,
    measure_training,
    render,
    save_recordings,
)
from maple.train.config import TrainConfig
from maple.train.layout import lay_out
from maple.train.options import read_overrides
from maple.train.threads import set_environment, use_threads

EPILOG = """\
examples:
  scripts/profile_training_time.py --compare --batches 5
      turbo off and on, batch by batch in turn, and what of the difference is noise
  scripts/profile_training_time.py --compare --batches 5 --breakdown
      the same with data collection divided, down to the round trips to Node
  scripts/profile_training_time.py --turbo --batches 10
      one mode alone
  scripts/profile_training_time.py --no-turbo --batches 10 --opponents.mix random --parallel 256
      the simulator as it comes, against random players, in more battles
  scripts/profile_training_time.py --batches 5 --network.kind lstm --learning.minibatch 1024
      another network, smaller minibatches
  scripts/profile_training_time.py --batches 5 --breakdown --synchronous false
      decide for half of the agents at a time, so that Node plays the others meanwhile
  scripts/profile_training_time.py --compare --batches 5 --detailed
      then some more batches under cProfile, function by function

A batch is an update of the trainer, which plays and learns in one process, in turns. Before the
first that counts, all processes are warm and each mode has run two. What was recorded is written to
OUTPUT/raw, for `python -m maple.profiling.analyzer`. Ctrl-C, or SIGTERM, ends a run early and
prints what was measured so far. The exit status is 0 when all went well, 1 after an error, 2 for
wrong arguments, 130 for a run that was interrupted.
"""
MOST_DETAILED = 3
TRAINING = Path(__file__).parents[1] / "config" / "train.yml"


def main() -> int:
    options, settings = parse_arguments()
    warn_on_stderr()
    end_on_sigterm()
    try:
        config = load_measured_config(options.training, read_overrides(settings))
        configure(options)
        measured = measure(options, config)
    except ProfilingError as error:
        return fail(str(error))
    except ConfigError as error:
        return fail(error.in_one_line(), 2)
    except BridgeError as error:
        return fail(error.in_one_line())
    except KeyboardInterrupt:
        measured = None
    if measured is None or not measured.result.modes:
        say("profile_training_time: interrupted before there was anything to report")
        return 130
    print(render(measured.result, breakdown=options.breakdown), end="")
    try:
        write(options, measured)
    except OSError as error:
        return fail(f"cannot write {error.filename}: {error.strerror}")
    if measured.result.failure is not None:
        return fail(measured.result.failure)
    return 130 if measured.result.ending == "interrupted" else 0


def configure(options: argparse.Namespace) -> None:
    """Gives the profiler its settings, and sessions their folder."""
    if options.config is not None:
        config = load_profiling_config(options.config)
        if config.summary_every:
            say("live summaries are left out: every batch is told, and their time would be its own")
        get_profiler().configure(replace(config, summary_every=0))
    if options.output is None:
        options.output = make_folder(get_profiler().config.folder)


def measure(options: argparse.Namespace, config: TrainConfig) -> Measured:
    threads = lay_out(config).threads
    # Before torch is imported, which looks at it.
    set_environment(threads)
    use_threads(threads)
    return measure_training(
        config,
        (False, True) if options.compare else (options.turbo,),
        options.batches,
        warmup=options.warmup,
        profiled=min(options.batches, MOST_DETAILED) if options.detailed else 0,
        say=say,
        command=shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    )


def write(options: argparse.Namespace, measured: Measured) -> None:
    if options.json is not None:
        options.json.write_bytes(measured.result.to_json())
        say(f"wrote {options.json}")
    files = [str(file) for file in save_recordings(measured, options.output, say)]
    print("\nTo look further into what was recorded:")
    for file in files:
        print(f"  python -m maple.profiling.analyzer --input {shlex.quote(file)}")
    if len(files) == 2:
        print(f"  python -m maple.profiling.analyzer --compare {shlex.join(files)}")


def fail(message: str, status: int = 1) -> int:
    say(f"profile_training_time: {message}")
    return status


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def output_folder(text: str) -> Path:
    try:
        return make_folder(Path(text))
    except ProfilingError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_folder(path: Path) -> Path:
    """A folder that is there from now on: not when all work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProfilingError(f"{path} cannot be made: {error.strerror}") from error
    return path


def parse_arguments() -> tuple[argparse.Namespace, list[str]]:
    """What is measured and how, and the settings of training."""
    parser = OneLineParser("profile_training_time", description=__doc__, epilog=EPILOG)
    # A setting is not to be taken for the beginning of an option.
    parser.allow_abbrev = False
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--compare", action="store_true", help="turbo off and on, in turn, in one run"
    )
    modes.add_argument(
        "--turbo",
        action="store_true",
        default=True,
        help="with the faster simulator alone, which is the default",
    )
    modes.add_argument(
        "--no-turbo", dest="turbo", action="store_false", help="with the simulator as it comes"
    )
    shown = parser.add_argument_group("what is measured and shown")
    shown.add_argument(
        "--batches", type=at_least_one, default=5, help="batches of each mode that count (5)"
    )
    shown.add_argument("--breakdown", action="store_true", help="divide data collection too")
    shown.add_argument(
        "--detailed",
        action="store_true",
        help=f"up to {MOST_DETAILED} more batches of each mode under cProfile, and one whose trace "
        "has torch's own operations",
    )
    trained = parser.add_argument_group(
        "what is trained",
        "any setting of `python -m maple.train` that has an effect here, as its --help has them: "
        "--format, --opponents.mix, --parallel, --batch, --pool, --threads, --seed…",
    )
    trained.add_argument(
        "--training",
        type=Path,
        default=TRAINING,
        metavar="FILE",
        help="those that are not given (config/train.yml)",
    )
    trained.add_argument(
        "--warmup",
        type=not_negative,
        metavar="BATTLES",
        help="that each Node process plays before anything counts (as in the settings, or 200)",
    )
    results = parser.add_argument_group("results")
    results.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="categories, folder and other settings, as config/profiling.yml",
    )
    results.add_argument("--json", type=output_file, metavar="FILE", help="write the figures")
    results.add_argument(
        "--output",
        type=output_folder,
        metavar="FOLDER",
        help="for what was recorded, for cProfile and traces (logs/profiling, or as in --config)",
    )
    return parser.parse_known_args()


if __name__ == "__main__":
    sys.exit(main())
