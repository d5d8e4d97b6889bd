"""What a controller takes from its start to its first answer, vanilla beside turbo."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from ..controller import V8_OPTIONS
from ..runtime import Runtime
from .child import RowFailed
from .sample import Spread

__all__ = ["ColdStarts", "measure_cold"]

_PATIENCE = 60.0
_SECONDS_A_SAMPLE = 60.0


@dataclass(frozen=True, slots=True)
class ColdStarts:
    """Milliseconds of starts that were made in turns, by what they lead to.

    `hello` is until a process greets, `answer` until it has opened its first battle, and `cpu` the
    CPU time that this took.
    """

    vanilla: dict[str, list[float]]
    turbo: dict[str, list[float]]

    def gain(self, moment: str) -> Spread:
        """How much longer vanilla takes: neighbouring starts, so that drift cancels."""
        pairs = zip(self.vanilla[moment], self.turbo[moment], strict=True)
        return Spread.of([vanilla / turbo for vanilla, turbo in pairs])


def measure_cold(runtime: Runtime, samples: int) -> ColdStarts:
    """Starts controllers as a pool does, so many of either kind, with a cache that is filled."""
    script = runtime.entry.parent / "bench" / "cold.js"
    with tempfile.TemporaryDirectory(prefix="maple-cold-") as cache:
        command = [
            *(str(runtime.node), *V8_OPTIONS, str(script)),
            *(f"--simulator={runtime.simulator}", f"--samples={samples}", f"--cache={cache}"),
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=True,
                timeout=_PATIENCE + samples * _SECONDS_A_SAMPLE,
            )
        except subprocess.CalledProcessError as error:
            raise RowFailed(
                "cold starts failed", exit_status=error.returncode, stderr=error.stderr
            ) from error
        except subprocess.TimeoutExpired as error:
            raise RowFailed(f"cold starts took more than {error.timeout:g} s") from error
    return _read(json.loads(done.stdout))


def _read(told: dict[str, Any]) -> ColdStarts:
    moments = {"hello": told["hello"], "answer": told, "cpu": told["cpu"]}
    return ColdStarts(
        vanilla={name: values["vanilla"] for name, values in moments.items()},
        turbo={name: values["turbo"] for name, values in moments.items()},
    )
