"""`repo erase`: destroys nodes for good, in every branch and every file of this copy."""

from __future__ import annotations

import click

from ibidem.cli.options.ids import node_at
from ibidem.cli.render import output
from ibidem.cli.session import Session, author_option, common_options, pass_session

SHOWN_MAX = 20


@click.command("erase")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--finish", is_flag=True, help="Carry an erasure on that was cut short.")
@click.option("--reason", default="", help="Why; stands in the record of it, for all to read.")
@click.option("--sign", metavar="KEY", help="Sign with this key, so that other copies can follow.")
@click.option("--yes", is_flag=True, help="Do not ask; needed with --json.")
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
    """Destroy nodes for good: every version, on every branch, in every file of this copy

    Commits stay and verify; old revisions that had the nodes say that they were erased. Nothing
    brings them back, undo included. `docs/how-to/forget.md` says what cannot be reached.

    An ID is that of a node, or the beginning of one that HEAD has; the question before shows it
    whole, and so does the answer. What only an older revision has is named by its whole id.

    An erasure that was cut short, by a kill or a full disk, is finished by the next command that
    opens the repository, or by erasing the same node again. With --finish and no ID, only that is
    done, and what hinders it is an error.

    \b
    Examples:
      repo erase 5f3a9c0d1e2b4a6c8f7e9d0c1b2a3f4e --reason "asked by the person" --yes
      repo erase --finish
    """
    if finish == bool(ids):
        raise click.UsageError("give the ids of nodes, or --finish without one")
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
    output.say(*(f"  {node}" for node in report.nodes))
    for name, cid in report.commits.items():
        output.say(f"{name} is now at {cid}")
    if report.shared:
        output.note(f"{output.plural(len(report.shared), 'block')} stay: other nodes share them")
    for kind, where in report.elsewhere[:SHOWN_MAX]:
        output.note(f"the same text also stands in {kind} {where}")
    if len(report.elsewhere) > SHOWN_MAX:
        output.note(f"and in {len(report.elsewhere) - SHOWN_MAX:,} more")
    for file in report.settings:
        output.note(f"the same text also stands in {file}, which has your settings")


def _confirm(session: Session, nodes: list[str]) -> None:
    """Asks about each node by its whole id, and ends the program unless the answer is yes; a
    program that reads JSON is not asked.

    Raises:
        UsageError: nobody is there to answer.
    """
    nobody = click.UsageError("nobody was asked: say --yes to erase without a question")
    if session.json:
        raise nobody
    question = f"destroy {output.plural(len(nodes), 'node')} for good?"
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
        output.say("finished" if finished else "no erasure was cut short")
