"""`repo help`: the help of the program or of one command."""

from __future__ import annotations

import click


@click.command("help")
@click.argument("names", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of the program or of COMMAND

    \b
    Examples:
      repo help
      repo help retrieve
      repo help key verify
    """
    at = context.find_root()
    for name in names:
        found = at.command
        if not isinstance(found, click.Group):
            raise click.UsageError(f"{at.command_path} has no commands, got {name!r:.80}", at)
        resolved, inner, _ = found.resolve_command(at, [name])
        assert inner is not None, "BUG: a resolved command is None"
        at = click.Context(inner, info_name=resolved, parent=at)
    click.echo(at.get_help())
