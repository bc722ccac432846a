"""`repo view`: shows the repository in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import (
    Session,
    at_option,
    color_option,
    pass_session,
    repository_option,
)


@click.command("view")
@click.argument("question", required=False, default="")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on [default: any]."
)
@click.option(
    "--export",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write one HTML file instead: the answer to QUESTION, its sources and the history.",
)
@at_option
@click.option("--browser/--no-browser", default=True, help="Open a browser.")
@viewer_option
@repository_option
@color_option
@pass_session
def command(
    session: Session, *, question: str, port: int, file: Path | None, at: str, browser: bool
) -> None:
    """Explore the repository in a browser: answers, history, nodes, graph

    Serves pages to this machine alone, until interrupted, and prints their address, which holds the
    token of the session. Nothing can be changed there, and nothing is loaded from elsewhere. With
    --viewer, every page, and the file of --export, shows what that viewer may see. Needs
    pip install 'ibidem[server]'; --export does not.

    \b
    Examples:
      repo view
      repo view "how do retries work"
      repo view "how do retries work" --at release-1 --export answer.html
      repo view --no-browser --port 8000 --viewer internal
    """
    if file is not None:
        from ibidem.serve.explorer.export import export

        with session.open() as repository:
            file.write_text(export(repository, question, at=at), "utf-8")
        return
    from ibidem.serve.explorer.explorer import Explorer

    with session.open() as repository, Explorer(repository, port=port) as explorer:
        address = explorer.address(question, at=at)
        output.say(address)
        if browser:
            import webbrowser

            webbrowser.open(address)
        explorer.serve_forever()
