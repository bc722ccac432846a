"""Conditions on properties: a small tree, its public spelling and its canonical form.

The public spelling is a mapping from property names to conditions:

    {"lang": "en", "year": {"gte": 1990, "lt": 2000}, "or": [{"draft": False}, {"owner": {"in":
    ["ada", "bob"]}}]}

A scalar means equality. `True`, `1` and `1.0` are three different values. A list property matches
if one of its members does. All conditions of a mapping must hold. A property that is named `and`,
`or` or `not` needs the classes of this module, which may be used in place of any mapping.

Spec: retrieval 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ibidem.objects import codec
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query.checks import show

Scalar = bool | int | float | str | bytes | None
Number = int | float

DEPTH_MAX = 12
"""The deepest nesting of mappings: each level uses up to four of a block's 64."""
TREE_DEPTH_MAX = 2 * DEPTH_MAX

VALUES_MAX = 10_000
"""The most values that one `in` may list."""

_OPERATORS = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "exists")
_RANGE = ("gt", "gte", "lt", "lte")


@record
class Equal:
    """Some value of the property is exactly `value`."""

    name: str
    value: Scalar

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return ["eq", self.name, self.value]


@record
class OneOf:
    """Some value of the property is exactly one of `values`."""

    name: str
    values: tuple[Scalar, ...]

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return ["in", self.name, list(self.values)]


@record
class Between:
    """Some value of the property lies in a range: a number among numbers, a text among texts."""

    name: str
    low: Number | str | None
    high: Number | str | None
    low_open: bool = False
    high_open: bool = False

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return ["between", self.name, self.low, self.low_open, self.high, self.high_open]


@record
class Exists:
    """The property exists, whatever its value."""

    name: str

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return ["exists", self.name]


@record
class Not:
    """The condition does not hold."""

    part: Predicate

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return ["not", self.part.form()]


@record
class And:
    """All conditions hold; an empty list matches everything."""

    parts: tuple[Predicate, ...]

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return ["and", [part.form() for part in self.parts]]


@record
class Or:
    """One of the conditions holds; an empty list matches nothing."""

    parts: tuple[Predicate, ...]

    def form(self) -> list[object]:
        """Returns the canonical form."""
        return ["or", [part.form() for part in self.parts]]


Comparison = Equal | OneOf | Between | Exists
Predicate = Comparison | Not | And | Or
_CLASSES = (Equal, OneOf, Between, Exists, Not, And, Or)


def parse(where: Mapping[str, object] | Predicate, *, depth: int = 0) -> Predicate:
    """Returns the condition that the public spelling describes.

    Raises:
        InvalidInputError: an operator is unknown, a value is of a kind that cannot be compared, or
            the nesting is too deep.

    >>> parse({"year": {"gte": 1990}, "lang": "en"}).form()
    ['and', [['eq', 'lang', 'en'], ['between', 'year', 1990, False, None, False]]]
    """
    if depth > DEPTH_MAX:
        raise InvalidInputError(
            f"where: nested deeper than {DEPTH_MAX}", kind=ErrorKind.LIMIT_EXCEEDED
        )
    if isinstance(where, _CLASSES):
        try:
            _check_depth(where)
            form = where.form()
        except (AttributeError, TypeError) as error:
            raise InvalidInputError(f"where: {error}, expected conditions in conditions") from error
        return from_form(form)
    if not isinstance(where, Mapping):
        raise InvalidInputError(f"where: got {show(where)}, expected a mapping of property names")
    parts: list[Predicate] = []
    for name in sorted(where, key=_name):
        condition = where[name]
        if name in ("and", "or"):
            parts.append(_several(name, condition, depth))
        elif name == "not":
            parts.append(Not(parse(_mapping(name, condition), depth=depth + 1)))
        else:
            parts.extend(_property(name, condition))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def condition_of(where: Mapping[str, object] | Predicate) -> Predicate | None:
    """Returns a condition as `parse` does; None for one that every node satisfies."""
    condition = parse(where)
    return None if condition == And(()) else condition


def names(predicate: Predicate) -> list[str]:
    """Returns the property names that a condition uses, ascending."""
    return sorted({one.name for one in comparisons(predicate)})


def comparisons(predicate: Predicate) -> Iterator[Comparison]:
    """Yields the parts of a condition that are about one property each, in their order."""
    match predicate:
        case Not(part):
            yield from comparisons(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from comparisons(part)
        case _:
            yield predicate


def from_form(form: object) -> Predicate:
    """Returns the condition of a canonical form.

    Raises:
        InvalidInputError: `form` is not the form of a condition.
    """
    match form:
        case ["eq", str(name), value]:
            return Equal(name, _scalar(f"where.{name}", value))
        case ["in", str(name), [*values]]:
            return _one_of(name, values)
        case ["between", str(name), low, bool(low_open), high, bool(high_open)]:
            ends = [_end(f"where.{name}", end) for end in (low, high)]
            return _checked(Between(name, ends[0], ends[1], low_open, high_open))
        case ["exists", str(name)]:
            return Exists(name)
        case ["not", part]:
            return Not(from_form(part))
        case ["and", [*parts]]:
            return And(tuple(from_form(part) for part in parts))
        case ["or", [*parts]]:
            return Or(tuple(from_form(part) for part in parts))
        case _:
            raise InvalidInputError(f"where: got {show(form)}, expected a canonical condition")


def _check_depth(predicate: Predicate) -> None:
    """Rejects nesting that would overflow the stack, without recursion."""
    level: list[Predicate] = [predicate]
    for _ in range(TREE_DEPTH_MAX):
        below: list[Predicate] = []
        for one in level:
            if isinstance(one, Not):
                below.append(one.part)
            elif isinstance(one, (And, Or)):
                below.extend(one.parts)
        if not below:
            return
        level = below
    raise InvalidInputError(
        f"where: nested deeper than {TREE_DEPTH_MAX}", kind=ErrorKind.LIMIT_EXCEEDED
    )


def _several(name: str, condition: object, depth: int) -> Predicate:
    if not isinstance(condition, (list, tuple)):
        raise InvalidInputError(f"where.{name}: got {show(condition)}, expected a list of mappings")
    parts = tuple(parse(_mapping(name, part), depth=depth + 1) for part in condition)
    return And(parts) if name == "and" else Or(parts)


def _property(name: str, condition: object) -> Iterator[Predicate]:
    path = f"where.{name}"
    if not isinstance(condition, Mapping):
        yield Equal(
            name, _scalar(path, condition, hint="ask for one of several with {'in': [...]}")
        )
        return
    unknown = sorted(str(key) for key in condition if key not in _OPERATORS)
    if unknown or not condition:
        raise InvalidInputError(
            f"{path}: got operators {unknown}, expected some of {', '.join(_OPERATORS)}"
        )
    if "eq" in condition:
        yield Equal(name, _scalar(f"{path}.eq", condition["eq"]))
    if "ne" in condition:
        yield Not(Equal(name, _scalar(f"{path}.ne", condition["ne"])))
    if "in" in condition:
        yield _one_of(name, condition["in"])
    if any(key in condition for key in _RANGE):
        yield _between(name, condition)
    if "exists" in condition:
        wanted = condition["exists"]
        if not isinstance(wanted, bool):
            raise InvalidInputError(f"{path}.exists: got {show(wanted)}, expected True or False")
        yield Exists(name) if wanted else Not(Exists(name))


def _one_of(name: str, values: object) -> OneOf:
    path = f"where.{name}.in"
    if not isinstance(values, (list, tuple, set, frozenset)):
        raise InvalidInputError(f"{path}: got {show(values)}, expected a list of values")
    if len(values) > VALUES_MAX:
        raise InvalidInputError(
            f"{path}: got {len(values)} values, expected at most {VALUES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    distinct = {
        (type(value).__name__, value): value for value in (_scalar(path, v) for v in values)
    }
    ordered = sorted(distinct.values(), key=codec.encode)
    return OneOf(name, tuple(ordered))


def _between(name: str, condition: Mapping[str, object]) -> Between:
    path = f"where.{name}"
    for one, other in (("gt", "gte"), ("lt", "lte")):
        if one in condition and other in condition:
            raise InvalidInputError(f"{path}: got both {one} and {other}, expected one of them")
    ends: dict[str, Number | str] = {}
    for key in _RANGE:
        if key in condition:
            value = condition[key]
            end = _end(f"{path}.{key}", value)
            if end is None:
                raise InvalidInputError(f"{path}.{key}: got None, expected a number or a text")
            ends[key] = end
    low, high = ends.get("gt", ends.get("gte")), ends.get("lt", ends.get("lte"))
    return _checked(Between(name, low, high, low_open="gt" in ends, high_open="lt" in ends))


def _checked(between: Between) -> Between:
    kinds = {isinstance(end, str) for end in (between.low, between.high) if end is not None}
    if len(kinds) != 1:
        raise InvalidInputError(
            f"where.{between.name}: got {between.low!r} to {between.high!r}, "
            "expected a range of numbers or of texts"
        )
    return between


def _scalar(path: str, value: object, *, hint: str | None = None) -> Scalar:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{path}: got {value}, expected a finite number")
        return value + 0.0
    if isinstance(value, str):
        return _text(path, value)
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, (bool, int)):
        if not -(2**64) <= value < 2**64:
            raise InvalidInputError(
                f"{path}: got an integer of over 64 bits, expected a smaller one"
            )
        return value
    exact = codec.exact_value(value)
    if exact is not None:
        return _scalar(path, exact, hint=hint)
    raise InvalidInputError(
        f"{path}: got {show(value)}, expected a text, a number, a boolean, bytes, "
        "a datetime with an offset or None",
        hint=hint,
    )


def _end(path: str, value: object) -> Number | str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise InvalidInputError(f"{path}: got {value}, expected a number or a text")
    end = _scalar(path, value)
    if not isinstance(end, (int, float, str)):
        raise InvalidInputError(f"{path}: got {show(value)}, expected a number or a text")
    return end


def _text(path: str, value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{path}: got a lone surrogate, expected valid Unicode") from error
    return value


def _mapping(name: str, value: object) -> Mapping[str, object] | Predicate:
    if isinstance(value, (Mapping, *_CLASSES)):
        return value
    raise InvalidInputError(
        f"where.{name}: got {show(value)}, expected a mapping of property names"
    )


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidInputError(f"where: got the key {show(name)}, expected a property name")
    return _text("where", name)
