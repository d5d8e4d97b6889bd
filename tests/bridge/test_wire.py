"""The frames on the pipe: how bytes become lines and frames, and what cannot become one."""

from __future__ import annotations

import random

import orjson
import pytest

from bridge.errors import ProtocolViolation
from bridge.wire import LineSplitter, decode, encode


def chunks(data: bytes, draw: random.Random, longest: int) -> list[bytes]:
    """The same bytes, cut anywhere."""
    cut: list[bytes] = []
    position = 0
    while position < len(data):
        size = draw.randint(1, longest)
        cut.append(data[position : position + size])
        position += size
    return cut


def feed(splitter: LineSplitter, pieces: list[bytes]) -> list[bytes]:
    return [line for piece in pieces for line in splitter.feed(piece)]


# Lines


@pytest.mark.parametrize("seed", range(50))
def test_however_a_stream_is_cut_its_lines_are_the_same(seed: int) -> None:
    draw = random.Random(seed)
    lines = [draw.randbytes(draw.choice((0, 1, 7, 300))) for _ in range(draw.randrange(40))]
    lines = [line.replace(b"\n", b"") for line in lines]
    stream = b"".join(line + b"\n" for line in lines)
    for longest in (1, 3, 64, 10_000):
        assert feed(LineSplitter(), chunks(stream, draw, longest)) == lines


def test_a_line_comes_when_its_newline_does() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"ack"') == []
    assert splitter.feed(b":1}") == []
    assert splitter.feed(b'\n{"ack":2}\n{"a') == [b'{"ack":1}', b'{"ack":2}']
    assert splitter.feed(b'ck":3}\n') == [b'{"ack":3}']


def test_empty_lines_are_lines() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"\n\n") == [b"", b""]
    assert splitter.feed(b"a") == []
    assert splitter.feed(b"\n") == [b"a"]
    assert splitter.feed(b"") == []
    assert splitter.feed(b"\n") == [b""]


def test_only_a_newline_ends_a_line() -> None:
    odd = "a\r\v\f\x1c\x85\u2028\u2029b".encode()
    assert LineSplitter().feed(odd + b"\n") == [odd]


def test_a_line_of_many_megabytes_is_one_line() -> None:
    huge = b"x" * 20_000_000
    splitter = LineSplitter()
    pieces = [huge[start : start + 65_536] for start in range(0, len(huge), 65_536)]
    assert feed(splitter, pieces) == []
    assert splitter.feed(b"\nnext\n") == [huge, b"next"]


def test_characters_may_be_cut_in_two() -> None:
    frame = encode({"name": "Flabébé 🐉"})
    splitter = LineSplitter()
    assert feed(splitter, [bytes((byte,)) for byte in frame + b"\n"]) == [frame]


# Frames


def test_what_is_encoded_is_decoded() -> None:
    fields = {
        "room": "battle-gen9ou-1",
        "p1": {"name": 'a"\\\n\u2028\x00é🐉', "team": None},
        "replay": [["choose", "p1", "move 1"]],
        "rqid": 2**53,
    }
    assert decode(encode(fields)) == fields


def test_a_frame_is_one_line_whatever_is_in_it() -> None:
    assert b"\n" not in encode({"choice": "move 1\n>p2 move 2\r\n"})


@pytest.mark.parametrize(
    "text", [chr(0xD800), chr(0xDFFF), "fine until \ud83d here", "\udc00\ud800"]
)
def test_half_a_character_cannot_be_encoded(text: str) -> None:
    for fields in ({"name": text}, {text: 1}, {"p1": {"team": [text]}}):
        with pytest.raises(ValueError, match="cannot be encoded"):
            encode(fields)


@pytest.mark.parametrize("value", [2**64, object(), {1, 2}, b"bytes"])
def test_what_json_does_not_know_cannot_be_encoded(value: object) -> None:
    with pytest.raises(ValueError, match="cannot be encoded"):
        encode({"value": value})


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"{}{}",
        b'{"a":NaN}',
        b"{'a':1}",
        b"Segmentation fault",
        b'{"a":"\xff"}',
        b'{"a":"\\ud800"}',
        b"\x00",
        b"[" * 5_000,
    ],
)
def test_a_line_that_is_not_json_is_a_violation(line: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="is not JSON"):
        decode(line)


@pytest.mark.parametrize("line", [b"null", b"1", b'"hello"', b"[]", b'[{"ack":1}]', b"true"])
def test_a_line_that_is_not_an_object_is_a_violation(line: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="is not an object"):
        decode(line)


def test_a_violation_shows_only_the_beginning_of_a_long_line() -> None:
    with pytest.raises(ProtocolViolation) as violation:
        decode(b"x" * 10_000_000)
    assert "xxxx" in violation.value.message
    assert len(violation.value.message) < 500
    with pytest.raises(ProtocolViolation) as violation:
        decode(orjson.dumps(["x" * 10_000_000]))
    assert len(violation.value.message) < 500
