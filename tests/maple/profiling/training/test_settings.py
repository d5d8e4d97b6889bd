"""What of a run can be set where it is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.errors import ConfigError
from maple.profiling.training import RunSettings, load_measured_config

DEFAULT = Path(__file__).parents[4] / "config" / "train.yml"


def test_what_is_measured_is_training_as_it_is_by_default_in_one_process_and_in_turns() -> None:
    config = load_measured_config(DEFAULT, {})

    assert config.workers == 0
    assert config.synchronous
    assert config.minutes is None
    assert RunSettings.of(config).batch == config.batch


def test_settings_that_are_given_count_more() -> None:
    given = {"parallel": 3, "ppo": {"epochs": 2}, "network": {"hidden": [8, 4]}}

    told = RunSettings.of(load_measured_config(DEFAULT, given | {"synchronous": False}))

    assert (told.parallel, told.epochs, told.hidden, told.synchronous) == (3, 2, (8, 4), False)
    assert told.opponents == load_measured_config(DEFAULT, {}).opponents.mix


@pytest.mark.parametrize("name", ["workers", "minutes", "checkpoints", "profile_name"])
def test_a_setting_that_changes_nothing_here_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"--{name.replace('_', '-')} changes nothing here: "):
        load_measured_config(DEFAULT, {name: 1})
