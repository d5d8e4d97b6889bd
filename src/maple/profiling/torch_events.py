"""What torch says of its own operations, on the same clock as ours."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import orjson

__all__ = ["TorchEvents"]

_MOST = 200_000


class TorchEvents:
    """Torch's own profiler, from when this is made until it is stopped."""

    def __init__(self) -> None:
        import torch.profiler

        self._profile = torch.profiler.profile()
        self._profile.start()

    def stop(self) -> list[dict[str, Any]]:
        """The longest of its events: name, category, pid, tid, start (since 1970) and duration."""
        self._profile.stop()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            self._profile.export_chrome_trace(str(file))
            written = orjson.loads(file.read_bytes())
        base = int(written["baseTimeNanoseconds"])
        events = [
            {
                "name": event["name"],
                "category": event.get("cat", ""),
                "pid": event["pid"],
                "tid": event["tid"],
                "start": base + round(event["ts"] * 1000),
                "duration": round(event["dur"] * 1000),
            }
            for event in written["traceEvents"]
            if event.get("ph") == "X" and isinstance(event["pid"], int)
        ]
        events.sort(key=lambda event: -event["duration"])
        return events[:_MOST]
