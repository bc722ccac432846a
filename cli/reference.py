"""Generates `docs/cli-reference.md` from the help of every command.

    python -m ibidem.cli.reference > docs/cli-reference.md

A test compares the page with what this returns, so it cannot fall behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ibidem.cli.main import cli

_HEAD = """# Command line reference

Generated from the help of the program by `python -m ibidem.cli.reference`; do not edit. The JSON
that `--json` prints is described in [json.md](json.md), the exit codes in
[exit-codes.md](exit-codes.md). `ibidem` is the same program as `repo`.
"""
_WIDTH = 100


def reference() -> str:
    """Returns the page."""
    sections = [_HEAD]
    for path, command, context in commands():
        sections.append(f"## {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(sections)


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yields every command in the order of the help, groups before their commands."""
    context = click.Context(cli, info_name="repo", **_settings(cli))
    yield from _below("repo", cli, context)


def _below(
    path: str, command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, f"BUG: {path} lists {name} and does not have it"
            settings = _settings(inner)
            below = click.Context(inner, info_name=name, parent=context, **settings)
            yield from _below(f"{path} {name}", inner, below)


def _settings(command: click.Command) -> dict[str, Any]:
    # Fixed width: the page must not depend on the terminal.
    return {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}


if __name__ == "__main__":
    click.echo(reference(), nl=False)
