"""Batches the rows of many rooms into one forward of a policy. Knows neither rooms nor learning."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from .errors import BridgeError, ConfigError, InferenceFailed, QueueClosed, UnknownPolicy
from .histogram import Histogram
from .timing import clock

__all__ = ["DEFAULT", "InferenceQueue", "Policy"]

Row: TypeAlias = Any
Result: TypeAlias = Any
Batch: TypeAlias = Any
Policy: TypeAlias = Callable[[Batch], Any]
"""Computes a batch: an array for rows that are arrays, a tensor for tensors, a list for all else.

It returns one result per row in a list, an array or a tensor, or a tuple of these, such as (logits,
values), of which each row gets its own tuple. A torch module, or a method of one, runs under
`torch.inference_mode` and is given tensors for arrays too.
"""

DEFAULT = "default"
"""The name of the policy that a queue is made with."""

_FOLD = 4096


class InferenceQueue:
    """Batches the rows that many tasks submit.

    >>> async with InferenceQueue(policy) as queue:
    ...     result = await queue.submit(row)

    A model that is free takes all that waits for one policy, up to `max_batch` rows. If fewer wait,
    it gives the oldest `max_wait` seconds for others to join. When `max_waiting` rows wait, those
    who submit more stand in line until there is room. Forwards run one at a time in a thread of
    their own; `inline` runs them in the event loop, for policies that are over in microseconds.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        max_batch: int = 256,
        max_wait: float = 0.0,
        max_waiting: int = 4096,
        inline: bool = False,
    ) -> None:
        if not 1 <= max_batch <= max_waiting:
            raise ConfigError(f"1 <= {max_batch=} <= {max_waiting=} does not hold")
        if not 0 <= max_wait < float("inf"):
            raise ConfigError(f"{max_wait=} is not a number of seconds")
        self._max_batch = max_batch
        self._max_wait = round(max_wait * 1e9)
        self._max_waiting = max_waiting
        self._lanes = {DEFAULT: _Lane(DEFAULT, policy, version=0)}
        self._waiting = 0
        self._line: deque[_Ticket] = deque()
        self._computing: list[_Ticket] = []
        self._figures = _Figures()
        self._arrival = asyncio.Event()
        self._thread = None if inline else ThreadPoolExecutor(1, thread_name_prefix="inference")
        self._serving: asyncio.Task[None] | None = None
        self._started = 0
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        versions = ", ".join(f"{lane.name} v{lane.version}" for lane in self._lanes.values())
        return (
            f"<InferenceQueue: {state}, {len(self._computing)} computing, {self._waiting} waiting, "
            f"{len(self._line)} in line, {versions}>"
        )

    async def __aenter__(self) -> InferenceQueue:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def submit(self, row: Row, *, policy: str = DEFAULT) -> Result:
        """The policy's result for this row, as soon as a batch with it was computed."""
        lane = self._lanes.get(policy)
        if lane is None:
            raise UnknownPolicy(f"no policy {policy!r} among {', '.join(self._lanes)}")
        if self._closed:
            raise QueueClosed("the inference queue is closed")
        if self._serving is None:
            self._started = clock()
            self._serving = asyncio.create_task(self._serve(), name="inference")
        ticket = _Ticket(row, lane, asyncio.get_running_loop().create_future(), clock())
        if self._waiting < self._max_waiting:
            self._admit(ticket)
        else:
            self._line.append(ticket)
        try:
            return await ticket.result
        except asyncio.CancelledError:
            self._withdraw(ticket)
            raise

    def update_policy(
        self, policy: Policy, *, version: int | None = None, name: str = DEFAULT
    ) -> None:
        """Replaces a policy from its next batch on, or adds one under a new name.

        Where no version is given it counts up from 0. A forward may be running in its thread: hand
        in a copy of a module whose weights go on changing.
        """
        lane = self._lanes.get(name)
        if lane is None:
            self._lanes[name] = _Lane(name, policy, version or 0)
        else:
            lane.policy = policy
            lane.version = lane.version + 1 if version is None else version

    async def close(self) -> None:
        """Fails what waits, lets a forward that is running end, and ends the thread."""
        self._refuse()
        if self._thread is not None:
            self._thread.shutdown(wait=False)
        if self._serving is not None:
            self._arrival.set()
            await asyncio.wait((self._serving,))
        if self._thread is not None:
            self._thread.shutdown()  # The forward has ended: this does not block.

    def stats(self) -> dict[str, Any]:
        """Plain data: what each policy has computed, and percentiles; times are nanoseconds."""
        policies = {lane.name: lane.stats() for lane in self._lanes.values()}
        uptime = (clock() - self._started) / 1e9 if self._started else 0.0
        rows = sum(policy["rows"] for policy in policies.values())
        return {
            "uptime": uptime,
            "computing": len(self._computing),
            "waiting": self._waiting,
            "in_line": len(self._line),
            "rows": rows,
            "rows_per_second": rows / uptime if uptime else 0.0,
            "batches": sum(policy["batches"] for policy in policies.values()),
            "failed_batches": sum(policy["failed_batches"] for policy in policies.values()),
            "policies": policies,
            **self._figures.summary(),
        }

    # Rows

    def _admit(self, ticket: _Ticket) -> None:
        ticket.lane.waiting.append(ticket)
        self._waiting += 1
        self._arrival.set()

    def _admit_from_line(self) -> None:
        while self._line and self._waiting < self._max_waiting:
            self._admit(self._line.popleft())

    def _withdraw(self, ticket: _Ticket) -> None:
        """Forgets a row that nobody wants any more, unless it is being computed."""
        with contextlib.suppress(ValueError):
            self._line.remove(ticket)
        with contextlib.suppress(ValueError):
            ticket.lane.waiting.remove(ticket)
            self._waiting -= 1
            self._admit_from_line()

    def _take(self, lane: _Lane) -> list[_Ticket]:
        size = min(len(lane.waiting), self._max_batch)
        taken = [lane.waiting.popleft() for _ in range(size)]
        self._waiting -= size
        self._admit_from_line()
        # A task that was cancelled in this loop turn has not withdrawn its row yet.
        return [ticket for ticket in taken if not ticket.result.done()]

    def _refuse(self) -> None:
        """Takes no more rows, and fails those that are not being computed."""
        self._closed = True
        for waiting in (*(lane.waiting for lane in self._lanes.values()), self._line):
            for ticket in waiting:
                ticket.fail(QueueClosed("the inference queue was closed before this row's turn"))
            waiting.clear()
        self._waiting = 0

    # The model

    async def _serve(self) -> None:
        try:
            while not self._closed:
                if not self._waiting:
                    await self._more_rows()
                    continue
                lane = min((lane for lane in self._lanes.values() if lane.waiting), key=self._due)
                patience = self._due(lane) - clock()
                if patience > 0:
                    await self._more_rows(patience / 1e9)
                else:
                    await self._compute(lane)
        finally:
            # However serving ends, nobody is left waiting.
            self._refuse()
            for ticket in self._computing:
                ticket.fail(QueueClosed("the inference queue was stopped during the forward"))

    def _due(self, lane: _Lane) -> int:
        """When a free model takes the rows of a lane: at once if no others can join them."""
        full = len(lane.waiting) >= self._max_batch or self._waiting >= self._max_waiting
        return lane.waiting[0].submitted + (0 if full else self._max_wait)

    async def _more_rows(self, patience: float | None = None) -> None:
        self._arrival.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._arrival.wait()

    async def _compute(self, lane: _Lane) -> None:
        tickets = self._computing = self._take(lane)
        if not tickets:
            return
        taken, version = clock(), lane.version
        rows = [ticket.row for ticket in tickets]
        if self._thread is None:
            outcome = _forward(lane.policy, rows)
        else:
            loop = asyncio.get_running_loop()
            outcome = await loop.run_in_executor(self._thread, _forward, lane.policy, rows)
        self._computing = []
        if isinstance(outcome, Exception):
            lane.failed_batches += 1
            who = f"policy {lane.name!r}, version {version},"
            for ticket in tickets:
                error = InferenceFailed(f"{who} failed on {len(rows)} rows: {outcome!r}")
                ticket.fail(error, outcome)
        else:
            results, nanoseconds = outcome
            lane.batches += 1
            lane.rows += len(rows)
            self._figures.record(nanoseconds, [taken - ticket.submitted for ticket in tickets])
            for ticket, result in zip(tickets, results, strict=True):
                if not ticket.result.done():
                    ticket.result.set_result(result)
        if self._thread is None:
            await asyncio.sleep(0)  # Frames flow between two forwards.


@dataclass(slots=True, eq=False)
class _Ticket:
    """A row, the lane it waits in, and where its result goes."""

    row: Row
    lane: _Lane
    result: asyncio.Future[Result]
    submitted: int

    def fail(self, error: BridgeError, cause: Exception | None = None) -> None:
        if not self.result.done():
            error.__cause__ = cause
            self.result.set_exception(error)


@dataclass(slots=True, eq=False)
class _Lane:
    """A policy, the rows that wait for it, and what it has computed so far."""

    name: str
    policy: Policy
    version: int
    waiting: deque[_Ticket] = field(default_factory=deque)
    rows: int = 0
    batches: int = 0
    failed_batches: int = 0

    def stats(self) -> dict[str, int]:
        shown = ("version", "rows", "batches", "failed_batches")
        return {name: getattr(self, name) for name in shown}


class _Figures:
    """Histograms of batches: a few appends for each, folded thousands of rows at a time."""

    def __init__(self) -> None:
        self._recent: dict[str, list[int]] = {"batch_size": [], "queue_wait": [], "forward": []}
        self._histograms = {name: Histogram() for name in self._recent}

    def record(self, forward: int, waits: list[int]) -> None:
        self._recent["batch_size"].append(len(waits))
        self._recent["queue_wait"] += waits
        self._recent["forward"].append(forward)
        if len(self._recent["queue_wait"]) >= _FOLD:
            self._fold()

    def summary(self) -> dict[str, Any]:
        self._fold()
        return {name: h.summary() | {"hdr": h.encode()} for name, h in self._histograms.items()}

    def _fold(self) -> None:
        for name, values in self._recent.items():
            self._histograms[name].record(np.array(values, dtype=np.int64))
            values.clear()


def _forward(policy: Policy, rows: list[Row]) -> tuple[list[Result], int] | Exception:
    """A result for each row and the nanoseconds that all took, or what went wrong."""
    started = clock()
    # Where nobody has imported torch, no policy is a module and no row a tensor.
    torch: Any = sys.modules.get("torch")
    is_module = torch and isinstance(getattr(policy, "__self__", policy), torch.nn.Module)
    try:
        with torch.inference_mode() if is_module else contextlib.nullcontext():
            batch: Batch = rows
            if isinstance(rows[0], np.ndarray):
                array = np.array(rows)  # Three times as fast as np.stack, as strict about shapes.
                batch = torch.from_numpy(array) if is_module else array
            elif torch and isinstance(rows[0], torch.Tensor):
                batch = torch.stack(rows)
            return _split(policy(batch), len(rows)), clock() - started
    except Exception as cause:  # noqa: BLE001 - every row of the batch is told
        return cause


def _split(output: Batch, rows: int) -> list[Result]:
    if isinstance(output, tuple) and output:
        return list(zip(*(_split(part, rows) for part in output), strict=True))
    if not isinstance(output, Sequence) and not hasattr(output, "shape"):
        raise TypeError(f"the policy returned a {type(output).__name__}, not one result per row")
    if len(output) != rows:
        raise ValueError(f"the policy returned {len(output)} results for {rows} rows")
    return list(output)
