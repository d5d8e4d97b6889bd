"""The folder of a run: what is where in it, and that one process at a time writes there."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml
from filelock import FileLock, Timeout

from bridge.errors import ConfigError
from bridge.machine import cpu_count, cpu_model, package_version
from maple.env.spec import ObservationSpec

from .config import TrainConfig, plain, read_train_config
from .errors import RunNotFound, RunUnusable
from .rewards import read_reward

__all__ = ["RunFolder"]

_CONFIG: Final = "config.yml"
_VERSIONS: Final = "versions.json"
_LATEST: Final = "latest.txt"
_BEST: Final = "best.pt"
_UPDATE = re.compile(r"update-(\d+)\.pt")
_PACKAGES = ("maple", "torch", "numpy", "gymnasium", "poke-env")


class RunFolder:
    """Names of files, and the settings that a run was begun with."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.league = path / "league"
        self.replays = path / "replays"
        self.profile = path / "profile"
        self.tensorboard = path / "tensorboard"
        self.log = path / "log.txt"
        self.metrics = path / "metrics.csv"
        self.curves = path / "curves.png"

    def __repr__(self) -> str:
        return f"<RunFolder {self.path}>"

    @classmethod
    def create(cls, config: TrainConfig) -> RunFolder:
        """A new folder with the settings in it; one that is there already is an error."""
        name = config.name or time.strftime("%Y-%m-%d-%H%M%S")
        folder = cls(config.folder / name)
        if (folder.path / _CONFIG).exists():
            raise RunUnusable(
                f"there is a run in {folder.path} already: --resume {folder.path} goes on with it, "
                "and another --name begins a new one"
            )
        try:
            folder.checkpoints.mkdir(parents=True, exist_ok=True)
            folder.write_config(config)
            write_whole(folder.path / _VERSIONS, json.dumps(versions(), indent=2) + "\n")
        except OSError as error:
            raise RunUnusable(f"cannot write to {folder.path}: {error.strerror}") from error
        return folder

    def write_config(self, config: TrainConfig) -> None:
        """Keeps settings, with what the files have in them that they name: those may change."""
        try:
            self._write_config(config)
        except OSError as error:
            raise RunUnusable(f"cannot write to {self.path}: {error.strerror}") from error

    def _write_config(self, config: TrainConfig) -> None:
        kept = plain(config)
        if isinstance(config.reward, str):
            kept["reward"] = read_reward(config.reward)
        for name in ("teams", "bridge"):
            if kept[name] is not None:
                kept[name] = _copy(Path(kept[name]), self.path / name)
        text = yaml.safe_dump(kept, sort_keys=False, allow_unicode=True)
        write_whole(self.path / _CONFIG, text)

    @classmethod
    def find(cls, path: Path) -> RunFolder:
        """The folder of a run that was begun."""
        if not (path / _CONFIG).is_file():
            raise RunNotFound(f"there is no run in {path}: it has no {_CONFIG}")
        return cls(path)

    def read_config(self, overrides: Mapping[str, Any]) -> TrainConfig:
        """The settings it was begun with, and others instead of those that are named."""
        file = self.path / _CONFIG
        try:
            data = yaml.safe_load(file.read_bytes())
        except (OSError, yaml.YAMLError) as error:
            raise RunUnusable(f"cannot read {file}: {error}") from error
        if not isinstance(data, dict):
            raise RunUnusable(f"{file} is not a mapping of settings to values")
        try:
            return read_train_config(data, overrides, self.path)
        except ConfigError as error:
            raise ConfigError(f"{file}: {error.message}") from error

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keeps others out as long as this process writes."""
        lock = FileLock(self.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RunUnusable(f"another process is training in {self.path}") from None
        try:
            yield
        finally:
            lock.release()

    # Checkpoints

    def checkpoint(self, update: int) -> Path:
        return self.checkpoints / f"update-{update:06d}.pt"

    @property
    def best(self) -> Path:
        return self.checkpoints / _BEST

    @property
    def latest(self) -> Path:
        """The checkpoint that the run goes on from; raises CheckpointUnreadable without one."""
        from maple.agents import find_checkpoint

        return find_checkpoint(self.checkpoints, prefer="latest")

    def point_to(self, checkpoint: Path) -> None:
        """Makes a checkpoint the one that the run goes on from."""
        write_whole(self.checkpoints / _LATEST, f"{checkpoint.name}\n")

    def written(self) -> list[Path]:
        """The checkpoints that are there, oldest first."""
        found = self.checkpoints.glob("update-*.pt") if self.checkpoints.is_dir() else ()
        return sorted((file for file in found if _UPDATE.fullmatch(file.name)), key=_update_of)

    def forget_all_but(self, keep: int, *, until: int) -> None:
        """Removes the oldest, and those after an update that the run has gone on from anew."""
        written = self.written()
        past = [file for file in written if _update_of(file) <= until]
        for file in written:
            if file not in past[-keep:]:
                file.unlink(missing_ok=True)

    @property
    def oldest(self) -> int:
        """The update of the oldest checkpoint that is there."""
        written = self.written()
        return _update_of(written[0]) if written else 0


def _update_of(checkpoint: Path) -> int:
    match = _UPDATE.fullmatch(checkpoint.name)
    assert match is not None
    return int(match[1])


def _copy(source: Path, target: Path) -> str:
    """A file or a folder as it is now; the name of the copy."""
    target = target if source.is_dir() else target.with_name(target.name + source.suffix)
    if source.resolve() != target.resolve():
        # Whole before the one that was there goes, which it may be a part of.
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        copy = shutil.copytree if source.is_dir() else shutil.copyfile
        copy(source, temporary)
        shutil.rmtree(target, ignore_errors=True)
        temporary.replace(target)
    return target.name


def write_whole(file: Path, text: str) -> None:
    """Writes a file that is there as a whole, or as it was before."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def versions() -> dict[str, Any]:
    """What the run depends on besides its settings."""
    spec = ObservationSpec.load()
    return {
        "python": platform.python_version(),
        "packages": {name: package_version(name) for name in _PACKAGES},
        "observation": {"hash": spec.hash, "version": spec.version},
        "machine": {"system": platform.system(), "cpu": cpu_model(), "cores": cpu_count()},
    }
