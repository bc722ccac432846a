"""What the library offers is what `surface.txt` says: a change is a decision.

`python tests/test_surface.py` writes the file again.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.tools import make_signatures
from tests.tools.type_check import CHECKERS, assert_typed

import ibidem
from ibidem import errors

SURFACE = Path(__file__).parent / "surface.txt"
SAMPLE = Path(__file__).parent / "typed_sample.py"
SOURCE = Path(ibidem.__file__)
OPEN_KEYWORDS = {
    "Retriever.where": "the names of properties",
    "Transaction.configure": "the settings of `repo config`",
}
"""Public methods that take any keyword, and what the keywords are."""


def signature(value: Any) -> str:
    try:
        return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)).replace("'", ""))
    except (TypeError, ValueError):
        return "(...)"


def members(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(cls)):
        if not name.startswith("_") and not hasattr(object, name):
            found = inspect.getattr_static(cls, name)
            yield name, getattr(found, "__func__", found)


def surface() -> Iterator[str]:
    """Yields a line for each public name and for each public member of a class."""
    for name in sorted(ibidem.__all__):
        value = getattr(ibidem, name)
        if not inspect.isclass(value):
            yield f"{name}{signature(value) if inspect.isfunction(value) else ''}"
            continue
        is_foreign = any(one.__module__ in ("enum", "builtins") for one in value.__mro__[1:-1])
        yield f"{name}{'' if is_foreign else signature(value)}"
        if is_foreign:
            continue
        for member, found in members(value):
            yield f"    {name}.{member}{signature(found) if inspect.isfunction(found) else ''}"


def test_the_surface_is_the_list():
    assert "\n".join(surface()) + "\n" == SURFACE.read_text("utf-8"), (
        "the public surface changed: if it is meant, run python tests/test_surface.py"
    )


def test_type_checkers_see_what_programs_get():
    (block,) = (one for one in ast.parse(SOURCE.read_text("utf-8")).body if isinstance(one, ast.If))
    seen = {
        (alias.asname, str(one.module).removeprefix("ibidem."))
        for one in block.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }
    assert seen == set(ibidem._HOME_OF.items())
    assert len({*ibidem.__all__}) == len(ibidem.__all__)


def test_every_error_is_public():
    def below(cls: type[Any]) -> Iterator[type[Any]]:
        yield cls
        for one in cls.__subclasses__():
            if one.__module__.startswith("ibidem."):
                yield from below(one)

    names = {one.__name__ for one in below(errors.IbidemError)} | {"ErrorKind"}
    assert set(errors.__all__) == names
    assert all(getattr(ibidem, name) is getattr(errors, name) for name in names)


def test_the_parameters_are_those_of_the_table_of_options():
    assert make_signatures.stale() == [], "run python tests/tools/make_signatures.py"


def test_no_public_method_hides_its_options():
    hidden = set()
    for name in ibidem.__all__:
        value = getattr(ibidem, name)
        found = [(name, value)] if inspect.isfunction(value) else []
        if inspect.isclass(value):
            found = [(f"{name}.{key}", one) for key, one in members(value)]
        for key, one in found:
            if inspect.isfunction(one):
                kinds = {each.kind for each in inspect.signature(one).parameters.values()}
                if inspect.Parameter.VAR_KEYWORD in kinds:
                    hidden.add(key)
    assert hidden <= set(OPEN_KEYWORDS)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ibidem.nothing
    assert set(dir(ibidem)) == set(ibidem.__all__)


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_sample_program_is_typed(checker: str, tmp_path: Path):
    assert_typed(checker, SAMPLE, tmp_path)


if __name__ == "__main__":
    SURFACE.write_text("\n".join(surface()) + "\n", "utf-8")
