"""`repo key`: the keys of this copy, and whom it trusts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ibidem.cli.render import output
from ibidem.cli.session import Session, common_options, pass_session

if TYPE_CHECKING:
    from ibidem.repo.signing.keyring import TrustedKey


@click.group("key")
def command() -> None:
    """Make keys that sign, and say which ones this copy trusts

    Private keys lie in `.ibidem/keys`, readable by their owner only, and are copied by nothing. So
    is the list of trusted keys: whom a copy trusts is its owner's decision.

    \b
    Examples:
      repo key generate ada
      repo key trust bob 8f1c...e2 --may-erase
      repo key revoke bob --good main~3
      repo key require heads/
    """


@command.command("generate")
@click.argument("name")
@common_options
@pass_session
def generate(session: Session, *, name: str) -> None:
    """Make a private key, which this copy trusts

    \b
    Example:
      repo key generate ada
    """
    with session.open() as repository:
        repository.keys.ring.generate(name)
        key = repository.keys.ring.trust().keys[name]
    _tell(session, "key-generate", key)


@command.command("list")
@common_options
@pass_session
def list_(session: Session) -> None:
    """Show the keys: which are private here, which are trusted, which are revoked

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
        output.say("must be signed when brought in: " + ", ".join(trust.signed_refs))


@command.command("trust")
@click.argument("name")
@click.argument("public", metavar="PUBLIC")
@click.option("--may-erase", is_flag=True, help="Carry out what it erases elsewhere.")
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
    _tell(session, "key-trust", key)


@command.command("revoke")
@click.argument("name")
@click.option("--good", metavar="REV", multiple=True, help="What is behind REV stays good.")
@click.option("--reason", default="", help="Why.")
@common_options
@pass_session
def revoke(session: Session, *, name: str, good: tuple[str, ...], reason: str) -> None:
    """Trust a key no more, but for what it signed behind the revisions that are known good

    Times are not believed: whoever has the key can write any. What is not behind a REV is not good.

    \b
    Example:
      repo key revoke bob --good main~3 --good v1 --reason "laptop stolen"
    """
    with session.open() as repository:
        key = repository.keys.revoke(name, good=good, reason=reason)
    _tell(session, "key-revoke", key)


@command.command("require")
@click.argument("refs", nargs=-1, metavar="[REF...]")
@common_options
@pass_session
def require(session: Session, *, refs: tuple[str, ...]) -> None:
    """Refuse what is brought in under refs that begin so, unless trusted keys signed it

    Without REF, nothing has to be signed.

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
        output.say("must be signed when brought in: " + (", ".join(wanted) or "nothing"))


def key_json(key: TrustedKey) -> dict[str, object]:
    """Returns a key as the JSON of all commands has it."""
    return {
        "name": key.name,
        "public": key.public.hex(),
        "may_erase": key.may_erase,
        "is_revoked": key.is_revoked,
        "reason": key.reason or None,
        "good_heads": [str(cid) for cid in key.good_heads],
    }


def _tell(session: Session, schema: str, key: TrustedKey) -> None:
    if session.json:
        output.emit(schema, key_json(key))
    else:
        state = "revoked" if key.is_revoked else "trusted"
        output.say(f"{key.name} {key.public.hex()} is {state}")
