"""`repo completion`: prints the script that completes commands and options in a shell."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the shell completion script for SHELL

    \b
    Examples:
      eval "$(repo completion bash)"
      repo completion fish > ~/.config/fish/completions/repo.fish
    """
    from click.shell_completion import get_completion_class

    root = context.find_root()
    program = root.info_name or "repo"
    variable = f"_{program.upper().replace('-', '_')}_COMPLETE"
    completion = get_completion_class(shell)
    assert completion is not None, f"BUG: click does not know {shell}"
    # The template alone: `source()` would first start a shell to ask for its version.
    script = completion(root.command, {}, program, variable)
    click.echo(completion.source_template % script.source_vars())
