"""Weights in memory that several processes share: one writes, the others copy what is newest.

No lock: whoever is killed while it reads or writes leaves nothing behind that others wait for.
"""

from __future__ import annotations

import ctypes
import zlib
from multiprocessing.context import SpawnContext
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["SharedWeights", "shared_bytes"]

_PLACES: Final = 2
_HEADER: Final = 16
# The version of a place that holds nothing whole. Memory is zero at first, so versions begin at 1.
_NONE: Final = 0
_TRIES: Final = 1000


def shared_bytes(context: SpawnContext, size: int) -> Any:  # noqa: ANN401 - ctypes has no better type
    """Memory that a child gets when it is started; it has no name, and goes with its last user."""
    return context.RawArray(ctypes.c_uint8, size)


class SharedWeights:
    """The newest weights, and which version they are.

    Versions are written to two places in turn, so that the one before is whole while the next is
    written. Each has a checksum: a reader that was overtaken, and has half of each, reads again.
    """

    def __init__(self, context: SpawnContext, count: int) -> None:
        self._count = count
        self._memory = shared_bytes(context, _PLACES * (_HEADER + 4 * count))

    def write(self, weights: npt.NDArray[np.float32], version: int) -> None:
        """Makes weights the newest."""
        header, place = self._place(version % _PLACES)
        header[0] = _NONE
        place[:] = weights
        header[1] = zlib.crc32(place.data)
        header[0] = version

    def read(self) -> tuple[npt.NDArray[np.float32], int]:
        """A copy of the newest weights, and their version."""
        for _ in range(_TRIES):
            header, place = max((self._place(n) for n in range(_PLACES)), key=lambda p: p[0][0])
            version, checksum = header.tolist()
            copy = place.copy()
            if version != _NONE and header[0] == version and zlib.crc32(copy.data) == checksum:
                return copy, version
        raise RuntimeError("no version of the weights was ever whole: nobody has written any")

    def _place(self, index: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Version and checksum, and the weights."""
        at = index * (_HEADER + 4 * self._count)
        return (
            np.frombuffer(self._memory, np.int64, 2, at),
            np.frombuffer(self._memory, np.float32, self._count, at + _HEADER),
        )
