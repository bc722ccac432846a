"""`repo show`: shows a commit, node, edge or block by its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options.viewer import check_owner, is_restricted, viewer_of, viewer_option
from ibidem.cli.render import changes, output, shapes
from ibidem.cli.session import Session, at_option, common_options, pass_session
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.id_prefix import is_prefix

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid
    from ibidem.objects.commit import Commit
    from ibidem.repo.repository import Repository

_ID = re.compile(r"[0-9a-f]{32}")
_CHANGES_SHOWN = 20

Shown = tuple[str, dict[str, Any], list[str]]
"""Its kind, its JSON and its lines of text."""


@click.command("show")
@click.argument("name", default="HEAD")
@viewer_option
@at_option
@common_options
@pass_session
def command(session: Session, *, name: str, at: str) -> None:
    """Show the commit, node, edge or block called NAME

    NAME is a revision, the id of a node or edge or a unique prefix (looked up at --at), or a CID.
    Under a trust policy, revisions and CIDs are shown only to callers who may see everything.

    \b
    Examples:
      repo show
      repo show main~2
      repo show 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081 --at main~2
    """
    with session.open() as repository:
        kind, value, lines = _find(repository, session, name, at)
    if session.json:
        output.emit("show", {"kind": kind, "value": value})
    else:
        output.say(*lines)


def _find(repository: Repository, session: Session, name: str, at: str) -> Shown:
    if _ID.fullmatch(name):
        return _by_id(repository, session, name, at)
    if is_prefix(name) and is_restricted(session):
        return _by_id(repository, session, name, at)
    check_owner(session, "a commit or block")
    try:
        commit = repository.commit_at(name)
    except (NotFoundError, InvalidInputError) as error:
        if error.kind is ErrorKind.AMBIGUOUS:
            raise
        if is_prefix(name):
            return _by_id(repository, session, name, at)
        from ibidem.objects.cid import Cid

        try:
            block_cid = Cid.parse(name)
        except InvalidInputError:
            raise error from None
        return _block(repository, block_cid)
    return _commit(repository, commit)


def _by_id(repository: Repository, session: Session, name: str, at: str) -> Shown:
    revision = repository.at(at, viewer=viewer_of(session))
    try:
        node = revision.node(revision.node_id(name))
    except NotFoundError as error:
        if error.kind is ErrorKind.AMBIGUOUS:
            raise
        try:
            edge = revision.edge(revision.edge_id(name))
        except NotFoundError as other:
            raise (other if other.kind is ErrorKind.AMBIGUOUS else error) from None
        return "edge", shapes.block_json(edge), shapes.edge_lines(edge)
    return "node", shapes.block_json(node), shapes.node_lines(node, revision.locate(node.id))


def _commit(repository: Repository, commit: Commit) -> Shown:

    # The first commit is compared with the empty state before it.
    origin = repository.core.operation_log.state().origin
    found = list(
        repository.history.diff(commit.parents[0] if commit.parents else origin, commit.cid)
    )
    value = {**shapes.block_json(commit), "counts": changes.counts_json(found)}
    listed = changes.change_lines(repository.core.store, found, limit=_CHANGES_SHOWN)
    lines = [*shapes.commit_lines(commit), "", changes.summary(found), *listed]
    return "commit", value, lines


def _block(repository: Repository, cid: Cid) -> Shown:
    from ibidem.objects import codec
    from ibidem.objects.edge import Edge
    from ibidem.objects.node import Node

    block = repository.core.store.get(cid)
    if cid.is_raw:
        size = {"cid": str(cid), "size_bytes": len(block)}
        return "raw", size, [output.strong(f"raw {cid}"), output.plural(len(block), "byte")]
    fields = codec.decode_foreign(block)
    kind = str(fields.get("kind", "block")) if isinstance(fields, dict) else "block"
    if kind == "node":
        node = Node.decode(block)
        return kind, shapes.block_json(node), shapes.node_lines(node)
    if kind == "edge":
        edge = Edge.decode(block)
        return kind, shapes.block_json(edge), shapes.edge_lines(edge)
    value = {"cid": str(cid), "size_bytes": len(block), "fields": fields}
    rows = [(name, shapes.value_text(fields[name])) for name in sorted(fields)]
    return kind, value, [output.strong(f"{output.one_line(kind)} {cid}"), *output.pairs(rows)]
