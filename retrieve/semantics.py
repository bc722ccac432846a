"""Every published version of the rules that decide an answer, and the code that still runs it.

A receipt names the version that answered it. When rules change, the version goes up, the code of
the one before is kept as it is under a name of its own and registered here, and its golden vectors
stay: a receipt of any release can be replayed by every later one.

Spec: retrieval 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from ibidem.objects.cid import Cid
from ibidem.objects.errors import ErrorKind, FormatError
from ibidem.objects.node import Node
from ibidem.retrieve.query import SEMANTICS, Query
from ibidem.retrieve.rerank import RerankRecord
from ibidem.retrieve.result import Result
from ibidem.retrieve.tokens import TokenEstimator

MODULES: Mapping[int, str] = MappingProxyType({1: "ibidem.retrieve.execute"})
"""By version, the module whose `execute` answers by its rules; versions are never taken out."""
assert SEMANTICS in MODULES, "BUG: the version in use is not registered"


@dataclass(frozen=True, slots=True)
class Engine:
    """Answers by the rules of one version."""

    version: int
    execute: Callable[..., Result]

    def answer(
        self,
        asked: Callable[[Callable[[Any], Result]], Result],
        get: Callable[[Cid], bytes],
        content_of: Callable[[Node], bytes | None],
        query: Query,
        estimator: TokenEstimator,
        record: RerankRecord | None,
    ) -> Result:
        """Returns the answer to a query, with no model asked.

        Args:
            asked: gives a snapshot of the root to what it is called with, such as
                `Revision.asked`.
            get: the block of a CID. content_of: the whole content of a node.
            record: what the reranker said when it was asked.
        """
        return asked(
            lambda snapshot: self.execute(
                snapshot,
                query,
                lambda cid: Node.decode(get(cid)),
                content_of,
                estimator=estimator,
                reranker=record,
            )
        )


def engine(version: int) -> Engine:
    """Returns what answers by the rules of a version.

    Raises:
        FormatError: kind `unsupported-semantics`: a version that this program does not have.
    """
    module = MODULES.get(version)
    if module is None:
        raise FormatError(
            f"semantics: got version {version}, expected one of {sorted(MODULES)}",
            kind=ErrorKind.UNSUPPORTED_SEMANTICS,
            hint="replay it with a release that knows the version",
        )
    return Engine(version, import_module(module).execute)
