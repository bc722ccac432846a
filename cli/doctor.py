"""`repo doctor`: checks the installation and the repository, and suggests what to do."""

from __future__ import annotations

from dataclasses import asdict

import click

from ibidem.cli import checkup
from ibidem.cli.checkup import Finding
from ibidem.cli.render import output
from ibidem.cli.session import Session, common_options, pass_session
from ibidem.objects.errors import NotFoundError

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
    try:
        session.address()
    except NotFoundError as error:
        return [Finding("repository", "note", f"none here; {error.hint}")]
    repository, opened = checkup.check_opens(lambda: session.open(finish_erasing=False))
    if repository is None:
        return [opened]
    with repository:
        return [
            opened,
            *checkup.check_service(repository.core.location, repository.core.store),
            checkup.check_blocks(repository.core.store, whole=full, progress=session.meter),
            checkup.check_history(repository),
            checkup.check_index(repository),
            *([checkup.check_all(repository)] if full else []),
        ]


def _show(finding: Finding) -> None:
    mark = _MARKS[finding.outcome](finding.outcome.ljust(6))
    output.say(f"{mark} {finding.check}: {finding.detail}")
    if finding.hint and finding.outcome == "failed":
        output.say(f"       hint: {finding.hint}")
