"""Records: dataclasses with slots that are quick to define, frozen unless they say otherwise.

`dataclasses` generates, compiles and runs six methods for every class, which takes half a
millisecond; a process that answers one question defines a hundred classes, makes objects of half of
them and then ends. A record compiles only `__init__`, when its first object is made: its other
methods are functions over the names of its fields. In all other respects a record equals a
`@dataclass(frozen=True, slots=True)`, or with `frozen=False` a `@dataclass(slots=True)`, also for
`dataclasses.fields` and `replace`, and for `inspect.signature`; tests compare them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)
_ABSENT = dataclasses.MISSING


class Check(NamedTuple):
    """How a constructor checks one argument before it sets the field."""

    call: Callable[[Any], Any]
    """Returns the value to set, or raises."""
    exact: type | None = None
    """Values of exactly this type are set unchecked, and so is the default."""
    is_filled: bool = False
    """Whether only non-empty values of type `exact` are set unchecked."""


_NO_CHECKS: Mapping[str, Check] = MappingProxyType({})


@overload
def record(defined: Class, /) -> Class: ...
@overload
def record(
    *, frozen: bool = ..., eq: bool = ..., checks: Mapping[str, Check] = ...
) -> Callable[[Class], Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def record(
    defined: Any = None,
    /,
    *,
    frozen: bool = True,
    eq: bool = True,
    checks: Mapping[str, Check] = _NO_CHECKS,
) -> Any:
    """Turns a class into a dataclass with slots.

    Args:
        defined: the class; its fields are declared as for `dataclasses`, without `kw_only` and
            `InitVar`.
        frozen: whether its fields are set once and for all; otherwise it has no hash.
        eq: whether equality and hash are derived from the fields; otherwise they are left
            unchanged.
        checks: the constructor's checks by field, which run before `__post_init__`.
    """
    if defined is None:
        return lambda defined: _made(defined, frozen, eq, checks)
    return _made(defined, frozen, eq, checks)


def _made(defined: type, frozen: bool, eq: bool, checks: Mapping[str, Check]) -> type:
    own = vars(defined)
    has_repr, has_eq, has_hash = (name in own for name in ("__repr__", "__eq__", "__hash__"))
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(defined)
    fields = dataclasses.fields(made)
    if "__init__" not in own:
        made.__init__ = init = _uncompiled(made, fields, checks)
        made.__signature__ = _Signature(init, lambda: _compiled(made, fields, checks))
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
    made.__getstate__, made.__setstate__ = _state, _set_state
    if not has_repr:
        made.__repr__ = _repr([one.name for one in fields if one.repr])
    if eq:
        values = _values([one.name for one in fields if one.compare])
        if not has_eq:
            made.__eq__ = _eq(values)
        if not has_hash:
            made.__hash__ = _hash(values) if frozen else None
    return made  # type: ignore[no-any-return]


class _Signature:
    """The signature of a record, which `inspect` reads from the class."""

    def __init__(self, init: Any, compiled: Callable[[], Any]) -> None:
        self._init, self._compiled = init, compiled

    def __get__(self, one: object, kind: type) -> Any:
        if kind.__init__ is not self._init:  # type: ignore[misc]
            raise AttributeError("a signature of its own, that of its __init__")
        import inspect

        signature = inspect.signature(self._compiled())
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _uncompiled(
    made: Any, fields: Sequence[dataclasses.Field[Any]], checks: Mapping[str, Check]
) -> Any:
    """Returns a constructor that at its first call puts the compiled one in its place."""

    def init(self: object, /, *values: Any, **named: Any) -> None:
        made.__init__ = compiled = _compiled(made, fields, checks)
        compiled(self, *values, **named)

    return _named(init, made, fields)


def _named(init: Any, made: type, fields: Sequence[dataclasses.Field[Any]]) -> Any:
    init.__name__, init.__qualname__ = "__init__", f"{made.__qualname__}.__init__"
    init.__module__ = made.__module__
    init.__annotations__ = {one.name: one.type for one in fields if one.init} | {"return": None}
    return init


def _compiled(
    made: type, fields: Sequence[dataclasses.Field[Any]], checks: Mapping[str, Check]
) -> Any:
    """Returns a constructor that sets each slot directly, which is the only way in a frozen class
    and the fastest in any."""
    scope: dict[str, Any] = {"_absent": _ABSENT}
    arguments, lines = [], []
    for field in fields:
        name = field.name
        if not field.init and field.default_factory is field.default is _ABSENT:
            continue  # left to `__post_init__`
        value = _checked(field, checks[name], scope) if name in checks else name
        if field.default_factory is not _ABSENT:
            scope[f"_new_{name}"] = field.default_factory
            given, value = value, f"_new_{name}()"
            if field.init:
                arguments.append(f"{name}=_absent")
                value = f"_new_{name}() if {name} is _absent else {given}"
        elif field.default is not _ABSENT:
            scope[f"_default_{name}"] = field.default
            arguments.append(f"{name}=_default_{name}")
        else:
            arguments.append(name)
        scope[f"_set_{name}"] = getattr(made, name).__set__
        lines.append(f"_set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    code = f"def __init__({', '.join(['self', *arguments])}):\n " + "\n ".join(lines or ["pass"])
    exec(code, scope)  # noqa: S102  it consists of names of fields
    return _named(scope["__init__"], made, fields)


def _checked(field: dataclasses.Field[Any], check: Check, scope: dict[str, Any]) -> str:
    """Returns the expression for a checked argument, which calls the check only if needed."""
    name = field.name
    scope[f"_check_{name}"], scope[f"_type_{name}"] = check.call, check.exact
    accepted = []
    if check.exact is not None:
        accepted.append(f"type({name}) is _type_{name}" + f" and {name}" * check.is_filled)
    if field.default is not _ABSENT:
        accepted.append(f"{name} is _default_{name}")
    called = f"_check_{name}({name})"
    return f"{name} if {' or '.join(accepted)} else {called}" if accepted else called


def _values(names: Sequence[str]) -> Callable[[object], tuple[Any, ...]]:
    """Returns a function that reads the named fields of an object into a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _eq(values: Callable[[object], tuple[Any, ...]]) -> Any:
    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    return equal


def _hash(values: Callable[[object], tuple[Any, ...]]) -> Any:
    return lambda self: hash(values(self))


def _repr(names: Sequence[str]) -> Any:
    def show(self: object) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return show


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
