"""`repo show`: shows a commit, node, document, edge or block by its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options.common import at_option, common_options
from ibidem.cli.options.ids import document_at, is_path
from ibidem.cli.options.limit import UNSET, Unset, limit_option
from ibidem.cli.options.viewer import check_owner, is_restricted, viewer_of, viewer_option
from ibidem.cli.render import changes, output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.id_prefix import is_prefix

if TYPE_CHECKING:
    from ibidem.objects.cid import Cid
    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision

_ID = re.compile(r"[0-9a-f]{32}")
_CHANGES_SHOWN = 20
_EDGES_SHOWN = 100

Page = tuple[int | None, str | None]
"""The edges of a node to show: how many, None for all, and the id of the one before the first."""
Shown = tuple[str, dict[str, Any], list[str]]
"""Its kind, the fields of its JSON and its lines of text."""


@click.command("show")
@click.argument("name", default="HEAD")
@click.option("--content", is_flag=True, help="Print only the node's content, byte for byte.")
@click.option(
    "--text", is_flag=True, help="Print only the full source text of a document or section."
)
@click.option(
    "--around", is_flag=True, help="List the parts of the document before, after, above and beside."
)
@click.option("--raw", is_flag=True, help="Print only the block's bytes: of a CID, or of NAME.")
@limit_option("Edges of a node", default=None, shown=f"[default: {_EDGES_SHOWN}]", low=1)
@click.option("--after", metavar="EDGE", help="Continue after a page of edges, given its `next`.")
@viewer_option
@at_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    name: str,
    content: bool,
    text: bool,
    around: bool,
    raw: bool,
    limit: int | Unset | None,
    after: str | None,
    at: str,
) -> None:
    """Show the commit, node, document, edge or block called NAME

    NAME is a revision, the id of a node or edge or a unique prefix, the path of a document, or a
    CID. Ids and paths are looked up at --at. A node is shown with its source and a page of its
    edges. Under a trust policy, revisions and CIDs are shown only to callers who may see
    everything.

    \b
    Examples:
      repo show
      repo show main~2
      repo show notes/retries.md --at main~2
      repo show 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081 --text
      repo show 0d6c5a7b9f1e4c0f8a2b3c4d5e6f7081 --around
      repo show HEAD --raw > commit.cbor
    """
    if content + text + raw + around > 1:
        raise click.UsageError("--content, --text, --raw and --around exclude each other")
    if session.json and (content or text or raw):
        raise click.UsageError("--content, --text and --raw print bytes and exclude --json")
    page = _EDGES_SHOWN if limit is UNSET else limit, after
    with session.open() as repository:
        if raw:
            check_owner(session, "a block")
            output.say_bytes(repository.core.store.get(_named_block(repository, name, at)))
            return
        if around:
            _show_around(session, repository, name, at)
            return
        if content or text:
            revision = repository.at(at, viewer=viewer_of(session))
            node = document_at(session, revision, name) or revision.node_id(name)
            output.say_bytes(
                revision.content(node) if content else revision.document(node).encode("utf-8")
            )
            return
        kind, fields, lines = _find(repository, session, name, at, page)
    if kind != "node" and (limit, after) != (UNSET, None):
        raise click.UsageError(f"--limit and --after page the edges of a node; {name} is a {kind}")
    if session.json:
        output.emit("show", {"kind": kind, **fields})
    else:
        output.say(*lines)


def _show_around(session: Session, repository: Repository, name: str, at: str) -> None:
    revision = repository.at(at, viewer=viewer_of(session))
    node = document_at(session, revision, name) or revision.node_id(name)
    found = revision.navigate(node)
    if found is None:
        raise NotFoundError(
            f"node {node}: it is no part of a document", hint="repo show lists its edges"
        )
    if session.json:
        lists = {
            field: [str(one) for one in getattr(found, field)]
            for field in ("above", "siblings", "parts")
        }
        ends = {
            field: None if getattr(found, field) is None else str(getattr(found, field))
            for field in ("previous", "next")
        }
        numbers = {"passage_index": found.passage_index, "passage_count": found.passage_count}
        output.emit("show-around", {"id": str(node), **lists, **ends, **numbers})
        return
    rows = [("above", one) for one in found.above]
    rows += [("previous", one) for one in (found.previous,) if one is not None]
    rows += [("here" if one == node else "sibling", one) for one in found.siblings]
    rows += [("part", one) for one in found.parts]
    rows += [("next", one) for one in (found.next,) if one is not None]
    nodes = revision.find_nodes([one for _, one in rows])
    output.say(
        *output.table(
            [
                (role, str(one), output.one_line(nodes[one].summary or "", width=60))
                for role, one in rows
            ]
        )
    )


def _named_block(repository: Repository, name: str, at: str) -> Cid:
    """Returns the CID that NAME is, or that of the node, edge or commit called NAME."""
    from ibidem.retrieve.access.policy import ALL

    block = _cid(name)
    if block is not None:
        return block
    if not _ID.fullmatch(name):
        try:
            return repository.commit_at(name).cid
        except NotFoundError as error:
            if error.kind is ErrorKind.AMBIGUOUS or not is_prefix(name):
                raise
    revision = repository.at(at, viewer=ALL)
    try:
        return revision.node(revision.node_id(name), include_tombstoned=True).cid
    except NotFoundError as error:
        if error.kind is ErrorKind.AMBIGUOUS:
            raise
        return revision.edge(revision.edge_id(name)).cid


def _find(repository: Repository, session: Session, name: str, at: str, page: Page) -> Shown:
    if _ID.fullmatch(name):
        return _by_id(repository, session, name, at, page)
    if is_restricted(session):
        if is_prefix(name):
            return _by_id(repository, session, name, at, page)
        revision = repository.at(at, viewer=viewer_of(session))
        document = document_at(session, revision, name)
        if document is not None:
            return _node(revision, document, page)
    check_owner(session, "a commit or block")
    try:
        commit = repository.commit_at(name)
    except (NotFoundError, InvalidInputError) as error:
        if error.kind is ErrorKind.AMBIGUOUS:
            raise
        block = _cid(name)
        if block is not None:
            return _block(repository, block)
        revision = repository.at(at, viewer=viewer_of(session))
        document = document_at(session, revision, name)
        if document is not None:
            return _node(revision, document, page)
        if is_prefix(name):
            return _by_id(repository, session, name, at, page)
        if is_path(name) and isinstance(error, NotFoundError):
            raise NotFoundError(
                f"name: got {name!r}, expected a document at {at}, a revision or an id",
                hint="'repo query --label Document' lists documents, 'repo log', 'repo branch' and "
                "'repo tag' what else exists",
            ) from None
        raise
    return _commit(repository, commit)


def _by_id(repository: Repository, session: Session, name: str, at: str, page: Page) -> Shown:
    revision = repository.at(at, viewer=viewer_of(session))
    try:
        return _node(revision, revision.node_id(name), page)
    except NotFoundError as error:
        if error.kind is ErrorKind.AMBIGUOUS:
            raise
        try:
            edge = revision.edge(revision.edge_id(name))
        except NotFoundError as other:
            raise (other if other.kind is ErrorKind.AMBIGUOUS else error) from None
        return "edge", {"value": shapes.block_json(edge)}, shapes.edge_lines(edge)


def _node(revision: Revision, node_id: NodeId, page: Page) -> Shown:
    node, location = revision.node(node_id), revision.locate(node_id)
    limit, after = page
    found = revision.edges_of(node_id, limit=None if limit is None else limit + 1, after=after)
    edges = found[:limit]
    following = None if len(edges) == len(found) else str(edges[-1].id)
    lines = shapes.node_lines(node, location)
    if edges:
        lines += ["", output.strong("edges")]
    for edge in edges:
        arrow, other = ("->", edge.dst) if edge.src == node_id else ("<-", edge.src)
        lines.append(
            f"  {arrow} {output.one_line(edge.etype)} {other}  {output.faint(str(edge.id))}"
        )
    fields = {
        "value": shapes.block_json(node),
        "location": shapes.location_json(location),
        "edges": [shapes.block_json(edge) for edge in edges],
        "next": following,
    }
    if following is not None:
        lines.append(output.faint(f"  next page: --after {following}"))
    return "node", fields, lines


def _cid(name: str) -> Cid | None:
    from ibidem.objects.cid import Cid

    try:
        return Cid.parse(name)
    except InvalidInputError:
        return None


def _commit(repository: Repository, commit: Commit) -> Shown:
    # The first commit is compared with the empty state before it.
    origin = repository.core.operation_log.state().origin
    found = list(
        repository.history.diff(commit.parents[0] if commit.parents else origin, commit.cid)
    )
    value = {**shapes.block_json(commit), "counts": changes.counts_json(found)}
    listed = changes.change_lines(repository.core.store, found, limit=_CHANGES_SHOWN)
    lines = [*shapes.commit_lines(commit), "", changes.summary(found), *listed]
    return "commit", {"value": value}, lines


def _block(repository: Repository, cid: Cid) -> Shown:
    from ibidem.objects import codec
    from ibidem.objects.edge import Edge
    from ibidem.objects.node import Node

    block = repository.core.store.get(cid)
    if cid.is_raw:
        size = {"cid": str(cid), "size_bytes": len(block)}
        return (
            "raw",
            {"value": size},
            [output.strong(f"raw {cid}"), output.plural(len(block), "byte")],
        )
    fields = codec.decode_foreign(block)
    kind = str(fields.get("kind", "block")) if isinstance(fields, dict) else "block"
    if kind == "node":
        node = Node.decode(block)
        return kind, {"value": shapes.block_json(node)}, shapes.node_lines(node)
    if kind == "edge":
        edge = Edge.decode(block)
        return kind, {"value": shapes.block_json(edge)}, shapes.edge_lines(edge)
    value = {"cid": str(cid), "size_bytes": len(block), "fields": fields}
    rows = [(name, shapes.value_text(fields[name])) for name in sorted(fields)]
    return (
        kind,
        {"value": value},
        [output.strong(f"{output.one_line(kind)} {cid}"), *output.pairs(rows)],
    )
