"""Names from elsewhere: of refs and of remotes. None of them is ever used as a path.

Refs are stored in a tree, so a name cannot escape from a folder. It is restricted to the same
characters nevertheless, because names are displayed, typed and compared.

Spec: sync 3.
"""

from __future__ import annotations

import re

from ibidem.objects.errors import InvalidInputError
from ibidem.repo import refs

REMOTES = "remotes/"
NOTES = "notes/"
RUNS = "runs/"
RECEIPTS = "receipts/"
ALWAYS = (refs.HEADS, refs.TAGS)
"""Prefixes of refs that every copy includes."""
OPTIONAL = {"notes": NOTES, "runs": RUNS, "receipts": RECEIPTS, "refs": refs.OWN}
"""Prefixes of refs that a copy includes on request, by option value."""
_RECEIPT = re.compile(r"[a-z2-7]{4,59}")
_REMOTE = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def check_ref(field: str, name: object) -> str:
    """Returns the full name of a ref that may be copied: a branch, a tag, notes, a run, a receipt.

    Raises:
        InvalidInputError: another prefix, or a name that `repo.refs` does not allow.
    """
    text = name if isinstance(name, str) else ""
    for prefix in (*ALWAYS, *OPTIONAL.values()):
        if text.startswith(prefix):
            rest = text[len(prefix) :]
            if prefix != RECEIPTS or not _RECEIPT.fullmatch(rest):
                refs.check_name(field, rest)
            return text
    raise InvalidInputError(
        f"{field}: got {name!r:.80}, expected a full name such as 'heads/main' or 'tags/v1'"
    )


def check_head(field: str, name: object) -> str:
    """Returns the full name of a branch; raises `InvalidInputError` for another name."""
    if not isinstance(name, str) or not name.startswith(refs.HEADS):
        raise InvalidInputError(
            f"{field}: got {name!r:.80}, expected a name that begins with {refs.HEADS!r}"
        )
    return check_ref(field, name)


def check_local(field: str, name: object) -> str:
    """Returns the full name of a ref that a repository may have: one that may be copied, or a
    remote-tracking ref of a branch or notes.

    Raises:
        InvalidInputError: another name.
    """
    if isinstance(name, str) and name.startswith(REMOTES):
        remote, _, rest = name.removeprefix(REMOTES).partition("/")
        check_remote(remote)
        if rest.startswith((refs.HEADS, NOTES)):
            check_ref(field, rest)
            return name
    return check_ref(field, name)


def check_remote(name: object) -> str:
    """Returns the name of a remote: lower-case letters, digits, `_` and `-`, 63 at most."""
    if not isinstance(name, str) or not _REMOTE.fullmatch(name):
        raise InvalidInputError(
            f"remote: got {name!r:.80}, expected lower-case letters, digits, '_' and '-'"
        )
    return name


def prefixes(include: tuple[str, ...] | list[str] | frozenset[str] | set[str]) -> tuple[str, ...]:
    """Returns the prefixes of the refs to copy.

    Args:
        include: out of `notes`, `runs`, `receipts`, `refs`, in addition to branches and tags.
    """
    for name in include:
        if name not in OPTIONAL:
            raise InvalidInputError(
                f"include: got {name!r:.80}, expected one of {', '.join(OPTIONAL)}"
            )
    return (*ALWAYS, *(OPTIONAL[name] for name in sorted(set(include))))


def tracking(remote: str, name: str) -> str:
    """Returns the remote-tracking ref of a remote's branch."""
    return f"{REMOTES}{remote}/{name}"
