"""Seeds: one number decides a whole battle, and says nothing about the next one."""

from __future__ import annotations

import re

import pytest

from bridge import seeds
from bridge.random_policy import RandomPolicy

ODD_SEEDS: list[seeds.Seed] = [0, 1, -1, 2**63, 10**40, "", "1,2,3,4", "sodium,ab", "é🐉"]


@pytest.mark.parametrize("seed", ODD_SEEDS)
def test_a_derived_seed_is_four_numbers_of_sixteen_bits(seed: seeds.Seed) -> None:
    derived = seeds.derive(seed, "battle")
    assert re.fullmatch(r"\d{1,5}(,\d{1,5}){3}", derived)
    assert all(int(part) < 1 << 16 for part in derived.split(","))


def test_a_seed_means_the_same_battle_for_ever() -> None:
    assert seeds.derive(7, "battle") == "49062,53798,13497,59671"
    assert seeds.derive(7, "p1") == "23000,2486,53826,37170"
    assert seeds.policy_seed(7, "p1") == 1507330486


def test_seeds_and_purposes_do_not_share_what_they_give() -> None:
    derived = {
        seeds.derive(seed, purpose) for seed in range(1000) for purpose in ("battle", "p1", "p2")
    }
    assert len(derived) == 3000


def test_a_number_and_its_text_are_the_same_seed() -> None:
    assert seeds.derive(7, "battle") == seeds.derive("7", "battle")
    assert seeds.policy_seed(7, "p2") == seeds.policy_seed("7", "p2")


def test_every_policy_seed_is_one_that_a_policy_takes() -> None:
    for seed in (*ODD_SEEDS, *range(200)):
        RandomPolicy(seeds.policy_seed(seed, "p1"))


@pytest.mark.parametrize("seed", [0, 7, "1,2,3,4", ""])
def test_a_given_seed_is_kept(seed: seeds.Seed) -> None:
    assert seeds.settle(seed) == seed


def test_without_a_seed_every_battle_has_a_fresh_one() -> None:
    fresh = {seeds.settle(None) for _ in range(100)}
    assert len(fresh) == 100
    assert all(isinstance(seed, int) and seed >= 0 for seed in fresh)
