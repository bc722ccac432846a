"""`repo view`: shows the repository in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import at_option, color_option, repository_option
from ibidem.cli.options.html import write_page
from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem import Repository


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

    Serves pages to this machine alone, until interrupted, and prints their address, which can be
    used once. The graph cannot be changed there, and nothing is loaded from elsewhere.
    Every page, and the file of --export, shows what --viewer may see; a repository with a trust
    policy requires that option. Needs pip install 'ibidem[server]'; --export does not.

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
            _check_viewer(session, repository, at)
            write_page(file, export(repository, question, at=at))
        return
    from ibidem.serve.explorer.explorer import Explorer

    with session.open() as repository, Explorer(repository, port=port) as explorer:
        _check_viewer(session, repository, at)
        output.say(explorer.address(question, at=at))
        if browser:
            import webbrowser

            webbrowser.open(explorer.address(question, at=at))
        explorer.serve_forever()


def _check_viewer(session: Session, repository: Repository, at: str) -> None:
    """Raises `viewer-required` if nobody was named under a policy, as every question does."""
    if session.caller() is None:
        repository.at(at).find_nodes(["0" * 32])
