"""An adapter imports the public face and nothing below it."""

import ast
from pathlib import Path

import pytest
from tests.tools.type_check import HOUSE

FACE = ("ibidem", "ibidem.aio", "ibidem.errors")
MODULES = sorted((HOUSE / "adapters").rglob("*.py"))


def imported(module: Path) -> list[str]:
    """The modules of ibidem that a module imports, at its top, inside functions and for types."""
    names = []
    for step in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(step, ast.Import):
            names += [alias.name for alias in step.names]
        elif isinstance(step, ast.ImportFrom):
            assert step.level == 0, f"{module.name}: a relative import"
            names.append(str(step.module))
    return [name for name in names if name.split(".")[0] == "ibidem"]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_an_adapter_imports_only_the_face(module: Path):
    below = [
        name
        for name in imported(module)
        if name not in FACE and not name.startswith("ibidem.adapters")
    ]
    assert not below, f"take these from the face: {below}"
