"""One Node process and its pipe: how it comes up, what it may say, and how it ends."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bridge import BridgeConfig
from bridge.controller import Controller, ControllerState, Death
from bridge.errors import BridgeError, ControllerDied, ControllerUnresponsive, ProtocolViolation
from bridge.observation import spec_hash, spec_path
from bridge.runtime import find_runtime
from bridge.timing import RoundTrips
from bridge.wire import Frame, News
from tests.conftest import until

pytestmark = pytest.mark.timeout(60)

Make = Callable[..., Controller]

# Stands in for the entry file: greets, and then does what a test wants.
IMPOSTOR = """
const net = require('node:net');
const fd = Number(process.argv.find((word) => word.startsWith('--channel=')).slice(10));
const channel = new net.Socket({ fd, readable: true, writable: true });
const say = (text) => channel.write(text + '\\n');
const { pid, version } = process;
const hello = { protocol: 1, node: version, simulator: 'none', turbo: false, left: [], pid };
hello.observation = 'HASH';
const greet = () => say(JSON.stringify({ hello }));
// Comes up, which takes the answer to a ping, and does something with whatever it is told then.
const serve = (reply) => {
  greet();
  channel.once('data', () => {
    say('{"ack":1,"rss":1,"heap":1,"cpu":0,"warm":[0,0],"left":[]}');
    channel.on('data', reply);
  });
};
"""


@pytest.fixture
def deaths() -> list[Death]:
    return []


@pytest.fixture
def make(settings: BridgeConfig, tmp_path: Path, deaths: list[Death]) -> Make:
    """Makes a controller: the real one, or one that runs some JavaScript in its place."""

    def make(script: str | None = None, **changes: object) -> Controller:
        runtime = find_runtime()
        if script is not None:
            entry = tmp_path / "impostor.js"
            entry.write_text(IMPOSTOR.replace("HASH", spec_hash()) + script)
            runtime = replace(runtime, entry=entry)
        return Controller(
            1,
            settings.replace(**changes),
            runtime,
            trips=RoundTrips(),
            on_beat=lambda _: None,
            on_warnings=lambda _: None,
            on_death=lambda _, death: deaths.append(death),
        )

    return make


async def test_a_controller_says_who_it_is_and_answers(make: Make, deaths: list[Death]) -> None:
    controller = make(warmup_battles=1, warmup_format="gen1randombattle")
    await controller.start()
    assert repr(controller).endswith("warming, 0 rooms, 0 unanswered>")
    controller.admit()
    assert controller.state is ControllerState.READY
    assert controller.identity.pid == controller.pid
    assert controller.identity.simulator == "0.11.11"
    assert controller.vitals.rss > 1_000_000
    answer = await controller.ask("ping")
    assert answer.rooms == 0
    assert repr(controller) == f"<Controller 1: pid {controller.pid}, ready, 0 rooms, 0 unanswered>"
    with pytest.raises(ProtocolViolation, match="unknown op"):
        await controller.ask("sing")
    for _ in range(2):
        await controller.stop()
        assert repr(controller).endswith("dead, 0 rooms, 0 unanswered>")
    assert [death.expected for death in deaths] == [True]


async def writes_of(controller: Controller, pings: int) -> tuple[int, int]:
    """Sends so many at once; how many writes it took by then, and in the end."""
    before = controller.traffic.writes
    asked = [asyncio.ensure_future(controller.ask("ping")) for _ in range(pings)]
    # Each task sends in the first turn of the loop, and the write at its end is of the next.
    await asyncio.sleep(0)
    early = controller.traffic.writes - before
    await asyncio.gather(*asked)
    return early, controller.traffic.writes - before


@pytest.mark.parametrize(
    ("commands", "early", "writes"),
    [
        pytest.param(2, 0, 1, id="few leave in one write at the end of a loop turn"),
        pytest.param(7, 0, 1, id="so do seven"),
        pytest.param(8, 1, 1, id="eight leave at once"),
        pytest.param(40, 1, 2, id="of more, eight at once and the others at the end"),
    ],
)
async def test_a_process_that_has_nothing_to_do_begins_before_all_have_chosen(
    make: Make, commands: int, early: int, writes: int
) -> None:
    controller = make(heartbeat=3600.0)
    await controller.start()
    assert await writes_of(controller, commands) == (early, writes)
    await controller.stop()


async def test_a_busy_process_is_not_disturbed_before_the_loop_turn_ends(make: Make) -> None:
    controller = make(heartbeat=3600.0)
    await controller.start()
    waiting = asyncio.ensure_future(controller.ask("ping"))
    await asyncio.sleep(0)
    # The first write is of the ping that it is busy with.
    assert await writes_of(controller, 40) == (1, 2)
    await waiting
    await controller.stop()


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"rqid": "2"}, "rqid is not a whole number"),
        ({"rqid": 1.5}, "rqid is not a whole number"),
        ({"ask": 1}, "ask is not true or false"),
        ({"ask": "no"}, "ask is not true or false"),
    ],
)
async def test_the_fields_of_a_replay_are_checked(
    make: Make, fields: dict[str, object], complaint: str
) -> None:
    controller = make()
    await controller.start()
    player = {"name": "Red", "seed": "1,2,3,4"}
    opening = {
        "room": "a room",
        "format": "gen1randombattle",
        "seed": "1,2,3,4",
        "p1": player,
        "p2": player | {"name": "Blue"},
        "replay": [],
    }
    with pytest.raises(ProtocolViolation, match=complaint):
        await controller.ask("open", **opening, **fields)
    assert (await controller.ask("ping")).rooms == 0
    await controller.ask("open", **opening, rqid=2, ask=True)
    await controller.stop()


FAILED_STARTS: dict[str, tuple[str, type[BridgeError], str]] = {
    "it exits": ("process.exit(9)", ControllerDied, "status 9"),
    "it dies": ("process.kill(process.pid, 'SIGKILL')", ControllerDied, "SIGKILL"),
    "it throws": ("throw new Error('no')", ControllerDied, "Error: no"),
    "it says nothing": ("", ControllerUnresponsive, "not ready after 1 s"),
    "it hangs up": ("channel.destroy(); setInterval(() => {}, 1000)", ControllerDied, "SIGKILL"),
    "it does not speak JSON": ("say('welcome')", ControllerDied, "no frame"),
    "it says no object": ("say('[]')", ControllerDied, "no frame"),
    "it is of another version": ("hello.protocol = 99; greet()", ProtocolViolation, "protocol 99"),
    "it observes by another specification": (
        "hello.observation = '0123456789abcdef'; greet()",
        ProtocolViolation,
        f"specification 0123456789abcdef, and Python reads them by {spec_hash()} of {spec_path()}",
    ),
    "it observes by none": (
        "delete hello.observation; greet()",
        ProtocolViolation,
        "the specification of no hash, and Python reads them by",
    ),
    "it says something else": ("say('{}')", ControllerDied, "answers nothing"),
    "it never warms up": ("greet()", ControllerUnresponsive, "not ready after 1 s"),
}


@pytest.mark.parametrize(
    ("script", "kind", "reason"), FAILED_STARTS.values(), ids=list(FAILED_STARTS)
)
async def test_a_start_fails_when(
    make: Make, script: str, kind: type[BridgeError], reason: str
) -> None:
    controller = make(script, start_timeout=1.0, warmup_battles=1)
    with pytest.raises(BridgeError) as failure:
        async with asyncio.timeout(30):
            await controller.start()
    assert type(failure.value) is kind
    assert reason in str(failure.value)
    assert failure.value.pid == controller.pid
    assert controller.state is ControllerState.DEAD


async def test_a_node_that_cannot_be_run_fails_the_start(
    settings: BridgeConfig, tmp_path: Path, deaths: list[Death]
) -> None:
    controller = Controller(
        1,
        settings,
        replace(find_runtime(), node=tmp_path / "nowhere"),
        trips=RoundTrips(),
        on_beat=lambda _: None,
        on_warnings=lambda _: None,
        on_death=lambda _, death: deaths.append(death),
    )
    with pytest.raises(ControllerDied, match="nowhere: No such file"):
        await controller.start()


VIOLATIONS = {
    "not JSON": "say('hi')",
    "not an object": "say('7')",
    "a frame that answers nothing": "say('{\"news\":1}')",
    "a second greeting": "greet()",
    "an answer to no number": 'say(\'{"ack":"x"}\')',
}


@pytest.mark.parametrize("script", VIOLATIONS.values(), ids=list(VIOLATIONS))
async def test_a_controller_that_breaks_the_protocol_is_killed(
    make: Make, deaths: list[Death], script: str
) -> None:
    controller = make(f"serve(() => {{ {script} }})")
    await controller.start()
    with pytest.raises(ControllerDied, match="killed: ") as failure:
        async with asyncio.timeout(30):
            await controller.ask("ping")
    await until(lambda: deaths)
    (death,) = deaths
    assert str(death.error) == str(failure.value)
    assert death.error.exit_status == -signal.SIGKILL
    assert not death.expected


async def test_who_asks_a_controller_that_does_not_answer_is_told_so(
    make: Make, deaths: list[Death]
) -> None:
    controller = make(response_timeout=0.5)
    await controller.start()
    os.kill(controller.pid, signal.SIGSTOP)
    with pytest.raises(ControllerUnresponsive, match="it was stopped") as failure:
        async with asyncio.timeout(30):
            await controller.ask("ping")
    await until(lambda: deaths)
    assert str(deaths[0].error) == str(failure.value)
    assert failure.value.exit_status == -signal.SIGKILL


async def test_an_answer_to_a_command_that_was_never_sent_is_passed_over(make: Make) -> None:
    controller = make(
        """
        serve(() => {
          for (const ack of [null, 77, -1]) say(JSON.stringify({ ack }));
          say('{"ack":2,"rooms":42}');
        });
        """
    )
    await controller.start()
    assert (await controller.ask("ping")).rooms == 42
    await controller.stop()


async def test_an_answer_that_cannot_be_read_is_blamed_and_those_before_it_count(
    make: Make, deaths: list[Death]
) -> None:
    controller = make(
        """serve(() => channel.write('{"ack":2,"rooms":42}\\n{"ack":3,"p1":[]}\\n'));"""
    )
    await controller.start()
    answers = asyncio.gather(controller.ask("ping"), controller.ask("ping"), return_exceptions=True)
    async with asyncio.timeout(30):
        first, second = await answers
    assert isinstance(first, Frame)
    assert first.rooms == 42
    assert isinstance(second, ControllerDied)
    (death,) = deaths
    assert death.in_hand is not None
    assert death.blamed


async def test_frames_may_arrive_in_any_pieces(make: Make) -> None:
    controller = make(
        """
        serve(async () => {
          const frame = JSON.stringify({ ack: 2, p1: { text: 'é🦀'.repeat(50) } });
          for (const byte of Buffer.from(frame + '\\n')) {
            channel.write(Buffer.of(byte));
            await new Promise(setImmediate);
          }
        });
        """
    )
    await controller.start()
    assert (await controller.ask("ping")).p1 == News("é🦀" * 50)
    await controller.stop()


async def test_a_frame_may_be_longer_than_any_buffer(make: Make) -> None:
    controller = make("serve(() => say(JSON.stringify({ ack: 2, p1: { text: 'x'.repeat(3e7) } })))")
    await controller.start()
    assert (await controller.ask("ping")).p1 == News("x" * 30_000_000)
    await controller.stop()


@pytest.mark.parametrize(
    ("fault", "cause"),
    [(signal.SIGKILL, "SIGKILL"), (signal.SIGTERM, "SIGTERM"), (signal.SIGSEGV, "SIGSEGV")],
)
async def test_a_death_says_how_and_blames_nobody_who_was_not_in_hand(
    make: Make, deaths: list[Death], fault: signal.Signals, cause: str
) -> None:
    controller = make()
    await controller.start()
    os.kill(controller.pid, fault)
    await until(lambda: deaths)
    with pytest.raises(ControllerDied, match=cause):
        await controller.ask("ping")
    (death,) = deaths
    assert death.error.exit_status == -fault
    assert not death.blamed


async def test_a_controller_refuses_every_transition_that_is_not_foreseen(make: Make) -> None:
    order = list(ControllerState)
    controller = make()
    for before, after in itertools.product(order, order):
        # Life goes one way, and may be cut short; only what was ready can drain.
        foreseen = order.index(after) > order.index(before) and (
            after in (ControllerState.STOPPING, ControllerState.DEAD)
            or order.index(after) == order.index(before) + 1
        )
        controller.state = before
        if foreseen:
            controller._become(after)
        else:
            with pytest.raises(AssertionError, match="cannot go from"):
                controller._become(after)
