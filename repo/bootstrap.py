"""The first root, view and operation of a repository."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ibidem.objects.cid import OperationCid, RootCid, ViewCid
from ibidem.objects.config import TRUST_SETTING, Config
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.operation import Operation
from ibidem.objects.root import Root
from ibidem.objects.tree.block import EMPTY_TREE, EMPTY_TREE_BLOCK
from ibidem.objects.view import View
from ibidem.repo import refs
from ibidem.repo.operation_log import OperationLog
from ibidem.repo.root_check import checked_config
from ibidem.repo.state import HEAD_CELL, ORIGIN_CELL
from ibidem.retrieve.semantics import check_version
from ibidem.store.protocol import Store

S = TypeVar("S", bound=Store)

NEW = Config(extra={"related": True})
"""The configuration of a repository for which none is chosen. Questions of repositories without it
keep their answers."""


def check_choice(config: Config | None) -> None:
    """Raises for a configuration that a new repository must not have.

    Raises:
        InvalidInputError: it is no configuration.
        FormatError: it names a version of the semantics that this program does not have.
    """
    if config is None:
        return
    if not isinstance(config, Config):
        raise InvalidInputError(f"config: got {config!r:.80}, expected a Config")
    check_version(config.semantics, "config.semantics")


def bootstrapped(store: S, config: Config | None, author: str, clock: Callable[[], int]) -> S:
    """Writes the first root, view and operation into an empty store."""
    chosen = NEW if config is None else config
    trees = (EMPTY_TREE, EMPTY_TREE, EMPTY_TREE, EMPTY_TREE)
    requires = (TRUST_SETTING,) if TRUST_SETTING in chosen.extra else ()
    first = Root(*trees, config=chosen.to_map(), requires=requires)
    checked_config(first)
    root = first.encode()
    view = View(EMPTY_TREE, refs.HEADS + refs.DEFAULT_BRANCH, EMPTY_TREE).encode()
    time = OperationLog(store, clock).time(None)
    operation = Operation(ViewCid.of(view), author=author, time=time, description="init").encode()
    root_cid, cid = RootCid.of(root), OperationCid.of(operation)
    blocks = {
        EMPTY_TREE: EMPTY_TREE_BLOCK,
        root_cid: root,
        ViewCid.of(view): view,
        cid: operation,
    }
    store.publish(blocks, {ORIGIN_CELL: (None, root_cid.raw), HEAD_CELL: (None, cid.raw)})
    return store
