"""The questions that a repository, a revision, a run and a viewer's repository have in
common, with every option as a keyword.

The options of a question are declared once, in `retrieve/query/options.py`; their parameters here
are written from that table by `tests/tools/make_signatures.py`. What is passed on are the options
that differ from their defaults, so an option that would have no effect is refused by the question,
and one that was left alone is not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.retrieve.query.configured import CONFIGURED

if TYPE_CHECKING:
    from datetime import datetime

    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.node import Node
    from ibidem.retrieve.access.policy import Viewer
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.context.prompt import Prompt
    from ibidem.retrieve.query.configured import Configured
    from ibidem.retrieve.query.predicate import Predicate
    from ibidem.retrieve.rerank import Reranker
    from ibidem.retrieve.tokens import TokenEstimator

_SCALARS = (bool, int, float, str)


def changed_options(
    arguments: Mapping[str, Any], of: Callable[..., Any], *, but: Collection[str] = ()
) -> dict[str, Any]:
    """Returns the keyword arguments of a call that differ from their defaults, by name.

    Args:
        arguments: `locals()` at the beginning of the call.
        of: the function that declares the options and their defaults.
        but: names to leave out.
    """
    defaults: Mapping[str, Any] = of.__kwdefaults__ or {}
    return {
        name: value
        for name, default in defaults.items()
        if (value := arguments.get(name, default)) is not default
        and name not in but
        and not _is_equal(value, default)
    }


def _is_equal(value: Any, default: Any) -> bool:
    return type(value) is type(default) and type(value) in _SCALARS and value == default


class Questions:
    """The questions of an object that has a graph."""

    @abstractmethod
    def _answer(self, method: str, **options: Any) -> Any:
        """Returns the answer of a method of `Revision` at the revision that is asked."""

    def retrieve(
        self,
        text: str | None = None,
        *,
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
    ) -> Answer[Item]:
        """Returns the ranked answer to a question; `docs/question-options.md` has the options.

        With `model` or `embedder`, the text is embedded and also ranks by vector similarity.

        Args:
            text: the question; without one, and without a vector, the nodes that the conditions
                select, by id.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     _ = tx.add_node("Fact", summary="the parcel arrives on Monday")
            >>> [item.node.summary for item in repo.retrieve("parcel", limit=3)]
            ['the parcel arrives on Monday']
        """
        found: Answer[Item] = self._answer(
            "retrieve", text=text, **changed_options(locals(), Questions.retrieve)
        )
        return found

    def packs(
        self,
        text: str | None = None,
        *,
        # options: packs
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
        expand: str = "neighbors",
        per_hit_neighbors: int = 4,
        window_chars: int | None = 800,
        merge: str = "absorb",
        rank: str = "score",
        spans: bool = False,
        nodes_max: int | None = None,
        etypes: Iterable[str] | None = None,
        hops: int = 1,
        fanout: int = 8,
        direction: str = "both",
        sources: Mapping[str, object] | None = None,
        # end of options
    ) -> Answer[Pack]:
        """Returns hits with their surrounding text, no passage twice.

        Args:
            text: the question; blank text finds nothing.
            limit: maximal number of packs, None for all; `depth` sets the number of hits.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     _ = ibidem.ingest_text(tx, "# Mail\\n\\nThe parcel arrives.\\n", path="mail.md")
            >>> [pack.text for pack in repo.packs("parcel")]
            ['The parcel arrives.']
        """
        found: Answer[Pack] = self._answer(
            "packs", text=text, **changed_options(locals(), Questions.packs)
        )
        return found

    def prompt(
        self,
        text: str,
        packs: Answer[Pack] | None = None,
        *,
        style: str = "qa",
        # options: prompt
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
        expand: str = "neighbors",
        per_hit_neighbors: int = 4,
        window_chars: int | None = 800,
        merge: str = "absorb",
        rank: str = "score",
        spans: bool = False,
        nodes_max: int | None = None,
        etypes: Iterable[str] | None = None,
        hops: int = 1,
        fanout: int = 8,
        direction: str = "both",
        sources: Mapping[str, object] | None = None,
        # end of options
    ) -> Prompt:
        """Returns a prompt with numbered sources and their citations.

        Args:
            text: the question for the model.
            packs: the sources; by default the result of `packs` with this text and these options.
            style: `qa`, or `summarize`.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     _ = ibidem.ingest_text(tx, "# Mail\\n\\nThe parcel arrives.\\n", path="mail.md")
            >>> prompt = repo.prompt("when does the parcel arrive")
            >>> [repo.verify_citation(citation) for citation in prompt.citations]
            [True]
        """
        return self._prompt(text, packs, style, changed_options(locals(), Questions.packs))

    def _prompt(
        self, text: str, packs: Answer[Pack] | None, style: str, options: Mapping[str, Any]
    ) -> Prompt:
        from ibidem.repo.retrieval import context

        return context.prompt(self, text, packs, style=style, **options)

    def context(
        self,
        text: str,
        *,
        thread: str | None = None,
        recent: int = 4,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        documents: int = 4,
        facts: int = 2,
        conversation: int = 2,
        style: str = "qa",
        # options: context
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
        expand: str = "neighbors",
        per_hit_neighbors: int = 4,
        window_chars: int | None = 800,
        merge: str = "absorb",
        rank: str = "score",
        spans: bool = False,
        nodes_max: int | None = None,
        etypes: Iterable[str] | None = None,
        hops: int = 1,
        fanout: int = 8,
        direction: str = "both",
        # end of options
    ) -> Prompt:
        """Returns a prompt whose numbered sources are documents, facts and messages, under one
        budget; every one has a citation, and the receipt replays.

        Labels, conditions, `expand` and `rerank` are about documents; facts are records that hold
        at `as_of`, by default at the time of the commit. What one source leaves of its share the
        others have.

        Args:
            text: the question for the model.
            thread: the conversation to show; None for none.
            recent: its last messages that are there whatever the question.
            user: only facts of this user and of nobody in particular, None for anybody's; as are
                `agent` and `session`.
            documents: the share of documents in the budget, 0 for none of them.
            facts: the share of facts.
            conversation: the share of the conversation.
            style: `qa`, or `summarize`.

        >>> import ibidem
        >>> repo = ibidem.init("memory:")
        >>> _ = repo.add("Ada likes tea")
        >>> _ = repo.conversations.append("home", [("user", "Ada wants a drink")])
        >>> context = repo.context("What does Ada like?", thread="home", token_budget=200)
        >>> [one.source for one in context.citations]
        ['Semantic', 'home']
        >>> all(repo.verify_citation(citation) for citation in context.citations)
        True
        """
        shares = {"documents": documents, "facts": facts, "conversation": conversation}
        whose = {"thread": thread, "user": user, "agent": agent, "session": session}
        options = changed_options(locals(), Questions.packs)
        return self.prompt(
            text, style=style, sources={"recent": recent, **whose, **shares}, **options
        )

    def query(
        self,
        *,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = None,
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        include_tombstoned: bool = False,
        order_by: str | tuple[str, str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        after: str | None = None,
    ) -> list[Node]:
        """Returns the nodes that match all conditions.

        Args:
            label: only nodes of this type, or of one of several.
            where: conditions on properties.
            as_of: only nodes that are valid then; `valid_missing` as for `retrieve`.
            created_after: only nodes that the branch did not have before this time;
                `created_before`, `updated_after` and `updated_before` as for `retrieve`.
            order_by: a property, `-` and a property for descending, or (property, "ascending" |
                "descending"); nodes with equal values by id, those without a value last. None: by
                id.
            limit: maximal number of nodes, None for all.
            offset: number of nodes to skip.
            after: `next` of the previous `page`.

        Examples:
            >>> import ibidem
            >>> repo = ibidem.init("memory:")
            >>> with repo.transaction() as tx:
            ...     _ = tx.add_node("Fact", summary="tea", props={"year": 2020})
            >>> [node.summary for node in repo.query(label="Fact", where={"year": {"gte": 2000}})]
            ['tea']
        """
        found: list[Node] = self._answer("query", **changed_options(locals(), Questions.query))
        return found
