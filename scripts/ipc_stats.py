#!/usr/bin/env python3
"""Measures the bridge at work, on its own battles or on a running server, and prints a report."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import uvloop
from rich.console import Console

from bridge.arguments import (
    OneLineParser,
    at_least_one,
    output_file,
    positive,
    warn_on_stderr,
)
from bridge.config import BridgeConfig, load_config
from bridge.errors import BridgeError
from bridge.throughput import (
    Interrupted,
    Report,
    Schedule,
    measure_battles,
    measure_server,
    onlooker_for,
    render,
    render_page,
    stop_on_signals,
    watcher_for,
)
from bridge.throughput.console import PLAIN_WIDTH
from bridge.workload import Workload

EPILOG = """\
examples:
  scripts/ipc_stats.py
      200 battles, 32 at a time, on 4 controllers
  scripts/ipc_stats.py --battles 1000 --pool 2 --rooms 256
      more rooms a controller: larger batches, longer waits
  scripts/ipc_stats.py --format gen1randombattle --html gen1.html
      another generation, and a page with charts
  scripts/ipc_stats.py --no-turbo
      the same with the simulator as it comes
  scripts/ipc_stats.py --attach http://127.0.0.1:8000
      watch `python -m bridge.serve` until Ctrl-C, then print the whole report
  scripts/ipc_stats.py --attach 127.0.0.1:8000 --duration 60 --json minute.json
      the same for a minute, and keep the figures

The figures cover the time from the first battle to the last, or while attached; warming up is not
in them. Ctrl-C ends a run early and prints what was measured so far. The exit status is 0 when all
went well, 1 after an error, 2 for wrong arguments, 130 for a run that was interrupted.
"""
POOL = 4
DEFAULTS = {"battles": 200, "rooms": 32, "format": "gen9randombattle", "seed": 0}
RUN_ONLY = (*DEFAULTS, "pool", "turbo", "config")
ATTACH_ONLY = ("duration", "count")


def main() -> int:
    options = parse_arguments()
    warn_on_stderr()
    output = Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)
    try:
        report = uvloop.run(measure(options, output))
    except BridgeError as error:
        return fail(error.in_one_line())
    except Interrupted:
        print("ipc_stats: interrupted before there was anything to report", file=sys.stderr)
        return 130
    output.print(render(report), highlight=False)
    try:
        write(options, report)
    except OSError as error:
        return fail(f"cannot write {error.filename}: {error.strerror}")
    if report.ending == "failed":
        return fail(report.failure or "it failed")
    return 130 if report.ending == "interrupted" else 0


async def measure(options: argparse.Namespace, output: Console) -> Report:
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    with stop_on_signals() as stop:
        if options.attach is not None:
            schedule = Schedule(options.interval, options.duration, options.count)
            with onlooker_for(output) as onlooker:
                return await measure_server(
                    options.attach, schedule, onlooker=onlooker, stop=stop, command=command
                )
        config = load_config(options.config) if options.config else BridgeConfig(pool=POOL)
        given = {name: getattr(options, name) for name in ("pool", "turbo")}
        config = config.replace(**{name: v for name, v in given.items() if v is not None})
        workload = Workload(options.battles, options.rooms, options.format, options.seed)
        with watcher_for(Console(stderr=True), workload.battles) as watcher:
            return await measure_battles(
                config,
                workload,
                watcher=watcher,
                stop=stop,
                interval=options.interval,
                command=command,
            )


def write(options: argparse.Namespace, report: Report) -> None:
    for path, text in ((options.json, Report.to_json), (options.html, render_page)):
        if path is not None:
            path.write_text(text(report), encoding="utf-8")
            print(f"wrote {path}", file=sys.stderr)


def fail(message: str) -> int:
    print(f"ipc_stats: {message}", file=sys.stderr)
    return 1


def parse_arguments() -> argparse.Namespace:
    parser = OneLineParser("ipc_stats", description=__doc__, epilog=EPILOG)
    run = parser.add_argument_group("battles to play")
    run.add_argument("--battles", type=at_least_one, help="how many (200)")
    run.add_argument("--rooms", type=at_least_one, help="how many at a time (32)")
    run.add_argument(
        "--pool",
        type=at_least_one,
        help="controllers to play them on (4; with --config what that says, or one a core)",
    )
    run.add_argument(
        "--turbo",
        action=argparse.BooleanOptionalAction,
        help="whether with the faster simulator, which is the default",
    )
    run.add_argument("--format", help="a format with random teams (gen9randombattle)")
    run.add_argument(
        "--seed", type=int, help="the seed of the first battle (0); the next has the next"
    )
    run.add_argument(
        "--config", type=Path, metavar="FILE", help="other settings of the pool, as YAML"
    )
    attach = parser.add_argument_group("a server to watch instead")
    attach.add_argument(
        "--attach", metavar="URL", help="its address, such as http://127.0.0.1:8000"
    )
    attach.add_argument("--duration", type=positive, metavar="SECONDS", help="end after this long")
    attach.add_argument("--count", type=at_least_one, help="end after so many intervals")
    shared = parser.add_argument_group("readings and results")
    shared.add_argument(
        "--interval",
        type=positive,
        default=2.0,
        metavar="SECONDS",
        help="time between two readings (2)",
    )
    shared.add_argument("--json", type=output_file, metavar="FILE", help="write the report as JSON")
    shared.add_argument(
        "--html", type=output_file, metavar="FILE", help="write it as a page with charts"
    )
    options = parser.parse_args()
    refuse_mixture(parser, options)
    for name, value in DEFAULTS.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def refuse_mixture(parser: OneLineParser, options: argparse.Namespace) -> None:
    attached = options.attach is not None
    for name in RUN_ONLY if attached else ATTACH_ONLY:
        value = getattr(options, name)
        if value is not None:
            option = f"--no-{name}" if value is False else f"--{name}"
            parser.error(f"{option} {'does not go with' if attached else 'needs'} --attach")


if __name__ == "__main__":
    sys.exit(main())
