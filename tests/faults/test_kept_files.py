"""Keys, trust and remotes: what was acknowledged survives a power cut, what failed left nothing.

Needs strace; without it these tests are skipped, and the summary says so.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cases import by_suite

import ibidem
from ibidem.objects.errors import CorruptError
from ibidem.repo.signing.keyring import Keyring
from ibidem.repo.sync.remotes import RemoteAddress, Remotes

from . import folders

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

STATE = """
def state(keyring, remotes):
    trust = keyring.trust()
    revoked = {name: key.is_revoked for name, key in trust.keys.items()}
    return [revoked, list(trust.signed_refs), sorted(remotes.all())]
"""
PROGRAM = f"""
import json, sys, ibidem
from ibidem.repo.sync.remotes import address_of
{STATE}
with ibidem.open(sys.argv[1]) as repo:
    for work in (
        lambda: repo.keys.ring.generate("ada"),
        lambda: repo.keys.ring.generate("thief"),
        lambda: repo.keys.revoke("thief", reason="stolen"),
        lambda: repo.sync.remotes.add("one", address_of("/one")),
        lambda: repo.keys.require_signed(["heads/"]),
        lambda: repo.sync.remotes.add("two", address_of("/two")),
        lambda: repo.sync.remotes.remove("one"),
        lambda: repo.keys.revoke("ada", reason="lost"),
    ):
        work()
        print(json.dumps(state(repo.keys.ring, repo.sync.remotes)), flush=True)
"""
NOTHING = [{}, [], []]


def state(folder: Path) -> object:
    scope: dict[str, object] = {}
    exec(STATE, scope)
    return scope["state"](Keyring(folder / "keys"), Remotes(folder))  # type: ignore[operator]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[folders.Call]]:
    folder = tmp_path_factory.mktemp("keys")
    ibidem.init(folder).close()
    try:
        calls = folders.record(PROGRAM, [str(folder)], folder / "calls")
    except FileNotFoundError:
        pytest.skip("this system does not let strace attach")
    return folder / ".ibidem", calls


def check(calls: list[folders.Call], root: Path, folder: Path, seed: int, count: int) -> int:
    """Looks at the files that power losses leave; returns how many of those were different.

    Raises:
        AssertionError: something that was acknowledged is not there.
        CorruptError: something is there and not whole.
    """
    seen = set()
    every = [NOTHING, *map(json.loads, _said(calls))]
    for number, (said, files) in enumerate(folders.states(calls, root, random.Random(seed), count)):
        place = folder / str(number)
        for name, data in files.items():
            if name.split("/")[0] in ("keys", "local"):
                path = place / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(0o600)
        place.mkdir(exist_ok=True)
        found = state(place)
        assert found in every[len(said) : len(said) + 2], f"after {said[-1:]}: {found}"
        keyring = Keyring(place / "keys")
        for name in every[len(said)][0]:
            keyring.private(name)
        seen.add(json.dumps([found, sorted(files)]))
    return len(seen)


def _said(calls: list[folders.Call]) -> list[str]:
    return b"".join(call.data for call in calls if call.paths == ("1",)).decode().splitlines()


@pytest.mark.parametrize("count", by_suite([300, 1_500, 5_000], fast=1, slow=2))
def test_a_power_cut_loses_no_acknowledged_change_of_keys_and_remotes(
    recorded: tuple[Path, list[folders.Call]], tmp_path: Path, count: int
) -> None:
    root, calls = recorded
    assert len(_said(calls)) == 8
    assert check(calls, root, tmp_path, 1, count) > 20


@pytest.mark.parametrize("lost", ["folder", "file"])
def test_the_harness_finds_files_that_are_not_synced(
    recorded: tuple[Path, list[folders.Call]], tmp_path: Path, lost: str
) -> None:
    root, calls = recorded
    careless = [
        call
        for call in calls
        if call.name != "fsync" or (Path(call.paths[0]).is_dir()) != (lost == "folder")
    ]
    assert len(careless) < len(calls)
    with pytest.raises((AssertionError, CorruptError)):
        check(careless, root, tmp_path, 1, 300)


# -- calls that fail ---------------------------------------------------------------------------

FAILING = """
import os, sys, ibidem
from ibidem.objects.errors import StorageError
from ibidem.repo.sync.remotes import address_of
folder = sys.argv[1]
try:
    {work}
    said = "done"
except StorageError as error:
    said = f"failed {{error.errno}} {{error}}"
try:
    os.write(1, said.encode())
except OSError:  # this was the call that fails
    os.write(1, said.encode())
"""
GENERATE = "ibidem.open(folder).keys.ring.generate('ada')"
ADD = "ibidem.open(folder).sync.remotes.add('one', address_of('/one'))"
EXPORT = "ibidem.open(folder).sync.export(folder + '/out.car')"
INIT = "ibidem.init(folder + '/new')"
OTHER_CALLS = ("rename", "write", "link", "mkdir")
CALLS = ["fsync", *(pytest.param(call, marks=pytest.mark.slow) for call in OTHER_CALLS)]


def run(work: str, folder: Path, injection: str) -> list[str]:
    """Does a piece of work in a process whose calls go wrong; returns what it said."""
    call = injection.partition(":")[0]
    command = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", os.devnull, "-e", f"trace={call}"]
    command += ["-e", f"inject={injection}", sys.executable, "-B", "-W", "error", "-c"]
    done = subprocess.run(
        [*command, FAILING.format(work=work), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("this system does not let strace attach")
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.split()


def failures(work: str, call: str, folder: Path) -> Iterator[tuple[Path, str]]:
    """Does a piece of work with the first call failing, the second, and so on; yields the folder
    and the error of each time that it failed. Some writes and some `mkdir` may fail without harm:
    only several of them in a row mean that there are no more."""
    last, harmless = 0, 3 if call in ("write", "mkdir") else 0
    for number in itertools.count(1):
        place = folder / f"{call}-{number}"
        ibidem.init(place).close()
        said = run(work, place, f"{call}:error=ENOSPC:when={number}")
        if said[:1] == ["failed"]:
            assert said[1] == str(errno.ENOSPC), f"{call} {number}: {said}"
            last = number
            yield place, " ".join(said[2:])
        elif number > last + harmless:
            return


def strays(folder: Path) -> list[str]:
    """Returns temporary files that were left behind."""
    return [str(path) for path in folder.rglob(".*") if path.is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_a_key_generate_that_fails_leaves_nothing_and_can_be_repeated(
    tmp_path: Path, call: str
) -> None:
    places = list(failures(GENERATE, call, tmp_path))
    assert places or call == "link"
    for place, _ in places:
        assert not list((place / ".ibidem" / "keys").glob("*.key"))
        assert strays(place / ".ibidem") == []
        with ibidem.open(place) as repo:
            assert not repo.keys.ring.trust().keys
            repo.keys.ring.generate("ada")
            assert list(repo.keys.ring.trust().keys) == ["ada"]


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_a_remote_that_cannot_be_written_is_not_added_and_leaves_nothing(
    tmp_path: Path, call: str
) -> None:
    places = list(failures(ADD, call, tmp_path))
    assert places or call == "link"
    for place, _ in places:
        assert strays(place / ".ibidem") == []
        with ibidem.open(place) as repo:
            assert repo.sync.remotes.all() == {}
            repo.sync.remotes.add("one", RemoteAddress("/one"))


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_an_export_that_fails_leaves_no_file(tmp_path: Path, call: str) -> None:
    places = list(failures(EXPORT, call, tmp_path))
    assert places or call in ("rename", "mkdir")
    for place, _ in places:
        assert [path.name for path in place.iterdir()] == [".ibidem"]


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_an_init_that_fails_can_be_repeated_or_says_what_is_there(
    tmp_path: Path, call: str
) -> None:
    places = list(failures(INIT, call, tmp_path))
    assert places or call == "link"
    for place, error in places:
        is_there = "the repository was created and is complete" in error
        assert (place / "new" / ".ibidem").exists() == is_there
        assert strays(place / "new") == []
        make = ibidem.open if is_there else ibidem.init
        with make(place / "new") as repo, repo.transaction() as tx:
            tx.add_node("Doc", summary="it works")
