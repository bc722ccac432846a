"""`repo mcp integrate`: enters the MCP server into the configuration of a client."""

from __future__ import annotations

import difflib
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import common_options
from ibidem.cli.options.viewer import viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import InvalidInputError
from ibidem.store.files import read_file, whole_file, write_file

if TYPE_CHECKING:
    from ibidem.adapters.mcp.clients import Client

_NAMES = ("claude-desktop", "claude-code", "cursor", "vscode", "zed", "codex", "gemini")


@click.command("integrate")
@click.argument("client", type=click.Choice(_NAMES))
@click.option("--name", metavar="NAME", default="ibidem", show_default=True, help="Of the server.")
@click.option("--remove", is_flag=True, help="Remove the server.")
@click.option("--read-only", "is_read_only", is_flag=True, help="Let the agent only read.")
@click.option("--dry-run", is_flag=True, help="Only show the difference.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; required with --json.")
@viewer_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    client: str,
    name: str,
    remove: bool,
    is_read_only: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Enter `repo mcp` for this repository into the configuration of CLIENT

    Shows the difference and asks before anything is written; the file as it was is kept beside it.
    Comments and other servers stay as they are, and doing it twice changes nothing. The client
    reads its configuration when it is started.

    \b
    Examples:
      repo mcp integrate claude-code
      repo mcp integrate zed --read-only --dry-run
      repo mcp integrate cursor --remove
    """
    from ibidem.adapters.mcp.clients import CLIENTS, edited

    found = CLIENTS[client]
    home = Path(session.environment.get("HOME") or Path.home())
    # Many people keep their settings elsewhere and link to them.
    file = found.file(home, session.environment, sys.platform).resolve()
    data = read_file(file)
    before = "" if data is None else _text(file, data)
    entry = None if remove else _entry(session, found, is_read_only=is_read_only)
    after = edited(found, before, name, entry)
    is_changed = after != before
    if not session.json:
        output.say(*_difference(before, after, file))
    backup = None
    if is_changed and not dry_run:
        if not yes:
            _confirm(session, file)
        backup = _write(file, data, after)
    if session.json:
        output.emit(
            "mcp-integrate",
            {
                "client": client,
                "file": str(file),
                "is_changed": is_changed,
                "is_dry_run": dry_run,
                "backup": None if backup is None else str(backup),
            },
        )
    elif not is_changed:
        output.say(f"{found.title} has it so already; nothing was changed")
    elif dry_run:
        output.say("nothing was written")
    else:
        saved = "" if backup is None else f"; the file as it was is {output.one_line(str(backup))}"
        output.say(f"written{saved}", f"start {found.title} again")


def _entry(session: Session, client: Client, *, is_read_only: bool) -> dict[str, object]:
    """Returns the entry that starts this program, by its full path: clients have another PATH."""
    address = session.address()
    shown = str(address.resolve()) if isinstance(address, Path) else address
    arguments = ["-m", "ibidem", "mcp", "--repo", shown]
    if is_read_only:
        arguments.append("--read-only")
    if session.viewer:
        arguments += ["--viewer", session.viewer]
    return client.entry(sys.executable, arguments)


def _text(file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{file}: it is not UTF-8") from error


def _difference(before: str, after: str, file: Path) -> list[str]:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(file), str(file), lineterm=""
    )
    return [output.one_line(line) if line[:1] in "-+@" else f" {line[1:]}" for line in lines]


def _confirm(session: Session, file: Path) -> None:
    """Exits unless the user confirms; with `--json`, or without a terminal, never asks."""
    if session.json or not sys.stdin.isatty():
        raise click.UsageError("cannot ask for confirmation here: pass --yes, or --dry-run")
    click.confirm(f"write {output.one_line(str(file))}?", abort=True, err=True)


def _write(file: Path, before: bytes | None, after: str) -> Path | None:
    """Writes a file and returns where its former content is; None if there was none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if before is None:
        write_file(file, after.encode("utf-8"), mode=0o600)
        return None
    mode = file.stat().st_mode & 0o777
    backup = next(
        free
        for number in count(1)
        if not (free := file.with_name(f"{file.name}.before-ibidem-{number}")).exists()
    )
    with whole_file(backup, mode=mode, is_new=True) as copy:
        copy.write(before)
    write_file(file, after.encode("utf-8"), mode=mode)
    return backup
