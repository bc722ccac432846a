"""Writes the types of `ibidem.aio` from those of the library: `python tests/tools/make_stub.py` at
the root.

The annotations are those of the source; every name in one is imported from where the module of the
function has it. Names of classes that `aio` has itself mean its own.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import ibidem
from ibidem import aio
from ibidem.repo.layers import Layer

STUB = Path(ibidem.__file__).with_suffix("").parent / "aio.pyi"
HEAD = '''"""The types of `ibidem.aio`, written by `tests/tools/make_stub.py`; do not edit."""

'''
CALL = '''
_T = TypeVar("_T")

class Call(Coroutine[Any, Any, _T]):
    """A call that runs in a thread when it is awaited or entered, or when a task runs it."""

    def __await__(self) -> Generator[Any, Any, _T]: ...
    def send(self, value: Any, /) -> Any: ...
    def throw(self, *error: Any) -> Any: ...
    def close(self) -> None: ...
    async def __aenter__(self) -> _T: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

THREADS: int
'''
ENTERED = """    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
"""


@functools.cache
def names_of(module: str) -> dict[str, tuple[str, str]]:
    """Returns where each global name of a module comes from: its module, and its name there."""
    found: dict[str, tuple[str, str]] = {}
    source = Path(str(sys.modules[module].__file__)).read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {one.asname or one.name: (node.module, one.name) for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.name: ("", one.name) for one in node.names}
        elif isinstance(node, ast.ClassDef):
            found.setdefault(node.name, (module, node.name))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, (module, node.targets[0].id))
    return found


def home_of(target: tuple[str, str]) -> tuple[str, str]:
    """Returns where a name is defined; a module that imports it does not offer it to others."""
    module, name = target
    if not module.startswith("ibidem."):
        return target
    import_module(module)
    found = names_of(module).get(name, target)
    return target if found == target else home_of(found)


class Writer:
    """Collects the imports that the annotations need."""

    def __init__(self) -> None:
        self.imports: dict[str, tuple[str, str]] = {
            **{name: ("collections.abc", name) for name in ("Coroutine", "Generator")},
            "TracebackType": ("types", "TracebackType"),
            **{name: ("typing", name) for name in ("Any", "Self", "TypeVar")},
        }

    def annotation(self, text: str, module: str) -> str:
        """Returns an annotation of a module as it is written in the stub."""
        tree = ast.parse(text.strip("'\""), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = self.name(node.id, module)
        return ast.unparse(tree)

    def name(self, name: str, module: str) -> str:
        if name in aio.CLASSES or hasattr(builtins, name):
            return name
        target = home_of(names_of(module)[name])
        alias = name
        while self.imports.setdefault(alias, target) != target:
            alias += "_"
        return alias

    def result(self, text: str, module: str) -> str:
        """Returns the type of what a call gives: an iterator is read into a list."""
        found = self.annotation(text, module)
        if found == "PackStream":  # an iterator too
            return "list[Pack]"
        return "list[" + found.partition("[")[2] if found.startswith("Iterator[") else found

    def function(self, name: str, function: Callable[..., Any], indent: str = "") -> str:
        """Returns a function that gives a `Call`."""
        module = inspect.unwrap(function).__module__
        signature = inspect.signature(function)
        given = self.parameters(signature, module, is_method=bool(indent))
        result = self.result(str(signature.return_annotation), module)
        return f"{indent}def {name}({given}) -> Call[{result}]: ...\n"

    def parameters(
        self, signature: inspect.Signature, module: str, *, is_method: bool = True
    ) -> str:
        given = list(signature.parameters.values())
        parts, is_keyword = (["self"], False) if is_method else ([], False)
        for one in given[is_method:]:
            if one.kind is one.KEYWORD_ONLY and not is_keyword:
                parts.append("*")
                is_keyword = True
            prefix = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
            is_keyword |= one.kind is one.VAR_POSITIONAL
            default = "" if one.default is one.empty else " = ..."
            parts.append(f"{prefix}{one.name}: {self.annotation(one.annotation, module)}{default}")
        return ", ".join(parts)

    def face(self, cls: type[Any]) -> Iterator[str]:
        """Yields the lines of a class."""
        yield f"class {cls.__name__}:\n"
        if cls.__name__ in ("Conversations", "Feedback", "GraphMemory"):
            given = self.parameters(inspect.signature(cls.__init__), cls.__module__)
            yield f"    def __init__({given}) -> None: ...\n"
        yield ENTERED
        for name, kind, module in attributes(cls):
            yield f"    {name}: {self.annotation(kind, module)}\n"
        for name in sorted(name for name in dir(cls) if not name.startswith("_")):
            found = inspect.getattr_static(cls, name)
            if inspect.isfunction(found):
                yield self.function(name, found, "    ")
            elif isinstance(found, property | functools.cached_property):
                read = found.fget if isinstance(found, property) else found.func
                result = self.annotation(read.__annotations__["return"], read.__module__)
                yield f"    @property\n    def {name}(self) -> {result}: ...\n"
            elif isinstance(found, Layer):
                made = found.find()
                if inspect.isfunction(made):
                    yield self.function(name, made, "    ")
                else:
                    yield f"    @property\n    def {name}(self) -> {made.__name__}: ...\n"


def attributes(cls: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yields the public attributes that constructors set: name, annotation and module."""
    for one in cls.__mro__:
        init = vars(one).get("__init__")
        if not inspect.isfunction(init) or not one.__module__.startswith("ibidem."):
            continue
        given = {name: str(kind) for name, kind in init.__annotations__.items()}
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(init)))):
            is_set = isinstance(node, ast.AnnAssign | ast.Assign)
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign):
                target = node.targets[0]
            if not is_set or not isinstance(target, ast.Attribute) or target.attr.startswith("_"):
                continue
            if isinstance(node, ast.AnnAssign):
                yield target.attr, ast.unparse(node.annotation), one.__module__
            elif isinstance(node.value, ast.Name) and node.value.id in given:
                yield target.attr, given[node.value.id], one.__module__


def stub() -> str:
    """Returns the text of the stub."""
    writer = Writer()
    faces = ["".join(writer.face(getattr(ibidem, name))) for name in aio.CLASSES]
    functions = [writer.function(name, getattr(ibidem, name)) for name in aio.FUNCTIONS]
    imports = [
        f"{f'from {module} ' * bool(module)}import {name}{f' as {alias}' * (name != alias)}\n"
        for alias, (module, name) in sorted(writer.imports.items(), key=lambda one: one[1])
    ]
    return "".join([HEAD, *imports, CALL, *(f"\n{one}" for one in (*faces, *functions))])


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")
