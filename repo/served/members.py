"""The members of a class of the library that an object behind a server does not have: each of them
is one error, which names it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, NoReturn, TypeVar

from ibidem.objects.errors import ErrorKind, InvalidInputError

C = TypeVar("C", bound=type[Any])
_INNER = ("core", "draft", "graph")


def not_served(what: str, hint: str = "") -> InvalidInputError:
    """Returns the error for what a server does not offer."""
    return InvalidInputError(
        f"{what}: a server does not offer it",
        kind=ErrorKind.NOT_PERMITTED,
        hint=hint or "clone the repository, and open the copy",
    )


class Behind:
    """An object behind a server; what it does not have is refused, and so is what a function that
    is not served works on, which is not named."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        owner, shown = type(self).__name__.removeprefix("Served"), name.lstrip("_")
        is_inner = shown in _INNER
        raise not_served(f"this call of {owner}" if is_inner else f"{owner}.{shown}")


def members_of(cls: type[Any]) -> set[str]:
    """Returns the names of the public members of a class, with its fields."""
    of_class = fields(cls) if is_dataclass(cls) else ()
    return {name for name in (*dir(cls), *(one.name for one in of_class)) if name[0] != "_"}


def serves(local: type[Any], *inherited: str) -> Callable[[C], C]:
    """Returns a decorator of a class that stands for one of the library: a public member that it
    neither defines nor inherits on purpose is refused.

    Args:
        local: the class of the library.
        inherited: what works here as the library has it, because it is made of other members.
    """

    def completed(cls: C) -> C:
        served = {*inherited, *vars(cls), *(members_of(cls) if is_dataclass(cls) else ())}
        for name in sorted(members_of(local) - served):
            member = inspect.getattr_static(local, name, None)
            setattr(cls, name, _refused(f"{local.__name__}.{name}", member))
        return cls

    return completed


def is_refused(cls: type[Any], name: str) -> bool:
    """Returns whether a member is one that a server does not offer."""
    member = inspect.getattr_static(cls, name, None)
    found = member.fget if isinstance(member, property) else member
    return getattr(found, "is_refused", False) is True


def _refused(what: str, member: object) -> Any:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise not_served(what)

    found = wraps(member)(refuse) if inspect.isfunction(member) else refuse
    found.is_refused = True  # type: ignore[attr-defined]
    return found if inspect.isfunction(member) else property(found)
