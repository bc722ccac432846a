"""A viewer's commands print what they print in a repository without the rest, errors included."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from tests.cases import by_suite

from ibidem.cli.main import cli
from ibidem.repo.viewer.exposure import EXPOSURES, Exposure
from ibidem.retrieve.access.policy import ALL_SCOPES, Viewer

from .viewer_world import World, random_world

Printed = tuple[int, str, str]
Program = Callable[[list[str], Path], Printed]
_CIDS = re.compile(r'"(?:commit|receipt|result|root|notes)":(?:"[^"]*"|null)|\b(?:ba[a-z2-7]{50,})')
REFUSED = sorted(
    name.split()[1:]
    for name, exposure in EXPOSURES.items()
    if name.startswith("repo ") and exposure is Exposure.REFUSED
)
ARGUMENTS: Mapping[str, list[str]] = {
    "blame": ["ID"],
    "bisect": ["--query", "tea", "--expect", "ID"],
    "diff": ["HEAD"],
    "checkout": ["."],
    "rm": ["a.md"],
    "mv": ["a.md", "b.md"],
    "erase": ["ID", "--yes"],
    "resolve": ["ID", "--ours"],
    "node remove": ["ID"],
    "edge add": ["ID", "to", "ID"],
    "feedback vote": ["ID"],
    "feedback outcome": ["ID"],
    "memory retract": ["ID"],
    "memory contest": ["ID"],
    "thread append": ["a", "text"],
    "log": ["--node", "ID"],
    "export": ["-"],
    "replay": ["bafyr4iabcdefg"],
}
"""What refused commands are called with; the others with nothing."""


def commands(rng: random.Random, world: World) -> Iterator[list[str]]:
    texts = ("tea milk", "deploy the gateway", "vault")
    said = rng.choice(texts)
    for extra in ([], ["--json"]):
        yield ["retrieve", said, "--explain"] if not extra else ["retrieve", said, *extra]
        yield ["retrieve", said, "--recency", "--worth", *extra]
        yield ["packs", said, *extra]
        yield ["prompt", said, *extra]
        yield ["memory", "recall", said, *extra]
        yield ["query", *extra]
        yield ["query", "--count", *extra]
        yield ["memory", "graph", said, *extra]
        yield ["memory", "graph", *extra]
        yield ["thread", "list", *extra]
        yield ["thread", "show", "a", *extra]
        yield ["thread", "select", "a", said, *extra]
        yield ["trust", "show", *extra]
    for id_ in [*rng.sample(world.ids, min(4, len(world.ids))), world.ids[-1]]:
        for digits in (4, 32):
            name = str(id_)[:digits]
            yield ["show", name]
            yield ["show", name, "--json"]
            yield ["edge", "traverse", name, "--path", "out:*"]
            yield ["memory", "salience", name, "--json"]
            yield ["show", name, "--text"]
        for words in rng.sample(REFUSED, 6):
            given = ARGUMENTS.get(" ".join(words), [])
            yield [*words, *(str(id_) if one == "ID" else one for one in given)]
    for edge in world.edges[:2]:
        yield ["show", str(edge.id)]
    yield ["show", "HEAD"]
    yield ["show", "main~1"]
    yield ["show", str(world.ids[0]), "--at", "main~1"]
    yield ["retrieve", said, "--at", "main", "--json"]


def viewer_text(viewer: Viewer) -> str:
    scopes = viewer.scopes if viewer.scopes == ALL_SCOPES else ",".join(viewer.scopes)
    return f"{viewer.level}:{scopes}"


def in_process(arguments: list[str], folder: Path) -> Printed:
    done = CliRunner().invoke(cli, ["-R", str(folder), *arguments], prog_name="repo")
    assert done.exception is None or isinstance(done.exception, SystemExit), arguments
    return done.exit_code, done.stdout, done.stderr


def as_process(arguments: list[str], folder: Path) -> Printed:
    program = "from ibidem.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "-R", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def check(
    seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, program: Program, part: float = 1.0
) -> None:
    rng = random.Random(seed)
    world = random_world(rng, lambda name: str(folder / f"{seed}" / name), is_authenticated=True)
    for one in (world.whole, world.without):
        one.close()
    monkeypatch.setenv("IBIDEM_AUTHOR", "eve")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    monkeypatch.setenv("IBIDEM_VIEWER", viewer_text(world.viewer))
    for arguments in commands(rng, world):
        if rng.random() < part:
            got, expected = (
                plain(program(arguments, folder / f"{seed}" / name), folder / f"{seed}" / name)
                for name in ("whole", "without")
            )
            assert got == expected, f"seed {seed}: repo {' '.join(arguments)}"


def plain(printed: Printed, folder: Path) -> Printed:
    code, *texts = printed
    out, err = (_CIDS.sub("CID", one).replace(str(folder), "FOLDER") for one in texts)
    return code, out, err


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_commands_tell_what_they_tell_without_the_rest(seed, tmp_path, monkeypatch):
    check(seed, tmp_path, monkeypatch, in_process, part=0.5)


def test_processes_tell_what_they_tell_without_the_rest(tmp_path, monkeypatch):
    check(7, tmp_path, monkeypatch, as_process, part=0.03)


@pytest.mark.parametrize("block", by_suite(range(5), slow=1))
def test_commands_tell_the_same_in_more_worlds(block, tmp_path, monkeypatch):
    for seed in range(500 + block * 10, 510 + block * 10):
        check(seed, tmp_path, monkeypatch, in_process)


@pytest.mark.parametrize("seed", by_suite(range(900, 905), slow=2))
def test_processes_tell_the_same_in_more_worlds(seed, tmp_path, monkeypatch):
    check(seed, tmp_path, monkeypatch, as_process, part=0.2)


if __name__ == "__main__":  # python -m tests.oracle.test_viewer_commands FIRST COUNT
    first, count = map(int, sys.argv[1:])
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as name:
        for one in range(first, first + count):
            check(one, Path(name), patch, in_process)
    print(f"{count} worlds")
