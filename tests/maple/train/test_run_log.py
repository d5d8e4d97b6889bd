"""The log of a run: what is in its file, what is said, and what is as before afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import structlog

from maple.train.run_log import logging_to

MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")

log = structlog.get_logger("tests.run_log")


def lines_of(file: Path) -> list[str]:
    """The lines of a log without their time, which each of them has."""
    lines = file.read_text(encoding="utf-8").splitlines()
    assert all(MOMENT.match(line) for line in lines)
    return [MOMENT.sub("", line) for line in lines]


def test_every_line_is_in_the_file_with_its_facts(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    with logging_to(file, lambda line: None):
        log.info("another stage begins", mix="self:0.5,max:0.5", stage=2)
        log.warning("a Pokémon fainted")
        log.error("a worker died", pid=12)
        assert len(lines_of(file)) == 3, "also while the run goes on"
    assert lines_of(file) == [
        "info    another stage begins  mix=self:0.5,max:0.5 stage=2",
        "warning a Pokémon fainted",
        "error   a worker died  pid=12",
    ]


def test_lines_come_after_those_of_the_times_before(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    for time in ("first", "second"):
        with logging_to(file, lambda line: None):
            log.info(time)
    assert lines_of(file) == ["info    first", "info    second"]


def test_what_is_meant_for_whoever_looks_for_a_bug_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    with logging_to(file, lambda line: None):
        log.debug("a frame", bytes=12)
    assert lines_of(file) == []


def test_what_is_no_good_news_is_said_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    said: list[str] = []
    with logging_to(file, said.append):
        log.info("another stage begins")
        log.warning("a worker was slow", worker=1)
        log.error("a worker died", worker=1)
        log.critical("nobody is left")
    assert said == file.read_text(encoding="utf-8").splitlines()[1:]


def test_exceptions_are_written_and_said_with_their_trace(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    said: list[str] = []
    with logging_to(file, said.append):
        try:
            _ = 1 / 0
        except ZeroDivisionError:
            log.exception("a worker failed", worker=3)
    [told] = said
    assert file.read_text(encoding="utf-8") == f"{told}\n"
    first, *trace = told.splitlines()
    assert first.endswith("error   a worker failed  worker=3")
    assert trace[0] == "Traceback (most recent call last):"
    assert "test_run_log.py" in trace[1]
    assert trace[-1] == "ZeroDivisionError: division by zero"


def test_the_trace_of_another_process_stands_below_its_line(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    with logging_to(file, lambda line: None):
        log.error("a worker failed", worker=3, trace="Traceback:\n  there\nKeyError: 3")
    first, *trace = file.read_text(encoding="utf-8").splitlines()
    assert first.endswith("error   a worker failed  worker=3")
    assert trace == ["Traceback:", "  there", "KeyError: 3"]


def test_what_was_logged_to_before_is_logged_to_again(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    before = structlog.get_config()

    def fail() -> None:
        log.info("inside")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), logging_to(file, lambda line: None):
        fail()
    assert structlog.get_config() == before
    log.info("outside")
    assert lines_of(file) == ["info    inside"]


def test_a_log_on_a_full_disk_does_not_end_a_run(tmp_path: Path) -> None:
    (tmp_path / "log.txt").symlink_to("/dev/full")
    said: list[str] = []
    with logging_to(tmp_path / "log.txt", said.append):
        log.info("one")
    assert len(said) == 1
