"""`repo view`: shows the repository in a browser."""

from __future__ import annotations

import click

from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, color_option, pass_session, repository_option


@click.command("view")
@click.argument("question", required=False, default="")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on [default: any]."
)
@click.option("--browser/--no-browser", default=True, help="Open a browser.")
@viewer_option
@repository_option
@color_option
@pass_session
def command(session: Session, *, question: str, port: int, browser: bool) -> None:
    """Explore the repository in a browser: answers, history, nodes, graph

    Serves pages to this machine alone, until interrupted, and prints their address, which holds the
    token of the session. Nothing can be changed there, and nothing is loaded from elsewhere. With
    --viewer, every page shows what that viewer may see. Needs pip install 'ibidem[server]'.

    \b
    Examples:
      repo view
      repo view "how do retries work"
      repo view --no-browser --port 8000 --viewer internal
    """
    from ibidem.serve.explorer.explorer import Explorer

    with session.open() as repository, Explorer(repository, port=port) as explorer:
        address = explorer.address(question)
        output.say(address)
        if browser:
            import webbrowser

            webbrowser.open(address)
        explorer.serve_forever()
