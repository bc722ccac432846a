"""`repo resolve`: resolves one conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibidem.cli.options import parse
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, author_option, common_options, pass_session
from ibidem.objects.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from ibidem.objects.ids import EdgeId, NodeId
    from ibidem.repo.repository import Repository


@click.command("resolve")
@click.argument("id_", metavar="ID")
@click.option("--ours", "take", flag_value="ours", help="Use the values of the branch.")
@click.option(
    "--theirs", "take", flag_value="theirs", help="Use the values that were merged into it."
)
@click.option("--base", "take", flag_value="base", help="Use the values of the common ancestor.")
@click.option("--keep", "take", flag_value="value", help="Keep the current values.")
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a field, such as summary=TEXT or props.due=2026; may be repeated.",
)
@click.option("-m", "--message", default="", help="Why.")
@author_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    id_: str,
    take: str | None,
    values: tuple[str, ...],
    message: str,
    author: str | None,
) -> None:
    """Resolve the conflict on the node or edge ID

    ID is an id or a unique prefix. A choice applies to the conflicting fields; other merged changes
    stay. Choosing a side that deleted the node deletes it. --value is applied after the choice, or
    can be used alone; null removes a property.

    \b
    Examples:
      repo resolve 804218a8 --theirs
      repo resolve 804218a8 --value summary="the queue retries twice" --value props.limit=2
    """
    if take is None and not values:
        raise InvalidInputError(
            "resolve: got no choice, expected --ours, --theirs, --base, --keep or --value",
            hint="run 'repo status' to see the conflicting values",
        )
    with session.open() as repository:
        found = _conflict_id(repository, id_)
        commit = repository.resolve_conflict(
            found,
            take or "value",
            value=_fields(values),
            author=session.author(author),
            message=message,
        )
        left = len(repository.conflicts())
    if session.json:
        made = None if commit is None else shapes.block_json(commit)
        output.emit("resolve", {"id": str(found), "commit": made, "conflict_count": left})
    else:
        output.say("nothing to resolve" if commit is None else f"commit {commit.cid}")
        output.say(f"{output.plural(left, 'conflict')} left" if left else "no conflicts left")


def _conflict_id(repository: Repository, text: str) -> NodeId | EdgeId:
    """Returns the id of the node or edge in conflict that is meant."""
    from ibidem.repo.id_prefix import resolve_prefix, sorted_from

    open_ids = [each.id for each in repository.conflicts()]

    def whole(digits: str) -> NodeId | EdgeId:
        for one in open_ids:
            if str(one) == digits:
                return one
        raise NotFoundError(
            f"no node or edge in conflict has the id {digits!r}",
            hint="run 'repo status' to list them",
        )

    return resolve_prefix(
        text, whole, sorted_from(open_ids), noun="node or edge", where="in conflict"
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
