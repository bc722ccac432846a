"""`repo mcp`: serves the repository to agents over the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ibidem.cli import integrate
from ibidem.cli.options.common import author_option, color_option, quiet_option, repository_option
from ibidem.cli.options.copies import TOKEN
from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import CorruptError, StorageError

if TYPE_CHECKING:
    from ibidem.adapters.mcp.access import Access
    from ibidem.repo.repository import Repository
    from ibidem.serve.listener import Listener
    from ibidem.serve.tokens import Token

Identify = Callable[[str], "Access | None"]
"""Returns the caller that a token belongs to, None if it is not accepted. Runs in a thread."""


@click.group("mcp", invoke_without_command=True)
@click.option(
    "--http", "is_http", is_flag=True, help="Serve HTTP on 127.0.0.1 in place of stdin and stdout."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7466,
    show_default=True,
    help="Port of --http, 0 for any.",
)
@click.option(
    "--token-file",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File with the owner's access token for --http, created if it is missing [default: "
    "serve-token beside the repository's blocks; or env IBIDEM_TOKEN].",
)
@click.option("--read-only", "is_read_only", is_flag=True, help="Offer no tool that writes.")
@click.option(
    "--tool", "names", metavar="NAME", multiple=True, help="Offer only this tool; repeatable."
)
@click.option(
    "--agent", metavar="NAME", help="Agent of commits [default: the name of the client program]."
)
@click.option("--task", metavar="TEXT", help="Task of commits that name none.")
@author_option
@viewer_option
@repository_option
@color_option
@quiet_option
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    is_http: bool,
    port: int,
    token_file: Path | None,
    is_read_only: bool,
    names: tuple[str, ...],
    agent: str | None,
    task: str | None,
    author: str | None,
) -> None:
    """Serve this repository to agents over the Model Context Protocol

    The tools are retrieve, read, remember, history, compare and verify; each write is a commit with
    the agent and its task. `repo mcp integrate` enters the server into a client's configuration.

    With --http each request needs a token: the owner's, or one of `repo trust token create`, which
    may have a viewer and be read-only. Needs pip install 'ibidem[mcp]'.

    \b
    Examples:
      repo mcp
      repo mcp --read-only --tool retrieve --tool read
      repo mcp --http --port 0
    """
    if context.invoked_subcommand is not None:
        return
    from ibidem.adapters.mcp.access import Access
    from ibidem.adapters.mcp.server import serve_stdio
    from ibidem.adapters.mcp.tools import TOOLS

    for name in names:
        if name not in TOOLS:
            raise click.BadParameter(f"got {name!r}, expected one of {', '.join(TOOLS)}")
    session.is_quiet = session.is_quiet or not is_http
    with session.open() as repository:
        access = Access(
            repository,
            viewer_of(session),
            is_read_only=is_read_only,
            author=session.author(author),
            agent=agent or "",
            task=task,
            tools=frozenset(names) or None,
        )
        if is_http:
            _serve_http(session, access, port, token_file)
        else:
            serve_stdio(access)


command.add_command(integrate.command)


def _serve_http(session: Session, access: Access, port: int, token_file: Path | None) -> None:
    from ibidem.adapters.mcp.http import PATH
    from ibidem.repo.sync.files import token_in

    token = session.environment.get(TOKEN)
    path = token_file or session.local_folder() / "local" / "serve-token"
    if not token:
        path.parent.mkdir(exist_ok=True)
        token = token_in(path)
    with http_listener(callers_of(session, access, token), port) as server:
        where = f"token in {path}" if TOKEN not in session.environment else f"token of {TOKEN}"
        output.say(f"{server.url}{PATH}  {output.faint(output.one_line(where))}")
        server.serve_forever()


def http_listener(identify: Identify, port: int, *, idle_seconds: float | None = None) -> Listener:
    """Returns the server of the protocol, which listens; with the limits of every server here.

    Args:
        identify: finds the callers.
        port: 0 for any free one.
        idle_seconds: how long it waits for a client; by default as `repo serve`.
    """
    from ibidem.adapters.mcp.http import BODY_BYTES_MAX, HOST, application
    from ibidem.serve.guard import Guard, hosts_of
    from ibidem.serve.listener import IDLE_SECONDS, Listener

    idle_seconds = IDLE_SECONDS if idle_seconds is None else idle_seconds
    server = Listener(host=HOST, port=port)
    try:
        from ibidem.serve.limited import CALLER, Limited, whole_bodies

        inner = whole_bodies(
            application(CALLER), size_max=BODY_BYTES_MAX, idle_seconds=idle_seconds
        )
        hosts = hosts_of(HOST, server.port, ())
        limited = Limited(inner, Guard(identify, hosts, are_pages_refused=False))
        server.answer_with(limited, idle_seconds=idle_seconds, has_lifespan=True)
    except BaseException:
        server.close()
        raise
    return server


def callers_of(session: Session, access: Access, owner: str) -> Identify:
    """Returns the function that finds the caller of a token: the owner's, or one of the registry.

    Args:
        session: of this run.
        access: what the owner may do here; nobody may do more.
        owner: the text of the owner's token.
    """
    from dataclasses import replace
    from functools import partial

    from ibidem.objects.cid import RootCid
    from ibidem.serve.read_log import ReadLog, Subject
    from ibidem.serve.tokens import Scope, Tokens, matching, owner_token

    folder, owners = session.local_folder(), owner_token(owner)
    tokens, reads = Tokens(folder), ReadLog(folder)
    repository = access.repository

    def identify(text: str) -> Access | None:
        found = _accepted(text)
        return None if found is None else replace(found[0], audit=partial(record, found[1]))

    def record(token: Token, name: str, result: str, root: str | None) -> None:
        subject = Subject()
        subject.root = None if root is None else RootCid.parse(root)
        reads.append(token, name, time=repository.now(), result=result, subject=subject)

    def _accepted(text: str) -> tuple[Access, Token] | None:
        try:
            known = tokens.all()
        except (CorruptError, StorageError):
            known = {}
        found = matching(text, (owners, *known.values()), time=repository.now())
        if found is None:
            return None
        if found is owners:
            return access, found
        if access.is_restricted and found.viewer != access.viewer:
            return None
        is_read_only = access.is_read_only or found.scope != Scope.WRITE
        if found.viewer.everything or access.is_restricted:
            made = replace(access, viewer=found.viewer, is_read_only=is_read_only, agent=found.name)
            return made, found
        own = cast("Repository", repository).as_viewer(found.viewer, author=access.author)
        restricted = replace(
            access,
            repository=own,
            viewer=found.viewer,
            is_read_only=is_read_only,
            agent=found.name,
        )
        return restricted, found

    return identify
