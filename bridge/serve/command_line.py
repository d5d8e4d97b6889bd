"""The command line of `python -m bridge.serve`: options, their help, and how its failures read."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, Final, NoReturn, get_type_hints

import docstring_parser

from ..config import BridgeConfig, load_config
from ..errors import BridgeError, ConfigError
from ..runtime import find_node
from ..settings import suggest
from . import logs
from .access import Access
from .display import TerminalDisplay, choose_display
from .server import bind, require_token_off_loopback, serve

__all__ = ["Options", "main", "parse"]

_DESCRIPTION: Final = """\
Keep a pool of warm Pokémon Showdown simulators, let scripts play in it, and show how
it is doing.

Scripts that were written for a local Pokémon Showdown server, such as poke-env's with
its LocalhostServerConfiguration, play here unchanged:

  ws://localhost:8000/showdown/websocket

Any name is theirs who asks for it first, with any password or none. Other machines are
let in only with a token: --host 0.0.0.0 --token TOKEN, and ?token=TOKEN in their URL.

On a terminal the status is a live table, elsewhere a log line every few seconds.
Both go to stderr. The same figures are served over HTTP:

  /healthz    200 when battles can be opened, 503 while the pool starts or stops
  /metrics    for Prometheus
  /api/stats  all figures, the settings and versions, as JSON

Ctrl-C or SIGTERM ends it: battles that are being played may end (--drain-timeout),
then every process is stopped, and the exit status is 0. A second one does not wait.
The exit status is 1 if the pool cannot be kept up or the port is taken, and 2 if an
option or the settings file is wrong.
"""
_EXAMPLES: Final = """\
examples:
  python -m bridge.serve --pool 8
  python -m bridge.serve --config config/bridge.yml --port 9000
  python -m bridge.serve --no-turbo                  # the simulator as it comes
  python -m bridge.serve --node-arguments=--heapsnapshot-signal=SIGUSR2  # kill -USR2 PID
  MAPLE_TOKEN=secret python -m bridge.serve --host 0.0.0.0  # for other machines, which use
                             # ws://ADDRESS:8000/showdown/websocket?token=secret
  curl -fsS --retry 60 --retry-all-errors http://127.0.0.1:8000/healthz   # waits for it
"""
_USAGE_ERROR: Final = 2
_FAILURE: Final = 1
_METAVARS: Final = {
    "node": "PATH",
    "node_arguments": "ARGUMENTS",
    "cache_folder": "FOLDER",
    "warmup_format": "FORMAT",
    "recycle_jitter": "SHARE",
    "poison_folder": "FOLDER",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    config: BridgeConfig
    host: str
    port: int
    status_interval: float | None
    access: Access


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is told to end. A pool that was asked to end and did so has not failed: 0."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        display = choose_display(options.status_interval)
        logs.configure(terminal=isinstance(display, TerminalDisplay))
        with (
            bind(options.host, options.port) as listener,
            asyncio.Runner(loop_factory=_loop_factory()) as runner,
        ):
            require_token_off_loopback(listener, options.access.token)
            # The registry looks again; a Node that does not run is to be all that one reads.
            find_node(options.config.node)
            runner.run(serve(options.config, listener, display, options.access))
    except ConfigError as error:
        return _complain(error, _USAGE_ERROR)
    except BridgeError as error:
        return _complain(error, _FAILURE)
    except KeyboardInterrupt:
        # Before the loop could catch it, so before anything was started.
        return 0
    return 0


def parse(arguments: Sequence[str]) -> Options:
    """Reads the command line; a setting that is given there wins over the one in the file."""
    given, unknown = _build_parser().parse_known_args(arguments)
    named = vars(given)
    if unknown:
        _refuse(unknown[0], known=[*named, *(f.name for f in fields(BridgeConfig))])
    settings = {f.name: named[f.name] for f in fields(BridgeConfig) if f.name in named}
    config = BridgeConfig() if given.config is None else load_config(given.config)
    return Options(
        config=config.replace(**settings) if settings else config,
        host=given.host,
        port=given.port,
        status_interval=given.status_interval,
        access=Access(
            token=given.token,
            max_connections=given.max_connections,
            max_connections_per_address=given.max_connections_per_address,
        ),
    )


class _Parser(ArgumentParser):
    """A parser whose complaints are one line; thirty options make a usage that hides them."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


def _build_parser() -> ArgumentParser:
    parser = _Parser(
        prog="python -m bridge.serve",
        usage="%(prog)s [--pool N] [--config FILE] [option ...]",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    serving = parser.add_argument_group("serving")
    serving.add_argument(
        "--host",
        default="127.0.0.1",
        help="Address to serve at (default: %(default)s, which other machines cannot reach; any "
        "other takes a --token).",
    )
    serving.add_argument(
        "--port",
        type=_port,
        default=8000,
        metavar="N",
        help="Port to serve at; 0 for a free one, which the log names. (default: %(default)s)",
    )
    serving.add_argument(
        "--token",
        default=os.environ.get("MAPLE_TOKEN") or None,
        help="What clients have to know: ?token=TOKEN in a URL, or the header 'Authorization: "
        "Bearer TOKEN'. Only /healthz answers without. (default: MAPLE_TOKEN in the environment, "
        "where other users of this machine do not see it, or none)",
    )
    for scope, text in (("", "in all"), ("_per_address", "from one address")):
        name = f"max_connections{scope}"
        serving.add_argument(
            _flag(name),
            type=int,
            default=getattr(Access(), name),
            metavar="N",
            help=f"WebSocket connections {text}. (default: %(default)s)",
        )
    serving.add_argument(
        "--status-interval",
        type=_seconds,
        metavar="SECONDS",
        help="Seconds between two looks at the pool. (default: 1 on a terminal, 10 elsewhere)",
    )
    serving.add_argument(
        "--config",
        metavar="FILE",
        help="YAML file with settings of the pool, such as config/bridge.yml. What is given on the "
        "command line wins over it.",
    )
    pool = parser.add_argument_group("settings of the pool")
    types = get_type_hints(BridgeConfig)
    texts = _setting_texts()
    for setting in fields(BridgeConfig):
        name = setting.name
        pool.add_argument(_flag(name), **_argument(setting, types[name], texts[name]))
    return parser


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _setting_texts() -> dict[str, str]:
    """What the docstring of the settings says of each."""
    documented = docstring_parser.parse(BridgeConfig.__doc__ or "").params
    return {each.arg_name: " ".join((each.description or "").split()) for each in documented}


def _argument(setting: Field[Any], kind: object, text: str) -> dict[str, Any]:
    default = _default(setting)
    shown = "" if default in (None, ()) else f" (default: {default})"
    text = text.replace("%", "%%")
    common = {"dest": setting.name, "default": SUPPRESS}
    if kind is bool:
        return common | {"action": BooleanOptionalAction, "help": f"{text}{shown}"}
    convert: Callable[[str], object] = str
    metavar = "TEXT"
    if kind is int:
        convert, metavar = int, "N"
    elif kind is float:
        convert, metavar = float, "SECONDS"
    elif kind in (Path, Path | None):
        convert = Path
    elif kind == tuple[str, ...]:
        convert = shlex.split
    return common | {
        "type": convert,
        "metavar": _METAVARS.get(setting.name, metavar),
        "help": f"{text}{shown}",
    }


def _default(setting: Field[Any]) -> object:
    if setting.default_factory is not MISSING:
        return setting.default_factory()
    return setting.default


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: a number from 0 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a time: a number of seconds above 0")
    return seconds


def _refuse(unknown: str, *, known: Sequence[str]) -> NoReturn:
    name = unknown.partition("=")[0]
    if not name.startswith("-"):
        raise ConfigError(f"unexpected argument {name!r}; every option starts with --")
    raise ConfigError(f"unknown option {name}; {suggest(name, [*map(_flag, known)])}")


def _complain(error: BridgeError, status: int) -> int:
    """One line, and below it what a process that died had to say."""
    detail = error.stderr.rstrip()
    first = str(error).removesuffix(detail)
    print(f"error: {' '.join(first.split())}", file=sys.stderr)
    if detail:
        print(detail, file=sys.stderr)
    return status


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one; asyncio's own loop serves as well, more slowly."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
