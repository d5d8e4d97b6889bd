"""Writes the figures of a run as CSV and for TensorBoard. A full disk does not end the run."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from .errors import RunUnusable
from .run_folder import RunFolder

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

__all__ = ["Metrics"]

log = structlog.get_logger("maple.train")


class Metrics:
    """One row, or one point of each curve, for every update."""

    def __init__(self, folder: RunFolder, *, tensorboard: bool, update: int) -> None:
        try:
            self._csv = _Table(folder.metrics, update)
        except OSError as error:
            raise RunUnusable(f"cannot write {folder.metrics}: {error.strerror}") from error
        self._board = _open_board(folder.tensorboard, update) if tensorboard else None
        self._is_full = False

    def write(self, update: int, scalars: Mapping[str, float]) -> None:
        try:
            self._csv.write(update, scalars)
            if self._board is not None:
                for name, value in scalars.items():
                    self._board.add_scalar(name, value, update)
        except OSError as error:
            if not self._is_full:
                log.warning("figures cannot be written; training goes on", cause=error.strerror)
            self._is_full = True
        else:
            self._is_full = False

    def close(self) -> None:
        try:
            if self._board is not None:
                self._board.close()
        except OSError as error:
            log.warning("the last figures cannot be written", cause=error.strerror)


class _Table:
    """A CSV file. Its columns are those of all rows; one that is new has the file written anew."""

    def __init__(self, file: Path, update: int) -> None:
        self._file = file
        self._names: list[str] = []
        if file.exists():
            self._cut(update)

    def write(self, update: int, scalars: Mapping[str, float]) -> None:
        row = {"update": update, **scalars}
        new = [name for name in row if name not in self._names]
        if new:
            self._write_all([*self._names, *new], self._read())
        size = self._file.stat().st_size
        try:
            with self._file.open("a", encoding="utf-8", newline="") as out:
                csv.DictWriter(out, self._names).writerow(row)
        except OSError:
            # The next row is not to go on in the middle of this one.
            os.truncate(self._file, size)
            raise

    def _cut(self, update: int) -> None:
        """Forgets rows of updates that a run which goes on from an earlier one does again."""
        rows = [row for row in self._read() if int(row["update"]) <= update]
        self._write_all(list(rows[0]) if rows else [], rows)

    def _read(self) -> list[dict[str, Any]]:
        if not self._file.exists():
            return []
        lines = self._file.read_text(encoding="utf-8").splitlines(keepends=True)
        # A row that was being written when the run was killed is not whole.
        whole = [line for line in lines if line.endswith("\n")]
        return [row for row in csv.DictReader(whole) if None not in row.values()]

    def _write_all(self, names: list[str], rows: list[dict[str, Any]]) -> None:
        temporary = self._file.with_suffix(".part")
        with temporary.open("w", encoding="utf-8", newline="") as out:
            table = csv.DictWriter(out, names)
            if names:
                table.writeheader()
            table.writerows(rows)
        temporary.replace(self._file)
        self._names = names


def _open_board(folder: Path, update: int) -> SummaryWriter:
    from torch.utils.tensorboard.writer import SummaryWriter

    # Points of later updates, which are done again, are not shown twice.
    return SummaryWriter(str(folder), purge_step=update + 1)
