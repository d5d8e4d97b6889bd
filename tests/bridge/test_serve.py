"""`python -m bridge.serve` as users meet it: endpoints, status, how it ends and how it fails."""

from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus_text
from rich.console import Console

from bridge import BridgeConfig, ControllerRegistry
from bridge.errors import ConfigError
from bridge.histogram import Histogram
from bridge.runtime import find_node
from bridge.serve.access import Access
from bridge.serve.command_line import parse
from bridge.serve.display import draw, summary
from bridge.serve.figures import Figures, Look, Rates, look_at, measure
from bridge.serve.metrics import RegistryCollector
from bridge.serve.signals import EndSignals
from bridge.workload import Workload, play_battles
from tests.serving import (
    PATIENCE,
    QUICK,
    REPOSITORY,
    SERVE,
    Server,
    Start,
    get,
    node_that,
    servers,
    still_there,
)

pytestmark = pytest.mark.timeout(60)

NODE_SIDE = REPOSITORY / "node"


@pytest.fixture
def start() -> Iterator[Start]:
    with servers() as start:
        yield start


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The URL of a server that is ready, for tests that only ask."""
    command = [*SERVE, *QUICK, "--rooms-per-controller", "7", "--heartbeat", "0.2"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        server = Server(process)
        try:
            url = server.url()
            server.wait_for("event=ready")
            yield url
        finally:
            process.terminate()
            server.finish()


# Endpoints


def test_health_is_ok_when_battles_can_be_opened(served: str) -> None:
    status, content_type, text = get(f"{served}/healthz")
    assert (status, content_type) == (200, "application/json")
    health = json.loads(text)
    assert health["status"] == "ready"
    assert health["pool"] == {
        "size": 1,
        "ready": 1,
        "warmth": 1.0,
        "rooms": 0,
        "moving": 0,
        "waiting": 0,
        "capacity": 7,
    }


def test_stats_are_those_of_the_registry_with_settings_and_versions(served: str) -> None:
    status, content_type, text = get(f"{served}/api/stats")
    assert (status, content_type) == (200, "application/json")
    stats = json.loads(text)
    registry = {"uptime", "pool", "controllers", "counters", "traffic", "round_trips"}
    assert stats.keys() >= registry | {"status", "lobby", "config", "versions"}
    assert stats["lobby"] == {"connections": 0, "users": 0, "games": 0, "connected": 0}
    assert stats["status"] == "ready"
    assert stats["config"].keys() == {field.name for field in fields(BridgeConfig)}
    assert stats["config"]["rooms_per_controller"] == 7
    [controller] = stats["controllers"]
    assert stats["versions"]["simulator"] == controller["simulator"]
    assert f"v{stats['versions']['node']}" == controller["node"]
    assert psutil.Process(controller["pid"]).is_running()


def test_metrics_are_what_prometheus_reads(served: str) -> None:
    status, content_type, text = get(f"{served}/metrics")
    assert status == 200
    assert content_type.startswith("text/plain; version=")
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in prometheus_text(text)
        for sample in family.samples
    }
    [pid] = [labels[0] for name, *labels in samples if name == "maple_controller_memory_bytes"]
    assert psutil.Process(int(pid)).is_running()
    assert samples["maple_pool_size",] == samples["maple_pool_ready",] == 1
    assert samples["maple_pool_warmth",] == samples["maple_controller_warmth", pid] == 1
    assert samples["maple_controller_turbo", pid] == 1
    assert samples["maple_controller_turbo_left", pid] == 0
    assert samples["maple_rooms",] == samples["maple_battles_total",] == 0
    assert samples["maple_controller_starts_total",] == 1
    assert samples["maple_controller_deaths_total",] == 0
    assert samples["maple_lobby_connections",] == samples["maple_lobby_users",] == 0
    assert samples["maple_lobby_games",] == samples["maple_lobby_connected_total",] == 0
    assert samples["maple_frames_total", "in"] >= 1
    assert samples["maple_bytes_total", "in"] > 50
    assert samples["process_resident_memory_bytes",] > 1e6


def test_metrics_are_valid_open_metrics_too(served: str) -> None:
    status, content_type, text = get(f"{served}/metrics", "application/openmetrics-text")
    assert status == 200
    assert content_type.startswith("application/openmetrics-text")
    parsed = open_metrics(text)  # type: ignore[no-untyped-call]
    names = {family.name for family in parsed}
    assert {"maple_battles", "maple_decisions", "maple_round_trip_seconds"} <= names


def test_the_index_links_to_everything(served: str) -> None:
    status, content_type, text = get(served)
    assert (status, content_type) == (200, "text/html; charset=utf-8")
    links = re.findall(r'href="([^"]+)"', text)
    assert links == ["/healthz", "/metrics", "/api/stats"]
    assert f"ws{served.removeprefix('http')}/showdown/websocket" in text
    assert [get(served + link)[0] for link in links] == [200, 200, 200]
    assert get(f"{served}/nowhere")[0] == 404


def test_a_pool_that_lost_all_its_controllers_is_not_healthy(start: Start, tmp_path: Path) -> None:
    """The second controller never says a word, so the look at it is no race."""
    once = tmp_path / "once"
    hang = f'[ -e "{once}" ] && exec sleep 60; touch "{once}"; exec "{find_node().path}" "$@"'
    server = start(*QUICK, "--node", node_that(tmp_path / "node", hang))
    url = server.url()
    server.wait_for("event=ready")
    [controller] = server.children()
    controller.kill()
    server.wait_for("controller died")
    status, _, text = get(f"{url}/healthz")
    assert (status, json.loads(text)["status"]) == (503, "recovering")
    server.process.terminate()
    assert server.finish() == 0


# The end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0_and_no_process_left(
    start: Start, number: signal.Signals
) -> None:
    server = start(*QUICK, "--pool", "2")
    server.wait_for("event=ready")
    children = server.children()
    assert len(children) == 2
    server.process.send_signal(number)
    assert server.finish() == 0
    assert still_there(children, 0) == []
    assert "event=stopped" in server.log[-1]
    assert not any("died" in line or "Traceback" in line for line in server.log)


def test_a_signal_ends_it_while_it_starts(start: Start, tmp_path: Path) -> None:
    server = start(*QUICK, "--node", node_that(tmp_path / "node", "exec sleep 60"))
    url = server.url()
    status, _, text = get(f"{url}/healthz")
    assert (status, json.loads(text)["status"]) == (503, "starting")
    assert get(f"{url}/metrics")[0] == get(f"{url}/api/stats")[0] == 200
    server.process.terminate()
    assert server.finish() == 0
    assert "event=stopped" in server.log[-1]


def test_it_is_ready_while_it_warms_and_a_signal_ends_it_then(start: Start) -> None:
    server = start(*QUICK, "--warmup-battles", "1000000", "--no-turbo")
    url = server.url()
    server.wait_for("event=ready")
    status, _, text = get(f"{url}/healthz")
    assert (status, json.loads(text)["status"]) == (200, "ready")
    assert json.loads(text)["pool"]["warmth"] < 1
    [controller] = json.loads(get(f"{url}/api/stats")[2])["controllers"]
    assert (controller["turbo"], controller["left"]) == (False, [])
    assert controller["warm"][1] == 1_000_000
    children = server.children()
    server.process.terminate()
    assert server.finish() == 0
    assert still_there(children, 0) == []
    assert "event=stopped" in server.log[-1]
    assert "Traceback" not in "\n".join(server.log)


def test_a_signal_ends_it_while_node_does_not_even_greet(start: Start, tmp_path: Path) -> None:
    server = start(*QUICK, "--node", node_that(tmp_path / "node", "exec sleep 60"))
    server.url()
    children = server.children()
    server.process.send_signal(signal.SIGINT)
    assert server.finish() == 0
    assert still_there(children, 0) == []


def test_a_signal_during_the_installation_ends_npm(
    start: Start, tmp_path: Path, stuck_port: int
) -> None:
    side = tmp_path / "side"
    side.mkdir()
    for name in ("controller.js", "package.json", "package-lock.json"):
        shutil.copyfile(NODE_SIDE / name, side / name)
    program = """
import sys
from pathlib import Path
from bridge import runtime
from bridge.serve.command_line import main
runtime.node_side = lambda: Path(sys.argv[1])
runtime.PROGRESS_SECONDS = 0.3
sys.exit(main(sys.argv[2:]))
"""
    server = start(
        str(side),
        *QUICK,
        command=(sys.executable, "-c", program),
        MAPLE_CACHE=str(tmp_path / "cache"),
        npm_config_registry=f"http://127.0.0.1:{stuck_port}/",
        npm_config_cache=str(tmp_path / "npm"),
    )
    server.wait_for("installing the simulator: ")
    npm = server.children()
    server.process.terminate()
    assert server.finish() == 0
    assert still_there(npm, 1) == []
    assert "Traceback" not in "\n".join(server.log)


@pytest.fixture
def stuck_port() -> Iterator[int]:
    """A loopback port that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


def test_a_second_signal_does_not_wait(start: Start) -> None:
    server = start(*QUICK, "--terminate-timeout", "60")
    server.wait_for("event=ready")
    [controller] = server.children()
    controller.suspend()
    server.process.send_signal(signal.SIGINT)
    server.wait_for("event=stopping")
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(0.8)
    server.process.send_signal(signal.SIGINT)
    assert server.finish() == 128 + signal.SIGINT
    assert still_there([controller], 0) == []


def test_a_signal_that_somebody_passed_on_is_not_a_second_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Loop:
        def __init__(self) -> None:
            self.now = 100.0
            self.handlers: dict[int, Callable[[], None]] = {}

        def time(self) -> float:
            return self.now

        def add_signal_handler(
            self, number: int, handler: Callable[[int], None], *arguments: int
        ) -> None:
            self.handlers[number] = lambda: handler(*arguments)

    loop = Loop()
    forced: list[signal.Signals] = []
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    monkeypatch.setattr(EndSignals, "_force", lambda _self, number: forced.append(number))
    signals = EndSignals(before_forced_end=lambda: None)
    assert not signals.asked
    loop.handlers[signal.SIGINT]()
    loop.now += 0.4
    loop.handlers[signal.SIGINT]()
    assert signals.asked
    assert forced == []
    loop.now += 0.2
    loop.handlers[signal.SIGTERM]()
    assert forced == [signal.SIGTERM]


def test_battles_that_are_being_played_may_end_first(start: Start, tmp_path: Path) -> None:
    """A registry with players of its own, as long as nobody can open a battle from outside."""
    played = tmp_path / "played"
    program = """
import asyncio, sys
from pathlib import Path
from bridge import ControllerRegistry
from bridge.serve import server
from bridge.serve.command_line import main
from bridge.workload import Workload, play_battles

class Playing(ControllerRegistry):
    async def start(self, progress=None):
        await super().start(progress)
        self.playing = asyncio.create_task(play_battles(self, Workload(battles=6, rooms=6)))
        self.playing.add_done_callback(
            lambda task: Path(sys.argv[1]).write_text(str(len(task.result())))
        )

server.ControllerRegistry = Playing
sys.exit(main(sys.argv[2:]))
"""
    server = start(str(played), *QUICK, command=(sys.executable, "-c", program))
    url = server.url()
    server.wait_for("event=ready")
    while json.loads(get(f"{url}/healthz")[2])["pool"]["rooms"] < 6:
        assert not played.exists()
    server.process.terminate()
    server.wait_for("event=stopping")
    status, _, text = get(f"{url}/healthz")
    assert (status, json.loads(text)["status"]) == (503, "stopping")
    assert server.finish() == 0
    assert played.exists(), server.log
    assert played.read_text() == "6"


def test_if_it_is_killed_node_goes_too(start: Start) -> None:
    server = start(*QUICK, "--pool", "2")
    server.wait_for("event=ready")
    children = server.children()
    server.process.kill()
    assert server.finish() == -signal.SIGKILL
    assert still_there(children, 1) == []


# Failures


def complaint(server: Server) -> tuple[int, str]:
    """Exit status and the one line that it wrote."""
    status = server.finish()
    assert len(server.log) == 1, server.log
    return status, server.log[0]


def test_a_port_in_use_fails_before_anything_is_started(start: Start, stuck_port: int) -> None:
    status, line = complaint(start("--port", str(stuck_port), "--node", "/no/such/node"))
    assert status == 1
    assert line.startswith(f"error: port {stuck_port} of 127.0.0.1 is in use")


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("no.such.host.invalid", "error: 'no.such.host.invalid' is no address of this machine: "),
        ("192.0.2.1", "error: cannot listen on port 0 of 192.0.2.1: "),
    ],
    ids=["unknown", "of another machine"],
)
def test_a_host_that_cannot_be_had_fails_in_one_line(start: Start, host: str, reason: str) -> None:
    status, line = complaint(start(*QUICK, "--host", host))
    assert status == 1
    assert line.startswith(reason)


def test_other_machines_are_not_let_in_without_a_token(start: Start) -> None:
    status, line = complaint(start(*QUICK, "--host", "0.0.0.0", MAPLE_TOKEN=""))
    assert status == 2
    assert line.startswith("error: other machines can reach 0.0.0.0, so it takes a --token")


@pytest.mark.parametrize("node", ["/bin/false", "/no/such/node"])
def test_a_broken_node_fails_in_one_line(start: Start, node: str) -> None:
    status, line = complaint(start(*QUICK, "--node", node))
    assert status == 1
    assert line.startswith(f"error: the configured Node cannot be used: {node} ")


def test_a_controller_that_does_not_come_up_shows_what_it_said(
    start: Start, tmp_path: Path
) -> None:
    broken = node_that(tmp_path / "node", "echo no such simulator >&2; exit 3")
    server = start(*QUICK, "--node", broken)
    assert server.finish() == 1
    assert server.log[-2].startswith("error: Node exited with status 3")
    assert server.log[-1] == "no such simulator"
    assert "Traceback" not in "\n".join(server.log)


def test_a_pool_that_cannot_be_kept_up_ends_it(start: Start, tmp_path: Path) -> None:
    once = tmp_path / "once"
    fail = f'[ -e "{once}" ] && exit 3; touch "{once}"; exec "{find_node().path}" "$@"'
    node = node_that(tmp_path / "node", fail)
    server = start(*QUICK, "--node", node, "--start-attempts", "2")
    server.wait_for("event=ready")
    [controller] = server.children()
    controller.kill()
    assert server.finish() == 1
    assert server.log[-1].startswith("error: Node exited with status 3")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--pool", "0"], "error: pool is 0, but must be at least 1"),
        (["--pol", "8"], "error: unknown option --pol; did you mean '--pool'?"),
        (["--config", "{file}"], "error: {file}: unknown setting 'pol'; did you mean 'pool'?"),
    ],
    ids=["pool of 0", "unknown option", "unknown setting"],
)
def test_a_wrong_command_line_fails_in_one_line(
    start: Start, tmp_path: Path, arguments: list[str], reason: str
) -> None:
    file = tmp_path / "settings.yml"
    file.write_text("pol: 8\n")
    server = start("--port", "0", *(each.format(file=file) for each in arguments))
    assert complaint(server) == (2, reason.format(file=file))


# The command line


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["8"], "unexpected argument '8'"),
        (["--pool", "many"], "argument --pool: invalid int value: 'many'"),
        (["--pool"], "argument --pool: expected one argument"),
        (["--rooms_per_controller=3"], "did you mean '--rooms-per-controller'"),
        (["--port", "65536"], "65536 is not a port"),
        (["--port", "-1"], "port"),
        (["--status-interval", "0"], "0 is not a time"),
        (["--status-interval", "nan"], "nan is not a time"),
        (["--open-timeout", "inf"], "open_timeout is inf"),
        (["--token", ""], "the token is empty"),
        (["--max-connections", "0"], "max_connections is 0"),
        (["--max-connections-per-address", "-1"], "max_connections_per_address is -1"),
        (["--config", "/no/such/file"], "cannot read /no/such/file"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(arguments)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_it_serves_on_loopback_at_port_8000_unless_told_otherwise() -> None:
    options = parse([])
    assert (options.host, options.port, options.config) == ("127.0.0.1", 8000, BridgeConfig())
    assert (options.config.turbo, parse(["--no-turbo"]).config.turbo) == (True, False)
    assert parse(["--cache-folder", "here"]).config.cache_folder == Path("here")
    elsewhere = parse(["--host", "::1", "--port", "9000"])
    assert (elsewhere.host, elsewhere.port) == ("::1", 9000)


def test_a_token_comes_from_the_command_line_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MAPLE_TOKEN", raising=False)
    assert parse([]).access == Access(None, 2048, 1024)
    monkeypatch.setenv("MAPLE_TOKEN", "secret")
    assert parse([]).access.token == "secret"
    options = parse(["--token", "other", "--max-connections", "2"])
    assert (options.access.token, options.access.max_connections) == ("other", 2)
    assert "other" not in repr(options)


def test_every_setting_has_an_option_that_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.yml"
    file.write_text("pool: 3\nheartbeat: 9.0\ntiming: true\n")
    wanted = BridgeConfig(
        **{
            setting.name: _other(getattr(BridgeConfig(), setting.name))
            for setting in fields(BridgeConfig)
        }
    )
    arguments = [
        f"--no-{name}" if value is False else f"--{name.replace('_', '-')}={_written(value)}"
        for name, value in ((f.name, getattr(wanted, f.name)) for f in fields(wanted))
    ]
    assert parse(["--config", str(file), *arguments]).config == wanted
    assert parse(["--config", str(file), "--pool", "4"]).config == BridgeConfig(
        pool=4, heartbeat=9.0
    )


def _other(value: object) -> Any:  # noqa: ANN401 (it is the type of the value)
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value * 2 + 1 if value >= 1 else value / 2
        case tuple():
            return ("--trace-gc", "--title=a b")
        case Path():
            return value / "other"
        case _:
            return f"{value}-other"


def _written(value: object) -> str:
    return "--trace-gc '--title=a b'" if isinstance(value, tuple) else str(value)


def test_help_explains_every_setting_and_gives_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        parse(["--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    for setting in fields(BridgeConfig):
        assert f"--{setting.name.replace('_', '-')}" in text
    for part in ("examples:", "/healthz", "Ctrl-C", "--port", "--config FILE", "--token TOKEN"):
        assert part in text


# Status


def test_without_a_terminal_the_status_is_a_line(start: Start) -> None:
    server = start(*QUICK, "--status-interval", "0.1")
    server.wait_for("event=ready")
    line = server.wait_for("event=status")
    for part in ("level=info", "state=ready", "ready=1/1", "rooms=0", "battles_per_s=0.0"):
        assert part in line
    server.process.terminate()
    assert server.finish() == 0


def test_on_a_terminal_it_is_a_table_and_ctrl_c_is_not_for_node() -> None:
    """A terminal sends Ctrl-C to every process of its session, so Node must have its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    own_session = (
        "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", own_session, *SERVE, *QUICK, "--status-interval", "0.1"]
    environment = os.environ | {"TERM": "xterm-256color"}
    with (
        os.fdopen(ours, "rb", buffering=0) as screen,
        subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process,
    ):
        os.close(theirs)
        try:
            seen = _read_until(screen, b"Ctrl-C ends it")
            children = psutil.Process(process.pid).children(recursive=True)
            assert len(children) == 1
            os.write(ours, b"\x03")
            seen += _read_until(screen, b"stopped")
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    assert still_there(children, 0) == []
    for part in (b"Maple", b"http://127.0.0.1:", b"1/1 controllers", str(children[0].pid).encode()):
        assert part in seen
    assert b"died" not in seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l"), "the cursor stays hidden"


def _read_until(screen: io.RawIOBase | io.FileIO, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        seen += screen.read(4096) or b""
    return seen


def look(*, trips: list[int], **figures: Any) -> Look:
    choices = Histogram()
    choices.record(np.array(trips, dtype=np.int64))
    return Look(stats_with(**figures), choices)


def stats_with(*, uptime: float, battles: int, decisions: int) -> dict[str, Any]:
    return {
        "uptime": uptime,
        "pool": {"size": 20, "ready": 20, "warmth": 0.5, "rooms": 640, "capacity": 10_240},
        "counters": {"battles_ended": battles, "decisions": decisions, "deaths": 0},
        "controllers": [
            {
                "pid": 1_000_000 + number,
                "state": "ready",
                "rooms": 32,
                "battles": 19_000,
                "rss": 1_500_000_000,
                "turbo": True,
                "left": [],
                "warm": [50, 100],
                "age": 86_000.0,
            }
            for number in range(20)
        ],
    }


def test_rates_are_of_the_last_interval_only() -> None:
    slow, quick = [90_000_000] * 1000, [2_000_000] * 99 + [8_000_000]
    before = look(uptime=10.0, battles=5, decisions=600, trips=slow)
    after = look(uptime=12.0, battles=30, decisions=3600, trips=slow + quick)
    rates = measure(before, after)
    assert (rates.battles_per_s, rates.decisions_per_s) == (12.5, 1500.0)
    assert rates.p50 == pytest.approx(2_000_000, rel=0.01)
    assert rates.p99 == pytest.approx(2_000_000, rel=0.01)
    later = Look(after.stats | {"uptime": 13.0}, after.choices)
    assert measure(after, later) == Rates(0.0, 0.0, None, None)


async def test_a_look_at_a_registry_does_not_change_afterwards(settings: BridgeConfig) -> None:
    async with ControllerRegistry(settings) as registry:
        before = look_at(registry)
        await play_battles(registry, Workload(1, 1, "gen1randombattle"))
        after = look_at(registry)
    assert before.choices.count == 0
    rates = measure(before, after)
    assert after.choices.count >= after.stats["counters"]["decisions"] > 10
    assert rates.decisions_per_s > 0
    assert rates.p50 is not None


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_the_terminal(width: int) -> None:
    stats = stats_with(uptime=86_400.0, battles=1, decisions=1)
    rates = Rates(123.4, 15_678.9, 2_345_678, 123_456_789)
    lobby = {"connections": 1200, "users": 1000, "games": 500, "connected": 2000}
    figures = Figures("http://127.0.0.1:8000", "ready", stats, rates, {1_000_000: 99.6}, lobby)
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(draw(figures, waiting_for="", rows=16))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert len(lines) == 23
    assert max(map(len, lines)) <= width
    assert "20/20 controllers  640/10240 rooms" in lines[0]
    assert "ws://127.0.0.1:8000/showdown/websocket  1,200 connections  1,000 users" in lines[1]
    assert "123.4 battles/s  15,679 decisions/s  round trip p50 2.35 ms p99 123 ms" in lines[2]
    assert lines[3].split() == [
        *("pid", "state", "turbo", "warm", "rooms", "battles", "memory", "cpu", "age")
    ]
    assert lines[5].split()[:6] == ["1000000", "ready", "yes", "50%", "32", "19,000"]
    assert "1,500 MB   100 %   23:53:20" in lines[5]
    assert lines[21] == " and 4 more controllers"


def test_a_status_line_has_no_percentiles_when_nothing_was_measured() -> None:
    stats = stats_with(uptime=1.0, battles=0, decisions=0)
    lobby = {"connections": 4, "users": 3, "games": 2, "connected": 5}
    idle = summary(Figures("", "ready", stats, Rates(), {}, lobby))
    busy = summary(Figures("", "ready", stats, Rates(1.0, 2.0, 1_500_000, 2_000_000), {}, lobby))
    assert (idle["connections"], idle["users"], idle["games"]) == (4, 3, 2)
    assert busy.keys() - idle.keys() == {"p50_ms", "p99_ms"}
    assert (busy["p50_ms"], busy["node_memory_mb"]) == (1.5, 30_000)
    assert (busy["turbo"], busy["warm"]) == ("yes", "50%")
    stats["controllers"][0] |= {"left": ["stats: it is not as turbo knows it"]}
    stats["controllers"][1] |= {"turbo": False}
    mixed = summary(Figures("", "ready", stats, Rates(), {}, lobby))
    assert mixed["turbo"] == "in part, no, yes"


# Metrics of battles that were played


def test_metrics_count_what_was_played(settings: BridgeConfig) -> None:
    async def play() -> tuple[dict[str, Any], dict[tuple[str, ...], float]]:
        async with ControllerRegistry(settings) as registry:
            await play_battles(registry, Workload(battles=2, rooms=2))
            collectors = CollectorRegistry()
            collectors.register(RegistryCollector(registry))
            samples = {
                (sample.name, *sample.labels.values()): sample.value
                for family in collectors.collect()
                for sample in family.samples
            }
            return registry.stats(), samples

    stats, samples = asyncio.run(play())
    assert samples["maple_battles_total",] == 2
    assert samples["maple_decisions_total",] == stats["counters"]["decisions"] > 20
    assert samples["maple_frames_total", "out"] == stats["traffic"]["commands"]
    choices = stats["round_trips"]["choose"]
    total = choices["total"]
    assert samples["maple_round_trip_seconds_count", "choose"] == total["count"]
    assert samples["maple_round_trip_seconds_sum", "choose"] == pytest.approx(
        total["mean"] * total["count"] / 1e9
    )
    buckets = [
        (float(labels[1]), count)
        for (name, *labels), count in samples.items()
        if name == "maple_round_trip_seconds_bucket" and labels[0] == "choose"
    ]
    assert buckets == sorted(buckets)
    median = next(bound for bound, count in buckets if count >= total["count"] / 2)
    assert median >= total["p50"] / 1e9 * 0.98
    phases = [
        value
        for (name, *labels), value in samples.items()
        if name == "maple_round_trip_phase_seconds_sum" and labels[0] == "choose"
    ]
    assert len(phases) == len(choices["phases"])
    assert sum(phases) == pytest.approx(total["mean"] * total["count"] / 1e9, rel=0.05)
