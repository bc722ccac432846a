"""`repo resolve`: resolves one conflict."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ibidem.cli.options import parse
from ibidem.cli.options.common import commit_options, common_options
from ibidem.cli.options.documents import document_name
from ibidem.cli.options.ids import is_path
from ibidem.cli.render import conflicts, output, shapes
from ibidem.cli.render.text_diff import tombstone_lines
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.id_prefix import resolve_prefix, sorted_from

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.repo.merge.document_conflicts import DocumentConflict
    from ibidem.repo.repository import Repository


@click.command("resolve")
@click.argument("id_", metavar="ID|PATH")
@click.option("--ours", is_flag=True, help="Use the values of the branch.")
@click.option("--theirs", is_flag=True, help="Use the values that were merged into it.")
@click.option("--base", is_flag=True, help="Use the values of the common ancestor.")
@click.option("--edit", is_flag=True, help="Edit both versions of the document PATH.")
@click.option(
    "--file",
    metavar="FILE",
    type=click.File("rb"),
    help="Take the text of FILE, or of - for standard input, for the document PATH.",
)
@click.option("--keep", is_flag=True, help="Keep the current values.")
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a field, such as summary=TEXT or props.due=2026; may be repeated.",
)
@click.option("-m", "--message", default="", help="Why.")
@commit_options
@common_options
@pass_session
def command(
    session: Session,
    *,
    id_: str,
    ours: bool,
    theirs: bool,
    base: bool,
    keep: bool,
    edit: bool,
    file: BinaryIO | None,
    values: tuple[str, ...],
    message: str,
    author: str | None,
) -> None:
    """Resolve the conflict on the node or edge ID, or on the document PATH

    For a PATH, --ours and --theirs apply to the lines that both sides changed; other merged changes
    stay. Without an option, both versions are merged, which is refused if they changed the same
    lines. --edit opens the merged text, with markers around such lines, in the editor of EDITOR.

    ID is an id or a unique prefix. A choice applies to the conflicting fields; other merged changes
    stay. Choosing a side that deleted the node deletes it. --value is applied after the choice, or
    can be used alone; null removes a property.

    \b
    Examples:
      repo resolve notes/retries.md --theirs
      repo resolve notes/retries.md --edit
      repo resolve 804218a8 --theirs
      repo resolve 804218a8 --value summary="the queue retries twice" --value props.limit=2
    """
    choices = {"ours": ours, "theirs": theirs, "base": base, "value": keep}
    chosen = [name for name, is_chosen in choices.items() if is_chosen]
    if len(chosen) > 1:
        raise click.UsageError("expected one of --ours, --theirs, --base, --keep")
    take = chosen[0] if chosen else None
    with session.open() as repository:
        document = _document(session, repository, id_)
        if document is not None:
            if values or take in ("base", "value") or sum((edit, file is not None, bool(take))) > 1:
                raise click.UsageError("a document needs one of --ours, --theirs, --edit, --file")
            text = _text(document, take, file, edit=edit)
            with repository.transaction(
                author=session.author(author),
                message=message or f"resolve {document.path}",
            ) as tx:
                from ibidem.ingest.resolve_document import resolve_document

                resolve_document(tx, repository.core.store, document, text)
            _say(repository, document.path, tx.commit, is_json=session.json)
            return
        if edit or file is not None:
            raise _not_in_conflict(id_)
        found = _conflict_id(repository, id_)
        if take is None and not values:
            raise InvalidInputError(
                "resolve: got no choice, expected --ours, --theirs, --base, --keep or --value",
                hint="run 'repo status' to see the conflicting values",
            )
        commit = repository.resolve_conflict(
            found,
            take or "value",
            value=_fields(values),
            author=session.author(author),
            message=message,
        )
        _say(repository, str(found), commit, is_json=session.json)


def _say(repository: Repository, id_: str, commit: Commit | None, *, is_json: bool) -> None:
    """Prints what was resolved, and how many conflicts are still open."""
    left = len(repository.conflicts())
    if is_json:
        made = None if commit is None else shapes.block_json(commit)
        output.emit("resolve", {"id": id_, "commit": made, "conflict_count": left})
    else:
        output.say("nothing to resolve" if commit is None else f"commit {commit.cid}")
        output.say(f"{output.plural(left, 'conflict')} left" if left else "no conflicts left")


def _document(session: Session, repository: Repository, text: str) -> DocumentConflict | None:
    """Returns the document in conflict that is meant, None if it is no path of one."""
    name = document_name(session, text)
    found = conflicts.document_conflicts(repository)
    return next((each for each in found if each.path == name), None)


def _text(
    found: DocumentConflict, take: str | None, file: BinaryIO | None, *, edit: bool
) -> str | None:
    """Returns the text that resolves the conflicts of a document; None to remove it.

    Raises:
        InvalidInputError: there is no such text, or it still has markers.
    """
    from ibidem.repo.merge.text import MARKERS, has_markers

    if file is not None:
        try:
            text = file.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"--file: not UTF-8 at byte {error.start}") from error
    elif edit:
        if found.hidden is not None:
            reason, way_out = tombstone_lines(found.hidden, is_part=True)
            raise NotFoundError(
                f"--edit: {found.path}: {reason}", kind=ErrorKind.FORGOTTEN, hint=way_out
            )
        suffix = PurePosixPath(found.path).suffix or ".txt"
        edited = click.edit(found.merged().text, extension=suffix)
        if edited is None:
            raise InvalidInputError("--edit: the text was not saved, so nothing was resolved")
        text = edited
    elif take is not None and None in (found.ours, found.theirs):
        return found.ours if take == "ours" else found.theirs
    else:
        merged = found.merged(take)
        if None in (found.ours, found.theirs) or merged.conflict_count:
            raise InvalidInputError(
                f"resolve: both sides changed the same lines of {found.path!r}",
                hint="choose --ours, --theirs, --edit or --file",
            )
        return merged.text
    if has_markers(text):
        raise InvalidInputError(
            f"resolve: {found.path!r} still has markers such as {MARKERS[0].strip()!r}"
        )
    return text


def _conflict_id(repository: Repository, text: str) -> NodeId | EdgeId:
    """Returns the id of the node or edge in conflict that is meant."""
    open_ids = [each.id for each in repository.conflicts()]

    def whole(digits: str) -> NodeId | EdgeId:
        for one in open_ids:
            if str(one) == digits:
                return one
        raise NotFoundError(
            f"no node or edge in conflict has the id {digits!r}",
            hint="run 'repo status' to list them",
        )

    if is_path(text):
        raise _not_in_conflict(text)
    return resolve_prefix(
        text, whole, sorted_from(open_ids), noun="node or edge", where="in conflict"
    )


def _not_in_conflict(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"resolve: got {text!r}, expected the path of a document in conflict",
        hint="run 'repo status' to list them",
    )


def _fields(texts: tuple[str, ...]) -> dict[str, Any]:
    """Returns the fields that are set; a text is taken as it is written, the rest is JSON."""
    from ibidem.objects.fields import CONTENT, NAME, NODE, TEXT

    as_written = {field.name for field in NODE.fields if field.type in (CONTENT, NAME, TEXT)}
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        if not equals or not name:
            raise InvalidInputError(f"--value: got {text!r}, expected NAME=VALUE")
        found[name] = written if name in as_written else parse.value(written)
    return found
