"""The command line that explains sessions, run as its users run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from maple.profiling import Profiler
from maple.profiling.analyzer import main
from maple.profiling.session import load_session
from tests.maple.profiling.stage import SECOND, FakeClock

PNG = b"\x89PNG"


def record(file: Path, *, step: float = 2.0, laps: int = 6, begin: int = 0) -> Path:
    """A session of a few laps, saved."""
    clock = FakeClock(begin)
    profiler = Profiler(clock=clock)
    profiler.enable(system=False)
    for _ in range(laps):
        with profiler.profile("training_batch"):
            with profiler.profile("env_step"):
                clock.go(step)
            with profiler.profile("backward"):
                clock.go(0.05)
        profiler.episode()
        profiler.metric("reward", 0.5)
        profiler.lap()
    profiler.session("recorded").save(file)
    return file


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return record(tmp_path / "session.json")


def test_everything_can_be_written_at_once(session: Path, tmp_path: Path) -> None:
    outputs = {
        "--output": tmp_path / "analysis.txt",
        "--charts": tmp_path / "performance.png",
        "--detailed": tmp_path / "detailed.json",
        "--html": tmp_path / "report.html",
        "--trace": tmp_path / "trace.json",
    }
    command = [sys.executable, "-m", "maple.profiling.analyzer", "--input", str(session)]
    command += [text for option, file in outputs.items() for text in (option, str(file))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert sorted(done.stderr.splitlines()) == sorted(f"wrote {f}" for f in outputs.values())
    text = outputs["--output"].read_text("utf-8")
    assert "CRITICAL: env_step (main): 98 % of the time" in text
    assert "SLOW: env_step (main): 2,000 ms a call" in text
    assert outputs["--charts"].read_bytes().startswith(PNG)
    detailed = json.loads(outputs["--detailed"].read_bytes())
    assert detailed["bottlenecks"][0]["name"] == "env_step"
    assert detailed["overhead"]["enabled"] > 0
    assert detailed["counts"] == {"episodes": 6}
    assert detailed["metrics"]["reward"]["mean"] == 0.5
    assert "env_step" in outputs["--html"].read_text("utf-8")
    assert json.loads(outputs["--trace"].read_bytes())["traceEvents"]


def test_without_a_file_the_text_goes_to_the_screen(
    session: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["--input", str(session)]) == 0
    printed = capfd.readouterr()
    assert "TOP 3 BOTTLENECKS" in printed.out
    assert "STAGES" in printed.out
    assert "WHAT PROFILING COST" in printed.out
    assert printed.err == ""


def test_one_operation_can_be_asked_for(session: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--input", str(session), "--operation", "backward"]) == 0
    printed = capfd.readouterr().out
    assert "backward" in printed
    assert "env_step" not in printed


def test_two_sessions_are_compared_and_written_as_csv(
    session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = record(tmp_path / "other.json", step=1.0)
    table = tmp_path / "compared.csv"
    assert main(["--compare", str(session), str(other), "--csv", str(table)]) == 0
    printed = capfd.readouterr().out
    assert "better" in printed
    assert table.read_text("utf-8").splitlines()[0].startswith("section,place,name,depth")


def test_parts_of_one_run_are_put_together(
    session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = record(tmp_path / "other.json", begin=100 * SECOND)
    assert main(["--input", str(session), str(other), "--operation", "env_step"]) == 0
    printed = capfd.readouterr()
    assert "(12 episodes)" in printed.out
    assert "put together as parts of one run, but were not recorded at the same time" in printed.err


def test_recordings_of_different_commands_are_put_together_with_a_word(
    session: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    recorded = load_session(session)
    [part] = recorded.processes
    other = tmp_path / "other.json"
    part = msgspec.structs.replace(part, pid=part.pid + 1)
    msgspec.structs.replace(recorded, processes=[part], command="another.py").save(other)
    assert main(["--input", str(session), str(other)]) == 0
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("analyzer: ")
    assert line.endswith(f"by the same command: {recorded.command} and another.py")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"hello", "is not JSON"),
        (b"{}", "is no session of the profiler"),
        (b'{"schema": "maple.profiling.session", "version": 99}', "of version 99"),
        (b'{"schema": "maple.profiling.session", "vers', "cut off"),
    ],
)
def test_bad_input_gets_one_clear_line(
    tmp_path: Path, content: bytes, complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(content)
    good = record(tmp_path / "good.json")
    for arguments in (["--input", str(file)], ["--compare", str(good), str(file)]):
        assert main(arguments) == 1
        printed = capfd.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("analyzer: ")
        assert complaint in printed.err
        assert printed.err.count("\n") == 1


def test_an_unknown_operation_gets_the_nearest_one(
    session: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["--input", str(session), "--operation", "backwards"]) == 1
    assert capfd.readouterr().err == (
        "analyzer: no operation 'backwards' was recorded; did you mean 'backward'?\n"
    )


def test_a_session_in_which_nothing_was_recorded_is_told_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "empty.json"
    Profiler().session("empty").save(file)
    assert main(["--input", str(file)]) == 1
    assert "holds no operation: was the profiler enabled?" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--input"),
        (["--input", "x", "--csv", "y.csv"], "--csv goes with --compare"),
        (["--compare", "a", "b", "--html", "y.html"], "--html goes with --input"),
        (["--compare", "a"], "expected 2 arguments"),
        (["--input", "x", "--output", "/nowhere/at/all.txt"], "there is no folder"),
        (["--input", "x.json", "--output", "x.json"], "--output would write over x.json"),
        (["--input", "x", "--output", "y", "--html", "./y"], "--html would write over y"),
        (["--input", "x", "--charts", "y.svg"], "--charts draws a PNG"),
        (["--input", "x", "--operation", "a", "--trace", "y"], "leave out --operation"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_a_folder_that_cannot_be_written_to_is_told_by_name(
    session: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert main(["--input", str(session), "--output", str(tmp_path / "analysis.txt")]) == 1
    assert "No space left on device" in capsys.readouterr().err


def test_a_file_that_is_given_twice_is_refused_in_one_line(
    session: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["--input", str(session), str(session)]) == 1
    assert capfd.readouterr().err == (
        f"analyzer: the part of process {os.getpid()} (main) in recorded is given twice\n"
    )


def run_in_shell(command: str) -> subprocess.CompletedProcess[str]:
    """`"$@"` in the command is the analyzer."""
    shell = ["bash", "-c", command, "bash", sys.executable, "-m", "maple.profiling.analyzer"]
    return subprocess.run(shell, capture_output=True, text=True, timeout=100, check=False)


def test_a_screen_that_takes_nothing_more_is_told_as_such(session: Path) -> None:
    done = run_in_shell(f'"$@" --input {session} > /dev/full')
    assert (done.returncode, done.stderr) == (
        1,
        "analyzer: cannot write to the screen: No space left on device\n",
    )


def test_a_full_disk_is_told_by_the_file(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--input", str(session), "--output", "/dev/full"]) == 1
    printed = capsys.readouterr().err
    assert printed == "analyzer: cannot write /dev/full: No space left on device\n"


def test_a_reader_that_has_seen_enough_ends_nothing_but_the_reading(
    session: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    # `true` reads nothing, and is gone before anything is written.
    done = run_in_shell(f'"$@" --input {session} --html {page} | true; exit "${{PIPESTATUS[0]}}"')
    assert (done.returncode, done.stderr) == (0, f"wrote {page}\n")
    assert page.stat().st_size


def test_an_operation_like_no_other_gets_those_there_are(
    session: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["--input", str(session), "--operation", "zzzzqq"]) == 1
    assert capfd.readouterr().err == (
        "analyzer: no operation 'zzzzqq' was recorded; "
        "there are backward, env_step, training_batch\n"
    )
