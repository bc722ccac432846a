"""Moved branches as server-sent events: what a client listens to instead of asking again and again.

The id of an event is an operation of the log; a client that comes back with the last one it saw is
told what has moved since.

Spec: trust 7.
"""

from __future__ import annotations

import json
from asyncio import sleep
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from anyio import to_thread

from ibidem.objects.cid import Cid, CommitCid, OperationCid
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError, StorageError
from ibidem.repo import refs
from ibidem.repo.refs import HEADS, Targets
from ibidem.serve.exchange import Answer

if TYPE_CHECKING:
    from ibidem.objects.view import View
    from ibidem.repo.core import Core
    from ibidem.serve.exchange import Call
    from ibidem.serve.served import Listeners

EVENT_STREAM = "text/event-stream"
LISTENERS_MAX = 32
POLL_SECONDS = 0.25
FULL = b"retry: 5000\n\n"
"""What a listener is sent that came with many others, before the stream ends: to come again."""
QUIET_SECONDS = 15.0
"""Seconds after which a comment shows that the server is still there."""


def events(call: Call) -> Answer:
    """Returns the moves of branches, from now on or since the last event seen."""
    call.options()
    core, listeners = call.served.repository.core, call.served.listeners
    if listeners.count >= LISTENERS_MAX:
        raise StorageError("server: too many listeners", hint="try again")
    last = call.headers.get("last-event-id")
    cid, heads = _since(core, last) if last else _now(core)
    return Answer(_moves(core, listeners, cid, heads), EVENT_STREAM)


async def _moves(
    core: Core, listeners: Listeners, cid: OperationCid, heads: Targets
) -> AsyncIterator[bytes]:
    """Yields the moves of branches as they are found.

    Each look is one read of a cell. It is not in one of the threads that answer requests, so that
    long questions delay no event: at most LISTENERS_MAX more threads are in use.
    """
    if listeners.count >= LISTENERS_MAX:  # in the event loop only, so no thread interferes
        yield FULL
        return
    listeners.count += 1
    try:
        yield f"id: {cid}\nretry: 1000\n\n".encode()
        quiet = 0.0
        while not listeners.is_closing():
            now, later = await to_thread.run_sync(_now, core)
            if now != cid:
                if later.damaged:  # a branch that cannot be read has not moved, as far as is known
                    later = Targets({**heads, **later}, later.damaged)
                for name in sorted(heads.keys() | later.keys()):
                    if heads.get(name) != later.get(name):
                        yield _event(now, name, heads.get(name), later.get(name))
                        quiet = 0.0
                cid, heads = now, later
            if quiet >= QUIET_SECONDS:
                yield b": still here\n\n"
                quiet = 0.0
            await sleep(POLL_SECONDS)
            quiet += POLL_SECONDS
    finally:
        listeners.count -= 1


def _event(
    cid: OperationCid, name: str, before: CommitCid | None, after: CommitCid | None
) -> bytes:
    ends = [None if one is None else str(one) for one in (before, after)]
    data = json.dumps({"branch": name, "before": ends[0], "after": ends[1]})
    return f"id: {cid}\nevent: moved\ndata: {data}\n\n".encode()


def _now(core: Core) -> tuple[OperationCid, Targets]:
    state = core.operation_log.state()
    return state.cid, _heads(core, state.view)


def _since(core: Core, text: str) -> tuple[OperationCid, Targets]:
    """Returns an operation and the branches then; none if it is not kept any more."""
    try:
        cid = OperationCid(Cid.parse(text).raw)
        return cid, _heads(core, core.operation_log.at(cid).view)
    except NotFoundError:
        return cid, Targets({})
    except (CorruptError, InvalidInputError) as error:
        raise InvalidInputError(
            f"last-event-id: got {text!r:.80}, expected the id of an event"
        ) from error


def _heads(core: Core, view: View) -> Targets:
    return refs.readable(core.store, view, HEADS)
