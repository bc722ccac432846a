"""`repo doctor`: checks the installation and the repository, and suggests what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ibidem.cli.options.common import common_options
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session
from ibidem.objects.errors import ErrorKind, IbidemError, NotFoundError

if TYPE_CHECKING:
    from ibidem.repo.maintenance.checkup import Finding
    from ibidem.repo.repository import Repository

_MARKS = {"ok": output.good, "note": output.faint, "failed": output.bad}


@click.command("doctor")
@click.option("--full", is_flag=True, help="Read every block, as `repo fsck` does.")
@common_options
@pass_session
@click.pass_context
def command(context: click.Context, session: Session, *, full: bool) -> None:
    """Check this installation and the repository here

    A quick check that changes nothing; `repo fsck` is the complete one. Exits with 1 if a check
    failed.

    \b
    Examples:
      repo doctor
      repo doctor --full --json
    """
    from ibidem.repo.maintenance import checkup

    findings = [*checkup.check_program(), *_repository_findings(session, full=full)]
    failed = any(finding.outcome == "failed" for finding in findings)
    if session.json:
        output.emit("doctor", {"is_ok": not failed, "findings": [asdict(f) for f in findings]})
    else:
        for finding in findings:
            _show(finding)
        output.say("", "some checks failed, see above" if failed else "all checks passed")
    context.exit(1 if failed else 0)


def _repository_findings(session: Session, *, full: bool) -> list[Finding]:
    from ibidem.repo.maintenance.checkup import Finding, check_repository

    try:
        session.address()
    except NotFoundError as error:
        if session.is_named:
            return [Finding("repository", "failed", str(error), error.hint)]
        return [Finding("repository", "note", f"none here; {error.hint}")]
    repository, opened = check_opens(lambda: session.open(finish_erasing=False))
    if repository is None:
        return [opened]
    with repository:
        return [opened, *check_repository(repository.core, full=full)]


def check_opens(open_repository: Callable[[], Repository]) -> tuple[Repository | None, Finding]:
    """Opens the repository; returns it (None on failure) and the finding. A repository that another
    process has locked is distinguished from a damaged one.
    """
    from ibidem.repo.maintenance.checkup import Finding

    repository = None
    try:
        repository = open_repository()
        head = repository.head
    except IbidemError as error:
        if repository is not None:
            repository.close()
        if error.kind is ErrorKind.LOCKED:
            hint = (
                error.hint
                or "it is in use, not damaged: wait for the other process, then try again"
            )
            return None, Finding("repository", "failed", f"locked: {error}", hint)
        return None, Finding("repository", "failed", str(error), error.hint)
    return repository, Finding("repository", "ok", f"opens; {shapes.head_line(head)}")


def _show(finding: Finding) -> None:
    mark = _MARKS[finding.outcome](finding.outcome.ljust(6))
    output.say(f"{mark} {finding.check}: {finding.detail}")
    if finding.hint and finding.outcome == "failed":
        output.say(f"       hint: {finding.hint}")
