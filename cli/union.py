"""Questions of the command line to several repositories: `--with` and `--all`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibidem.cli.options.viewer import viewer_of
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from ibidem.cli.session import Session
    from ibidem.objects.cid import RootCid
    from ibidem.repo.repository import Repository
    from ibidem.repo.revision import Revision
    from ibidem.repo.union import Union
    from ibidem.repo.viewer.revision import ViewerRevision
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt

Function = TypeVar("Function", bound=Callable[..., Any])


def union_options(function: Function) -> Function:
    """Adds `--with` and `--all`, passed on as `others` and `is_all`."""
    function = click.option(
        "--all",
        "is_all",
        is_flag=True,
        help="Ask all registered repositories too; `repo config repos` lists them.",
    )(function)
    return click.option(
        "--with",
        "others",
        metavar="REPO",
        multiple=True,
        help="Ask this repository too: a folder, a URL or a registered name; repeatable.",
    )(function)


@contextmanager
def opened(
    session: Session, others: tuple[str, ...], *, is_all: bool
) -> Iterator[dict[str, Repository]]:
    """Yields the repository of this run and the others, by the names for people, opened for the
    caller. With `is_all` the first is the first registered one if this run has none.

    Raises:
        NotFoundError: there is no repository of a name.
    """
    from ibidem.store.backends import without_password

    addresses: list[tuple[str, str | Path]] = []
    try:
        addresses.append((session.name(), session.address()))
    except NotFoundError as error:
        if not is_all or error.kind is not ErrorKind.REPOSITORY_NOT_FOUND or session.is_named:
            raise
    addresses += [(given, session.address_of(given)) for given in others]
    addresses += session.registered().items() if is_all else ()
    if not addresses:
        raise InvalidInputError(
            "all: no repository is registered",
            hint="run `repo config repos add NAME PATH`, or `repo init --name NAME`",
        )
    with ExitStack() as stack:
        found: dict[str, Repository] = {}
        known: set[str] = set()
        for name, address in addresses:
            whole = address if isinstance(address, str) else str(address.resolve())
            if whole not in known:
                known.add(whole)
                # Two folders may have one name.
                unique = without_password(whole) if name in found else name
                found[unique] = stack.enter_context(session.open_at(address))
        yield found


@contextmanager
def source(
    session: Session, others: tuple[str, ...], *, is_all: bool, at: str = "HEAD", **given: Any
) -> Iterator[tuple[Any, dict[RootCid, str]]]:
    """Yields what a question is asked of, a revision or the union of several heads, and the names
    of the repositories by root; no names for one repository.

    Args:
        session: has the caller.
        others: the other repositories.
        is_all: whether all registered ones are asked too.
        at: the revision of one repository.
        given: other options of the command that are about one repository.

    Raises:
        InvalidInputError: several are asked with an option that is about one repository.
    """
    if others or is_all:
        for name, value in {"at": at, **given}.items():
            if value not in (False, None, "HEAD"):
                raise InvalidInputError(
                    f"{name}: got it with --with or --all, expected a question to one repository"
                )
    viewer = viewer_of(session)
    with opened(session, others, is_all=is_all) as repositories:
        names: dict[RootCid, str] = {}
        if len(repositories) > 1:
            heads = {name: one.at(viewer=viewer) for name, one in repositories.items()}
            names = {one.root_cid: name for name, one in reversed(heads.items())}
        if len(names) > 1:
            import ibidem

            yield ibidem.union(heads.values()), names
        else:
            one = next(iter(repositories.values()))
            allowed = {"allow_erased": True} if given.get("allow_erased") else {}
            yield one.at(at, viewer=viewer, **allowed), {}


def names_json(names: Mapping[RootCid, str]) -> dict[str, Any]:
    """Returns the names of several repositories as part of an answer in JSON, nothing for one."""
    listed = [{"root": str(root), "name": name} for root, name in names.items()]
    return {"repositories": listed} if listed else {}


def union_at(
    repositories: Mapping[str, Repository], roots: tuple[RootCid, ...]
) -> tuple[Union, dict[RootCid, str]]:
    """Returns the union of roots, each in the first repository that has it, with the name of that.

    Raises:
        NotFoundError: none has one of them.
    """
    import ibidem

    found: dict[RootCid, Revision | ViewerRevision] = {}
    names: dict[RootCid, str] = {}
    for root in roots:
        for name, one in repositories.items():
            if root not in found:
                with suppress(NotFoundError):
                    found[root], names[root] = one.at(root), name
        if root not in found:
            raise NotFoundError(
                f"root {root} is in none of {', '.join(repositories)}",
                hint="name the repository that has it with --with, or give --all",
            )
    return ibidem.union(found.values()), names


def roots_of(receipt: Receipt | SealedReceipt) -> tuple[RootCid, ...]:
    """Returns the roots of a receipt, sealed or not."""
    from ibidem.retrieve.answer.sealed import SealedReceipt
    from ibidem.retrieve.query.union import RootSet

    if isinstance(receipt, SealedReceipt):
        form = receipt.block.query.get("union")
        return (receipt.root,) if form is None else RootSet.from_form(form).roots
    union = receipt.query.union
    return (receipt.root,) if union is None else union.roots
