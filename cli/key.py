"""`repo key`: manages signing keys and the list of trusted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli import verify
from ibidem.cli.options.common import common_options
from ibidem.cli.render import output
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.repo.signing.keyring import TrustedKey


@click.group("key")
def command() -> None:
    """Create signing keys and manage trusted ones

    Private keys are in `.ibidem/keys`, readable only by their owner, and no command copies them.
    The list of trusted keys is not copied either: each owner decides whom a copy trusts.

    \b
    Examples:
      repo key generate ada
      repo key trust bob 8f1c...e2 --may-erase
      repo key revoke bob --good main~3
      repo key require heads/
    """


command.add_command(verify.command)


@command.command("generate")
@click.argument("name")
@common_options
@pass_session
def generate(session: Session, *, name: str) -> None:
    """Create a private key, and trust it in this copy

    \b
    Example:
      repo key generate ada
    """
    with session.open() as repository:
        repository.keys.ring.generate(name)
        key = repository.keys.ring.trust().keys[name]
    _show(session, "key-generate", key)


@command.command("list")
@common_options
@pass_session
def list_(session: Session) -> None:
    """List the keys, and which are private, trusted or revoked

    \b
    Example:
      repo key list
    """
    with session.open() as repository:
        trust, own = repository.keys.ring.trust(), set(repository.keys.ring.names())
    if session.json:
        keys = [{**key_json(key), "has_private": key.name in own} for key in trust.keys.values()]
        output.emit("key-list", {"keys": keys, "signed_refs": list(trust.signed_refs)})
        return
    rows = [
        (
            key.name,
            key.public.hex(),
            ", ".join(
                word
                for word, is_so in (
                    ("private key here", key.name in own),
                    ("may erase", key.may_erase),
                    ("revoked", key.is_revoked),
                )
                if is_so
            ),
        )
        for key in trust.keys.values()
    ]
    output.say(*output.table(rows))
    if trust.signed_refs:
        output.say("refs that require signatures: " + ", ".join(trust.signed_refs))


@command.command("trust")
@click.argument("name")
@click.argument("public", metavar="PUBLIC")
@click.option("--may-erase", is_flag=True, help="Carry out erasures signed with this key.")
@common_options
@pass_session
def trust(session: Session, *, name: str, public: str, may_erase: bool) -> None:
    """Trust the key whose 64 hexadecimal digits are PUBLIC, under NAME

    \b
    Example:
      repo key trust bob 8f1c...e2
    """
    from ibidem.repo.signing.keyring import TrustedKey, parse_public

    key = TrustedKey(name, parse_public(public), may_erase=may_erase)
    with session.open() as repository:
        repository.keys.ring.add(key)
    _show(session, "key-trust", key)


@command.command("revoke")
@click.argument("name")
@click.option("--good", metavar="REV", multiple=True, help="Signatures up to REV remain good.")
@click.option("--reason", default="", help="Why.")
@common_options
@pass_session
def revoke(session: Session, *, name: str, good: tuple[str, ...], reason: str) -> None:
    """Revoke a key, except for what it signed up to the given revisions

    Commit times are ignored, because whoever has the key can forge them: only ancestors of a REV
    stay good.

    \b
    Example:
      repo key revoke bob --good main~3 --good v1 --reason "laptop stolen"
    """
    with session.open() as repository:
        key = repository.keys.revoke(name, good=good, reason=reason)
    _show(session, "key-revoke", key)


@command.command("require")
@click.argument("refs", nargs=-1, metavar="[REF...]")
@common_options
@pass_session
def require(session: Session, *, refs: tuple[str, ...]) -> None:
    """Reject unsigned commits that arrive on refs with the given prefixes

    Commits that are fetched, pulled, pushed or imported must then be signed by a trusted key.
    Without REF, signatures are not required.

    \b
    Examples:
      repo key require heads/
      repo key require
    """
    with session.open() as repository:
        repository.keys.require_signed(refs)
        wanted = list(repository.keys.ring.trust().signed_refs)
    if session.json:
        output.emit("key-require", {"signed_refs": wanted})
    else:
        output.say("refs that require signatures: " + (", ".join(wanted) or "none"))


def key_json(key: TrustedKey) -> dict[str, object]:
    """Returns the JSON shape of a key."""
    return {
        "name": key.name,
        "public": key.public.hex(),
        "may_erase": key.may_erase,
        "is_revoked": key.is_revoked,
        "reason": key.reason or None,
        "good_heads": [str(cid) for cid in key.good_heads],
    }


def _show(session: Session, schema: str, key: TrustedKey) -> None:
    if session.json:
        output.emit(schema, key_json(key))
    else:
        state = "revoked" if key.is_revoked else "trusted"
        output.say(f"{key.name} {key.public.hex()} is {state}")
