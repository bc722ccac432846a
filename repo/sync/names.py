"""Names that come from elsewhere: of refs and of remotes. None of them ever becomes a path.

Refs live in a tree, so a name cannot leave a folder; it is held to the same letters all the same,
because names are shown, typed and compared.

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
"""What every copy takes along."""
ASKED = {"notes": NOTES, "runs": RUNS, "receipts": RECEIPTS}
"""What a copy takes along when it is asked to, by the word for it."""
_RECEIPT = re.compile(r"[a-z2-7]{4,59}")
_REMOTE = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def check_ref(field: str, name: object) -> str:
    """Returns the full name of a ref that may travel: a branch, a tag, notes, a run, a receipt.

    Raises:
        InvalidInputError: another first part, or a name that `repo.refs` does not allow.
    """
    text = name if isinstance(name, str) else ""
    for prefix in (*ALWAYS, NOTES, RUNS, RECEIPTS):
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
    """Returns the full name of a ref that a repository may have: one that travels, or where a
    branch or notes of a remote were last seen.

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
    """Returns the first parts of the refs to copy.

    Args:
        include: out of `notes`, `runs`, `receipts`, beside branches and tags.
    """
    for name in include:
        if name not in ASKED:
            raise InvalidInputError(
                f"include: got {name!r:.80}, expected 'notes', 'runs' or 'receipts'"
            )
    return (*ALWAYS, *(ASKED[name] for name in sorted(set(include))))


def tracking(remote: str, name: str) -> str:
    """Returns the ref that remembers where a remote's branch was last seen."""
    return f"{REMOTES}{remote}/{name}"
