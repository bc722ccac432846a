"""The resolved query: everything that an answer depends on besides the root, with every default
filled in.

Receipts store a `Query`, and `execute` takes one. `resolve` builds it from the options of a caller;
after that nothing is implied any more.

Spec: retrieval 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, Unpack

from ibidem.objects import codec
from ibidem.objects.config import Config
from ibidem.objects.constants import BLOCK_BYTES_MAX
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError, unknown_version
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import Viewer, checked_viewer, policy_of
from ibidem.retrieve.diversity import Mmr, resolve_mmr
from ibidem.retrieve.graph import option as graph_option
from ibidem.retrieve.query import checks, option_checks, predicate
from ibidem.retrieve.query.dedupe import NONE as NO_DEDUPE
from ibidem.retrieve.query.dedupe import Dedupe, options_of_form, resolve_dedupe
from ibidem.retrieve.query.form_writer import FormWriter
from ibidem.retrieve.query.frame import NO_FRAME, Frame, resolve_frame
from ibidem.retrieve.query.fusion import DAMPED, Fusion, resolve_fusion
from ibidem.retrieve.query.history import HistoryFilter
from ibidem.retrieve.query.match import OR, Match, match_of_form, resolve_match
from ibidem.retrieve.query.options import (
    CUT,
    DEFAULT,
    DROP,
    EXCERPT,
    OF_CONVERSATIONS,
    OF_QUERY,
    OF_RECALL,
    SKIP,
    STOP,
    default,
)
from ibidem.retrieve.query.predicate import Predicate
from ibidem.retrieve.query.settings import configured
from ibidem.retrieve.query.subquery import (
    QUERIES,
    Subquery,
    questions_of_form,
    resolve_queries,
)
from ibidem.retrieve.query.validity import Valid, resolve_valid
from ibidem.retrieve.query.vector import VECTOR_OPTIONS, QuerySparse, QueryVector
from ibidem.retrieve.rerank import Rerank, resolve_rerank
from ibidem.retrieve.tokens import checked_digest, checked_estimator

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.retrieve.context.option import PackOptions
    from ibidem.retrieve.query.signature import QueryOptions
    from ibidem.retrieve.query.union import RootSet
    from ibidem.retrieve.recall.option import Recall
    from ibidem.retrieve.records.option import RecordOptions

SEMANTICS = 1
"""The version of these queries; others have their own readers, see `semantics.py`."""

_PLAIN = frozenset((type(None), bool, int, float, str, bytes))
"""The types of fields that are their own canonical form."""
_CONSTANTS = {"kind": "query", "v": 1}
"""Fields of the canonical form of every query."""
_FUSION = Fusion()
_MATCH = Match()
_OF_MATCH = frozenset({"operator", "phrases", "fuzzy"})


@record
class Query:
    """A query with every option explicit."""

    text: str | None = None
    labels: tuple[str, ...] = ()
    """A node must have one of them; empty for any."""
    where: Predicate | None = None
    valid: Valid | None = None
    vector: QueryVector | None = None
    sparse: QuerySparse | None = None
    graph: graph_option.Graph | None = None
    community: graph_option.Community | None = None
    mentions: graph_option.Mentions | None = None
    depth: int = default("depth")
    """The number of nodes that each lane returns."""
    limit: int | None = default("limit")
    token_budget: int | None = default("token_budget")
    metadata: bool = default("metadata")
    """Whether a rendering shows type, id and properties."""
    adjacency: int = default("adjacency")
    """The number of edges that a rendering shows in each direction."""
    include_tombstoned: bool = default("include_tombstoned")
    fusion: Fusion = _FUSION
    k1: float = default("k1")
    b: float = default("b")
    match: Match = _MATCH
    """The conditions on a document besides having one of the text's terms."""
    rerank: Rerank | None = None
    mmr: Mmr | None = None
    estimator: str = default("estimator")
    estimator_digest: bytes | None = None
    """The identity of an estimator whose name does not identify it fully, 32 bytes."""
    packs: PackOptions | None = None
    """How hits become packs; None for an answer of nodes or records."""
    recall: Recall | None = None
    """Factors and direct answers; None without any of them."""
    records: RecordOptions | None = None
    """How records are ranked and followed; None for an answer of nodes or packs."""
    viewer: Viewer | None = None
    """What the caller may see; None if the root has no trust policy."""
    history: HistoryFilter | None = None
    """When nodes were written; None for any time."""
    queries: tuple[Subquery, ...] | None = None
    """Each a lane of its own; None for none."""
    dedupe: Dedupe | None = None
    """Which items are left out because they repeat an earlier one; None if none is, and for packs,
    which have their own."""
    overflow: str | None = None
    """What becomes of an item over the budget: `cut`, `stop` or `excerpt`; None to skip it, without
    a budget, and for packs."""
    slack: bool | None = None
    """Whether what parts of items cost less than they are charged goes to all of them; None where
    none is cut, for packs, which have their own, and in queries of before."""
    frame: Frame | None = None
    """What is written around the items; None for nothing, and without a budget."""
    headings: str | None = None
    """`drop` to leave out items that are headings without text; None otherwise, and for packs."""
    coverage_min: int | None = None
    """The share of the text's terms, in permille, below which the items together get a warning."""
    degraded: str | None = None
    """The model that was to rank, and was missing where the question was asked."""
    union: RootSet | None = None
    """All the roots that are asked; None for a question of one."""
    passages: bool | None = None
    """Whether lanes of vectors and edges return the first passage below a heading in its place;
    None where there is no such lane, for records, and in queries of before."""
    semantics: int = SEMANTICS
    _written: list[bytes] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def has_ranker(self) -> bool:
        """Whether a lane ranks; otherwise all matches are returned in id order."""
        return self.text is not None or any(
            getattr(self, name) is not None for name in VECTOR_OPTIONS
        )

    @property
    def unranked(self) -> Self:
        """The query without the options that rank."""
        nothing: dict[str, Any] = dict.fromkeys(("text", *VECTOR_OPTIONS, QUERIES))
        return replace(self, **nothing)

    def over(self, union: RootSet) -> Self:
        """Returns the query of several roots; raises `InvalidInputError` if it has an option that
        is about one."""
        query = replace(self, union=union)
        _check_union(query)
        return query

    @property
    def is_narrowed(self) -> bool:
        """Whether the universe may be smaller than the view."""
        conditions = (self.where, self.valid, self.history)
        return bool(self.labels) or any(one is not None for one in conditions)

    @property
    def as_of(self) -> int | None:
        """The microsecond at which nodes and edges have to hold; None if any time will do."""
        return None if self.valid is None else self.valid.at

    @property
    def framed(self) -> Frame:
        """What is written around the items."""
        return self.frame or NO_FRAME

    @property
    def items_budget(self) -> int | None:
        """The most tokens of the items together, with what is written around each; None for any
        number."""
        if self.token_budget is None:
            return None
        return max(0, self.token_budget - self.framed.answer)

    @property
    def notes(self) -> CommitCid | None:
        """The notes head that counts; None if none does, or there are no notes yet."""
        for part in (self.records, self.recall):
            if part is not None and part.notes is not None:
                return part.notes
        return None

    def counting_like(self, recorded: Query) -> Self:
        """Returns the query by the rules of a recorded one: with those words and edits alone that
        it counts (`Match`), with packs by the rules of its packs, with headings opened only if it
        opens them, and without a frame and slack if it has none. So what was asked before there
        were such rules is answered as it was."""
        packs = self.packs
        if packs is not None and recorded.packs is not None:
            packs = packs.ruled_like(recorded.packs)
        return replace(
            self,
            match=self.match.counting_like(recorded.match),
            packs=packs,
            passages=self.passages and recorded.passages,
            frame=recorded.frame and self.frame,
            slack=recorded.slack and self.slack,
        )

    def form(self) -> dict[str, Any]:
        """Returns the canonical form: every field, but the last ones only if they are given."""
        form = {name: _written(getattr(self, name)) for name in _READERS}
        for name in _OPTIONAL_READERS:
            value = getattr(self, name)
            if value is not None:
                form[name] = _written(value)
        return form | _CONSTANTS | {"semantics": self.semantics}

    def encode(self) -> bytes:
        """Returns the canonical bytes, computed once: the answer and its receipt contain them."""
        if not self._written:
            self._written.append(self._encoded())
        return self._written[0]

    def _encoded(self) -> bytes:
        try:
            block = _WRITER(self)
        except (InvalidInputError, UnicodeEncodeError):
            return codec.encode(self.form())  # its error names the field
        return block if len(block) <= BLOCK_BYTES_MAX else codec.encode(self.form())

    @classmethod
    def decode(cls, block: bytes) -> Self:
        """Returns the query that `encode` wrote.

        Raises:
            CorruptError: the bytes are not a query.
            FormatError: a semantics version that this program does not know.
        """
        return cls.from_form(codec.decode_foreign(block))

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the query of a canonical form of this version, which must equal the result of
        `form`."""
        if not isinstance(form, dict) or form.get("kind") != "query":
            raise CorruptError(f"query: got {str(form)[:60]}, expected a map of kind 'query'")
        if form.get("v") != 1 or form.get("semantics") != SEMANTICS:
            name, known = ("v", 1) if form.get("v") != 1 else ("semantics", SEMANTICS)
            raise unknown_version(
                f"query.{name}", form.get(name), (known,), ErrorKind.UNSUPPORTED_SEMANTICS
            )
        try:
            query = cls(**_fields(form))
            _check_history(query)
            _check_seeds(query)
        except InvalidInputError as error:
            raise CorruptError(f"query.{error}") from error
        if query.encode() != codec.encode(form):
            raise CorruptError("query: got a form that does not write back to itself")
        return query


def resolve(config: Config, **given: Unpack[QueryOptions]) -> Query:
    """Returns the query for a caller's options under a root's configuration.

    Args:
        config: provides the defaults of the options in `options.SETTINGS`.
        given: some of `options.OF_QUERY`.

    Raises:
        InvalidInputError: an option is unknown, or of the wrong type or size; the message names it.
    """
    unknown = [name for name in given if name not in OF_QUERY]
    if unknown:
        if min(unknown) in OF_CONVERSATIONS:
            raise InvalidInputError(
                f"{min(unknown)}: got it in a question, expected a setting: "
                "conversations and contexts keep to it",
                hint=f"use `repo config set {min(unknown)}`, or `window` of `conversations.select`",
            )
        names = ", ".join(sorted(OF_QUERY))
        raise InvalidInputError(f"{min(unknown)}: got an unknown option, expected one of {names}")
    recall = _recall({name: value for name, value in given.items() if name in OF_RECALL})
    own = configured(config)
    chosen = {**own, **given}
    options: dict[str, Any] = {**_DEFAULTS, **chosen}
    text, packs = options["text"], options["packs"]
    lane_text = _query_text(text)
    if lane_text is None:
        # Nothing matches terms then: the defaults of matching have nothing to apply to.
        options |= {name: _DEFAULTS[name] for name in ("operator", "phrases") if name not in given}
    counter, counter_digest = checked_estimator(options["estimator"])
    vectors = {
        name: each.check(options[name])
        for name, each in VECTOR_OPTIONS.items()
        if options[name] is not None
    }
    has_ranker = lane_text is not None or bool(vectors)
    fusion = resolve_fusion(config, options["fusion"], options["rrf_k"], options["weights"])
    uses_scores = fusion.name not in DAMPED
    queries = resolve_queries(options[QUERIES])
    texts = [one for one in (lane_text, *(one.text for one in queries or ())) if one is not None]
    walks = options["graph"], options["community"]
    opens_headings = _opens_headings(*vectors.values(), *walks, queries=queries)
    records = _optional(_records, options["records"])
    if "related" in given and records is not None:
        raise InvalidInputError("related: got it for records, expected a question about passages")
    if given.get("related") and not texts:
        raise InvalidInputError("related: got it without a text, expected a text with words")
    match = _MATCH
    if not chosen.keys().isdisjoint(_OF_MATCH):
        match = resolve_match(options["operator"], options["phrases"], options["fuzzy"])
    overflow = _overflow(options)
    is_cut = overflow in (CUT, EXCERPT) and packs is None and records is None
    query = Query(
        text=lane_text,
        labels=_labels(options["label"]),
        where=_optional(predicate.condition_of, options["where"]),
        valid=resolve_valid(options["as_of"], options["valid_missing"]),
        graph=_optional(graph_option.graph, options["graph"]),
        community=_optional(graph_option.community, options["community"]),
        mentions=graph_option.resolve_mentions(
            options["mentions"], is_apt=lane_text is not None and uses_scores
        ),
        fusion=fusion,
        match=match.for_texts(
            texts, related=option_checks.option("related", options["related"]) and records is None
        ),
        rerank=resolve_rerank(
            options["rerank"], lane_text, options["rerank_text"], options["rerank_depth"]
        ),
        mmr=resolve_mmr(options["mmr"], has_ranker=has_ranker),
        estimator=counter,
        estimator_digest=counter_digest,
        packs=_optional(_packs, packs),
        recall=recall,
        records=records,
        viewer=checked_viewer(policy_of(config), options["viewer"]),
        history=_optional(HistoryFilter.from_form, options["history"]),
        queries=queries,
        dedupe=resolve_dedupe(given, usual=NO_DEDUPE),
        overflow=overflow,
        slack=is_cut or None,
        frame=resolve_frame(options["frame"], options["token_budget"]),
        headings=_headings(options["headings"]),
        coverage_min=option_checks.option("coverage_min", options["coverage_min"]),
        passages=(opens_headings and records is None) or None,
        **vectors,
        **{
            name: option_checks.option(name, value)
            for name, value in chosen.items()
            if name in _SIMPLE
        },
    )
    is_blank = packs is not None and text is not None
    if not query.has_ranker and not query.is_narrowed and not is_blank:
        raise InvalidInputError(
            "text: got nothing to look for, "
            "expected a text, a vector, a sparse vector, a label or a condition"
        )
    _check_history(query)
    _check_seeds(query)
    return query


def _opens_headings(*lanes: object, queries: Sequence[Subquery] | None) -> bool:
    """Returns whether a question has any of some lanes, or one of its subqueries a vector."""
    further = (getattr(one, name) for one in queries or () for name in VECTOR_OPTIONS)
    return any(one is not None for one in chain(lanes, further))


def _check_history(query: Query) -> None:
    """Rejects conditions on the history for a caller who may not see everything."""
    if query.history is not None and query.viewer is not None and not query.viewer.everything:
        raise InvalidInputError(
            "history: it is refused to a viewer who may not see everything",
            kind=ErrorKind.NOT_PERMITTED,
        )


def _check_seeds(query: Query) -> None:
    """Rejects lanes that walk edges without another lane to give them seeds, and lexical
    options without a text."""
    match = query.match
    if query.text is None and match.of_any_text != _MATCH:
        name = "operator" if match.operator != OR else "phrases" if match.phrases else "fuzzy"
        raise InvalidInputError(f"{name}: got it without a text, expected a text that it is about")
    if query.union is not None:
        _check_union(query)
    lanes = query.vector, query.sparse, query.graph, query.community
    if query.passages and (query.records or not _opens_headings(*lanes, queries=query.queries)):
        raise InvalidInputError(
            "passages: got it without a lane of vectors or edges, expected nothing"
        )
    if query.packs is not None and query.records is not None:
        raise InvalidInputError("records: got them beside packs, expected one of them")
    is_of_items = query.packs is None and query.records is None
    for name in ("overflow", "dedupe", "headings"):
        if getattr(query, name) is not None and not is_of_items:
            raise InvalidInputError(f"{name}: got it beside packs or records, expected items")
    if query.slack and query.overflow not in (CUT, EXCERPT):
        raise InvalidInputError("slack: got it where no item is cut, expected nothing")
    for name in ("overflow", "frame"):
        if getattr(query, name) is not None and query.token_budget is None:
            raise InvalidInputError(f"{name}: got it without a token_budget, expected nothing")
    recall = query.recall
    if recall is not None and query.text is None and recall.direct:
        raise InvalidInputError("direct: got it without a text, expected a text that it is about")
    if query.coverage_min is not None and query.text is None:
        raise InvalidInputError("coverage_min: got it without a text, expected a text with terms")
    for name, value in (
        ("graph", query.graph),
        ("community", query.community),
        ("mentions", query.mentions),
        ("recall", recall),
        (QUERIES, query.queries),
    ):
        if value is not None and not query.has_ranker:
            raise InvalidInputError(
                f"{name}: got it without anything that ranks, "
                "expected a text, a vector or a sparse vector to begin from"
            )


def _check_union(query: Query) -> None:
    """Rejects what is defined by the history, the notes or a conversation of one root."""
    recall = query.recall
    sources = None if query.packs is None else query.packs.sources
    for name, value in (
        ("history", query.history),
        ("thread", None if sources is None else sources.thread),
        ("notes", query.notes),
        ("notes", True if recall is not None and recall.counts_notes else None),
        ("direct", None if recall is None else recall.direct),
    ):
        if value is not None:
            raise InvalidInputError(
                f"{name}: got it in a question to several repositories, expected one repository"
            )


def _fields(form: dict[str, Any]) -> dict[str, Any]:
    """Returns the constructor's arguments, checked as `resolve` checks a caller's.

    Raises:
        InvalidInputError: a field is missing or invalid; the message begins with its name.
    """
    found: dict[str, Any] = {}
    for name, read in (*_READERS.items(), *_OPTIONAL_READERS.items()):
        if name not in form:
            if name in _READERS:
                raise InvalidInputError(f"{name}: got nothing, expected the field")
            continue
        value = form[name]
        try:
            found[name] = read(value)
        except InvalidInputError as error:
            said = str(error)
            raise InvalidInputError(said if said.startswith(name) else f"{name}: {said}") from error
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidInputError(
                f"{name}: got {value!r:.80}, expected the form that retrieval 3 gives it"
            ) from error
    return found


def _query_text(text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidInputError(f"text: got {type(text).__name__}, expected a text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError("text: got a lone surrogate, expected valid Unicode") from error
    return text if checks.sized("text", text).strip() else None


def _labels(label: str | Iterable[str] | None) -> tuple[str, ...]:
    if label is None:
        return ()
    if not isinstance(label, Iterable):
        raise InvalidInputError(f"label: got {checks.show(label)}, expected a text or several")
    labels = [label] if isinstance(label, str) else list(label)
    most = int(OF_QUERY["label"].high)
    if len(labels) > most:
        raise InvalidInputError(
            f"label: got {len(labels)}, expected at most {most}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return tuple(sorted({checks.name("label", one) for one in labels}))


def _optional(read: Callable[[Any], Any], value: Any) -> Any:
    """Returns what a reader makes of a value, None for None."""
    return None if value is None else read(value)


def _some(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a reader that maps null to None."""
    return partial(_optional, read)


def _rule_of_form(name: str, form: object) -> bool:
    if form is not True:
        raise InvalidInputError(f"{name}: got {checks.show(form)}, expected true or nothing")
    return True


def _overflow(options: Mapping[str, Any]) -> str | None:
    """Returns what becomes of an item over the budget, None to skip it or without a budget."""
    found: str | None = option_checks.option("overflow", options["overflow"])
    return None if found == SKIP or options["token_budget"] is None else found


def _headings(value: object) -> str | None:
    return DROP if option_checks.option("headings", value) == DROP else None


def _overflow_of_form(form: object) -> str:
    return checks.choice("overflow", form, (CUT, STOP, EXCERPT))


def _headings_of_form(form: object) -> str:
    return checks.choice("headings", form, (DROP,))


def _dedupe_of_form(form: object) -> Dedupe | None:
    return resolve_dedupe(options_of_form(form, usual=NO_DEDUPE), usual=NO_DEDUPE)


def _written(value: Any) -> Any:
    """Returns the canonical form of a field."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    return [_written(one) for one in value] if kind is tuple else value.form()


def _union_of_form(form: Any) -> RootSet:
    from ibidem.retrieve.query.union import RootSet

    return RootSet.from_form(form)


def _packs(given: Mapping[str, object]) -> PackOptions:
    # Few questions use packs or recall, and loading a module takes longer than most answers.
    from ibidem.retrieve.context.option import resolve_packs

    return resolve_packs(given)


def _packs_of_form(form: Any) -> PackOptions:
    from ibidem.retrieve.context.option import PackOptions

    return PackOptions.from_form(form)


def _records(given: object) -> RecordOptions:
    from ibidem.retrieve.records.option import resolve_records

    return resolve_records(given)


def _records_of_form(form: Any) -> RecordOptions:
    from ibidem.retrieve.records.option import RecordOptions

    return RecordOptions.from_form(form)


def _recall(given: Mapping[str, Any]) -> Recall | None:
    if not given:
        return None
    from ibidem.retrieve.recall.option import resolve_recall

    return resolve_recall(**given)


def _recall_of_form(form: Any) -> Recall:
    from ibidem.retrieve.recall.option import Recall

    return Recall.from_form(form)


_DEFAULTS = {
    name: None if option.none == DEFAULT else option.default for name, option in OF_QUERY.items()
}
_COMPOSED: Mapping[str, Callable[[Any], Any]] = {
    "text": _query_text,
    "labels": _labels,
    "where": _some(predicate.from_form),
    "valid": _some(Valid.from_form),
    **{name: _some(each.read) for name, each in VECTOR_OPTIONS.items()},
    "graph": _some(graph_option.graph),
    "community": _some(graph_option.community),
    "mentions": _some(graph_option.mentions),
    "fusion": Fusion.from_form,
    "match": match_of_form,
    "rerank": _some(Rerank.from_form),
    "mmr": _some(Mmr.from_form),
    "estimator": partial(checks.name, "estimator"),
    "estimator_digest": checked_digest,
}
"""The readers of fields of the canonical form that the table of options does not describe fully."""
_OPTIONAL_READERS: Mapping[str, Callable[[Any], Any]] = {
    "packs": _packs_of_form,
    "recall": _recall_of_form,
    "records": _records_of_form,
    "viewer": Viewer.from_form,
    "history": HistoryFilter.from_form,
    QUERIES: questions_of_form,
    "overflow": _overflow_of_form,
    "slack": partial(_rule_of_form, "slack"),
    "frame": Frame.from_form,
    "dedupe": _dedupe_of_form,
    "headings": _headings_of_form,
    "coverage_min": partial(option_checks.option, "coverage_min"),
    "passages": partial(_rule_of_form, "passages"),
    "degraded": partial(checks.name, "degraded"),
    "union": _union_of_form,
}
"""The readers of fields that are only present if they are given."""
_FIELDS = tuple(one.name for one in fields(Query) if one.init and one.name != "semantics")
_SIMPLE = frozenset(_FIELDS) - _COMPOSED.keys() - _OPTIONAL_READERS.keys()
"""The fields that contain the value of an option."""
_READERS: Mapping[str, Callable[[Any], Any]] = {
    name: _COMPOSED.get(name) or partial(option_checks.option, name)
    for name in _FIELDS
    if name not in _OPTIONAL_READERS
}
"""The readers of all other fields."""
_WRITER = FormWriter(
    _written,
    constants=_CONSTANTS,
    required={
        one.name: one.default
        for one in fields(Query)
        if one.name in _READERS or one.name == "semantics"
    },
    optional=_OPTIONAL_READERS,
    settled=("fusion", "match", "mentions"),
)
