"""`python -m bridge.serve` as a benchmark runs it: a process of its own on a free port."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from .child import RowFailed
from .showdown_server import session_members

__all__ = ["MapleServer"]

_START_SECONDS = 60.0
_STOP_SECONDS = 30.0


class MapleServer:
    """Our own server, with so many controllers, while the context is open."""

    pid: int
    port: int

    def __init__(self, pool: int, *, turbo: bool = True) -> None:
        self._options = ["--pool", str(pool), "--warmup-battles", "0", "--drain-timeout", "0"]
        self._options.append("--turbo" if turbo else "--no-turbo")

    def __enter__(self) -> Self:
        # A session of its own, by which its processes are found and their CPU time is counted.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bridge.serve", "--port", "0", *self._options],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        try:
            self.port = self._read_port()
            # It goes on to write its status, which nobody reads here.
            self._reader = threading.Thread(target=self._drop_log, daemon=True)
            self._reader.start()
            self._wait_until_healthy()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @property
    def websocket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/showdown/websocket"

    def _read_port(self) -> int:
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                return int(found[1])
        raise RowFailed("our server ended before it listened", stderr="".join(said))

    def _drop_log(self) -> None:
        assert self._process.stderr is not None
        for _ in self._process.stderr:
            pass

    def _wait_until_healthy(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(urllib.error.URLError),
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz") as answer,
            ):
                if json.load(answer)["status"] == "ready":
                    return
            time.sleep(0.1)
        raise RowFailed(f"our server was not ready within {_START_SECONDS:g} s", pid=self.pid)

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            for process in session_members(self.pid):
                process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()
