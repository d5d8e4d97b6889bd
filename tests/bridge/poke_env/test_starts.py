"""What a player has asked for is answered by the server, and by nobody else."""

from __future__ import annotations

import pytest

from bridge.poke_env.starts import Starts


def asked() -> Starts:
    starts = Starts("Red", lambda _text: None)
    starts.ask("/challenge Blue, gen1randombattle")
    return starts


def test_a_challenge_that_is_rejected_is_no_game() -> None:
    assert asked().hear_message(" Blue", " Red", "/nonotify Blue rejected the challenge.")


@pytest.mark.parametrize(
    "words", ["Blue rejected the challenge.", "x rejected the challenge.", "good luck"]
)
def test_what_users_say_answers_nothing(words: str) -> None:
    starts = asked()
    assert not starts.hear_message(" Green", " Red", words)
    assert starts.begin()


def test_a_popup_is_an_answer_only_to_who_has_asked() -> None:
    assert asked().refuse("|popup|Your team was rejected")
    assert not Starts("Red", lambda _text: None).refuse("|popup|Your team was rejected")
