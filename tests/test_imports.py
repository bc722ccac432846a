"""Importing the library and asking the program who it is stay light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.tools.modules import modules

SOURCE = Path(__file__).resolve().parent.parent / "src"
HEAVY = {
    *("blake3", "cbor2", "cbrrr", "click", "dag_cbor", "htpy", "lmdb", "markdown_it"),
    *(
        "multiformats",
        "numpy",
        "pathspec",
        "platformdirs",
        "pyroaring",
        "rich",
        "simsimd",
        "urllib3",
    ),
}
REPORT = "import sys, json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def loaded(statement: str) -> set[str]:
    """Returns the top-level names of all modules in a fresh process after `statement`."""
    program = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{statement}\n{REPORT}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


def test_import_loads_no_dependency():
    assert not HEAVY & loaded("import ibidem")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["retrieve", "--help"]])
def test_asking_for_help_loads_click_only(arguments: list[str]):
    call = (
        "from ibidem.cli.main import main\n"
        f"sys.argv = ['repo', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert HEAVY & loaded(call) == {"click"}


def test_an_answer_waits_for_no_network_client():
    call = (
        "import ibidem\n"
        "import ibidem.cli.retrieve\n"
        "with ibidem.init('memory:') as repo:\n"
        "    with repo.transaction() as tx:\n        tx.add_node('T', summary='word')\n"
        "    assert repo.retrieve('word').items"
    )
    absent = {"ssl", "http", "urllib.request", "rich", "markdown_it", "dag_cbor", "multiformats"}
    absent |= {"urllib3", "platformdirs", "lzma", "simsimd"}  # of archives, and of vectors
    assert not absent & loaded(call)


ELSEWHERE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "grp", "pwd", "resource", "termios"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import importlib
for name in MODULES:
    importlib.import_module(name)
"""


def test_no_module_but_the_locks_needs_what_only_unix_has():
    locks = "import os, sys\nimport fcntl\nimport ibidem.store.lock\ndel sys.modules['fcntl']\n"
    optional = {"ibidem.objects.engine_cbrrr", "ibidem.testing.plugin"}
    optional.add("ibidem.adapters.recording.plugin")
    names = [name for name in modules() if name not in optional]
    loaded(f"{locks}MODULES = {names!r}\n{ELSEWHERE}")


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads as Linux does")
def test_the_program_starts_no_threads_of_a_blas():
    call = (
        "import os\nfrom ibidem.cli.main import main\nsys.argv = ['repo', '--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "import numpy\nassert len(os.listdir('/proc/self/task')) == 1"
    )
    assert "numpy" in loaded(call)


CIRCLE_MAX = 3
"""Files that import each other, at most: as many as one can read as one thing."""


def test_no_circle_of_more_than_three_files():
    """Counts imports inside functions and under `TYPE_CHECKING` too."""
    large = [circle for circle in circles(imports()) if len(circle) > CIRCLE_MAX]
    assert not large, "\n".join(f"{len(circle)}: {' '.join(sorted(circle))}" for circle in large)


def test_circles_are_found():
    assert circles(
        {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": {"d"}, "f": {"f"}}
    ) == [
        {"d", "e"},
        {"b", "c"},
    ]


def imports() -> dict[str, set[str]]:
    """Returns which modules of the package each of them imports anywhere in its text."""
    package = SOURCE / "ibidem"
    paths = [path for top in package.iterdir() for path in (top, *top.rglob("*.py"))]
    modules = {
        ".".join(("ibidem", *path.relative_to(package).with_suffix("").parts)): path
        for path in paths
        if path.suffix == ".py"
    }
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        targets: set[str] = set()
        for node in statements(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                assert node.level == 0, f"{path}: a relative import"
                targets.update(f"{node.module}.{alias.name}" for alias in node.names)
        named = {_module_of(target, modules) for target in targets}
        found[module] = {name for name in named if name is not None} - {module}
    return found


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields the statements below a node, and no expression."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        below = getattr(tree, name, ())
        for node in below if isinstance(below, list) else ():  # an expression may have a body
            yield node
            yield from statements(node)


def _module_of(name: str, modules: Mapping[str, Path]) -> str | None:
    """Returns the module that a dotted name is, or is in; None for a name of another package."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def circles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """Returns the strongly connected components of two or more, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(one: str) -> None:
        index[one] = low[one] = len(index)
        stack.append(one)
        for other in sorted(edges[one]):
            if other not in index:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], index[other])
        if low[one] == index[one]:
            start = stack.index(one)
            component = set(stack[start:])
            del stack[start:]
            if len(component) > 1:
                found.append(component)

    for one in sorted(edges):
        if one not in index:
            visit(one)
    return found


def test_a_question_for_nodes_imports_neither_packs_nor_records():
    """Importing them takes longer than most answers."""
    others = ["ibidem.retrieve.context.assemble", "ibidem.retrieve.records.record"]
    loaded(
        "import ibidem\nrepo = ibidem.init('memory:')\n"
        "with repo.transaction() as tx:\n    tx.add_node('Fact', summary='one')\n"
        "assert repo.retrieve('one').items\n"
        f"assert not set({others!r}) & sys.modules.keys()"
    )


def test_a_document_that_is_text_starts_and_imports_no_extractor():
    others = ["subprocess", "ibidem.ingest.extraction", "ibidem.ingest.worker"]
    loaded(
        "import ibidem\nrepo = ibidem.init('memory:')\n"
        "with repo.transaction() as tx:\n    ibidem.ingest_text(tx, '# One', path='one.md')\n"
        f"assert not set({others!r}) & sys.modules.keys()"
    )
