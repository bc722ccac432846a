"""Keys and remotes under several writers: no acknowledged change is lost, a revocation least."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.errors import IbidemError, InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository
from ibidem.repo.sync.remotes import address_of

SOURCE = str(Path(__file__).parents[3] / "src")
WRITERS, ROUNDS = 8, 10
PROGRAM = f"""
import sys, ibidem
from ibidem.repo.sync.remotes import address_of
with ibidem.open(sys.argv[1]) as repo:
    for number in range({ROUNDS}):
        name = f"{{sys.argv[2]}}-{{number}}"
        repo.keys.ring.generate(name)
        repo.sync.remotes.add(name, address_of("/" + name))
"""
ALL = sorted(f"w{writer}-{number}" for writer in range(WRITERS) for number in range(ROUNDS))


@pytest.mark.slow
def test_8_processes_lose_no_key_and_no_remote(tmp_path: Path) -> None:
    ibidem.init(tmp_path).close()
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), f"w{writer}"], env=environment
        )
        for writer in range(WRITERS)
    ]
    assert [process.wait(120) for process in running] == [0] * WRITERS
    with ibidem.open(tmp_path) as repo:
        check(repo)


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_8_threads_lose_no_key_and_no_remote(tmp_path: Path, is_on_disk: bool) -> None:
    errors = list[BaseException]()
    with ibidem.init(tmp_path / "repo") if is_on_disk else ibidem.init() as repo:
        begin = threading.Barrier(WRITERS)

        def work(writer: int) -> None:
            begin.wait()
            try:
                for number in range(ROUNDS):
                    repo.keys.ring.generate(f"w{writer}-{number}")
                    repo.sync.remotes.add(f"w{writer}-{number}", address_of("/somewhere"))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(writer,)) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        check(repo)


def check(repo: Repository) -> None:
    assert sorted(repo.keys.ring.trust().keys) == sorted(repo.keys.ring.names()) == ALL
    assert sorted(repo.sync.remotes.all()) == ALL
    assert all(repo.keys.ring.private(name).name == name for name in ALL)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_revocation_survives_a_concurrent_key_generate(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        repo.keys.ring.generate("thief")
        # The other process is held in its second sync: it has read whom the copy trusts by then.
        command = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=fsync"]
        command += ["-e", "inject=fsync:delay_enter=1500000:when=2", sys.executable, "-c"]
        program = "import ibidem, sys; ibidem.open(sys.argv[1]).keys.ring.generate('other')"
        environment = {**os.environ, "PYTHONPATH": SOURCE}
        other = subprocess.Popen([*command, program, str(tmp_path)], env=environment)
        while not (tmp_path / ".ibidem" / "keys" / "other.key").exists():
            if other.poll():
                pytest.skip("this system does not let strace attach")
            time.sleep(0.01)
        repo.keys.revoke("thief", reason="stolen")
        assert other.wait(60) == 0
        trust = repo.keys.ring.trust()
    assert trust.keys["thief"].is_revoked
    assert not trust.keys["other"].is_revoked


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        repo.keys.ring.generate("ada")
        repo.sync.remotes.add("one", address_of("/one"))
        before = [path.read_bytes() for path in files(tmp_path)]
        for work in (
            lambda: repo.keys.ring.generate("ada"),
            lambda: repo.keys.ring.generate("Not A Name"),
            lambda: repo.keys.ring.add("ada"),  # type: ignore[arg-type]
            lambda: repo.keys.revoke("bob"),
            lambda: repo.keys.revoke(["ada"]),  # type: ignore[arg-type]
            lambda: repo.keys.revoke("ada", reason=1),  # type: ignore[arg-type]
            lambda: repo.sync.remotes.add("one", address_of("/two")),
            lambda: repo.sync.remotes.remove("two"),
        ):
            with pytest.raises((InvalidInputError, NotFoundError)):
                work()
        assert [path.read_bytes() for path in files(tmp_path)] == before


def files(folder: Path) -> list[Path]:
    places = (folder / ".ibidem" / "keys", folder / ".ibidem" / "local")
    return sorted(path for place in places for path in place.iterdir() if path.name != "lock")


def test_a_private_key_that_a_crash_left_becomes_the_key_when_it_is_generated_again(
    tmp_path: Path,
) -> None:
    with ibidem.init(tmp_path) as repo:
        left = repo.keys.ring.generate("ada")
        (tmp_path / ".ibidem" / "keys" / "trusted").unlink()
        assert repo.keys.ring.generate("ada") == left
        assert repo.keys.ring.trust().keys["ada"].public == left.public
        with pytest.raises(IbidemError, match="'ada' exists"):
            repo.keys.ring.generate("ada")
