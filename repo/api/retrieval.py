"""Revisions and questions: answers, packs, prompts and citations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.repo.core import Core
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD

if TYPE_CHECKING:
    from ibidem.objects.node import Node
    from ibidem.repo.retrieval.retrieve import Retriever
    from ibidem.retrieve.access.policy import TrustContext
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.context.prompt import Citation, Prompt


class RetrievalApi(Core):
    """The methods of `Repository` that read and ask."""

    def at(
        self, rev: object = HEAD, *, trust: TrustContext | None = None, allow_erased: bool = False
    ) -> Revision:
        """Returns the graph at a revision, or of a root given by its RootCid, read-only.

        Args:
            trust: the caller; where the root has a trust policy, nothing is told without.
            allow_erased: answers as if nodes that were erased since had been invisible; the
                `erasures` of the revision say which.
        """
        if not allow_erased:
            return Revision(self.graph(rev, trust=trust))
        from ibidem.repo.erasure.redacted_graph import without_erased

        partial = without_erased(self.graph(rev))
        return Revision(partial if trust is None else partial.seen_by(trust))

    def retrieve(self, text: str | None = None, **options: Any) -> Answer[Item]:
        """Returns the ranked answer at the head; `retrieve.query.resolve` lists the options.

        With `model=` or `embedder=`, the text is embedded and ranks by closeness too.
        """
        return self.of_head(lambda head: Revision(head).retrieve(text, **options))

    def retriever(self, rev: object = HEAD) -> Retriever:
        """Returns a question to put together step by step."""
        from ibidem.repo.retrieval.retrieve import Retriever

        return Retriever(self.at(rev).retrieve)

    def query(self, **options: Any) -> list[Node]:
        """Returns every node at the head with a label and properties, by id."""
        return self.of_head(lambda head: Revision(head).query(**options))

    def packs(self, text: str | None = None, **options: Any) -> Answer[Pack]:
        """Returns hits at the head with what stands around them; `repo.retrieval.context` has the
        options.
        """
        return self.of_head(lambda head: Revision(head).packs(text, **options))

    def prompt(
        self,
        question: str,
        packs: Answer[Pack] | None = None,
        *,
        style: str = "qa",
        **options: Any,
    ) -> Prompt:
        """Returns a prompt with numbered sources, and what its citations stand for.

        Args:
            question: what is asked.
            packs: the sources; without them, those that `packs(question, **options)` finds.
            style: `qa`, or `summarize`.
        """
        return self.of_head(
            lambda head: Revision(head).prompt(question, packs, style=style, **options)
        )

    def verify_citation(self, citation: Citation, *, trust: TrustContext | None = None) -> bool:
        """Tells whether a citation is true of what is kept here, as a caller sees it.

        Args:
            trust: who asks; required where the cited root has a trust policy.
        """
        from ibidem.repo.retrieval import context

        return context.verify(self, citation, trust=trust)
