"""`repo cat`: prints a document as it stood at a revision."""

from __future__ import annotations

import click

from ibidem.cli.options.common import at_option, color_option, repository_option
from ibidem.cli.options.documents import document_name
from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import NotFoundError


@click.command("cat")
@click.argument("path")
@viewer_option
@at_option
@repository_option
@color_option
@pass_session
def command(session: Session, *, path: str, at: str) -> None:
    """Print the document PATH as it stood at a revision

    Text formats are printed byte for byte. Of a format whose text was extracted, such as PDF, only
    that text is stored, and a note says so.

    \b
    Examples:
      repo cat notes/retries.md
      repo cat notes/retries.md --at main~3 > retries.before.md
    """
    from ibidem.objects.derive import node_id
    from ibidem.objects.location import DOCUMENT

    name = document_name(session, path)
    with session.open() as repository:
        revision = repository.at(at, viewer=viewer_of(session))
        id_ = node_id(DOCUMENT, name)
        try:
            document = revision.node(id_, include_tombstoned=True)
        except NotFoundError as error:
            raise NotFoundError(
                f"path: got {name or '.'!r}, expected a document at {at}",
                hint="'repo query --label Document' lists them",
            ) from error
        data = revision.document(id_).encode("utf-8")
        if "source_sha256" in document.props:
            made_by = output.one_line(str(document.props.get("extractor")))
            output.note(f"the text that {made_by} extracted; the file itself is not stored")
    output.say_bytes(data)
