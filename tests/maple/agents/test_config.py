"""The settings of a network: defaults by kind, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import ConfigError
from maple.agents import NetworkConfig, build_network_config, load_network_config


def test_each_kind_has_defaults_for_what_it_has_and_nothing_else() -> None:
    mlp, lstm, attention = (NetworkConfig(kind=kind) for kind in ("mlp", "lstm", "attention"))
    assert NetworkConfig() == mlp
    assert (mlp.hidden, mlp.moves, mlp.memory, mlp.entity) == ((256, 256), 64, None, None)
    assert (lstm.memory, lstm.heads, lstm.embeddings) == (256, None, {})
    assert (attention.layers, attention.moves, attention.memory) == (1, 64, None)
    assert attention.embeddings["species"] == 16
    assert attention.size("entity") % attention.size("heads") == 0


@pytest.mark.parametrize("kind", ["mlp", "lstm", "attention"])
def test_a_described_network_is_made_again(kind: Any) -> None:  # noqa: ANN401 - a kind
    config = NetworkConfig(kind=kind, hidden=(7,), item_size=3)
    described = config.describe()
    assert described["hidden"] == [7]
    assert build_network_config(described) == config
    assert set(described) == {field.name for field in fields(NetworkConfig)}


def test_settings_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "network.yml"
    path.write_text("kind: attention\nhidden: [32, 16]\nlayers: 3\nmemory:\n", encoding="utf-8")
    config = load_network_config(path)
    assert config == NetworkConfig(kind="attention", hidden=(32, 16), layers=3)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"kind": "mpl"}, "mlp"),
        ({"hiden": [3]}, "unknown setting 'hiden'; did you mean 'hidden'?"),
        ({"hidden": []}, "hidden is [], but must be one or more widths of at least 1"),
        ({"hidden": [8, 0]}, "hidden is [8, 0]"),
        ({"hidden": "wide"}, "hidden"),
        ({"memory": 64}, "memory is for lstm, not for mlp"),
        ({"kind": "attention", "memory": 64}, "memory is for lstm, not for attention"),
        ({"kind": "attention", "layers": -1}, "layers is -1, but must be at least 0"),
        ({"moves": -1}, "moves is -1, but must be at least 0"),
        ({"kind": "lstm", "layers": 1}, "layers is for attention, not for lstm"),
        ({"kind": "lstm", "memory": 0}, "memory is 0, but must be at least 1"),
        ({"species_size": -1}, "species_size is -1, but must be at least 0"),
        ({"kind": "attention", "heads": 5}, "which is no multiple of 5 heads"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        build_network_config(settings)


def test_an_unknown_kind_is_refused_in_python_too() -> None:
    with pytest.raises(ConfigError, match=r"unknown kind 'lsmt'; did you mean 'lstm'\?"):
        NetworkConfig(kind="lsmt")  # type: ignore[arg-type]


def test_settings_are_imported_without_torch() -> None:
    program = (
        "import sys, maple.agents; from maple.agents import NetworkConfig, CheckpointUnreadable; "
        "NetworkConfig(); print('torch' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert told.stdout.strip() == "False"
