"""A repository as a remote: four requests, answered from the blocks that its refs reach. A GET
changes nothing, and a push changes refs in one step, only after all its blocks have been checked.

Spec: sync 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.repo.refs import HEADS, OWN, TAGS
from ibidem.repo.sync import wire
from ibidem.repo.sync.car import CarLimits, car_header, car_section
from ibidem.repo.sync.names import NOTES, RECEIPTS, RUNS
from ibidem.repo.sync.receive import receive_container
from ibidem.serve.exchange import Answer

if TYPE_CHECKING:
    from ibidem.serve.exchange import Call
    from ibidem.serve.served import Copying

_PREFIXES = (HEADS, TAGS, OWN, NOTES, RUNS, RECEIPTS)
_PREFIXES_MAX = 16


def refs(call: Call) -> Answer:
    """Returns the refs with the prefixes of the query."""
    prefixes = [value for name, value in call.query if name == "prefix"]
    if len(prefixes) != len(call.query) or not set(prefixes) <= set(_PREFIXES):
        raise InvalidInputError(f"prefix: expected some of {', '.join(_PREFIXES)}")
    if len(prefixes) > _PREFIXES_MAX:
        raise InvalidInputError(f"prefix: got {len(prefixes)}, expected up to {_PREFIXES_MAX}")
    return Answer(_copying(call).remote.refs(prefixes).encode(), wire.CBOR)


def known(call: Call) -> Answer:
    """Returns which of the given commits are here."""
    found = _copying(call).remote.known(wire.read_known(call.body))
    return Answer(wire.write_known(sorted(found)), wire.CBOR)


def fetch(call: Call) -> Answer:
    """Returns the blocks that are wanted, as a CAR."""
    want, have = wire.read_fetch(call.body)
    if not want:
        raise InvalidInputError("want: got nothing, expected at least one commit")
    pack = _copying(call).remote.pack(want, have)
    header = car_header(want)

    def parts() -> Iterator[bytes]:
        yield header
        for cid, block in pack:
            yield car_section(cid, block)

    return Answer(parts(), wire.CAR)


def push(call: Call) -> Answer:
    """Takes blocks, and moves refs to them."""
    copying = _copying(call)
    assert call.stream is not None, "BUG: a push is read in parts"
    limits = CarLimits(size_bytes_max=copying.push_bytes_max)
    moves = receive_container(copying.core, call.stream, limits=limits)
    return Answer(wire.write_moves(moves), wire.CBOR)


def _copying(call: Call) -> Copying:
    assert call.served.copying is not None, "BUG: a remote's request was let in"
    return call.served.copying
