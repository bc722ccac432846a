"""`repo trust`: manages the trust policy: who may see which nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import token
from ibidem.cli.options.common import at_option, commit_options, common_options
from ibidem.cli.options.viewer import viewer_of, viewer_option
from ibidem.cli.render import output
from ibidem.cli.session import Session, parse_level, pass_session

if TYPE_CHECKING:
    from ibidem.retrieve.access.policy import TrustPolicy


@click.group("trust")
def command() -> None:
    """Manage who may see which nodes: the policy, the tokens of a server"""


command.add_command(token.command)


@command.command("enable")
@click.option("--level", default="level", metavar="NAME", help="Property with the level of a node.")
@click.option("--scope", default="scope", metavar="NAME", help="Property with the scope of a node.")
@click.option(
    "--default-level", default="low", show_default=True, help="Level of nodes without one."
)
@click.option(
    "--anonymous-level",
    default="public",
    show_default=True,
    help="Highest level visible to unauthenticated callers.",
)
@click.option(
    "--unscoped",
    type=click.Choice(["allow", "deny"]),
    default="allow",
    show_default=True,
    help="Whether nodes without a scope are visible to all callers of the level, or to none.",
)
@click.option(
    "--stubs",
    type=click.Choice(["allow", "deny"]),
    default="allow",
    show_default=True,
    help="Whether viewers who ask for stubs learn what types of records are hidden near theirs.",
)
@commit_options
@common_options
@pass_session
def enable_command(session: Session, /, *, author: str | None, **given: str) -> None:
    """Commit a trust policy, so that every query needs --viewer

    A level is public, low, medium, high or hyper, or 0 to 4. The text of a file has the level, as a
    number, and the scope of its front matter, or the defaults. The policy filters answers by the
    level that callers claim for themselves; it does not protect the files, which need file
    permissions.

    \b
    Examples:
      repo trust enable
      repo trust enable --default-level high --unscoped deny
    """
    from ibidem.retrieve.access.policy import TrustPolicy

    fields: dict[str, Any] = {name: parse_level(value) for name, value in given.items()}
    _set(session, author, TrustPolicy(**fields))


@command.command("disable")
@commit_options
@common_options
@pass_session
def disable_command(session: Session, *, author: str | None) -> None:
    """Remove the trust policy, so that everybody sees everything

    This is a commit; older revisions keep their policy.

    \b
    Examples:
      repo trust disable
    """
    _set(session, author, None)


@command.command("show")
@viewer_option
@at_option
@common_options
@pass_session
def show_command(session: Session, *, at: str) -> None:
    """Show the trust policy, and how many nodes a --viewer caller sees

    \b
    Examples:
      repo trust show
      repo trust show --viewer medium:team-a,team-b
    """
    from ibidem.retrieve.access.policy import policy_of

    with session.open() as repository:
        revision = repository.at(at)
        policy = policy_of(revision.config)
        viewer = viewer_of(session)
        count = None if viewer is None else revision.seen_by(viewer).count()
        commit = None if revision.commit_cid is None else str(revision.commit_cid)
    _show(session, policy, commit, count)


def _set(session: Session, author: str | None, policy: TrustPolicy | None) -> None:
    from ibidem.ingest.labels import label_documents

    message = "no trust policy" if policy is None else "a trust policy"
    with (
        session.open() as repository,
        repository.transaction(author=session.author(author), message=message) as tx,
    ):
        tx.set_trust_policy(policy)
        if policy is not None:
            label_documents(tx)
    _show(session, policy, None if tx.commit is None else str(tx.commit.cid), None)


def _show(
    session: Session, policy: TrustPolicy | None, commit: str | None, count: int | None
) -> None:
    form = None if policy is None else policy.form()
    if session.json:
        output.emit("trust", {"policy": form, "commit": commit, "seen_count": count})
        return
    if form is None:
        output.say("no trust policy: everybody sees everything")
    else:
        output.say(*output.pairs([(name, str(value)) for name, value in form.items()]))
    if count is not None:
        output.say(f"this caller sees {output.plural(count, 'node')}")
