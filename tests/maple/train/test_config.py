"""The settings of a run: from YAML, from a command line, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.errors import ConfigError
from maple.train.config import TrainConfig, load_train_config, plain, read_train_config
from maple.train.mixes import read_mix
from maple.train.options import describe_settings, read_overrides

ENDS = {"episodes": 10}
CONFIG = Path("config/train.yml")


def test_the_file_can_be_read_and_says_what_a_run_needs() -> None:
    config = load_train_config(CONFIG)
    assert config.minutes is not None


def test_the_file_names_every_setting() -> None:
    """So that whoever looks for one finds it there with what it means."""
    text = CONFIG.read_text(encoding="utf-8")
    named = {line.strip().lstrip("# ").split(":")[0] for line in text.splitlines() if ":" in line}
    # Those of a network depend on its kind, and docs/agents.md has them.
    missing = [
        name
        for name, _ in describe_settings()
        if not name.startswith("--network.")
        and name.split(".")[-1].lstrip("-").replace("-", "_") not in named
    ]
    assert not missing


def test_settings_that_are_written_down_are_the_same_when_they_are_read() -> None:
    config = read_train_config(
        {
            **ENDS,
            "learning": {"rate": {"kind": "cosine", "start": 0.1}},
            "network": {"kind": "lstm", "hidden": [8]},
            "opponents": {"stages": [{"mix": "random", "win_rate": 0.5}]},
            "folder": "somewhere",
        }
    )
    assert read_train_config(yaml.safe_load(yaml.safe_dump(plain(config)))) == config


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, "the run has no end"),
        ({**ENDS, "epsiodes": 3}, "did you mean 'episodes'"),
        ({**ENDS, "learning": {"discuont": 1}}, "learning: unknown setting 'discuont'"),
        ({**ENDS, "learning": {"rate": {"kind": "linaer"}}}, "learning: unknown kind 'linaer'"),
        ({**ENDS, "learning": 3}, "learning is 3, but must be a mapping"),
        ({**ENDS, "ppo": {"clip": 0}}, "ppo: clip is 0"),
        ({**ENDS, "algorithm": "reinforce", "ppo": {"epochs": 2}}, "change nothing"),
        ({**ENDS, "profile_name": "x"}, "only with profile"),
        ({**ENDS, "workers": 0, "max_lag": 1}, "max_lag changes nothing"),
        ({**ENDS, "synchronous": True, "max_lag": 1}, "max_lag changes nothing"),
        ({**ENDS, "learning": {"sequence": 8}}, "sequence is of a network of kind lstm"),
        ({**ENDS, "learning": {"value_weight": -1}}, "value_weight is -1"),
        ({**ENDS, "parallel": 8, "batch": 15}, "must be at least 16"),
        ({**ENDS, "minutes": 1, "synchronous": True}, "a clock is not the same twice"),
        ({"minutes": 1, "synchronous": True}, "a clock is not the same twice"),
        ({**ENDS, "opponents": {"league_every": 3}}, "no mix has it"),
        ({**ENDS, "opponents": {"mix": "random:0"}}, "must be more than 0"),
        ({**ENDS, "opponents": {"mix": "random,random"}}, "twice"),
        ({**ENDS, "opponents": {"mix": ""}}, "nobody in it"),
        (
            {**ENDS, "opponents": {"stages": [{"mix": "self", "win_rate": 0.9}]}},
            "nobody but the agent itself",
        ),
        ({**ENDS, "learning": {"rate": {"kind": "plateau"}}}, "stays the same"),
        ({**ENDS, "exploration": 1.5}, "exploration is 1.5"),
        ({**ENDS, "seed": -1}, "seed is -1"),
        ({**ENDS, "network": {"kind": "mlp", "heads": 3}}, "network: heads is for attention"),
        ({**ENDS, "parallel": None}, "parallel has no value"),
    ],
)
def test_what_makes_no_sense_is_refused(data: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_train_config(data)


def test_paths_in_a_file_are_seen_from_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "train.yml"
    file.write_text("episodes: 1\nreward: rewards.yml\n", encoding="utf-8")
    assert load_train_config(file).reward == str(tmp_path / "rewards.yml")
    assert load_train_config(file, {"reward": "mine.yml"}).reward == "mine.yml"


# On the command line


def test_every_setting_can_be_given_on_a_command_line() -> None:
    given = read_overrides(
        [
            *("--episodes", "500", "--learning.rate", "1e-3", "--ppo.target-kl=null", "--profile"),
            *("--opponents.mix", "random:0.3,self:0.7", "--profile-name", "first"),
        ]
    )
    assert given == {
        "episodes": 500,
        "learning": {"rate": 1e-3},
        "ppo": {"target_kl": None},
        "profile": True,
        "opponents": {"mix": "random:0.3,self:0.7"},
        "profile_name": "first",
    }
    config = read_train_config({"minutes": 3}, given)
    assert config.learning.rate == 1e-3
    assert config.ppo.target_kl is None
    assert config.minutes == 3


def test_what_is_inside_of_a_setting_can_be_given_by_itself() -> None:
    given = read_overrides(["--learning.rate.kind", "cosine", "--learning.rate.start", "0.1"])
    assert given == {"learning": {"rate": {"kind": "cosine", "start": 0.1}}}


def test_a_mapping_that_is_given_whole_stands_in_place_of_that_in_the_file() -> None:
    rate = {"kind": "linear", "start": 1e-3, "end": 1e-4}
    learning = {"rate": rate, "minibatch": 99}
    below = {**ENDS, "learning": learning, "opponents": {"mix": "random"}}
    whole = read_overrides(["--learning.rate", "{kind: plateau, start: 0.01}"])
    found = read_train_config(below, whole).learning
    assert found.rate == {"kind": "plateau", "start": 0.01}
    assert found.minibatch == 99
    part = read_overrides(["--learning.rate.end", "1e-5"])
    assert read_train_config(below, part).learning.rate == {**rate, "end": 1e-5}


def test_a_weight_that_is_given_by_itself_goes_with_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "reward.yml").write_text("knock_out: 0.1\nhp: 0.3\n", encoding="utf-8")
    file = tmp_path / "train.yml"
    file.write_text("episodes: 1\nreward: reward.yml\n", encoding="utf-8")
    one = load_train_config(file, read_overrides(["--reward.hp", "0.2"]))
    assert one.reward == {"knock_out": 0.1, "hp": 0.2}
    all_of_them = load_train_config(file, read_overrides(["--reward", "{hp: 0.2}"]))
    assert all_of_them.reward == {"hp": 0.2}


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--decisions", "1e6"], "decisions", 1_000_000),
        (["--name", "1"], "name", "1"),
        (["--name", "2026-11-19"], "name", "2026-11-19"),
        (["--name", "null"], "name", None),
        (["--observation", "decision,field"], "observation", ["decision", "field"]),
        (["--observation", "[decision]"], "observation", ["decision"]),
        (["--folder", "7"], "folder", Path("7")),
    ],
)
def test_what_is_given_is_read_as_what_it_is_for(
    arguments: list[str], name: str, value: object
) -> None:
    assert getattr(read_train_config(ENDS, read_overrides(arguments)), name) == value


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--epsiodes", "3"], "unknown setting --epsiodes; did you mean 'episodes'"),
        (["--learning.rte", "3"], "did you mean 'learning.rate'"),
        (["episodes", "3"], "'episodes' is no setting"),
        (["--reward", "{"], "not valid YAML"),
        (["--seed", "1", "--seed.x", "2"], "unknown|inside"),
    ],
)
def test_what_is_no_setting_is_refused(arguments: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_train_config(ENDS, read_overrides(arguments))


def test_help_explains_every_setting() -> None:
    for name, text in describe_settings(TrainConfig):
        assert len(text) > 20, f"{name} is not explained"


def test_settings_are_read_without_torch() -> None:
    """It looks at the environment when it is imported, for how many threads it is to have."""
    code = (
        "import sys, maple.train.config, maple.train.options, maple.train.layout, "
        "maple.train.command_line; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_mixes() -> None:
    assert read_mix("random:0.3, self:0.7") == {"random": 0.3, "self": 0.7}
    assert read_mix("self") == {"self": 1.0}
    assert read_mix("runs/first:2,a:b.pt") == {"runs/first": 2.0, "a:b.pt": 1.0}
