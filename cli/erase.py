"""`repo erase`: permanently destroys nodes, on every branch and in every file of this copy."""

from __future__ import annotations

import click

from ibidem.cli.options.common import author_option, common_options
from ibidem.cli.options.ids import node_at
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

SHOWN_MAX = 20


@click.command("erase")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--finish", is_flag=True, help="Complete an interrupted erasure.")
@click.option("--reason", default="", help="Reason, stored in plain text in the erasure record.")
@click.option(
    "--sign",
    metavar="KEY",
    help="Sign with this key, so that other copies can carry the erasure out too.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; required with --json.")
@author_option
@common_options
@pass_session
def command(
    session: Session,
    *,
    ids: tuple[str, ...],
    finish: bool,
    reason: str,
    sign: str | None,
    yes: bool,
    author: str | None,
) -> None:
    """Permanently destroy nodes: all versions, on all branches, in this copy

    A document, by its path or its id, is destroyed with all sections and passages that it ever had.
    Its file stays where it is.

    Commits remain and still verify; old revisions that had the nodes report them as erased. This
    cannot be undone. `docs/how-to/forget.md` lists what an erasure cannot reach.

    An ID is the id of a node, a unique prefix among the nodes of HEAD, or the path of a document;
    the confirmation shows the full id. A node that only older revisions have must be given by its
    full id.

    An erasure that was interrupted, by a kill or a full disk, is completed by the next command that
    opens the repository, or by erasing the same node again. --finish without an ID does only that,
    and reports an error if it cannot.

    \b
    Examples:
      repo erase 5f3a9c0d1e2b4a6c8f7e9d0c1b2a3f4e --reason "asked by the person" --yes
      repo erase notes/old.md --reason "asked by the person"
      repo erase --finish
    """
    if finish == bool(ids):
        raise click.UsageError("give node ids, or --finish without any")
    if finish:
        _finish(session)
        return
    with session.open() as repository:
        nodes = [node_at(session, repository, text) for text in ids]
    if not yes:
        _confirm(session, [str(node) for node in nodes])
    with session.open() as repository:
        report = repository.maintenance.erase(
            nodes, reason=reason, author=session.author(author), sign=sign
        )
    if session.json:
        output.emit(
            "erase",
            {
                "nodes": [str(id_) for id_ in report.nodes],
                "erasures": [str(cid) for cid in report.erasures],
                "block_count": report.block_count,
                "commits": [
                    {"ref": name, "commit": str(cid)} for name, cid in report.commits.items()
                ],
                "shared": [str(cid) for cid in report.shared],
                "elsewhere": [{"kind": kind, "cid": str(cid)} for kind, cid in report.elsewhere],
                "settings": list(report.settings),
            },
        )
        return
    blocks = output.plural(report.block_count, "block")
    output.say(f"erased {output.plural(len(report.nodes), 'node')}, {blocks}")
    output.say(*(f"  {node}" for node in report.nodes[:SHOWN_MAX]))
    if len(report.nodes) > SHOWN_MAX:
        output.say(f"  and {len(report.nodes) - SHOWN_MAX:,} more")
    for name, cid in report.commits.items():
        output.say(f"{name} is now at {cid}")
    if report.shared:
        output.note(f"{output.plural(len(report.shared), 'block')} kept: shared with other nodes")
    for kind, where in report.elsewhere[:SHOWN_MAX]:
        output.note(f"the same text also occurs in {kind} {where}")
    if len(report.elsewhere) > SHOWN_MAX:
        output.note(f"and in {len(report.elsewhere) - SHOWN_MAX:,} more")
    for file in report.settings:
        output.note(f"the same text also occurs in {file}, which has your settings")


def _confirm(session: Session, nodes: list[str]) -> None:
    """Shows the full id of each node and exits unless the user confirms; with `--json` never asks.

    Raises:
        UsageError: standard input is no terminal, so nobody can confirm.
    """
    nobody = click.UsageError("cannot ask for confirmation here: pass --yes to erase without it")
    if session.json:
        raise nobody
    question = f"permanently destroy {output.plural(len(nodes), 'node')}, documents with all parts?"
    try:
        output.note(*nodes)
        click.confirm(question, abort=True, err=True)
    except click.Abort as error:
        if isinstance(error.__context__, EOFError):
            output.note("")
            raise nobody from error
        raise


def _finish(session: Session) -> None:
    with session.open(finish_erasing=False) as repository:
        finished = repository.maintenance.finish_erasing()
    if session.json:
        output.emit("erase-finish", {"is_finished": finished})
    else:
        output.say("finished" if finished else "no interrupted erasure")
