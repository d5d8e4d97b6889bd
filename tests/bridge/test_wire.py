"""The frames on the pipe: how bytes become lines and frames, and what cannot become one."""

from __future__ import annotations

import random

import orjson
import pytest
from msgspec import Raw

from bridge.errors import ProtocolViolation
from bridge.side import Update
from bridge.wire import UNSET, End, LineSplitter, News, decode, encode


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
    request = {"active": [{"moves": []}], "side": {"name": "é🐉"}}
    fields = {
        "ack": 2**53,
        "room": "battle-gen9ou-1",
        "p1": {"text": 'a"\\\n\u2028\x00é🐉', "rqid": 7, "request": request},
        "p2": {"text": ""},
        "end": {"winner": None, "turns": 3, "reason": "tie"},
        "t": [2**53, 1, 2, 3],
    }
    frame = decode(encode(fields))
    assert frame.ack == 2**53
    assert frame.p1 is not None
    assert (frame.p1.text, frame.p1.rqid) == ('a"\\\n\u2028\x00é🐉', 7)
    assert orjson.loads(memoryview(frame.p1.request)) == request
    assert frame.p2 == News("")
    assert frame.end == End(None, 3, "tie")
    assert frame.t == (2**53, 1, 2, 3)
    assert frame.error is None


def test_a_frame_that_says_less_has_less() -> None:
    assert decode(b"{}").ack is UNSET
    assert decode(b'{"ack":null}').ack is None
    assert decode(b'{"ack":1,"news":[{}]}').ack == 1


def test_a_request_is_decoded_once_and_when_it_is_read() -> None:
    update = Update(News("|turn|1", 3, Raw(b'{"wait":true}')))
    assert update.request == {"wait": True}
    assert update.request is update.request
    assert not update.must_choose
    assert Update(News("|turn|1")).request is None


@pytest.mark.parametrize("request_", [b"7", b"[]", b'{"a":1e999}', b'{"a":"\\ud800"}'])
def test_a_request_that_is_none_is_a_violation_where_it_is_read(request_: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="a request from Node is not"):
        _ = Update(News("", 1, Raw(request_))).request


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
        b'{"p1":{"text":"\xff"}}',
        b'{"p1":{"text":"\\ud800"}}',
        b'{"p1":{"text":"","request":{"half"}}',
        b'{"p1":{"text":"","request":{"name":"\xff"}}}',
        b'{"hello":{"protocol":1}}',
        b'{"p1":{"text":"","request":' + b"[" * 100_000,
        b"\x00",
        b"[" * 5_000,
        b"null",
        b"1",
        b'"hello"',
        b"[]",
        b'[{"ack":1}]',
        b"true",
        b'{"ack":"1"}',
        b'{"ack":1,"p1":[]}',
        b'{"ack":1,"p1":{"text":1}}',
        b'{"ack":1,"p1":{"obs":"not base64"}}',
        b'{"ack":1,"t":[1,2,3]}',
        b'{"ack":1,"end":{"winner":"p3","turns":1,"reason":"win"}}',
    ],
)
def test_a_line_that_is_no_frame_is_a_violation(line: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="is no frame"):
        decode(line)


def test_a_violation_shows_only_the_beginning_of_a_long_line() -> None:
    with pytest.raises(ProtocolViolation) as violation:
        decode(b"x" * 10_000_000)
    assert "xxxx" in violation.value.message
    assert len(violation.value.message) < 500
    with pytest.raises(ProtocolViolation) as violation:
        decode(orjson.dumps(["x" * 10_000_000]))
    assert len(violation.value.message) < 500
