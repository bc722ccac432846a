"""A repository as a remote: four requests, answered from the blocks that its refs reach. A GET
changes nothing, and a push changes refs in one step, only after all its blocks have been checked.

Spec: sync 7.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from ibidem.objects.errors import InvalidInputError
from ibidem.repo.refs import HEADS, TAGS
from ibidem.repo.sync import wire
from ibidem.repo.sync.car import CarLimits, car_header, car_section
from ibidem.repo.sync.local_remote import LocalRemote
from ibidem.repo.sync.names import NOTES, RECEIPTS, RUNS
from ibidem.repo.sync.receive import receive_container
from ibidem.serve.listener import Answer, Request

if TYPE_CHECKING:
    from ibidem.repo.core import Core

PUSHES_MAX = 4
"""Maximal number of concurrent pushes; each keeps some blocks in memory."""
_PREFIXES = (HEADS, TAGS, NOTES, RUNS, RECEIPTS)


class RemoteRoutes:
    """Answers the four requests of a remote."""

    def __init__(self, core: Core, *, push_bytes_max: int) -> None:
        self._core = core
        self._remote = LocalRemote(core)
        self._pushing = threading.BoundedSemaphore(PUSHES_MAX)
        self.push_bytes_max = push_bytes_max

    def answer(self, path: str, query: str, request: Request) -> Answer:
        """Returns the answer to an allowed request for one of the four paths."""
        if path == wire.REFS:
            return Answer(self._remote.refs(_prefixes(query)).encode(), wire.CBOR)
        if path == wire.PUSH:
            return self._pushed(request)
        message = request.body.read_all()
        if path == wire.KNOWN:
            known = self._remote.known(wire.read_known(message))
            return Answer(wire.write_known(sorted(known)), wire.CBOR)
        want, have = wire.read_fetch(message)
        if not want:
            raise InvalidInputError("want: got nothing, expected at least one commit")
        pack = self._remote.pack(want, have)
        header = car_header(want)

        def parts_of() -> Iterator[bytes]:
            yield header
            for cid, block in pack:
                yield car_section(cid, block)

        return Answer(parts_of(), wire.CAR)

    def _pushed(self, request: Request) -> Answer:
        limits = CarLimits(size_bytes_max=self.push_bytes_max)
        with self._pushing:
            moves = receive_container(self._core, request.body, limits=limits)
        return Answer(wire.write_moves(moves), wire.CBOR)


def _prefixes(query: str) -> list[str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=16)
    except ValueError as error:
        raise InvalidInputError("query: expected prefix=… up to 16 times") from error
    prefixes = [value for name, value in pairs if name == "prefix"]
    if len(prefixes) != len(pairs) or not set(prefixes) <= set(_PREFIXES):
        raise InvalidInputError(f"prefix: expected some of {', '.join(_PREFIXES)}")
    return prefixes
