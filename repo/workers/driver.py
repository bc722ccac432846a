"""The driver: shares a question out over workers, and merges what they answer.

Each segment has owners, the workers whose names weigh most beside its own (rendezvous hashing). So
a worker that comes or goes moves only its own segments, and each worker's memory stays warm with
its rows. A worker that fails or is too slow is not waited for: its segments go to their next owner,
and one that was too slow is asked last for a while. If a segment has no owner left, the question
fails, and the next one is shared out anew among those that answer. There is no answer from a part
of the rows.

Invariant: what is merged are integers and exact scores, each segment once. So neither the
partition, nor the order of arrival, nor a loss shows in an answer.

Spec: retrieval 13.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from blake3 import blake3

from ibidem.objects.cid import RootCid
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError, RemoteError
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.repo.workers.http import HttpWorker
from ibidem.repo.workers.messages import Ask, Layout, Request, decode_counts, decode_top
from ibidem.retrieve.access.restricted_snapshot import RestrictedSnapshot
from ibidem.retrieve.lane import LaneStatus, LaneTop, empty_top
from ibidem.retrieve.lexical.lane import FLOOR
from ibidem.retrieve.partition import (
    DENSE,
    LEXICAL,
    Counts,
    lane_query,
    merged_texts,
    merged_top,
)
from ibidem.retrieve.pipeline import run_lanes

if TYPE_CHECKING:
    from ibidem.repo.workers.messages import Carrier
    from ibidem.retrieve.filter import Universe
    from ibidem.retrieve.protocol import Snapshot
    from ibidem.retrieve.subquery_lane import RunLanes

T = TypeVar("T")
COPIES = 2
TIMEOUT_SECONDS = 30.0
_LAYOUTS_MAX = 64
_LATE_SECONDS = 60.0
"""How long a worker that was too slow is asked after the others."""
_TRIES = 3
"""How often a lane is asked for if workers merge their segments meanwhile."""


@record
class _Plan:
    """The segments of a lane, and the workers that have exactly these."""

    segments: Mapping[str, bytes]
    workers: tuple[str, ...]


class _LayoutMovedError(Exception):
    """A worker has other segments by now."""


class Workers:
    """The workers of one repository; safe to use from several threads."""

    def __init__(
        self,
        carriers: Mapping[str, Carrier],
        *,
        copies: int = COPIES,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Asks nobody yet.

        Args:
            carriers: by name of the worker.
            copies: the number of workers that may rank a segment.
            timeout_seconds: how long one is waited for.

        Raises:
            InvalidInputError: there is none, or a number is out of range.
        """
        if not carriers:
            raise InvalidInputError("workers: got none, expected at least one")
        if type(copies) is not int or copies < 1:
            raise InvalidInputError(f"copies: got {copies!r:.80}, expected a number from 1 on")
        if not isinstance(timeout_seconds, int | float) or not 0 < timeout_seconds <= 86_400:
            raise InvalidInputError(
                f"timeout_seconds: got {timeout_seconds!r:.80}, expected seconds above 0"
            )
        self._carriers = dict(carriers)
        self._copies = copies
        self._timeout_seconds = float(timeout_seconds)
        self._lock = ForkLock()
        self._plans: dict[tuple[RootCid, str, str], _Plan] = {}
        self._late_until: dict[str, float] = {}
        """By worker that was too slow, until when (of the monotonic clock) it is asked last."""
        self.request_count = 0
        """Requests sent so far."""
        self.sent_bytes = 0
        self.received_bytes = 0

    def lanes(self, snapshot: Snapshot) -> RunLanes:
        """Returns what ranks a snapshot by words and vectors, with these workers."""
        return partial(self._run, snapshot)

    def _run(self, snapshot: Snapshot, scope: Universe) -> list[LaneTop]:
        """Returns the tops of the lanes of a query. Sparse vectors are ranked here, and words that
        may bring in terms at edit distance 1."""
        query = scope.query
        visible = scope.view.snapshot
        whole = visible.base if isinstance(visible, RestrictedSnapshot) else visible
        base = snapshot.base if isinstance(snapshot, RestrictedSnapshot) else snapshot
        assert whole is base, "BUG: another snapshot is ranked than was opened"
        dense = lexical = None
        if query.vector is not None and visible.vectors(query.vector.model):
            dense = self._lane(scope, DENSE, self._dense)
        if query.text is not None and visible.lexical:
            lexical = self._lane(scope, LEXICAL, self._lexical)
        return run_lanes(scope, dense, lexical)

    def _lane(
        self, scope: Universe, lane: str, ask: Callable[[Universe, _Plan], LaneTop | None]
    ) -> LaneTop | None:
        """Returns the top of a lane; None if it has to be ranked here."""
        query = scope.query
        model = query.vector.model if lane == DENSE and query.vector is not None else ""
        key = scope.view.snapshot.root, lane, model
        for _ in range(_TRIES):
            with self._lock:
                plan = self._plans.get(key)
            if plan is None:
                plan = self._planned(scope, lane)
                with self._lock:
                    while len(self._plans) >= _LAYOUTS_MAX:
                        del self._plans[next(iter(self._plans))]
                    self._plans[key] = plan
            try:
                return ask(scope, plan)
            except _LayoutMovedError:
                self._forget(key)
            except RemoteError:
                # Workers that came meanwhile are asked next time.
                self._forget(key)
                raise
        raise RemoteError(
            "workers: they merged their segments each time they were asked",
            hint="share one index among them: repo index share",
        )

    def _forget(self, key: tuple[RootCid, str, str]) -> None:
        with self._lock:
            self._plans.pop(key, None)

    def _dense(self, scope: Universe, plan: _Plan) -> LaneTop:
        return merged_top(scope, self._round(scope, plan, Ask.TOP, DENSE, decode_top))

    def _lexical(self, scope: Universe, plan: _Plan) -> LaneTop | None:
        parts = self._round(scope, plan, Ask.COUNTS, LEXICAL, decode_counts)
        counts = Counts.sum(parts)
        if not counts.scored(scope):
            return empty_top(LEXICAL, LaneStatus.NO_TERMS, floor=FLOOR)
        if counts.documents and counts.may_have_near_terms(scope):
            return None
        if not counts.documents or not counts.weights(scope):
            return empty_top(LEXICAL, LaneStatus.OK, floor=FLOOR)
        tops = self._round(scope, plan, Ask.TOP, LEXICAL, decode_top, counts)
        return merged_texts(scope, counts, tops)

    # -- requests ------------------------------------------------------------------------------

    def _planned(self, scope: Universe, lane: str) -> _Plan:
        """Asks every worker for its segments, and returns those that most have; the first by name
        among equals. Workers that were too slow are asked only if no other one answers."""
        message = self._request(scope, Ask.LAYOUT, lane, {}).encode()
        found: dict[str, Mapping[str, bytes]] = {}
        failed: dict[str, str] = {}
        late = self._late()
        ready = [worker for worker in self._carriers if worker not in late]
        for some in (ready, sorted(late)):
            for worker, layout in self._answers(dict.fromkeys(some, message), Layout.decode):
                if isinstance(layout, IbidemError):
                    failed[worker] = str(layout)
                else:
                    found[worker] = layout.segments
            if found:
                break
        if not found:
            raise RemoteError(
                f"workers: none has the index of {scope.view.snapshot.root}: {_reasons(failed)}"
            )
        groups: dict[frozenset[tuple[str, bytes]], list[str]] = {}
        for worker in sorted(found):
            groups.setdefault(frozenset(found[worker].items()), []).append(worker)
        most = max(groups.values(), key=len)
        return _Plan(found[most[0]], tuple(most))

    def _request(
        self,
        scope: Universe,
        ask: Ask,
        lane: str,
        segments: Mapping[str, bytes],
        counts: Counts | None = None,
    ) -> Request:
        query = lane_query(scope.query, lane)
        return Request(ask, scope.view.snapshot.root, lane, query, segments, counts)

    def _round(
        self,
        scope: Universe,
        plan: _Plan,
        ask: Ask,
        lane: str,
        decode: Callable[[bytes], T],
        counts: Counts | None = None,
    ) -> list[T]:
        """Returns the answers for all segments, each by one worker.

        Raises:
            RemoteError: a segment has no owner that answers.
            _LayoutMovedError: a worker has other segments by now.
        """
        late = self._late()
        owners = {name: self._owners(name, plan.workers, late) for name in plan.segments}
        failed: dict[str, str] = {}
        pending = set(plan.segments)
        parts: list[T] = []
        while pending:
            shares: dict[str, dict[str, bytes]] = {}
            lost: list[str] = []
            for name in sorted(pending):
                owner = next((one for one in owners[name] if one not in failed), None)
                if owner is None:
                    lost.append(name)
                else:
                    shares.setdefault(owner, {})[name] = plan.segments[name]
            if lost:
                raise _unanswered(lost, owners, failed)
            messages = {
                worker: self._request(scope, ask, lane, share, counts).encode()
                for worker, share in shares.items()
            }
            for worker, answer in self._answers(messages, decode):
                if not isinstance(answer, IbidemError):
                    parts.append(answer)
                    pending -= shares[worker].keys()
                elif answer.kind is ErrorKind.INDEX_UNAVAILABLE:
                    raise _LayoutMovedError
                else:
                    failed[worker] = str(answer)
        return parts

    def _owners(self, segment: str, workers: Sequence[str], late: Collection[str]) -> list[str]:
        """Returns the workers that may rank a segment, the first choice first."""

        def weight(worker: str) -> bytes:
            return blake3(f"{worker}\n{segment}".encode()).digest()

        owners = sorted(workers, key=lambda worker: (weight(worker), worker))[: self._copies]
        return sorted(owners, key=lambda worker: worker in late)

    def _late(self) -> set[str]:
        """Returns the workers that were too slow lately."""
        now = time.monotonic()
        with self._lock:
            return {worker for worker, until in self._late_until.items() if now < until}

    def _answers(
        self, messages: Mapping[str, bytes], decode: Callable[[bytes], T]
    ) -> list[tuple[str, T | IbidemError]]:
        """Sends a message to each of some workers and returns their answers as they arrive, within
        the time limit; an error for each that has none."""
        arrived: queue.SimpleQueue[tuple[str, bytes | Exception]] = queue.SimpleQueue()

        def ask(worker: str) -> None:
            try:
                arrived.put((worker, self._carriers[worker](messages[worker])))
            except Exception as error:
                arrived.put((worker, error))

        for worker in messages:
            # A thread of its own, which nobody waits for: a carrier may never return.
            threading.Thread(target=ask, args=(worker,), daemon=True).start()
        with self._lock:
            self.request_count += len(messages)
            self.sent_bytes += sum(map(len, messages.values()))
        deadline = time.monotonic() + self._timeout_seconds
        waiting = set(messages)
        found: list[tuple[str, T | IbidemError]] = []
        while waiting:
            try:
                worker, answer = arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            waiting.discard(worker)
            found.append((worker, self._decoded(answer, decode)))
        with self._lock:
            for worker, _ in found:
                self._late_until.pop(worker, None)
            for worker in waiting:
                self._late_until[worker] = deadline + _LATE_SECONDS
        late = RemoteError(f"no answer within {self._timeout_seconds:g} seconds")
        return found + [(worker, late) for worker in sorted(waiting)]

    def _decoded(self, answer: bytes | Exception, decode: Callable[[bytes], T]) -> T | IbidemError:
        if isinstance(answer, IbidemError):
            return answer
        if isinstance(answer, Exception):
            return RemoteError(f"{type(answer).__name__}: {answer}"[:500])
        with self._lock:
            self.received_bytes += len(answer)
        try:
            return decode(answer)
        except IbidemError as error:
            return error


def workers_at(
    workers: Iterable[str] | Mapping[str, Carrier],
    *,
    token: str,
    copies: int,
    timeout_seconds: float,
) -> Workers | None:
    """Returns the workers behind some addresses or functions, None for none; the arguments are
    those of `Repository.use_workers`."""
    if isinstance(workers, str) or not isinstance(workers, Iterable):
        raise InvalidInputError(f"workers: got {workers!r:.80}, expected a list of addresses")
    if isinstance(workers, Mapping):
        carriers: dict[str, Carrier] = dict(workers)
    else:
        found = [HttpWorker(one, token, timeout_seconds=timeout_seconds) for one in workers]
        carriers = {one.address: one for one in found}
    if not carriers:
        return None
    return Workers(carriers, copies=copies, timeout_seconds=timeout_seconds)


def _unanswered(
    lost: Sequence[str], owners: Mapping[str, Sequence[str]], failed: Mapping[str, str]
) -> RemoteError:
    """Returns the error for segments that no worker answers for."""
    owning = sorted({worker for name in lost for worker in owners[name]})
    names = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
    return RemoteError(
        f"workers: no answer for the segments {names}: "
        + _reasons({worker: failed[worker] for worker in owning}),
        hint="start these workers again, or ask without workers",
    )


def _reasons(failed: Mapping[str, str]) -> str:
    return "; ".join(f"{worker}: {failed[worker]}" for worker in sorted(failed))
