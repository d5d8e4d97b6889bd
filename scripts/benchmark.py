#!/usr/bin/env python3
"""Measures the bridge beside what it replaces; the README quotes what this prints."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import sys

from rich.console import Console

from bridge.arguments import at_least_one, output_file
from bridge.benchmarks.machine import describe_machine, find_patches
from bridge.benchmarks.render import render
from bridge.benchmarks.rows import FULL, QUICK, Plan, patch_rows
from bridge.benchmarks.rows import ROWS as BRIDGE_ROWS
from bridge.benchmarks.run import TARGETS, Outcome, run, run_cold
from bridge.errors import BridgeError
from bridge.runtime import find_runtime
from maple.benchmarks.curve import curve_table, draw_curve
from maple.benchmarks.rows import ROWS as MAPLE_ROWS
from maple.benchmarks.targets import TARGETS as MAPLE_TARGETS
from maple.benchmarks.training_table import explain_training, training_table

ROWS = BRIDGE_ROWS | MAPLE_ROWS

EPILOG = """\
rows:
{rows}

further tables:
{tables}

Samples of the rows of a group are taken in turns; a comparison is the median of the ratios of
neighbouring samples. CPU time is counted beside wall time, because other work on the machine
disturbs it less.

examples:
  scripts/benchmark.py                      all but patches, more than an hour on two cores
  scripts/benchmark.py --quick              the same with fewer and shorter samples, 15 minutes
  scripts/benchmark.py --only simulator     what turbo gains in each generation, ten minutes
  scripts/benchmark.py --only training      how fast training is beside poke-env, 15 minutes
  scripts/benchmark.py --only limit,pool    what the bridge costs over the bare simulator
  scripts/benchmark.py --no-turbo           rows without turbo, unless they are about it
  scripts/benchmark.py --json bench.json    write rows, spreads and all samples beside the table
  scripts/benchmark.py --only curve,singles_env_showdown,showdown_websocket --chart curve.png
                                            draw the vector environment beside what it replaces
"""


TABLES = {
    "rows": "all of the above",
    "simulator": "the simulator by itself, vanilla beside turbo, all generations and doubles",
    "cold": "a controller from cold to its first answer, vanilla beside turbo",
    "curve": "the vector environment by how many battles it plays at a time",
    "training": "decisions/s, collection and updates together, beside poke-env's wrapper",
    "profiler": "what a `with profile(…)` costs, with the profiler off and on",
    "patches": "the simulator with the first patch of turbo, the first two, and so on",
}


def main() -> int:
    options = parse_arguments()
    console = Console(stderr=True, log_path=False)
    try:
        runtime = find_runtime(progress=console.log)
        patches = find_patches(runtime)
    except BridgeError as error:
        return fail(error)
    rows = {name: spec for name, spec in ROWS.items() if {name, spec.table} & set(options.only)}
    if "patches" in options.only:
        rows |= patch_rows([patch.name for patch in patches if patch.on])
    machine = describe_machine(runtime, patches)
    outcome = Outcome(machine, plan_of(options), rows, (*TARGETS, *MAPLE_TARGETS))
    status = 0
    try:
        if "cold" in options.only:
            run_cold(outcome, runtime, console.log)
        run(outcome, runtime, console.log)
    except KeyboardInterrupt:
        print("benchmark: interrupted; this is what was measured until now", file=sys.stderr)
        status = 130
    # A file or a pipe has no width, and a table that is wrapped there cannot be quoted.
    page = Console(width=None if sys.stdout.isatty() else 180)
    render(outcome, page)
    if table := curve_table(outcome):
        page.print("a policy in both seats, by number of environments", table, sep="\n")
    if table := training_table(outcome):
        page.print(
            "training, collection and updates together", *explain_training(outcome), sep="\n"
        )
        page.print(table)
    for failure in outcome.failures:
        status = fail(failure)
    if options.json is not None:
        try:
            options.json.write_text(json.dumps(outcome.as_data(), indent=2) + "\n", "utf-8")
        except OSError as error:
            status = fail(f"cannot write {options.json}: {error.strerror}")
    if options.chart is not None:
        try:
            draw_curve(outcome, options.chart)
        except (OSError, ImportError, ValueError) as error:
            status = fail(f"cannot draw {options.chart}: {error}")
    return status


def plan_of(options: argparse.Namespace) -> Plan:
    given = {
        "repeats": ("repeats", "fine_repeats", "simulator_repeats", "cold_samples"),
        "battles": ("battles", "fine_battles", "simulator_battles"),
        "warmup": ("warmup", "simulator_warmup"),
        **{name: (name,) for name in ("turbo", "pool", "rooms", "format")},
    }
    changes = {
        name: getattr(options, option)
        for option, names in given.items()
        for name in names
        if getattr(options, option) is not None
    }
    return dataclasses.replace(QUICK if options.quick else FULL, **changes)


def fail(reason: object) -> int:
    print(f"benchmark: {reason}", file=sys.stderr)
    return 1


def parse_arguments() -> argparse.Namespace:
    described = {name: spec.description for name, spec in ROWS.items() if spec.table == "rows"}
    rows, tables = (
        "\n".join(f"  {name:22} {text}" for name, text in texts.items())
        for texts in (described, TABLES)
    )
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EPILOG.format(rows=rows, tables=tables),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        type=row_names,
        default=["rows", "simulator", "cold", "curve", "training", "profiler"],
        metavar="ROW,ROW",
        help="measure these rows or tables and no others; "
        "FORMAT and FORMAT_vanilla are rows of the simulator's",
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    parser.add_argument(
        "--json", type=output_file, metavar="FILE", help="write all figures as JSON"
    )
    parser.add_argument(
        "--chart", type=output_file, metavar="FILE.png", help="draw the curve as a picture"
    )
    parser.add_argument(
        "--repeats",
        type=at_least_one,
        help=f"samples of each row ({FULL.repeats}; {FULL.fine_repeats} where rows are close; "
        f"{FULL.simulator_repeats} of the simulator's)",
    )
    parser.add_argument(
        "--battles",
        type=at_least_one,
        help=f"battles in a sample ({FULL.battles}; {FULL.fine_battles} where rows are close; "
        f"{FULL.simulator_battles} of the simulator's)",
    )
    parser.add_argument(
        "--warmup",
        type=at_least_one,
        help=f"battles of each Node process before the first sample ({FULL.warmup}; "
        f"{FULL.simulator_warmup} of the simulator's)",
    )
    parser.add_argument(
        "--turbo",
        action=argparse.BooleanOptionalAction,
        help="whether rows that do not say so themselves run with turbo, which is the default",
    )
    parser.add_argument("--pool", type=at_least_one, help="controllers of the pool (one per core)")
    parser.add_argument(
        "--rooms", type=at_least_one, help=f"battles in flight on the pool ({FULL.rooms})"
    )
    parser.add_argument("--format", help=f"a format with random teams ({FULL.format})")
    options = parser.parse_args()
    if options.chart is not None:
        if "curve" not in options.only:
            parser.error("--chart draws the curve, which --only leaves out")
        if importlib.util.find_spec("matplotlib") is None:
            parser.error("--chart needs matplotlib: pip install 'maple[charts]'")
        if options.chart.suffix != ".png":
            parser.error(f"--chart draws a PNG, which {options.chart} is not by its name")
    return options


def row_names(text: str) -> list[str]:
    names = text.split(",")
    known = [*TABLES, *ROWS]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"no row {name!r}; there are {', '.join(known)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
