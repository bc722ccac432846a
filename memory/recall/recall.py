"""Recall: an answer of `retrieve`, shown in as much detail as needed, and remembered.

Nothing that is remembered affects a later answer: the last question of a session only serves as the
reference for feedback. The sidecar contains no word of the question; the answer's receipt does, as
every receipt, and is in the log of receipts.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ibidem.memory.recall.query_log import LastRecall, QueryLog
from ibidem.objects.constants import DOCUMENT_BYTES_MAX
from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record
from ibidem.repo.questions import Questions, changed_options
from ibidem.repo.retrieval.token_estimators import estimator_of
from ibidem.repo.viewer.exposure import Proxy, guarded
from ibidem.retrieve.answer.protocol import json_text, page
from ibidem.retrieve.context.excerpt import clipped_text
from ibidem.retrieve.query.configured import CONFIGURED
from ibidem.retrieve.query.frame import Counter
from ibidem.retrieve.query.options import OF_ITEMS
from ibidem.retrieve.recall.words import words
from ibidem.retrieve.tokens import HEURISTIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision
    from ibidem.repo.viewer.repository import ViewerRepository
    from ibidem.repo.viewer.revision import ViewerRevision
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.warning import AnswerWarning
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.query.query import Query
    from ibidem.retrieve.rerank import Reranker
    from ibidem.retrieve.tokens import TokenEstimator

PERMILLE = 1000
ESCALATE_BELOW = 500
"""In permille: if the best item has a smaller part of the question's words, automatic disclosure
shows whole sections."""


class Disclosure(StrEnum):
    """How much text of a hit is shown."""

    CHUNK = "chunk"
    """The node itself."""
    SECTION = "section"
    """The section that contains it."""
    RAW = "raw"
    """The whole document, as long as all documents together stay within the limit for one and the
    budget, of the last one its beginning; only on request."""


@record
class Recollection:
    """An answer and the text that is shown for it."""

    result: Answer[Item]
    disclosure: Disclosure
    is_escalated: bool
    """Whether more is shown than usual because the best item has few of the question's words."""
    texts: tuple[str, ...]
    """The texts that are shown, best first, without repeats."""
    unrecorded: str | None = None
    """Why the answer could not be recorded for feedback, for example on a read-only disk; None if
    it was, or is not to be."""

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of the answer."""
        return self.result.items

    @property
    def text(self) -> str:
        """The texts, separated by blank lines."""
        return "\n\n".join(self.texts)

    @property
    def tokens_used(self) -> int:
        """The tokens of the text, by the built-in estimator."""
        return HEURISTIC.estimate(self.text)

    @property
    def warnings(self) -> tuple[AnswerWarning, ...]:
        """The warnings of the answer."""
        return self.result.warnings

    @property
    def receipt(self) -> Receipt | None:
        """The receipt of the answer."""
        return self.result.receipt

    def __str__(self) -> str:
        text = page(self, "text", [("", one) for one in self.texts])
        return text if self.unrecorded is None else f"{text}\nwarning: {self.unrecorded}"

    def explain(self) -> str:
        """Returns for a person how the answer came about."""
        return self.result.explain()

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""
        return json_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as plain data, with the texts and how much they disclose."""
        return {
            **self.result.to_dict(),
            **fields_of(self, "disclosure", "is_escalated", "texts", "tokens_used"),
            **({} if self.unrecorded is None else {"unrecorded": self.unrecorded}),
        }


@guarded
def recall(
    repository: Repository | ViewerRepository,
    text: str,
    *,
    at: object = "HEAD",
    session: str = "",
    disclosure: Disclosure | str | None = None,
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
) -> Recollection:
    """Returns an answer with as much text as it needs, and remembers it for the session; where that
    cannot be written, the answer says so in `unrecorded`.

    Args:
        text: the question.
        at: the revision that is searched.
        session: the session whose last answer this becomes.
        disclosure: how much text is shown; None: the nodes, or their sections if the best node has
            less than half of the question's words.
        time: when the question was asked, only for the sidecar; by default the clock's time.

    Raises:
        InvalidInputError: an option is of the wrong form.
    """
    options = changed_options(locals(), Questions.retrieve)
    level = _level(disclosure)
    revision = repository.at(at, viewer=viewer)
    result = revision.retrieve(text, **options)
    escalated = level is None and _overlap(text, result) < ESCALATE_BELOW and bool(result.items)
    shown = level or (Disclosure.SECTION if escalated else Disclosure.CHUNK)
    texts = tuple(_texts(revision, text, result, shown, options))
    now = repository.now(time)
    if isinstance(repository, Proxy):
        # All callers of this folder share the sidecar: questions of viewers are not recorded.
        return Recollection(result, shown, escalated, texts)
    unrecorded = None
    try:
        sidecar = QueryLog(repository.folder)
        sidecar.remember(_entry(sidecar, session, now, text, result))
    except OSError as error:
        unrecorded = f"not recorded, so feedback cannot refer to this answer: {error}"
    return Recollection(result, shown, escalated, texts, unrecorded)


def _level(disclosure: Disclosure | str | None) -> Disclosure | None:
    if disclosure is None:
        return None
    try:
        return Disclosure(disclosure)
    except ValueError as error:
        expected = ", ".join(Disclosure)
        raise InvalidInputError(
            f"disclosure: got {disclosure!r:.80}, expected one of {expected}"
        ) from error


def _overlap(text: str, result: Answer[Item]) -> int:
    """Returns the part of the question's words that are in the best item, in permille."""
    query_words = frozenset(words(text, frozenset()))
    if not query_words or not result.items:
        return PERMILLE
    best = result.items[0]  # of which a budget may show only a part
    has = frozenset(words(f"{best.rendered}\n{best.node.summary or ''}", frozenset()))
    return len(query_words & has) * PERMILLE // len(query_words)


def _texts(
    revision: Revision | ViewerRevision,
    text: str,
    result: Answer[Item],
    level: Disclosure,
    options: Mapping[str, Any],
) -> list[str]:
    if level is Disclosure.CHUNK:
        return [item.rendered for item in result.items]
    if level is Disclosure.SECTION:
        unused = OF_ITEMS if options.get("rerank") is None else ("direct",)
        ranking = {name: value for name, value in options.items() if name not in unused}
        return [pack.text for pack in revision.packs(text, expand="section", **ranking).packs]
    return _bounded(_whole_texts(revision, result), result.query, options)


def _bounded(texts: Iterable[str], query: Query, options: Mapping[str, Any]) -> list[str]:
    """Returns the first texts that fit the budget, and the beginning of the next one."""
    room = query.items_budget
    if room is None:
        return list(texts)
    counter = Counter(estimator_of(options.get("estimator", HEURISTIC.name)), query.framed)
    found: list[str] = []
    used = 0
    for text in texts:
        cost = counter.cost(text)
        if used + cost > room:
            part = _clipped(text, counter, room - used, whole=bool(found))
            return [*found, part] if part else found
        found.append(text)
        used += cost
    return found


def _clipped(text: str, counter: Counter, tokens: int, *, whole: bool) -> str:
    return clipped_text(
        text, lambda some: counter.cost(some) <= tokens, sentences=True, whole=whole
    )


def _whole_texts(revision: Revision | ViewerRevision, result: Answer[Item]) -> Iterator[str]:
    """Yields the documents of the items, and the items that are not in one, each read when it is
    needed."""
    found: set[str] = set()
    sources: set[NodeId] = set()
    size = 0
    for item, location in zip(result.items, result.locations, strict=True):
        if location is not None and location.document_id in sources:
            continue
        shown = item.rendered
        if location is not None:
            with suppress(CorruptError, NotFoundError):  # one document does not cost the answer
                source = revision.document(location.document_id)
                if size + len(source) <= DOCUMENT_BYTES_MAX:
                    shown, size = source, size + len(source)
                    sources.add(location.document_id)
        if shown not in found:
            found.add(shown)
            yield shown


def _entry(
    sidecar: QueryLog, session: str, now: int, text: str, result: Answer[Item]
) -> LastRecall:
    return LastRecall(
        session=session,
        time=now,
        question=sidecar.digest(text),
        characters=len(text),
        receipt=None if result.receipt is None else str(result.receipt.cid),
        result=str(result.cid),
        ids=tuple(str(item.node.id) for item in result.items),
    )
