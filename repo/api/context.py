"""Packs, prompts and citations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ibidem.repo.reader import Reader

if TYPE_CHECKING:
    from ibidem.retrieve.access.policy import TrustContext
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.context.pack import Pack
    from ibidem.retrieve.context.prompt import Citation, Prompt


class ContextApi(Reader):
    """The methods of `Repository` about what a model is given to read."""

    def packs(self, text: str | None = None, **options: Any) -> Answer[Pack]:
        """Returns hits at the head with what stands around them; `repo.retrieval.context` has the
        options.
        """
        return self._of_head(lambda head: head.packs(text, **options))

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
        return self._of_head(lambda head: head.prompt(question, packs, style=style, **options))

    def verify_citation(self, citation: Citation, *, trust: TrustContext | None = None) -> bool:
        """Tells whether a citation is true of what is kept here, as a caller sees it.

        Args:
            trust: who asks; required where the cited root has a trust policy.
        """
        from ibidem.repo.retrieval import context

        return context.verify(self, citation, trust=trust)
