"""What a server answers from: a repository, and what it remembers between requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ibidem.objects.record import record
from ibidem.repo.sync.local_remote import LocalRemote

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.repository import Repository
    from ibidem.serve.metrics import Metrics
    from ibidem.serve.request_keys import RequestKeys


class Copying:
    """What answers the four requests."""

    def __init__(self, core: Core, *, push_bytes_max: int) -> None:
        self.core = core
        self.remote = LocalRemote(core)
        self.push_bytes_max = push_bytes_max


class Listeners:
    """The listeners of one server."""

    def __init__(self) -> None:
        self.count = 0
        self.is_closing: Callable[[], bool] = lambda: False


@record
class Served:
    """What a server answers from."""

    repository: Repository
    copying: Copying | None
    """Answers the protocol of copies; None if it is not served."""
    keys: RequestKeys
    metrics: Metrics
    listeners: Listeners
    is_read_only: bool
