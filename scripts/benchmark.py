#!/usr/bin/env python3
"""Measures the bridge beside what it replaces; the README quotes what this prints."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from rich.console import Console

from bridge.arguments import at_least_one, output_file
from bridge.benchmarks.machine import describe_machine
from bridge.benchmarks.render import render
from bridge.benchmarks.rows import FULL, QUICK, ROWS
from bridge.benchmarks.run import Outcome, run
from bridge.errors import BridgeError
from bridge.runtime import find_runtime

EPILOG = """\
rows:
{rows}

Samples of the rows of a group are taken in turns; a comparison is the median of the ratios of
neighbouring samples. CPU time is counted beside wall time, because other work on the machine
disturbs it less.

examples:
  scripts/benchmark.py                      everything, about three quarters of an hour on two cores
  scripts/benchmark.py --quick              the same with fewer and shorter samples, a few minutes
  scripts/benchmark.py --only limit,pool    what the bridge costs over the bare simulator
  scripts/benchmark.py --json bench.json    write rows, spreads and all samples beside the table
"""


def main() -> int:
    options = parse_arguments()
    plan = QUICK if options.quick else FULL
    changes = {
        name: getattr(options, name)
        for name in ("repeats", "battles", "warmup", "pool", "rooms", "format")
        if getattr(options, name) is not None
    }
    if options.repeats is not None:
        changes["fine_repeats"] = options.repeats
    if options.battles is not None:
        changes["fine_battles"] = options.battles
    console = Console(stderr=True, log_path=False)
    try:
        runtime = find_runtime(progress=console.log)
    except BridgeError as error:
        return fail(error)
    rows = {name: spec for name, spec in ROWS.items() if name in options.only}
    outcome = Outcome(describe_machine(runtime), dataclasses.replace(plan, **changes), rows)
    status = 0
    try:
        run(outcome, runtime, console.log)
    except KeyboardInterrupt:
        print("benchmark: interrupted; this is what was measured until now", file=sys.stderr)
        status = 130
    # A file or a pipe has no width, and a table that is wrapped there cannot be quoted.
    render(outcome, Console(width=None if sys.stdout.isatty() else 180))
    for failure in outcome.failures:
        status = fail(failure)
    if options.json is not None:
        try:
            options.json.write_text(json.dumps(outcome.as_data(), indent=2) + "\n", "utf-8")
        except OSError as error:
            status = fail(f"cannot write {options.json}: {error.strerror}")
    return status


def fail(reason: object) -> int:
    print(f"benchmark: {reason}", file=sys.stderr)
    return 1


def parse_arguments() -> argparse.Namespace:
    rows = "\n".join(f"  {name:20} {spec.description}" for name, spec in ROWS.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EPILOG.format(rows=rows),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        type=row_names,
        default=list(ROWS),
        metavar="ROW,ROW",
        help="measure these rows and no others",
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="write all figures as JSON"
    )
    parser.add_argument(
        "--repeats",
        type=at_least_one,
        help=f"samples of each row ({FULL.repeats}; {FULL.fine_repeats} where rows are close)",
    )
    parser.add_argument(
        "--battles",
        type=at_least_one,
        help=f"battles in a sample ({FULL.battles}; {FULL.fine_battles} where rows are close)",
    )
    parser.add_argument(
        "--warmup",
        type=at_least_one,
        help=f"battles of each Node process before the first sample ({FULL.warmup})",
    )
    parser.add_argument("--pool", type=at_least_one, help="controllers of the pool (one per core)")
    parser.add_argument(
        "--rooms", type=at_least_one, help=f"battles in flight on the pool ({FULL.rooms})"
    )
    parser.add_argument("--format", help=f"a format with random teams ({FULL.format})")
    return parser.parse_args()


def row_names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in ROWS:
            raise argparse.ArgumentTypeError(f"no row {name!r}; there are {', '.join(ROWS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
