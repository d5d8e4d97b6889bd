"""The command line that explains sessions: `python -m maple.profiling.analyzer --input FILE`."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bridge.arguments import OneLineParser, output_file
from bridge.errors import BridgeError

from .analysis import analyse, only
from .comparison import compare
from .config import ProfilingConfig, load_profiling_config
from .errors import NothingRecorded, ProfilingError
from .findings import find
from .renderers.charts import draw_charts
from .renderers.detailed import render_detailed
from .renderers.page import render_page
from .renderers.side_by_side import render_comparison, render_csv
from .renderers.text import render_analysis
from .renderers.trace import render_trace
from .session import doubts, load_session, merge_sessions

__all__ = ["main"]

EPILOG = """\
examples:
  python -m maple.profiling.analyzer --input logs/profiling/raw/first_20260101_120000.json
      bottlenecks, what removing them could gain, and what to try
  python -m maple.profiling.analyzer --input FILE --html report.html --charts performance.png
      the same to look at
  python -m maple.profiling.analyzer --input FILE --trace trace.json
      every call on a time line: open it at https://ui.perfetto.dev, or in speedscope
  python -m maple.profiling.analyzer --input FILE --operation env_step
      one operation alone
  python -m maple.profiling.analyzer --compare BEFORE AFTER --csv compared.csv
      two sessions side by side: better, worse, or within noise

Several files after --input are parts of one run, as of workers, and are put together. The exit
status is 0, or 1 for a file that cannot be read or written, or 2 for wrong arguments.
"""


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    try:
        config = load_profiling_config(options.config) if options.config else None
        if options.compare:
            _compare(options, config)
        else:
            _analyse(options, config)
    except (ProfilingError, BridgeError) as error:
        _say(f"analyzer: {error}")
        return 1
    return 0


def _analyse(options: argparse.Namespace, config: ProfilingConfig | None) -> None:
    sessions = [load_session(file) for file in options.input]
    session = merge_sessions(sessions)
    for doubt in doubts(sessions):
        _say(f"analyzer: {doubt}")
    analysis = analyse(session, config)
    if not analysis.rows:
        raise NothingRecorded(f"{options.input[0]} holds no operation: was the profiler enabled?")
    findings = find(analysis)
    if options.operation is not None:
        analysis = only(analysis, options.operation)
        findings = findings.about(analysis)
    _write(options.output, render_analysis(analysis, findings))
    if options.detailed is not None:
        _write(options.detailed, render_detailed(analysis, findings))
    if options.html is not None:
        _write(options.html, render_page(analysis, findings))
    if options.trace is not None:
        _write(options.trace, render_trace(session))
    if options.charts is not None:
        with _writing(str(options.charts)):
            draw_charts(analysis, findings, options.charts)
        _say(f"wrote {options.charts}")


def _compare(options: argparse.Namespace, config: ProfilingConfig | None) -> None:
    first, second = (analyse(load_session(file), config) for file in options.compare)
    if options.operation is not None:
        first, second = only(first, options.operation), only(second, options.operation)
    comparison = compare(first, second)
    _write(options.output, render_comparison(comparison))
    if options.csv is not None:
        _write(options.csv, render_csv(comparison))


def _write(file: Path | None, text: str | bytes) -> None:
    """To the file, or else where people look."""
    data = text.encode() if isinstance(text, str) else text
    if file is None:
        with _writing("to the screen"):
            _show(data)
    else:
        with _writing(str(file)):
            file.write_bytes(data)
        _say(f"wrote {file}")


def _show(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError as error:
        # Python writes what is left when it ends, and would fail once more.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise
        # Who has read it, as `head`, has seen enough: that is no failure.


@contextlib.contextmanager
def _writing(where: str) -> Iterator[None]:
    """Failures name where it was, which those of the system do not always do."""
    try:
        yield
    except OSError as error:
        raise ProfilingError(f"cannot write {where}: {error.strerror or error}") from error


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(line, file=sys.stderr)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = OneLineParser("analyzer", description=__doc__, epilog=EPILOG)
    parser.prog = "python -m maple.profiling.analyzer"
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--input", type=Path, nargs="+", metavar="FILE", help="a session, or all parts of one"
    )
    what.add_argument(
        "--compare", type=Path, nargs=2, metavar=("FIRST", "SECOND"), help="two sessions"
    )
    parser.add_argument(
        "--output", type=output_file, metavar="FILE", help="write the text here, not to the screen"
    )
    of_one = parser.add_argument_group("with --input")
    of_one.add_argument(
        "--charts", type=output_file, metavar="FILE.png", help="draw it as a picture"
    )
    of_one.add_argument(
        "--detailed", type=output_file, metavar="FILE", help="write all conclusions as JSON"
    )
    of_one.add_argument(
        "--html", type=output_file, metavar="FILE", help="write it as a page to look around in"
    )
    of_one.add_argument(
        "--trace", type=output_file, metavar="FILE", help="write the calls as a trace for Perfetto"
    )
    of_two = parser.add_argument_group("with --compare")
    of_two.add_argument("--csv", type=output_file, metavar="FILE", help="write the rows as CSV")
    parser.add_argument(
        "--operation", metavar="NAME", help="only this operation, and what is in it"
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="other categories, as config/profiling.yml"
    )
    options = parser.parse_args(arguments)
    for name in ("charts", "detailed", "html", "trace") if options.compare else ("csv",):
        if getattr(options, name) is not None:
            parser.error(f"--{name} goes with --{'input' if options.compare else 'compare'}")
    if options.trace is not None and options.operation is not None:
        parser.error("--trace draws all operations: leave out --operation")
    _refuse_mistakes(parser, options)
    if options.charts is not None and importlib.util.find_spec("matplotlib") is None:
        parser.error("--charts needs matplotlib: pip install 'maple[charts]'")
    return options


def _refuse_mistakes(parser: OneLineParser, options: argparse.Namespace) -> None:
    """What would be lost: a recording that is written over, one result by another."""
    names = ("output", "charts", "detailed", "html", "trace", "csv")
    taken = {file.resolve() for file in options.input or options.compare}
    for name in names:
        file = getattr(options, name)
        if file is None:
            continue
        if file.resolve() in taken:
            parser.error(f"--{name} would write over {file}")
        taken.add(file.resolve())
    if options.charts is not None and options.charts.suffix != ".png":
        parser.error(f"--charts draws a PNG, which {options.charts} is not by its name")


if __name__ == "__main__":
    sys.exit(main())
