"""Work in one transaction, and an error to be met in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ibidem.objects.errors import (
    ErrorKind,
    IbidemError,
)
from ibidem.repo.repository import Repository
from ibidem.repo.transaction.transaction import Transaction


def refused(kind: ErrorKind, call: Callable[[], Any], *words: str) -> IbidemError:
    with pytest.raises(IbidemError) as caught:
        call()
    assert caught.value.kind is kind, caught.value
    for word in words:
        assert word in str(caught.value)
    return caught.value


def commit(repo: Repository, work: Callable[[Transaction], Any]) -> Any:
    with repo.transaction() as tx:
        return work(tx)
