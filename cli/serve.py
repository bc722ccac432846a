"""`repo serve`: serves the repository over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli.options.common import color_option, repository_option
from ibidem.cli.options.copies import TOKEN
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.command("serve")
@click.option("--remote", "is_remote", is_flag=True, help="Also serve clone, fetch, push and pull.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=7465, show_default=True, help="0 for any."
)
@click.option(
    "--token-file",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File with the owner's access token, created if it is missing [default: serve-token "
    "beside the repository's blocks; or env IBIDEM_TOKEN].",
)
@click.option(
    "--allow-host", metavar="NAME", multiple=True, help="Another host name to accept in requests."
)
@click.option(
    "--allow-network", is_flag=True, help="Accept unencrypted connections from other machines."
)
@click.option("--read-only", "is_read_only", is_flag=True, help="Reject every write.")
@click.option(
    "--worker",
    "workers",
    metavar="URL",
    multiple=True,
    help="A server of the same repository and token that ranks for this one; may be repeated.",
)
@repository_option
@color_option
@pass_session
def command(
    session: Session,
    *,
    is_remote: bool,
    host: str,
    port: int,
    token_file: Path | None,
    allow_host: tuple[str, ...],
    allow_network: bool,
    is_read_only: bool,
    workers: tuple[str, ...],
) -> None:
    """Serve this repository over HTTP until interrupted

    Answers questions, each for the viewer of its token, and writes for tokens that may; `repo trust
    token` creates tokens. The access token of --token-file is the owner's own, who sees everything.
    Only this machine can connect. For access from other machines, put an https reverse proxy in
    front and pass its name with --allow-host. Needs pip install 'ibidem[server]'.

    \b
    Examples:
      repo serve
      repo serve --remote --port 8080 --read-only
      repo serve --worker https://one.example --worker https://two.example
    """
    from ibidem.repo.sync.files import token_in
    from ibidem.serve.server import Server

    with session.open() as repository:
        token = session.environment.get(TOKEN)
        path = token_file or session.local_folder() / "local" / "serve-token"
        if not token:
            path.parent.mkdir(exist_ok=True)
            token = token_in(path)
        repository.use_workers(workers, token=token)
        server = Server(
            repository,
            token=token,
            host=host,
            port=port,
            hosts=allow_host,
            is_remote=is_remote,
            is_read_only=is_read_only,
            is_network_allowed=allow_network,
        )
        with server:
            where = f"token in {path}" if TOKEN not in session.environment else f"token of {TOKEN}"
            output.say(f"{server.url}  {output.faint(output.one_line(where))}")
            server.serve_forever()
