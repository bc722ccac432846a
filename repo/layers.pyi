"""The types of `layers.py`, for editors and type checkers. Nothing here runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any

from ibidem.embed.language_model import LanguageModel
from ibidem.embed.protocol import Embedder, SparseEncoder
from ibidem.ingest.report import IngestReport, Progress
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph.memory import GraphMemory
from ibidem.memory.recall.feedback import Feedback
from ibidem.memory.recall.recall import Disclosure, Recollection
from ibidem.objects.cid import CommitCid
from ibidem.objects.ids import NodeId
from ibidem.repo.embed_nodes import EmbedReport
from ibidem.retrieve.access.policy import Viewer
from ibidem.retrieve.query.configured import CONFIGURED, Configured
from ibidem.retrieve.query.predicate import Predicate
from ibidem.retrieve.rerank import Reranker
from ibidem.retrieve.tokens import TokenEstimator

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
        at: object = "HEAD",
        session: str = "",
        disclosure: Disclosure | str | None = None,
        slow_milliseconds: int | None = None,
        time: int | datetime | None = None,
        # options: retrieve
        queries: Sequence[str | Mapping[str, Any]] | None = None,
        imagine: LanguageModel | None = None,
        reword: LanguageModel | None = None,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        include_tombstoned: bool = False,
        model: str | Configured | None = CONFIGURED,
        embedder: Embedder | None = None,
        degrade: bool = False,
        vector: tuple[str, Any] | None = None,
        sparse: tuple[str, Any, Any] | SparseEncoder | None = None,
        operator: str | Configured = CONFIGURED,
        phrases: bool | Configured = CONFIGURED,
        fuzzy: bool | Mapping[str, float] | None = None,
        related: bool | Configured = CONFIGURED,
        k1: float | Configured | None = CONFIGURED,
        b: float | Configured | None = CONFIGURED,
        graph: Mapping[str, object] | None = None,
        community: Mapping[str, object] | None = None,
        mentions: bool | Mapping[str, object] | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = "pass",
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        fusion: str | Configured | None = CONFIGURED,
        rrf_k: float | Configured | None = CONFIGURED,
        weights: Mapping[str, float] | Configured | None = CONFIGURED,
        rerank: Reranker | None = None,
        rerank_text: str | None = None,
        rerank_depth: int | None = 25,
        rerank_timeout: float | None = 8.0,
        mmr: Mapping[str, float] | None = None,
        recency: bool | Mapping[str, Any] | None = None,
        importance: bool | str | None = None,
        feedback: bool | Mapping[str, Any] | None = None,
        worth: bool | Mapping[str, Any] | None = None,
        direct: bool | Mapping[str, Any] | None = None,
        notes: CommitCid | str | None = None,
        adjacency: int | Configured = CONFIGURED,
        metadata: bool | Configured = CONFIGURED,
        estimator: str | TokenEstimator = "heuristic",
        token_budget: int | Configured | None = CONFIGURED,
        frame: Mapping[str, int] | None = None,
        depth: int | Configured = CONFIGURED,
        limit: int | Configured | None = CONFIGURED,
        overflow: str | None = None,
        dedupe: str | None = None,
        dedupe_percent: int = 80,
        dedupe_property: str | None = None,
        headings: str = "keep",
        coverage_min: int | None = None,
        strict: bool = False,
        viewer: Viewer | None = None,
        # end of options
    ) -> Recollection: ...

class Ingesting:
    def ingest(
        self,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
        *,
        text: str | None = None,
        path: str | PathLike[str] | None = None,
        media_type: str | None = None,
        prune: bool = False,
        strict: bool = False,
        progress: Callable[[Progress], None] | None = None,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
    ) -> IngestReport: ...

class Embedding:
    def embed(
        self, embedder: Embedder, *, model: str | None = None, label: str | None = None
    ) -> EmbedReport: ...
