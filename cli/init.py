"""`repo init`: creates an empty repository."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from ibidem.cli.options.common import author_option, color_option, json_option, quiet_option
from ibidem.cli.registry import GLOBAL, Registry
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session


@click.command("init")
@click.argument("path", required=False)
@click.option("--name", metavar="NAME", help="Register the repository as NAME, for --repo.")
@click.option(
    "--global",
    "is_global",
    is_flag=True,
    help="Make it the global repository of this user; PATH is then by default in the user's data "
    "folder.",
)
@click.option(
    "--analyser",
    metavar="NAME",
    help="Analyser of texts too short to tell their language, such as german-1; english-1 if not "
    "given. It stays.",
)
@author_option
@json_option
@color_option
@quiet_option
@pass_session
def command(
    session: Session,
    *,
    path: str | None,
    name: str | None,
    is_global: bool,
    analyser: str | None,
    author: str | None,
) -> None:
    """Create an empty repository in PATH

    PATH is a folder, by default that of --repo before the command or the working directory, or a
    URL such as s3://bucket/prefix. If there is a repository already, it stays as it is, and is
    registered if that is asked for.

    \b
    Examples:
      repo init knowledge
      repo init s3://team/knowledge --name team
      repo init --global
      repo init notizen --analyser german-1
    """
    import ibidem
    from ibidem.index.analysis import ANALYSERS
    from ibidem.repo.bootstrap import NEW
    from ibidem.repo.maintenance import checkup
    from ibidem.repo.opening import is_taken, location_of

    if path is not None and session.path:
        raise click.UsageError("PATH and --repo exclude each other")
    if analyser not in (None, *ANALYSERS):
        expected = ", ".join(ANALYSERS)
        raise click.UsageError(f"--analyser: got {analyser!r}, expected one of {expected}")
    registry, given = Registry(session.environment), session.path
    path = path or (given and registry.get(given)) or given or None
    is_global = is_global or session.is_global
    names = [one for one in (name, GLOBAL if is_global else None) if one is not None]
    if path is None:
        path = registry.all().get(GLOBAL, str(registry.global_folder)) if is_global else "."
    address = path if "://" in path else str(Path(path).resolve())
    for one in names:
        registry.check(one, address)
    if is_global and "://" not in address:
        Path(address).mkdir(parents=True, exist_ok=True)
    is_new = not is_taken(location_of(address))
    config = NEW if analyser is None else replace(NEW, analyser=analyser)
    if is_new:
        opened = ibidem.init(
            address, config=config, author=session.author(author), clock=session.clock()
        )
    else:
        opened = ibidem.open(address, clock=session.clock())
    with opened as repository:
        if analyser is not None and repository.at().config.analyser != analyser:
            raise click.UsageError(
                f"--analyser: got {analyser}, but the repository there has "
                f"{repository.at().config.analyser}, which stays"
            )
        shown = repository.core.shown
        notes = checkup.notes(repository.core.store) if is_new else ()
    for one in names:
        registry.add(one, address)
    for note in notes:
        output.note(f"note: {note}")
    if session.json:
        output.emit("init", {"path": shown, "is_new": is_new, "names": names})
        return
    if is_new:
        output.say(f"created an empty repository in {shown}")
    elif not names:
        output.say(f"there is a repository in {shown} already; nothing was changed")
    for one in names:
        output.say(f"registered {output.one_line(shown)} as {one}")
    if is_new:
        output.note(output.faint("next: repo commit PATH -m MESSAGE, or repo demo to look around"))
