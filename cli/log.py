"""`repo log`: lists the commits up to a revision, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import at_option, common_options, complete_label, pager_option
from ibidem.cli.options.documents import document_name
from ibidem.cli.options.ids import node_at
from ibidem.cli.options.limit import limit_option
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.objects.commit import Commit
    from ibidem.store.protocol import Store


@click.command("log")
@limit_option("Commits")
@click.option("--oneline", is_flag=True, help="One line per commit.")
@click.option("--graph", is_flag=True, help="Draw the commit graph.")
@click.option("--path", metavar="PATH", help="Only commits that touched the document of PATH.")
@click.option(
    "--label",
    metavar="LABEL",
    shell_complete=complete_label,
    help="Only commits that touched a node of LABEL.",
)
@click.option("--node", metavar="NODE", help="Only commits that touched NODE.")
@at_option
@pager_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    limit: int | None,
    oneline: bool,
    graph: bool,
    path: str | None,
    label: str | None,
    node: str | None,
    at: str,
    pager: bool,
) -> None:
    """Show the commit history of a revision, newest first

    With --path, --label or --node, only commits that added, changed or removed such a node; changes
    that a merge brought in are listed at the original commit. NODE is an id, or a unique prefix at
    --at.

    \b
    Examples:
      repo log --oneline -n 20
      repo log --graph --oneline
      repo log --path notes/retries.md
      repo log --at main~3
    """
    is_filtered = path is not None or label is not None or node is not None
    if graph and is_filtered:
        raise click.UsageError("--graph draws all commits and cannot be combined with filters")
    with session.open() as repository:
        if graph:
            start = repository.resolve(at, missing_ok=True)
            lines, commits = _drawn(repository.core.store, start, limit, oneline=oneline)
        elif is_filtered:
            wanted = None if node is None else node_at(session, repository, node, at)
            name = None if path is None else document_name(session, path)
            found = repository.history.touching(at, node=wanted, label=label, path=name)
            lines, commits = [], list(islice(found, limit))
        else:
            lines, commits = [], list(islice(repository.history.log(at), limit))
    if session.json:
        output.emit("log", {"commits": [shapes.block_json(commit) for commit in commits]})
        return
    if is_filtered and not commits:
        output.note(output.faint("no commit touched such a node"))
    if oneline and not graph:
        lines = output.table([_row(commit) for commit in commits])
    elif not graph:
        for position, commit in enumerate(commits):
            lines += [*([""] if position else []), *shapes.commit_lines(commit, is_whole=False)]
    output.page(lines, pager=pager)


def _row(commit: Commit) -> tuple[str, str, str, str]:
    return (
        shapes.short(commit.cid),
        output.moment(commit.time, seconds_only=True),
        output.one_line(commit.author, width=20),
        output.one_line(commit.message or "(no message)", width=72),
    )


def _drawn(
    store: Store, start: CommitCid | None, limit: int | None, *, oneline: bool
) -> tuple[list[str], list[Commit]]:
    from ibidem.objects.commit import Commit
    from ibidem.repo.history.ancestry import children_first
    from ibidem.repo.history.log_graph import LogGraph

    graph = LogGraph()
    lines: list[str] = []
    commits: list[Commit] = []
    for cid, ends in islice(children_first(store, start), limit):
        row, beside, joints = graph.draw(cid, ends)
        commit = Commit.decode(store.get(cid))
        told = (
            ["  ".join(_row(commit))]
            if oneline
            else [*shapes.commit_lines(commit, is_whole=False), ""]
        )
        lines += _beside(row, beside, told)
        lines += joints
        commits.append(commit)
    return lines, commits


def _beside(row: str, beside: str, told: Iterable[str]) -> Iterator[str]:
    """Yields the text lines of a commit, each prefixed with its part of the drawn graph."""
    for position, line in enumerate(told):
        yield f"{beside if position else row}  {line}".rstrip()
