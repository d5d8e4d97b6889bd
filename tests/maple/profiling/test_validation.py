"""Sessions whose types are right, and which do not fit together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from maple.profiling import Profiler, UnreadableSession
from maple.profiling.analyzer import main
from maple.profiling.session import load_session
from tests.maple.profiling.sessions import typical_session
from tests.maple.profiling.stage import FakeClock

Data = dict[str, Any]
Damage = Callable[[Data], object]


def part(data: Data) -> Data:
    found: Data = data["processes"][0]
    return found


def operation(data: Data) -> Data:
    found: Data = part(data)["operations"][1]
    return found


def feed(data: Data) -> Data:
    found: Data = part(data)["feeds"][0]
    return found


def without(key: str) -> Damage:
    return lambda data: feed(data)["operations"][0]["total"].pop(key)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "hdr": (
        lambda data: operation(data).update(hdr="HISTFAAAdamaged"),
        "processes[0].operations[1].hdr cannot be decoded",
    ),
    "no windows": (
        lambda data: part(data).update(windows=[]),
        "processes[0].windows is empty",
    ),
    "laps": (
        lambda data: part(data)["laps"].append(
            {"laps": 0, "time": 1, "calls": [], "ended": [], "counts": {}, "metrics": {}}
        ),
        "processes[0].laps[0].laps is not at least 1",
    ),
    "path": (
        lambda data: operation(data).update(path=[]),
        "processes[0].operations[1].path is empty",
    ),
    "track": (
        lambda data: operation(data).update(track=9),
        "processes[0].operations[1].track is 9, and there are",
    ),
    "negative track": (
        lambda data: operation(data).update(track=-1),
        "processes[0].operations[1].track is -1, and there are",
    ),
    "parent": (
        lambda data: operation(data).update(path=["unknown", "env_step"]),
        "processes[0].operations[1].path has no parent",
    ),
    "calls": (
        lambda data: operation(data).update(calls=-1),
        "processes[0].operations[1].calls is below zero",
    ),
    "intervals": (
        lambda data: operation(data).update(intervals=[[5, 4]]),
        "processes[0].operations[1].intervals[0] ends before it begins",
    ),
    "capacities": (
        lambda data: part(data)["tracks"][0].update(capacities=[]),
        "processes[0].tracks[0].capacities is empty",
    ),
    "windows": (
        lambda data: part(data).update(windows=[[0, 10**30]]),
        "processes[0].windows[0] has too large a number",
    ),
    "samples": (lambda data: data["usages"][1].update(samples=[]), "usages[1].samples is empty"),
    "order of samples": (
        lambda data: data["usages"][1]["samples"].reverse(),
        "usages[1].samples[1].at is not after the one before",
    ),
    "kind of a feed": (
        lambda data: feed(data).update(kind="radio"),
        "processes[0].feeds[0].kind is 'radio', and known are ipc and inference",
    ),
    "time of a feed": (
        lambda data: feed(data).update(until=0),
        "processes[0].feeds[0] ends before it begins",
    ),
    "metric": (
        lambda data: part(data)["metrics"]["reward"].update(count=0),
        "processes[0].metrics['reward'].count is not at least 1",
    ),
    "laps of a feed": (
        lambda data: feed(data).update(
            laps=[{"laps": 0, "time": 1, "counts": {}, "wholes": {}, "parts": {}}]
        ),
        "processes[0].feeds[0].laps[0].laps is not at least 1",
    ),
    "time of a lap": (
        lambda data: feed(data).update(
            laps=[{"laps": 1, "time": -1, "counts": {}, "wholes": {}, "parts": {}}]
        ),
        "processes[0].feeds[0].laps[0] ends before it begins",
    ),
    "cores": (lambda data: data["machine"].update(cores=0), "machine.cores is not at least 1"),
    "all cores": (
        lambda data: data["machine"].update(all_cores=0),
        "machine.all_cores is not at least 1",
    ),
    "order of looks at the machine": (
        lambda data: data["machine_cpu"].reverse(),
        "machine_cpu[1].at is before the one before",
    ),
    "torch events": (
        lambda data: data.update(torch_events=[{"name": "aten::mm"}]),
        "torch_events[0] has no category",
    ),
    "columns of a trace": (
        lambda data: part(data)["trace"]["start"].pop(),
        "processes[0].trace has columns of different lengths: thread ",
    ),
    "threads of a trace": (
        lambda data: part(data)["trace"]["thread"].__setitem__(3, 99),
        "processes[0].trace.thread[3] is 99, and there are",
    ),
    "operations of a trace": (
        lambda data: part(data)["trace"]["operation"].__setitem__(2, -1),
        "processes[0].trace.operation[2] is -1, and there are",
    ),
    "part of a feed": (
        lambda data: feed(data)["operations"][0]["parts"]["simulate"].update(mean="long"),
        "processes[0].feeds[0].operations[0].parts['simulate'].mean is 'long'",
    ),
    "no workers": (
        lambda data: feed(data).update(workers=0),
        "processes[0].feeds[0].workers is not at least 1",
    ),
    "less than nothing in a lap": (
        lambda data: part(data)["laps"].append(
            {"laps": 1, "time": 1, "calls": [], "ended": [], "counts": {"steps": -1}, "metrics": {}}
        ),
        "processes[0].laps[0].counts['steps'] is below zero",
    ),
    **{
        f"no {key}": (without(key), f"processes[0].feeds[0].operations[0].total has no {key}")
        for key in ("count", "mean", "p50", "p99", "max", "hdr")
    },
}


def refusal(file: Path, content: bytes) -> str:
    file.write_bytes(content)
    with pytest.raises(UnreadableSession) as refused:
        load_session(file)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(("damage", "complaint"), DAMAGES.values(), ids=DAMAGES.keys())
def test_what_does_not_fit_together_is_told_by_its_place(
    tmp_path: Path, damage: Damage, complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    session = typical_session()
    file = tmp_path / "file.json"
    session.save(file)
    assert load_session(file) == session
    data: Data = msgspec.json.decode(session.to_json())
    damage(data)
    refused = refusal(file, msgspec.json.encode(data))
    assert refused.startswith(f"{file} is a damaged session: {complaint}")
    assert main(["--input", str(file)]) == 1
    assert capfd.readouterr().err == f"analyzer: {refused}\n"


def test_a_lap_of_more_operations_than_there_are_is_told_by_its_place(tmp_path: Path) -> None:
    clock = FakeClock()
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    with profiler.profile("env_step"):
        clock.go(1)
    profiler.lap()
    data: Data = msgspec.json.decode(profiler.session("laps").to_json())
    for column in part(data)["laps"][0].values():
        if isinstance(column, list):
            column.extend([1, 1])
    refused = refusal(tmp_path / "file.json", msgspec.json.encode(data))
    assert "processes[0].laps[0].calls has 3 entries, and there are 1 operations" in refused


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    damaged = typical_session().to_json().replace(b"env_step", b"env_\xff\xfe", 1)
    refused = refusal(tmp_path / "file.json", damaged)
    assert "is a damaged session: 'utf-8' codec can't decode" in refused


def test_too_deep_a_nesting_is_refused(tmp_path: Path) -> None:
    deep = b'"settings":{"x":' + b"[" * 100_000 + b"]" * 100_000
    damaged = typical_session().to_json().replace(b'"settings":{', deep, 1)
    assert "maximum recursion depth exceeded" in refusal(tmp_path / "file.json", damaged)
