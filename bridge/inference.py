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

__all__ = ["DEFAULT", "InferenceQueue", "Policy", "call_policy"]

Row: TypeAlias = Any
Result: TypeAlias = Any
Batch: TypeAlias = Any
Policy: TypeAlias = Callable[..., Any]
"""Computes a batch: an array for rows that are arrays, a tensor for tensors, a list for all else.

If rows are tuples, such as (features, ids), it takes as many arguments, a batch of each. It
returns one result per row in a list, an array or a tensor, or a tuple of these, such as (logits,
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
        self._loop: asyncio.AbstractEventLoop | None = None
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

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of its policies."""
        return tuple(self._lanes)

    def bind(self) -> None:
        """Gives the queue to the running event loop, as its first row does; it serves no other."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError(
                "the queue belongs to another event loop, as that of another environment is: "
                "make a queue for each"
            )

    async def submit(self, row: Row, *, policy: str = DEFAULT) -> Result:
        """The policy's result for this row, as soon as a batch with it was computed."""
        ticket = self._enter(row, 1, policy, alone=True)
        try:
            return await ticket.result
        except asyncio.CancelledError:
            self._withdraw(ticket)
            raise

    async def submit_many(self, rows: Batch, *, policy: str = DEFAULT) -> Batch:
        """The results of rows that are there together, as the policy returns them.

        They are an array, a tensor or a list of rows, or a tuple of these, as the policy is given
        them. Together they cost what a single row does; more than `max_batch` are divided.
        """
        count, most = _count(rows), self._max_batch
        if not count:
            raise ValueError("there are no rows to submit")
        if count > most:
            parts = (_part(rows, slice(start, start + most)) for start in range(0, count, most))
            divided = (self.submit_many(part, policy=policy) for part in parts)
            return _join(await asyncio.gather(*divided))
        ticket = self._enter(rows, count, policy, alone=False)
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
        self.bind()
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

    def _enter(self, rows: Row | Batch, size: int, policy: str, *, alone: bool) -> _Ticket:
        lane = self._lanes.get(policy)
        if lane is None:
            raise UnknownPolicy(f"no policy {policy!r} among {', '.join(self._lanes)}")
        if self._closed:
            raise QueueClosed("the inference queue is closed")
        self.bind()
        if self._serving is None:
            self._started = clock()
            self._serving = asyncio.create_task(self._serve(), name="inference")
        result = asyncio.get_running_loop().create_future()
        ticket = _Ticket(rows, size, alone, lane, result, clock())
        if self._line or self._waiting + size > self._max_waiting:
            self._line.append(ticket)
        else:
            self._admit(ticket)
        return ticket

    def _admit(self, ticket: _Ticket) -> None:
        ticket.lane.waiting.append(ticket)
        ticket.lane.waiting_rows += ticket.size
        self._waiting += ticket.size
        self._arrival.set()

    def _admit_from_line(self) -> None:
        """Lets in who has stood in line for longest, as long as there is room."""
        while self._line and self._waiting + self._line[0].size <= self._max_waiting:
            self._admit(self._line.popleft())

    def _withdraw(self, ticket: _Ticket) -> None:
        """Forgets a row that nobody wants any more, unless it is being computed."""
        with contextlib.suppress(ValueError):
            self._line.remove(ticket)
        with contextlib.suppress(ValueError):
            ticket.lane.waiting.remove(ticket)
            ticket.lane.waiting_rows -= ticket.size
            self._waiting -= ticket.size
        self._admit_from_line()

    def _take(self, lane: _Lane) -> list[_Ticket]:
        taken: list[_Ticket] = []
        size = 0
        waiting, most = lane.waiting, self._max_batch
        while waiting and (total := size + waiting[0].size) <= most:
            taken.append(waiting.popleft())
            size = total
        lane.waiting_rows -= size
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
        for lane in self._lanes.values():
            lane.waiting_rows = 0
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
        full = (
            lane.waiting_rows >= self._max_batch
            or self._waiting >= self._max_waiting
            or bool(self._line)
        )
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
        rows = sum([ticket.size for ticket in tickets])
        if self._thread is None:
            outcome = _forward(lane.policy, tickets, rows)
        else:
            loop = asyncio.get_running_loop()
            forward = loop.run_in_executor(self._thread, _forward, lane.policy, tickets, rows)
            outcome = await forward
        self._computing = []
        if isinstance(outcome, Exception):
            lane.failed_batches += 1
            who = f"policy {lane.name!r}, version {version},"
            for ticket in tickets:
                error = InferenceFailed(f"{who} failed on {rows} rows: {outcome!r}")
                ticket.fail(error, outcome)
        else:
            results, built, computed = outcome
            lane.batches += 1
            lane.rows += rows
            self._figures.record(rows, built, computed, taken, tickets)
            for ticket, result in zip(tickets, results, strict=True):
                if not ticket.result.done():
                    ticket.result.set_result(result)
        if self._thread is None:
            await asyncio.sleep(0)  # Frames flow between two forwards.


@dataclass(slots=True, eq=False)
class _Ticket:
    """A row that came alone or several that came together, their lane, and where results go."""

    rows: Row | Batch
    size: int
    alone: bool
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
    waiting_rows: int = 0
    rows: int = 0
    batches: int = 0
    failed_batches: int = 0

    def stats(self) -> dict[str, int]:
        shown = ("version", "rows", "batches", "failed_batches")
        return {name: getattr(self, name) for name in shown}


class _Figures:
    """Histograms of batches: a few appends for each, folded thousands of rows at a time."""

    def __init__(self) -> None:
        names = ("batch_size", "queue_wait", "batch_build", "forward")
        self._recent: dict[str, list[int]] = {name: [] for name in names}
        self._histograms = {name: Histogram() for name in self._recent}

    def record(
        self, rows: int, built: int, computed: int, taken: int, tickets: list[_Ticket]
    ) -> None:
        """Notes a batch: how large it was, what it took, and how long its rows had waited."""
        self._recent["batch_size"].append(rows)
        self._recent["batch_build"].append(built)
        self._recent["forward"].append(computed)
        waits = self._recent["queue_wait"]
        if len(tickets) == rows:
            waits += [taken - ticket.submitted for ticket in tickets]
        else:
            for ticket in tickets:
                waits += [taken - ticket.submitted] * ticket.size
        if len(waits) >= _FOLD:
            self._fold()

    def summary(self) -> dict[str, Any]:
        self._fold()
        return {name: h.summary() | {"hdr": h.encode()} for name, h in self._histograms.items()}

    def _fold(self) -> None:
        for name, values in self._recent.items():
            self._histograms[name].record(np.array(values, dtype=np.int64))
            values.clear()


def _forward(
    policy: Policy, tickets: list[_Ticket], rows: int
) -> tuple[list[Result], int, int] | Exception:
    """A result for each ticket, or what went wrong.

    With the results come the nanoseconds that the batch took to build, and then to compute.
    """
    started = clock()
    try:
        batch = _batch(tickets)
        built = clock()
        output = call_policy(policy, batch)
        return _divide(output, tickets, rows), built - started, clock() - built
    except Exception as cause:  # noqa: BLE001 - every row of the batch is told
        return cause


def call_policy(policy: Policy, batch: Batch) -> Any:  # noqa: ANN401 - whatever a policy returns
    """What a policy returns for a batch, or for a tuple of batches, one for each argument."""
    parts = batch if isinstance(batch, tuple) else (batch,)
    # Where nobody has imported torch, no policy is a module.
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(getattr(policy, "__self__", policy), torch.nn.Module):
        return policy(*parts)
    with torch.inference_mode():
        return policy(*(_tensor(part, torch) for part in parts))


def _tensor(batch: Batch, torch: Any) -> Batch:  # noqa: ANN401 - a module that may not be there
    return torch.from_numpy(batch) if isinstance(batch, np.ndarray) else batch


# A batch is an array, a tensor or a list of rows, or a tuple of batches, one for each part of rows.


def _batch(tickets: list[_Ticket]) -> Batch:
    """The rows of tickets as a policy takes them."""
    if all(ticket.alone for ticket in tickets):
        return _stack([ticket.rows for ticket in tickets])
    return _join([_stack([t.rows]) if t.alone else t.rows for t in tickets])


def _stack(rows: Sequence[Row]) -> Batch:
    first = rows[0]
    if isinstance(first, np.ndarray | np.generic):
        return np.array(rows)  # Three times as fast as np.stack, as strict about shapes.
    if isinstance(first, tuple):
        return tuple(_stack(part) for part in zip(*rows, strict=True))
    torch: Any = sys.modules.get("torch")
    return torch.stack(rows) if torch and isinstance(first, torch.Tensor) else list(rows)


def _join(batches: Sequence[Batch]) -> Batch:
    """Batches one after another."""
    first = batches[0]
    if len(batches) == 1:
        return first
    if isinstance(first, tuple):
        return tuple(_join(part) for part in zip(*batches, strict=True))
    if isinstance(first, np.ndarray):
        return np.concatenate(batches)
    torch: Any = sys.modules.get("torch")
    if torch and isinstance(first, torch.Tensor):
        return torch.cat(batches)
    return [row for batch in batches for row in batch]


def _part(batch: Batch, rows: slice) -> Batch:
    return tuple(_part(part, rows) for part in batch) if isinstance(batch, tuple) else batch[rows]


def _count(batch: Batch) -> int:
    """How many rows there are; parts with different numbers of them are an error."""
    if not isinstance(batch, tuple):
        return len(batch)
    counts = {_count(part) for part in batch}
    if len(counts) != 1:
        raise ValueError(f"the parts of a batch have {sorted(counts)} rows")
    return counts.pop()


def _divide(output: Batch, tickets: list[_Ticket], rows: int) -> list[Result]:
    """The result of each ticket."""
    _check(output, rows)
    if all(ticket.alone for ticket in tickets):
        return _rows(output)
    results = []
    start = 0
    for ticket in tickets:
        part = _part(output, slice(start, start + ticket.size))
        results.append(_rows(part)[0] if ticket.alone else part)
        start += ticket.size
    return results


def _check(output: Batch, rows: int) -> None:
    """That there is one result for each row."""
    if isinstance(output, tuple) and output:
        for part in output:
            _check(part, rows)
        return
    if not isinstance(output, Sequence) and not hasattr(output, "shape"):
        raise TypeError(f"the policy returned a {type(output).__name__}, not one result per row")
    if len(output) != rows:
        raise ValueError(f"the policy returned {len(output)} results for {rows} rows")


def _rows(output: Batch) -> list[Result]:
    return (
        list(zip(*map(_rows, output), strict=True)) if isinstance(output, tuple) else list(output)
    )
