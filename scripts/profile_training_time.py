#!/usr/bin/env python3
"""Measures where the time of PPO training goes, with turbo, without it, or both side by side."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import torch

from bridge import BridgeConfig
from bridge.arguments import (
    OneLineParser,
    at_least_one,
    not_negative,
    output_file,
    warn_on_stderr,
)
from bridge.errors import BridgeError
from bridge.machine import cpu_count
from maple.profiling import ProfilingError, get_profiler, load_profiling_config
from maple.profiling.training import (
    Measured,
    OpponentName,
    PPOConfig,
    default_threads,
    measure_training,
    render,
    save_recordings,
)

EPILOG = """\
examples:
  scripts/profile_training_time.py --compare --batches 5
      turbo off and on, batch by batch in turn, and what of the difference is noise
  scripts/profile_training_time.py --compare --batches 5 --breakdown
      the same with data collection divided, down to the round trips to Node
  scripts/profile_training_time.py --turbo --batches 10
      one mode alone
  scripts/profile_training_time.py --no-turbo --batches 10 --opponent random --num-envs 128
      the simulator as it comes, against random players, in more battles
  scripts/profile_training_time.py --batches 5 --breakdown --batch-size 64
      decide for half of the agents at a time, so that Node plays the others meanwhile
  scripts/profile_training_time.py --compare --batches 5 --detailed
      then some more batches under cProfile, function by function

A batch collects steps × agents decisions and learns from them. Before the first that counts, all
processes are warm and each mode has run two. What was recorded is written to OUTPUT/raw, for
`python -m maple.profiling.analyzer`. Ctrl-C, or SIGTERM, ends a run early and prints what was
measured so far. The exit status is 0 when all went well, 1 after an error, 2 for wrong arguments,
130 for a run that was interrupted.
"""
MOST_DETAILED = 3
DEFAULTS = PPOConfig()
COUNTS = {
    "num_envs": "battles at a time",
    "steps": "decisions of an agent in a batch, on average",
    "epochs": "how often an update goes through a batch",
    "minibatch_size": "decisions to a step of the optimizer",
    "hidden": "width of the network",
}
SETTINGS = ("format", "opponent", "seed", "batch_size", *COUNTS)


def main() -> int:
    options = parse_arguments()
    warn_on_stderr()
    # Who ends it by a time limit, as `timeout` does, wants what was measured as well.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        configure(options)
        measured = measure(options)
    except ProfilingError as error:
        return fail(str(error))
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


def measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(options.threads or default_threads(cpu_count(), options.pool))
    return measure_training(
        PPOConfig(**{name: getattr(options, name) for name in SETTINGS}),
        (False, True) if options.compare else (options.turbo,),
        options.batches,
        bridge=BridgeConfig(pool=options.pool, warmup_battles=options.warmup),
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


def fail(message: str) -> int:
    say(f"profile_training_time: {message}")
    return 1


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


def parse_arguments() -> argparse.Namespace:
    parser = OneLineParser("profile_training_time", description=__doc__, epilog=EPILOG)
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
    played = parser.add_argument_group("what is played and learned")
    played.add_argument(
        "--format", default=DEFAULTS.format, help=f"singles with random teams ({DEFAULTS.format})"
    )
    played.add_argument(
        "--opponent",
        choices=get_args(OpponentName),
        default=DEFAULTS.opponent,
        help=f"who has the other seat ({DEFAULTS.opponent})",
    )
    played.add_argument("--seed", type=int, default=DEFAULTS.seed, help=f"({DEFAULTS.seed})")
    for name, meaning in COUNTS.items():
        default = getattr(DEFAULTS, name)
        option = f"--{name.replace('_', '-')}"
        played.add_argument(
            option, type=at_least_one, default=default, help=f"{meaning} ({default})"
        )
    played.add_argument(
        "--batch-size",
        type=at_least_one,
        help="agents to decide for at a time (all; with fewer, modes do not play the same battles)",
    )
    machine = parser.add_argument_group("the machine")
    machine.add_argument(
        "--pool", type=at_least_one, help="Node processes of each mode (one for each core)"
    )
    machine.add_argument(
        "--threads", type=at_least_one, help="of torch (the cores that Node leaves, at least 1)"
    )
    machine.add_argument(
        "--warmup",
        type=not_negative,
        default=BridgeConfig().warmup_battles,
        metavar="BATTLES",
        help="that each Node process plays before anything counts (%(default)s)",
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
    options = parser.parse_args()
    if options.pool is None:
        options.pool = min(cpu_count(), options.num_envs)
    return options


if __name__ == "__main__":
    sys.exit(main())
