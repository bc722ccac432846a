"""A record is what `@dataclass(frozen=True, slots=True)` makes of the same class."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibidem.objects.record import record

standard: Any = dataclass(frozen=True, slots=True)


def defined(make: Callable[[type], Any]) -> Any:
    """Returns the same class, made by either."""

    @make
    class Point:
        """Somewhere."""

        KIND: ClassVar[str] = "point"
        x: int
        y: float = 1.5
        tags: tuple[str, ...] = field(default_factory=tuple)
        note: str = field(default="", compare=False)
        hidden: int = field(default=3, repr=False)
        known: list[int] = field(default_factory=list, init=False, compare=False, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "x", self.x + 1)

        def far(self) -> bool:
            return self.x > 100

    return Point


RECORD, STANDARD = defined(record), defined(standard)


@record
class Kept:
    """Of a module, as pickle wants it."""

    a: int
    b: dict[str, int] = field(default_factory=dict)


@record
class Wider(Kept):
    """With a field more."""

    c: str = "c"


@record(eq=False)
class Same:
    """Equal to itself only."""

    a: int


@record
class Empty:
    """No fields at all."""


@record
class Own:
    """Has methods of its own."""

    a: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


values = st.builds(
    dict,
    x=st.integers(0, 2),
    y=st.sampled_from([0.0, 1.0]),
    tags=st.sampled_from([(), ("a",)]),
    note=st.sampled_from(["", "n"]),
    hidden=st.integers(0, 1),
)


@given(values, values)
def test_equality_hash_and_text_are_those_of_a_dataclass(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    ours, theirs = ([kind(**given) for given in (first, second)] for kind in (RECORD, STANDARD))
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert hash(ours[0]) == hash(theirs[0])
    assert repr(ours[0]) == repr(theirs[0])
    assert dataclasses.asdict(ours[0]) == dataclasses.asdict(theirs[0])
    assert ours[0] != theirs[0]


def test_arguments_defaults_and_fields_are_those_of_a_dataclass() -> None:
    assert list(inspect.signature(RECORD).parameters) == list(
        inspect.signature(STANDARD).parameters
    )
    assert RECORD.__match_args__ == STANDARD.__match_args__
    assert RECORD.__init__.__annotations__ == STANDARD.__init__.__annotations__
    assert RECORD.__doc__ == STANDARD.__doc__
    assert [one.name for one in dataclasses.fields(RECORD)] == [
        one.name for one in dataclasses.fields(STANDARD)
    ]
    assert RECORD(1).x == 2
    assert RECORD(1).known is not RECORD(1).known
    assert dataclasses.replace(RECORD(1), x=5, note="n") == RECORD(5)
    for wrong in ({}, {"x": 1, "known": []}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError, match="__init__"):
            RECORD(**wrong)


@pytest.mark.parametrize("kind", [RECORD, STANDARD])
def test_nothing_can_be_set_or_deleted(kind: Any) -> None:
    one = kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x
    assert not hasattr(one, "__dict__")


def test_a_record_that_is_not_frozen_is_a_dataclass_with_slots() -> None:
    ours, theirs = defined(record(frozen=False)), defined(dataclass(slots=True))
    for kind in (ours, theirs):
        one = kind(1)
        one.x = 7
        assert (one.x, one) == (7, kind(6))
        assert not hasattr(one, "__dict__")
        assert copy.copy(one) == copy.deepcopy(one) == one
        del one.x
        assert not hasattr(one, "x")
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)
    assert repr(ours(1)) == repr(theirs(1))


def test_a_field_without_a_value_is_left_to_post_init() -> None:
    @record
    class Doubled:
        number: int = 1
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.number)

    assert (Doubled(3).twice, Doubled().twice) == (6, 2)


def test_a_record_is_copied_and_kept_by_pickle() -> None:
    one = Wider(1, {"k": 2}, "d")
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == copy.copy(one) == one
    assert copy.copy(one).b is one.b


def test_a_record_takes_the_fields_of_the_record_it_derives_from() -> None:
    assert repr(Wider(1)) == "Wider(a=1, b={}, c='c')"
    assert Wider(1) != Kept(1)
    assert Empty() == Empty()
    assert hash(Empty()) == hash(())
    assert repr(Empty()) == "Empty()"


def test_own_methods_stay() -> None:
    assert Own(1) == Own(2)
    assert (hash(Own(1)), repr(Own(1))) == (7, "own")
    assert Same(1) != Same(1)
    assert repr(Same(1)) == "Same(a=1)"
