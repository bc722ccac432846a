"""The fixture `retrieval`: checks answers against the goldens of one test, and gates quality.

Nothing is written without `--retrieval-update`. Each test has a file of its own, so tests may run
in any order and in several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision
from ibidem.testing.golden import Check, Golden, question_form, read, record
from ibidem.testing.judge import Mode, failure, question_differences, responsible

if TYPE_CHECKING:
    from ibidem.repo.graph import Graph
    from ibidem.repo.history.compare import Ask
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.testing.judge import Responsible
    from ibidem.testing.quality import QualityReport
    from ibidem.testing.report import Reported

UPDATE = "--retrieval-update"


_QUESTIONS: Mapping[str, Callable[..., Answer[Any]]] = {
    "nodes": lambda at, text, **options: at.retrieve(text, **options),
    "packs": lambda at, text, **options: at.packs(text, **options),
    "records": lambda at, text, **options: at.records(text, **options),
}
"""The method of a revision that runs the query, by kind of item."""


class Retrieval:
    """Checks answers against goldens; the fixture makes one for each test."""

    def __init__(
        self,
        *,
        path: Path,
        folder: Path,
        test: str,
        repository: Repository | Revision | None,
        mode: str,
        is_update: bool,
        is_reported: bool = False,
        fail: Callable[[str], NoReturn],
    ) -> None:
        self.path = path
        """The test's golden file, there or not."""
        self.checked: dict[str, Check] = {}
        """What the test has checked, by name; under update, what will be written."""
        self.reported: list[Reported] | None = [] if is_reported else None
        """What the test has checked, for a report; None without one."""
        self._folder = folder
        self._repository = repository
        self._test = test
        self._mode = mode
        self._is_update = is_update
        self._fail = fail
        self._golden: Golden | None = None

    def check(
        self,
        subject: Repository | Revision | str | None = None,
        text: str | None = None,
        *,
        name: str | None = None,
        mode: str | None = None,
        tolerance: Mapping[str, Any] | None = None,
        kind: str = "nodes",
        **options: Any,
    ) -> Answer[Any]:
        """Runs a query and returns the answer; the test fails unless it is as recorded.

        Args:
            subject: a repository or a revision; or the question, for `retrieval_repository`.
            text: the question, after a subject.
            name: distinguishes the checks of a test; by default `1`, `2` and so on.
            mode: `exact`, `ranks`, `set` or `tolerance`; by default what `retrieval_mode` says.
            tolerance: with that mode, some of `score`, `moved` and `left`; see `judge.Mode`.
            kind: the kind of items: `nodes`, `packs`, or the `records` of a graph memory.
            options: those of the method of `Revision`: `retrieve`, `packs` or `records`.
        """
        if kind not in _QUESTIONS:
            raise InvalidInputError(f"kind: got {kind!r}, expected one of {', '.join(_QUESTIONS)}")
        if isinstance(subject, str) and text is None:
            subject, text = None, subject
        at = self._revision(subject)
        name = str(len(self.checked) + 1) if name is None else name
        if not name or not name.isprintable() or name in self.checked:
            raise InvalidInputError(
                f"name: got {name!r}, expected printable text that no other check of the test has"
            )
        wanted = Mode.of(mode or ("tolerance" if tolerance else self._mode), tolerance)

        def ask(graph: Graph) -> Answer[Any]:
            found: Answer[Any] = _QUESTIONS[kind](Revision(graph), text, **options)
            return found

        result: Answer[Any] = _QUESTIONS[kind](at, text, **options)
        self._compare(record(name, result, wanted.form()), result, wanted, at, ask)
        return result

    def quality(
        self,
        judgements: str | Path,
        subject: Repository | Revision | None = None,
        *,
        queries: str | Path | None = None,
        recall_at: Mapping[int, float] | None = None,
        ndcg_at: Mapping[int, float] | None = None,
        mrr: float | None = None,
        bound: str = "mean",
        identify: str | Callable[[Item], str] = "id",
        **options: Any,
    ) -> QualityReport:
        """Runs all judged questions; the test fails if a measure is below its gate.

        Args:
            judgements: a file of JSON lines or of TREC qrels; see `judgement.read_judgements`. A
                relative path begins at the test's folder.
            subject: a repository or a revision; by default `retrieval_repository`.
            queries: with qrels, the file of the questions.
            recall_at: minimal recall by depth.
            ndcg_at: minimal nDCG by depth.
            mrr: minimal mean reciprocal rank.
            bound: `mean`, or `lower` for the lower end of the 95 % interval to reach the gate.
            identify: what names an item in the judgements: `id`, `source` for the path of its
                document, `props.NAME`, or a function of the item.
            options: those of `Revision.retrieve`.
        """
        from ibidem.testing.quality import Gates, measure

        gates = Gates(recall_at or {}, ndcg_at or {}, mrr, bound)
        report = measure(
            self._revision(subject),
            self._folder / judgements,
            queries=None if queries is None else self._folder / queries,
            gates=gates,
            identify=identify,
            options=options,
        )
        if report.failed:
            if self.reported is not None:
                from ibidem.testing.report import below

                self.reported.append(below(self._test, report))
            self._fail(report.text())
        return report

    def finish(self, *, is_passed: bool) -> bool:
        """Writes the goldens of a test that passed, under update; returns whether it wrote."""
        if not self._is_update or not is_passed or not self.checked:
            return False
        golden = Golden(self._test, dict(self.checked))
        data = golden.text().encode()
        if self.path.exists() and self.path.read_bytes() == data:
            return False
        golden.write(self.path)
        return True

    def _compare(
        self, fresh: Check, result: Answer[Any], mode: Mode, at: Revision, ask: Ask
    ) -> None:
        name = fresh.name
        known = self._known().get(name)
        asks = [] if known is None else question_differences(known, result, mode)
        is_same = known is not None and not asks and mode.accepts(known, result)
        # A golden that still holds stays as it is, so that an update shows what changed, no more.
        is_kept = known is not None and is_same and known.mode == fresh.mode
        self.checked[name] = known if known is not None and is_kept else fresh
        found = None
        if known is not None and not is_same and not self._is_quiet:
            found = responsible(known, result, mode, repository=at.core, at=at.graph, ask=ask)
        if self.reported is not None:
            self.reported.append(
                self._report(known, result, at, found=found, asks=asks, is_same=is_same, name=name)
            )
        if self._is_update or is_same:
            return
        if known is None:
            self._fail(
                f"no golden answer: {self._test}, check {name!r}\n"
                f"run 'pytest {UPDATE}', then review and commit {self.path.name}"
            )
        lines = [
            f"retrieval changed: {self._test}, check {name!r}, mode {mode.name}",
            f"question {result.query.text!r} {question_form(result.query) or ''}".rstrip(),
            "",
        ]
        assert found is not None, "BUG: nobody searched for the responsible commit"
        lines += failure(known, result, found, at.core.store, asks)
        if any(line.startswith("records.as_of:") for line in asks):
            lines += ["", "hint: give as_of, whose default is the time of the newest commit"]
        lines += ["", f"to accept it: pytest {UPDATE}, then review the difference"]
        self._fail("\n".join(lines))

    @property
    def _is_quiet(self) -> bool:
        """Whether nobody is told what changed."""
        return self._is_update and self.reported is None

    def _report(
        self,
        known: Check | None,
        result: Answer[Any],
        at: Revision,
        *,
        found: Responsible | None,
        asks: list[str],
        is_same: bool,
        name: str,
    ) -> Reported:
        from ibidem.testing import report

        test = f"{self._test}, check {name!r}"
        store = at.core.store
        if known is None:
            return report.new(test, result, store)
        if is_same:
            return report.same(test, result.query.text or test)
        return report.changed(test, known, result, store, found=found, question_changes=asks)

    def _known(self) -> Mapping[str, Check]:
        if self._golden is None:
            damage = None
            try:
                self._golden = read(self.path)
            except NotFoundError:
                self._golden = Golden(self._test, {})
            except CorruptError as error:
                damage = f"{error}\nhint: {error.hint}"
                self._golden = Golden(self._test, {})
            if damage is not None and not self._is_update:
                self._fail(damage)
        return self._golden.checks

    def _revision(self, subject: Repository | Revision | str | None) -> Revision:
        found = self._repository if subject is None else subject
        if isinstance(found, Repository):
            return found.at()
        if found is None:
            self._fail(
                "retrieval_repository: there is none at or above the root folder of pytest\n"
                "hint: run 'repo init' there, set retrieval_repository in the ini file, or define "
                "the fixture retrieval_repository"
            )
        if not isinstance(found, Revision):
            raise InvalidInputError(
                f"repository: got {found!r:.80}, expected a repository or a revision"
            )
        return found
