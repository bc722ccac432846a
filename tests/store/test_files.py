"""Files that are written whole and changed under a lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ibidem.objects.errors import InvalidInputError, StorageError
from ibidem.store import files
from ibidem.store.files import built_whole, change_file, read_file, whole_file, write_file
from ibidem.store.lock import try_lock

SOURCE = str(Path(__file__).parents[2] / "src")
WRITERS, ROUNDS = 8, 25
COUNTING = f"""
import sys
from pathlib import Path
from ibidem.store.files import change_file
for _ in range({ROUNDS}):
    change_file(Path(sys.argv[1]), lambda data: b"%d" % (int(data or b"0") + 1))
"""


def together(work: Callable[[int], None]) -> None:
    """Calls `work` in several threads that begin at once; raises what one of them raised."""
    begin, errors = threading.Barrier(WRITERS), list[BaseException]()

    def one(number: int) -> None:
        begin.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def built_in_vain(target: Path) -> None:
    with suppress(KeyError), built_whole(target):
        raise KeyError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writers_of_one_name_never_share_a_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def work(number: int) -> None:
        data = bytes([65 + number]) * 100_000
        for _ in range(ROUNDS):
            write_file(path, data, is_durable=False)
            found = read_file(path) or b""
            assert len(found) == len(data)
            assert len(set(found)) == 1

    together(work)
    assert names(tmp_path) == ["file"]


def test_no_change_of_8_threads_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "count"

    def work(_: int) -> None:
        for _ in range(ROUNDS):
            change_file(path, lambda data: b"%d" % (int(data or b"0") + 1))

    together(work)
    assert read_file(path) == b"%d" % (WRITERS * ROUNDS)
    assert names(tmp_path) == ["count", "lock"]


def test_no_change_of_8_processes_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "made" / "count"
    command = [sys.executable, "-c", COUNTING, str(path)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    running = [subprocess.Popen(command, env=environment) for _ in range(WRITERS)]
    assert [process.wait(120) for process in running] == [0] * WRITERS
    assert read_file(path) == b"%d" % (WRITERS * ROUNDS)


def test_a_change_that_raises_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"old")

    def change(_: bytes | None) -> bytes:
        raise InvalidInputError("no")

    with pytest.raises(InvalidInputError):
        change_file(path, change)
    assert read_file(path) == b"old"
    assert names(tmp_path) == ["file", "lock"]


@pytest.mark.parametrize("error", [InvalidInputError("no"), KeyboardInterrupt(), OSError(5, "io")])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_block_that_raises_leaves_what_was_there(
    tmp_path: Path, error: BaseException, is_new: bool
) -> None:
    path = tmp_path / "file"
    if not is_new:
        write_file(path, b"old")
    expected = StorageError if isinstance(error, OSError) else type(error)

    def write() -> None:
        with whole_file(path, is_new=is_new) as file:
            file.write(b"new")
            raise error

    with pytest.raises(expected):
        write()
    assert read_file(path) == (None if is_new else b"old")
    assert len(names(tmp_path)) == (0 if is_new else 1)


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def write() -> None:
        with whole_file(path, is_new=True) as file:
            file.write(b"ours")
            write_file(path, b"theirs")

    with pytest.raises(InvalidInputError):
        write()
    assert read_file(path) == b"theirs"
    with pytest.raises(InvalidInputError), whole_file(path, is_new=True):
        raise AssertionError("it was there from the beginning")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(InvalidInputError), whole_file(tmp_path / "link", is_new=True):
        raise AssertionError("a name that leads nowhere is taken too")
    assert names(tmp_path) == ["file", "link"]


def test_what_another_process_left_behind_is_passed_over(tmp_path: Path) -> None:
    with whole_file(tmp_path / "file") as file:
        file.write(b"one")
        (draft,) = names(tmp_path)
    head, number, _ = draft.rsplit(".", 2)
    for later in range(1, 5):
        (tmp_path / f"{head}.{int(number) + later}.new").write_bytes(b"left behind")
    write_file(tmp_path / "file", b"two", is_durable=False)
    assert read_file(tmp_path / "file") == b"two"
    assert len(names(tmp_path)) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="no kill, and no lock of a file")
@pytest.mark.parametrize("name", ["all.car", "k" * 60])
def test_the_file_of_a_killed_writer_is_removed_and_that_of_a_living_one_stays(
    tmp_path: Path, name: str
) -> None:
    target, other = tmp_path / name, tmp_path / ".other.1.2.new"
    other.touch()
    worker = os.fork()
    if not worker:
        with whole_file(target, is_new=True) as file:
            file.write(b"a secret")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
    assert len(names(tmp_path)) == 2
    with whole_file(target) as file:
        file.write(b"one")
        assert len(names(tmp_path)) == 2
        write_file(target, b"two")
    assert read_file(target) == b"one"
    assert set(tmp_path.iterdir()) == {target, other}


@pytest.mark.skipif(sys.platform == "win32", reason="no kill, and no lock of a folder")
def test_the_folder_of_a_killed_builder_is_removed_and_that_of_a_living_one_stays(
    tmp_path: Path,
) -> None:
    target = tmp_path / "[kb]"
    others = {tmp_path / ".[kb].1.new", tmp_path / ".k.1.2.new"}
    for folder in others:
        folder.mkdir()
    worker = os.fork()
    if not worker:
        with built_whole(target) as building:
            (building / "words").write_bytes(b"a secret")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(worker, 0)
    assert len(names(tmp_path)) == 3
    with built_whole(target) as building:
        assert set(tmp_path.iterdir()) == {building, *others}
        second = threading.Thread(target=built_in_vain, args=(target,))
        second.start()
        second.join()
        assert set(tmp_path.iterdir()) == {building, *others}
    assert set(tmp_path.iterdir()) == {target, *others}


@pytest.mark.skipif(sys.platform == "win32", reason="no lock of a folder")
def test_the_folder_of_another_builder_with_the_same_name_stays(tmp_path: Path) -> None:
    target = tmp_path / "kb"
    with built_whole(target) as building:
        (building / "words").write_bytes(b"first")
        number = int(building.name.split(".")[-2])
        other = building.with_name(f".kb.{os.getpid()}.{number + 1}.new")
        other.mkdir()
        (other / "words").write_bytes(b"second")
        descriptor = os.open(other, os.O_RDONLY)
        try_lock(descriptor)  # as a process of another container, with the same number, has it
        built_in_vain(target)
        os.close(descriptor)
        assert (building / "words").read_bytes() == b"first"
        assert (other / "words").read_bytes() == b"second"
    assert (target / "words").read_bytes() == b"first"


@pytest.mark.skipif(sys.platform == "win32", reason="no lock of a folder")
@pytest.mark.parametrize("is_opened", [False, True])
def test_a_folder_that_is_removed_before_it_is_locked_is_built_under_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_opened: bool
) -> None:
    target, calls = tmp_path / "kb", list[int]()

    def lock(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            (folder,) = tmp_path.iterdir()
            if is_opened:
                raise BlockingIOError
            folder.rmdir()
        try_lock(descriptor)

    monkeypatch.setattr(files, "try_lock", lock)
    with built_whole(target) as building:
        (building / "words").write_bytes(b"here")
    assert (target / "words").read_bytes() == b"here"
    assert len(calls) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no lock of a file")
def test_a_file_is_locked_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over SMB, writing a locked file through any other opening of it is an error."""
    locked: list[int] = []
    monkeypatch.setattr(files, "try_lock", locked.append)
    with whole_file(tmp_path / "file") as file:
        file.write(b"seven b")
        file.flush()
        assert [os.lseek(one, 0, os.SEEK_CUR) for one in locked] == [7]
    assert read_file(tmp_path / "file") == b"seven b"


@pytest.mark.skipif(sys.platform == "win32", reason="no lock of a file")
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_draft_that_is_another_one_of_its_name_by_now_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    theirs: list[Path] = []

    def lock(descriptor: int) -> None:
        if not theirs:
            theirs.extend(tmp_path.iterdir())
            theirs[0].rename(tmp_path / "removed")
            theirs[0].mkdir() if is_folder else theirs[0].write_bytes(b"theirs")
        try_lock(descriptor)

    monkeypatch.setattr(files, "try_lock", lock)
    if is_folder:
        with built_whole(tmp_path / "kb") as building:
            assert building not in theirs
    else:
        write_file(tmp_path / "kb", b"ours", is_durable=False)
        assert read_file(tmp_path / "kb") == b"ours"
    assert theirs[0].exists()


def test_a_file_is_private_from_the_beginning(tmp_path: Path) -> None:
    with whole_file(tmp_path / "file", mode=0o600):
        (draft,) = tmp_path.iterdir()
        assert draft.stat().st_mode & 0o777 == 0o600


def test_errors_of_the_medium_are_ours_and_say_the_path_and_the_number(tmp_path: Path) -> None:
    write_file(tmp_path / "file", b"")
    for work in (
        lambda: write_file(tmp_path / "missing" / "file", b""),
        lambda: write_file(tmp_path / "file" / "below", b""),
        lambda: write_file(tmp_path / ("x" * 300), b""),
        lambda: change_file(tmp_path / "file" / "below", lambda _: b""),
        lambda: read_file(tmp_path),
    ):
        with pytest.raises(StorageError, match=str(tmp_path)) as caught:
            work()
        assert caught.value.errno
    assert names(tmp_path) == ["file"]


def test_what_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    program = """
import os, resource, signal, sys
from ibidem.store.files import append_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_APPEND)
append_whole(file, b"x" * 900, size_bytes=0)
try:
    append_whole(file, b"y" * 900, size_bytes=900)
except OSError:
    sys.exit(0)
sys.exit("it fitted")
"""
    assert resource
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "f")], env=environment)
    assert done.returncode == 0
    assert read_file(tmp_path / "f") == b"x" * 900
