"""A forked child does whatever its parent did, and has free what other threads held there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ibidem
from ibidem.objects.forking import ForkLock
from ibidem.store.testing import environment, run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")

FORKED = """
import os, signal, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # that threads go on in the parent alone

def beside(hold):
    "Enters a context in a thread that stays there."
    inside = threading.Event()
    def stay():
        with hold:
            inside.set()
            threading.Event().wait()
    threading.Thread(target=stay, daemon=True).start()
    assert inside.wait(60)

def in_child(work):
    "Runs some work in a forked child that has a minute."
    pid = os.fork()
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        return
    signal.alarm(60)  # ends a child that hangs
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)
"""

FEATURES_SECONDS = 900


@pytest.mark.slow
def test_a_forked_child_of_a_process_that_used_every_feature_uses_each_itself(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("forks.py")), str(tmp_path)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=FEATURES_SECONDS,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_room_keeps_a_lock_or_a_pool_that_a_fork_breaks():
    """`objects/forking.py` says why. The gate of a store's file and that of the recorder are reset
    by their own hooks, and the encoder's pool does not outlive the call that makes it."""
    breaks = re.compile(r"\b(R?Lock\(|Condition\(|Thread\w*Executor|ThreadPool|max_threads)")
    rooms = [room for room in Path(ibidem.__file__).parent.iterdir() if room.is_dir()]
    found = {
        f"{room.name}/{path.relative_to(room.resolve()).as_posix()}"
        for room in rooms
        for path in room.resolve().rglob("*.py")
        if breaks.search(path.read_text("utf-8"))
    }
    assert found == {
        *("objects/forking.py", "store/lmdb/environment.py", "embed/encoder.py"),
        "adapters/recording/model_calls.py",
    }


def run(program: str) -> None:
    run_python(FORKED + program)


def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    run("""
from ibidem.objects.forking import ForkLock
lock = ForkLock()
beside(lock)
assert not lock.acquire(blocking=False)
def work():
    with lock, lock:
        pass
in_child(work)
assert not lock.acquire(blocking=False)
""")


def test_a_lock_that_the_forking_thread_holds_stays_its_own():
    run("""
from ibidem.objects.forking import ForkLock
lock = ForkLock()
def work():
    got = []
    thread = threading.Thread(target=lambda: got.append(lock.acquire(blocking=False)))
    thread.start()
    thread.join()
    assert got == [False]
with lock:
    in_child(work)
def free():
    assert lock.acquire(blocking=False)
in_child(free)
""")


def test_the_collector_runs_in_a_child_of_a_process_that_pauses_it():
    run("""
import gc
from ibidem.objects.gc_pause import gc_paused
beside(gc_paused())
def work():
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
assert not gc.isenabled()
in_child(work)
assert not gc.isenabled()
""")


def test_a_child_asks_commits_and_talks_while_another_thread_of_its_parent_was_in_each():
    run("""
import ibidem
from ibidem.memory.conversation import changes
from ibidem.memory.conversation.conversations import Conversations
from ibidem.objects import gc_pause
repo = ibidem.init()
def work():
    with repo.transaction() as tx:
        for number in range(40):
            tx.add_node("Doc", summary=f"note {number} of {os.getpid()}")
    assert repo.retrieve("note").items
    Conversations(repo).append("talk", [("user", "hello")])
for _ in range(3):
    work()
index = repo.core.search_index.current
layouts = [
    one
    for segment in repo.at("HEAD").snapshot().state.segments()
    for one in segment.cache.values()
    if type(one).__name__ == "SharedColumns"
]
assert layouts
for lock in (index._lock, repo.core.store._lock, gc_pause._lock, changes._LOCK, layouts[0]._lock):
    beside(lock)
in_child(work)
""")


def test_a_lock_is_reentrant_and_held_by_one_thread():
    lock = ForkLock()
    with lock:
        assert lock.acquire(blocking=False)
        lock.release()
    with pytest.raises(RuntimeError):
        lock.release()
