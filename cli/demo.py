"""`repo demo`: the main job on real documents, in under twenty seconds, without a network.

It makes the same calls as the other commands and checks each claim; the last step runs in a second
process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import ibidem
from ibidem.cli import demo_corpus
from ibidem.cli.commit import commit_paths
from ibidem.cli.options.common import color_option, json_option
from ibidem.cli.render import output
from ibidem.cli.render.output import faint, good, plural, strong
from ibidem.cli.session import FOLDER, Session, pass_session
from ibidem.objects.errors import InvalidInputError, ReplayError

if TYPE_CHECKING:
    from ibidem.repo.repository import Repository
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item

BUDGET_TOKENS = 600
PROMPT_TOKENS = 300
LIMIT = 3
EXCERPT_CHARS = 400
DOCUMENTS = "reference"
_AUTHOR = "demo"


@click.command("demo")
@click.argument("path", type=click.Path(path_type=Path), required=False)
@json_option
@color_option
@pass_session
def command(session: Session, path: Path | None) -> None:
    """Try a repository out on the Python language reference

    The repository is created in PATH, or in a temporary folder that is deleted at the end. Needs no
    network and no model.

    \b
    Examples:
      repo demo
      repo demo tour && cd tour && repo log
    """
    with ExitStack() as stack:
        if path is None:
            made = tempfile.TemporaryDirectory(prefix="ibidem-demo-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
        else:
            folder = path
            _refuse_used(folder)
            folder.mkdir(parents=True, exist_ok=True)
        demo = Demo(session, folder)
        demo.run()
        if session.json:
            output.emit("demo", demo.facts)
            return
    if path is None:
        demo.say("", "To keep the repository: repo demo tour && cd tour && repo log")
    else:
        demo.say("", f"Look around: cd {path} && repo log")


class Demo:
    """One run: prints each step, and collects the same facts for `--json`."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.session = session
        self.folder = folder
        self.documents = folder / DOCUMENTS
        self.facts: dict[str, Any] = {}
        self._started = time.monotonic()

    def run(self) -> None:
        """Runs every step.

        Raises:
            ReplayError: the second process got other bytes.
        """
        document_count = demo_corpus.write_corpus(self.documents)
        with ibidem.init(self.folder, author=_AUTHOR) as repository:
            self._commit_documents(repository, document_count)
            for question in demo_corpus.QUESTIONS:
                self._ask(repository, question)
            self._edit(repository)
            result = self._ask_at_both(repository)
            self._prompt(repository)
        self._replay_elsewhere(result)

    def say(self, *lines: str) -> None:
        """Prints lines, except with `--json`."""
        if not self.session.json:
            output.say(*lines)

    def _step(self, number: int, title: str) -> None:
        seconds = time.monotonic() - self._started
        self.say("", f"{strong(f'{number}. {title}')}  {faint(f'{seconds:.1f} s')}", "")

    def _commit_documents(self, repository: Repository, document_count: int) -> None:
        self._step(1, "Commit real documents")
        started = time.monotonic()
        _, commit = commit_paths(
            self.session,
            repository,
            [self.documents],
            folder=self.folder,
            author=_AUTHOR,
            message="the reference",
        )
        assert commit is not None, "BUG: documents were written and nothing was committed"
        repository.at().snapshot()
        seconds = time.monotonic() - started
        stats = repository.maintenance.stats()
        size_bytes = sum(path.stat().st_size for path in self.documents.iterdir())
        self.facts["document_count"] = document_count
        self.facts["node_count"] = stats.node_count
        self.facts["commit"] = str(commit.cid)
        self.say(
            f"   {plural(document_count, 'topic')} of the Python language reference, "
            f"{size_bytes // 1000} kB, became",
            f"   {plural(stats.node_count, 'node')} in {seconds:.1f} s, indexed: documents, "
            "sections and passages.",
            f"   {faint(f'commit {commit.cid}')}",
        )
        self._step(2, f"Ask, with a budget of {BUDGET_TOKENS} tokens")
        self.facts["questions"] = []

    def _ask(self, repository: Repository, question: str) -> None:
        started = time.perf_counter()
        result = _retrieve(repository, "HEAD", question)
        elapsed_ms = (time.perf_counter() - started) * 1000
        self.facts["questions"].append(
            {
                "question": question,
                "tokens_used": result.tokens_used,
                "candidates_seen": result.candidates_seen,
                "items": [str(item.node.id) for item in result.items],
            }
        )
        self.say(f"   {strong('? ' + question)}", *_best(result))
        self.say(
            f"     {faint(f'{result.tokens_used} of {BUDGET_TOKENS} tokens, {elapsed_ms:.0f} ms')}",
            "",
        )

    def _edit(self, repository: Repository) -> None:
        self._step(3, "Edit one paragraph and commit")
        edited = demo_corpus.edit_corpus(self.documents)
        report, commit = commit_paths(
            self.session,
            repository,
            [self.documents],
            folder=self.folder,
            author=_AUTHOR,
            message="a house rule",
        )
        assert report is not None, "BUG: paths were given"
        assert commit is not None, "BUG: a document was edited and nothing was committed"
        self.facts["edit_commit"] = str(commit.cid)
        self.say(
            f"   {edited} got a house rule. Nodes: {report.nodes_added} added, "
            f"{report.nodes_changed} changed, {report.nodes_removed} removed;",
            "   all other blocks are shared with the commit before.",
            f"   {faint(f'commit {commit.cid}')}",
        )

    def _ask_at_both(self, repository: Repository) -> Answer[Item]:
        self._step(4, "Ask again, before and after the edit")
        question = demo_corpus.EDIT_QUESTION
        self.say(f"   {strong('? ' + question)}", "")
        before = _retrieve(repository, "HEAD~1", question)
        after = _retrieve(repository, "HEAD", question)
        for revision, result in (("HEAD~1", before), ("HEAD", after)):
            self.say(f"   {good(f'--at {revision}')}", *_best(result), "")
        self.facts["receipt"] = _receipt(before)
        self.facts["result"] = str(before.cid)
        self.facts["answers_differ"] = before.cid != after.cid
        return before

    def _prompt(self, repository: Repository) -> None:
        self._step(5, f"Make a prompt for a model, of at most {PROMPT_TOKENS} tokens")
        prompt = repository.prompt(demo_corpus.EDIT_QUESTION, token_budget=PROMPT_TOKENS)
        lines = [
            line for part in prompt.text.splitlines() for line in output.wrapped(part, width=88)
        ]
        verified = sum(repository.verify_citation(one) for one in prompt.citations)
        citations = plural(len(prompt.citations), "citation")
        self.facts["citation_count"] = len(prompt.citations)
        self.facts["verified_count"] = verified
        self.say(
            *(f"   {faint('|')} {line}".rstrip() for line in lines),
            "",
            f"   {good(f'{verified} of {citations} verified')}: "
            "each marker leads to the bytes of its source.",
        )

    def _replay_elsewhere(self, result: Answer[Item]) -> None:
        self._step(6, "Replay the older answer in another process")
        self.say(f"   $ repo replay {_receipt(result)}")
        replayed = _replay_in_another_process(self.folder, _receipt(result))
        if replayed.get("result") != str(result.cid) or not replayed.get("is_identical"):
            raise ReplayError(f"result: got {replayed.get('result')}, expected {result.cid}")
        size_bytes = len(result.to_bytes())
        self.facts["is_identical"] = True
        self.say(
            f"   {good('same bytes')}: {size_bytes:,} of them, hash {result.cid}",
            "   The receipt names the root it was computed from, so later edits do not matter.",
        )


def _refuse_used(folder: Path) -> None:
    for name in (FOLDER, DOCUMENTS):
        if (folder / name).exists():
            raise InvalidInputError(
                f"path: {str(folder)!r} already holds {name}/, expected a folder without it",
                hint="name another folder, or leave PATH out",
            )


def _retrieve(repository: Repository, revision: str, question: str) -> Answer[Item]:
    return repository.at(revision).retrieve(question, limit=LIMIT, token_budget=BUDGET_TOKENS)


def _receipt(result: Answer[Item]) -> str:
    assert result.receipt is not None, "BUG: a short answer has a receipt"
    return str(result.receipt.cid)


def _best(result: Answer[Item]) -> list[str]:
    """Returns the source location of the best item and the start of its text."""
    if not result.items:
        return ["     (nothing found)"]
    node = result.items[0].node
    first, *rest = (str(one) for one in result.locations)
    text = output.one_line(node.summary or "", width=EXCERPT_CHARS)
    others = ", ".join(one.partition(" > ")[0] for one in rest)
    return [
        f"     {first}",
        *(f"     {line}" for line in output.wrapped(text, width=88)),
        *([faint(f"     then {others}")] if others else []),
    ]


def _replay_in_another_process(folder: Path, receipt: str) -> dict[str, Any]:
    """Returns what `repo replay --json` prints in a fresh interpreter."""
    package = Path(ibidem.__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": "1"}
    arguments = ["replay", receipt, "--json", "--repo", str(folder.resolve())]
    done = subprocess.run(  # noqa: S603  our own interpreter and our own arguments
        [sys.executable, "-m", "ibidem", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise ReplayError(f"replay: the other process ended with {done.returncode}: {done.stderr}")
    found = json.loads(done.stdout)
    assert isinstance(found, dict), "BUG: the program printed something else than an object"
    return found
