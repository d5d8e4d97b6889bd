"""The settings: what is read, what is refused and in which words, and the file that lists them."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import docstring_parser
import pytest
import yaml

from bridge import BridgeConfig, load_config
from bridge.errors import ConfigError

FILE = Path(__file__).resolve().parents[2] / "config" / "bridge.yml"
NAMES = [field.name for field in fields(BridgeConfig)]
# Their default is found out on the machine, so the file shows them commented out.
FOUND_OUT = [field.name for field in fields(BridgeConfig) if field.default_factory is not MISSING]


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yml"


def refusal(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as refused:
        load_config(path)
    message = str(refused.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_the_file_lists_every_setting_in_order() -> None:
    listed = re.findall(r"^(?:# )?([a-z_]+): ", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == NAMES


def test_the_file_sets_what_does_not_depend_on_the_machine() -> None:
    written = yaml.safe_load(FILE.read_bytes())
    assert list(written) == [name for name in NAMES if name not in FOUND_OUT]


def test_the_file_holds_the_defaults() -> None:
    assert load_config(FILE) == BridgeConfig()


def test_what_the_file_has_commented_out_is_valid(settings_file: Path) -> None:
    text = FILE.read_text(encoding="utf-8")
    for name in FOUND_OUT:
        text = text.replace(f"# {name}: ", f"{name}: ")
    settings_file.write_text(text, encoding="utf-8")
    config = load_config(settings_file)
    assert (config.pool, config.poison_folder) == (8, Path("poisoned"))


def test_compiled_code_is_kept_with_what_else_is_in_the_cache_or_nowhere(
    settings_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAPLE_CACHE", str(tmp_path))
    assert BridgeConfig().cache_folder == tmp_path / "code"
    settings_file.write_text("cache_folder: null\nturbo: false\n")
    config = load_config(settings_file)
    assert (config.cache_folder, config.turbo) == (None, False)
    assert config.describe()["cache_folder"] is None
    assert config.replace(pool=3).cache_folder is None


def test_every_setting_is_documented() -> None:
    documented = docstring_parser.parse(BridgeConfig.__doc__ or "").params
    assert [parameter.arg_name for parameter in documented] == NAMES
    assert all(parameter.description for parameter in documented)


def test_an_empty_file_is_all_defaults(settings_file: Path) -> None:
    settings_file.write_text("")
    assert load_config(settings_file) == BridgeConfig()


def test_a_file_may_set_some(settings_file: Path) -> None:
    settings_file.write_text("pool: 3\nnode_arguments: [--cpu-prof]\nheartbeat: 2\n")
    assert load_config(settings_file) == BridgeConfig(
        pool=3, node_arguments=("--cpu-prof",), heartbeat=2.0
    )


def test_described_settings_make_the_same_settings(settings_file: Path) -> None:
    config = BridgeConfig(pool=5, node_arguments=("--a", "--b"), poison_folder=Path("p"))
    described = config.describe() | {"node_arguments": ["--a", "--b"]}
    settings_file.write_text(yaml.safe_dump(described))
    assert load_config(settings_file) == config


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("pol", "pool"),
        ("room_per_controller", "rooms_per_controller"),
        ("drain-timeout", "drain_timeout"),
    ],
)
def test_an_unknown_setting_names_the_nearest(settings_file: Path, typo: str, meant: str) -> None:
    message = refusal(settings_file, f"{typo}: 1\n")
    assert f"unknown setting {typo!r}; did you mean {meant!r}?" in message
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        BridgeConfig().replace(**{typo: 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pool", "many"),
        ("pool", 1.5),
        ("pool", True),
        ("pool", None),
        ("pool", [8]),
        ("open_timeout", "soon"),
        ("node", 20),
        ("node_arguments", "--cpu-prof"),
        ("timing", 7),
        ("poison_folder", 3),
    ],
)
def test_a_value_of_the_wrong_type_names_its_setting(
    settings_file: Path, name: str, value: object
) -> None:
    assert name in refusal(settings_file, yaml.safe_dump({name: value}))
    with pytest.raises(ConfigError, match=name):
        BridgeConfig().replace(**{name: value})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"pool": 0}, "pool is 0, but must be at least 1"),
        ({"pool": -1}, "pool is -1, but must be at least 1"),
        ({"rooms_per_controller": 0}, "rooms_per_controller is 0, but must be at least 1"),
        ({"open_timeout": 0.0}, "open_timeout is 0.0, but must be more than 0"),
        ({"heartbeat": float("nan")}, "heartbeat is nan, but must be a finite number"),
        ({"recycle_age": float("inf")}, "recycle_age is inf, but must be a finite number"),
        ({"recycle_jitter": 1.0}, "recycle_jitter is 1.0, but must be in [0, 1)"),
    ],
)
def test_a_value_out_of_range_says_what_the_range_is(
    settings_file: Path, settings: dict[str, Any], reason: str
) -> None:
    assert reason in refusal(settings_file, yaml.safe_dump(settings))
    with pytest.raises(ConfigError, match=re.escape(reason)):
        BridgeConfig(**settings)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pool: [1\n", "is not valid YAML: line 2: expected ',' or ']'"),
        (b"pool: \xff\xfe\n", "is not valid YAML: "),
        ("- pool\n", "is not a mapping of settings to values"),
        ("pool:\n", "pool has no value"),
    ],
    ids=["unclosed", "not UTF-8", "a list", "no value"],
)
def test_a_file_that_cannot_be_understood_says_why(
    settings_file: Path, text: str | bytes, reason: str
) -> None:
    assert reason in refusal(settings_file, text)


def test_a_file_that_is_not_there_says_so(settings_file: Path) -> None:
    with pytest.raises(ConfigError, match=rf"cannot read {settings_file}: No such file"):
        load_config(settings_file)
