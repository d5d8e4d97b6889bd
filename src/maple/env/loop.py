"""Who runs the event loop of an environment: the thread that waits for it, or one of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["OwnLoop"]

T = TypeVar("T")

_JOIN_SECONDS = 20.0


class OwnLoop:
    """An event loop that runs in the thread of whoever waits, and only while somebody waits.

    Node works on meanwhile. Where the caller's thread already runs a loop, as in a notebook, this
    one moves to a thread of its own, and stays there.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=_loop_factory())
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._is_closed = False
        self._last: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        where = "closed" if self._is_closed else "in a thread" if self._thread else "in the caller"
        return f"<OwnLoop: {where}>"

    @property
    def is_of_this_process(self) -> bool:
        """False in a child that was forked: the loop and its processes are the parent's."""
        return self._process == os.getpid()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine to its end; Ctrl-C cancels it, and nothing else."""
        if not self.is_of_this_process:
            work.close()
            raise RuntimeError("an environment cannot be used in a process forked from its own")
        if self._is_closed:
            work.close()
            raise RuntimeError("the environment is closed")
        if (running := asyncio._get_running_loop()) is not None:
            if running is self._runner.get_loop():
                work.close()
                raise RuntimeError("the environment cannot be waited for from within its own loop")
            if self._thread is None:
                self._move_out()
        if self._thread is None:
            return self._run_here(work)
        future = asyncio.run_coroutine_threadsafe(work, self._runner.get_loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def ask(self, question: Callable[[], T]) -> T:
        """What can be told at once: also to whoever is called in the middle of the loop's work.

        That is how it is with a handler of signals, while the loop runs in the main thread.
        """
        if not self._is_closed and asyncio._get_running_loop() is self._runner.get_loop():
            return question()

        async def answer() -> T:
            return question()

        return self.run(answer())

    def _run_here(self, work: Coroutine[Any, Any, T]) -> T:
        """What asyncio.Runner.run does, in a third of its time: that counts for every step."""
        loop = self._runner.get_loop()
        task = loop.create_task(work)
        interrupted = False

        def interrupt(number: int, frame: object) -> None:
            nonlocal interrupted
            if interrupted:
                raise KeyboardInterrupt
            interrupted = True
            if not task.done():
                # Else the loop is about to stop, and must not be disturbed at that.
                task.cancel()
                loop.call_soon_threadsafe(_nothing)  # It may be asleep.

        is_ours = (
            threading.current_thread() is threading.main_thread()
            # Else somebody else deals with it: None, whoever is not Python.
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if is_ours:
            signal.signal(signal.SIGINT, interrupt)
        try:
            result = loop.run_until_complete(task)
        except asyncio.CancelledError:
            if interrupted:
                raise KeyboardInterrupt from None
            raise
        finally:
            if is_ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if interrupted:
            raise KeyboardInterrupt
        return result

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Runs a last coroutine and ends the loop; does nothing the second time."""
        if self._is_closed or not self.is_of_this_process:
            last.close()
            return
        if threading.current_thread() is self._thread:
            # Garbage is collected in whatever thread finds it: this one cannot wait for itself.
            self._is_closed = True
            self._last = asyncio.ensure_future(self._end(last))
            return
        try:
            self.run(last)
        finally:
            self._is_closed = True
            if self._thread is None:
                self._runner.close()
            else:
                loop = self._runner.get_loop()
                loop.call_soon_threadsafe(loop.stop)
                self._thread.join(_JOIN_SECONDS)

    async def _end(self, last: Coroutine[Any, Any, None]) -> None:
        try:
            await last
        finally:
            asyncio.get_running_loop().stop()

    def _move_out(self) -> None:
        self._runner.get_loop()
        self._thread = threading.Thread(target=self._live, name="maple-env", daemon=True)
        self._thread.start()

    def _live(self) -> None:
        self._runner.get_loop().run_forever()
        self._runner.close()


def _nothing() -> None:
    """Wakes a loop."""


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop where there is one."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
