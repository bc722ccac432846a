"""Faults of the medium, injected into system calls: an error is an error, a kill loses nothing.

Needs strace; without it these tests are skipped, and the summary says so.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ibidem

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

PROGRAM = """
import sys, ibidem
from ibidem.objects.errors import StorageError
with ibidem.open(sys.argv[1]) as repo:
    for number in range(3):
        before = repo.head
        try:
            with repo.transaction() as tx:
                tx.add_node("Doc", content=bytes(20_000), unique=True)
        except StorageError as error:
            assert repo.head == before
            print("failed", error.errno, flush=True)
        else:
            assert repo.head == tx.commit.cid
            print("acknowledged", flush=True)
"""


ERASING = """
import sys, ibidem
from ibidem.objects.errors import StorageError
with ibidem.open(sys.argv[1]) as repo:
    for number in range(2):
        try:
            repo.maintenance.erase(repo.query(label="Secret")[0].id if not number else gone)
        except StorageError as error:
            gone = next(node.node for node in repo.maintenance.erasures())
            print("failed", error.errno, flush=True)
        else:
            print("erased", flush=True)
            break
"""


def run(path: Path, injection: str, program: str = PROGRAM) -> list[str]:
    """Runs a program whose calls on the data file go wrong, such as three commits; what it said."""
    data = path / ".ibidem" / "blocks" / "data.mdb"
    command = [
        "strace",
        "-f",
        "-qq",
        "-o",
        os.devnull,
        "-e",
        f"inject={injection}",
        "-P",
        str(data),
    ]
    done = subprocess.run(
        [*command, sys.executable, "-W", "error", "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("this system does not let strace attach")
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.splitlines()


def check(path: Path, acknowledged: int, attempted: int) -> None:
    """Every block is whole, nothing acknowledged is lost, and the next commit works."""
    with ibidem.open(path) as repo:
        for cid in repo.core.store.cids():
            repo.core.store.get(cid)
        assert acknowledged <= len(list(repo.history.log())) <= attempted
        assert len(list(repo.at().nodes())) == len(list(repo.history.log()))
        with repo.transaction() as tx:
            tx.add_node("Doc", unique=True)
        assert tx.commit is not None


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_failed_call_is_reported_with_its_number_and_changes_nothing(
    tmp_path: Path, call: str, error: str
) -> None:
    ibidem.init(tmp_path).close()
    said = run(tmp_path, f"{call}:error={error}:when=2")
    assert sorted(said) == ["acknowledged", "acknowledged", f"failed {getattr(errno, error)}"]
    check(tmp_path, 2, 2)


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_kill_at_any_call_loses_nothing_that_was_acknowledged(tmp_path: Path, call: str) -> None:
    ibidem.init(tmp_path).close()
    done = 0
    for count in (1, 2, 3):
        said = run(tmp_path, f"{call}:signal=SIGKILL:when={count}")
        with ibidem.open(tmp_path) as repo:
            after = len(list(repo.history.log()))
        assert done + said.count("acknowledged") <= after <= done + said.count("acknowledged") + 1
        check(tmp_path, after, after)
        done = after + 1


@pytest.mark.slow
@pytest.mark.parametrize("call", ["pwrite64", "writev", "fdatasync"])
@pytest.mark.parametrize("error", ["EIO", "ENOSPC", "EDQUOT"])
def test_every_call_of_a_commit_may_fail(tmp_path: Path, call: str, error: str) -> None:
    count, failed = 0, True
    while failed:
        count += 1
        folder = tmp_path / str(count)
        ibidem.init(folder).close()
        said = run(folder, f"{call}:error={error}:when={count}")
        failed = f"failed {getattr(errno, error)}" in said
        assert len(said) == 3
        check(folder, said.count("acknowledged"), said.count("acknowledged"))
    assert count > 3, "the call was not among those of a commit"


@pytest.mark.parametrize("count", [2, 3, 4])
def test_an_erasure_that_the_medium_cut_short_is_finished_by_erasing_again(
    tmp_path: Path, count: int
) -> None:
    secret = "somebody lives at Hill Road 5"
    with ibidem.init(tmp_path) as repo, repo.transaction() as tx:
        tx.add_node("Secret", summary=secret)
    said = run(tmp_path, f"fdatasync:error=ENOSPC:when={count}", ERASING)
    assert said == [f"failed {errno.ENOSPC}", "erased"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if secret.encode() in path.read_bytes()]
