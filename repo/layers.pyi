"""The types of `layers.py`, for editors and type checkers. Nothing here runs."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from os import PathLike
from typing import Any

from ibidem.embed.protocol import Embedder
from ibidem.ingest.report import Progress, Report
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph.memory import GraphMemory
from ibidem.memory.recall.feedback import Feedback
from ibidem.memory.recall.recall import Disclosure, Recollection
from ibidem.objects.ids import NodeId
from ibidem.repo.embed_nodes import EmbedReport

def register(name: str, find: Callable[[], Any]) -> None: ...

class Layer: ...

class Layers:
    @property
    def conversations(self) -> Conversations: ...
    @property
    def records(self) -> GraphMemory: ...
    @property
    def feedback(self) -> Feedback: ...
    def add(
        self,
        text: str,
        *,
        label: str = ...,
        props: Mapping[str, Any] | None = None,
        time: int | datetime | None = None,
        author: str = "",
        message: str = "",
    ) -> NodeId: ...

class Recalling:
    def recall(
        self,
        text: str,
        *,
        revision: object = "HEAD",
        session: str = "",
        disclosure: Disclosure | str | None = None,
        slow_milliseconds: int | None = None,
        time: int | datetime | None = None,
        **options: Any,
    ) -> Recollection: ...

class Ingesting:
    def ingest(
        self,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        *,
        text: str | None = None,
        path: str | None = None,
        media_type: str | None = None,
        prune: bool = False,
        strict: bool = False,
        progress: Callable[[Progress], None] | None = None,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
    ) -> Report: ...

class Embedding:
    def embed(
        self, embedder: Embedder, *, model: str | None = None, label: str | None = None
    ) -> EmbedReport: ...
