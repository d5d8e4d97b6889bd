"""What is said after a name that is not known."""

from __future__ import annotations

from bridge.settings import suggest


def test_a_name_that_is_nearly_right_gets_the_one_that_was_meant() -> None:
    assert suggest("backwards", {"backward", "env_step"}) == "did you mean 'backward'?"


def test_a_name_that_is_like_no_other_gets_those_there_are() -> None:
    assert suggest("zzzzqq", {"env_step", "backward"}) == "there are backward, env_step"
    assert suggest("zzzzqq", ["env_step"]) == "there is env_step"
    assert suggest("zzzzqq", []) == "there are none"


def test_of_many_names_the_first_dozen_is_told_and_how_many_there_are_besides() -> None:
    names = [f"operation_{number:02}" for number in range(15)]
    assert suggest("zzz", names[:12]) == f"there are {', '.join(names[:12])}"
    assert suggest("zzz", names[::-1]) == f"there are {', '.join(names[:12])} and 3 more"
