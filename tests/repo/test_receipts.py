"""The receipt log: what is whole is found, what is torn is not believed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import ibidem
from ibidem.objects.cid import ReceiptCid
from ibidem.objects.codec import encode
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.repo.erasure.local_files import _blank_receipts, remove_derived
from ibidem.repo.receipts.log import HEAD_BYTES, LOG_FILE, OLDER_FILE, ReceiptLog
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.store.lock import writer_lock

SOURCE = str(Path(__file__).parents[2] / "src")
BLOCKS = [encode({"number": number, "filling": "x" * number}) for number in range(40)]


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_receipts_are_found_by_their_cid_or_its_beginning(tmp_path: Path, is_on_disk: bool) -> None:
    receipts = ReceiptLog(tmp_path / "receipts" if is_on_disk else None)
    with pytest.raises(NotFoundError):
        receipts.find(str(ReceiptCid.of(BLOCKS[0])))
    for block in BLOCKS:
        receipts.append(block)
    for block in BLOCKS:
        text = str(ReceiptCid.of(block))
        assert receipts.find(text) == receipts.find(text[:20]) == block


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(
    ("repository", "folder", "file"), [(0o755, 0o700, 0o600), (0o775, 0o770, 0o660)]
)
def test_only_those_who_may_write_the_repository_can_read_the_questions(
    tmp_path: Path, repository: int, folder: int, file: int
) -> None:
    """Tries the umask with which every new file is readable by everybody."""
    tmp_path.chmod(repository)
    before = os.umask(0)
    try:
        receipts = ReceiptLog(tmp_path / "receipts", log_bytes_max=sum(map(len, BLOCKS)))
        for block in (*BLOCKS, *BLOCKS):
            receipts.append(block)
    finally:
        os.umask(before)
    assert (tmp_path / "receipts").stat().st_mode & 0o777 == folder
    for name in (LOG_FILE, OLDER_FILE):
        assert (tmp_path / "receipts" / name).stat().st_mode & 0o777 == file


@pytest.mark.skipif(os.name == "nt", reason="Windows has no groups of files")
def test_another_group_than_that_of_the_repository_cannot_read_the_questions(
    tmp_path: Path,
) -> None:
    """A new folder has the group of its user, unless the folder above passes its own on."""
    group = 4711 if os.geteuid() == 0 else next(iter({*os.getgroups()} - {os.getegid()}), None)
    if group is None:
        pytest.skip("the user has one group")
    for mode in (0o775, 0o2775):
        repository = tmp_path / oct(mode)
        repository.mkdir()
        os.chown(repository, -1, group)
        repository.chmod(mode)
        before = os.umask(0)
        try:
            ReceiptLog(repository / "receipts").append(BLOCKS[0])
        finally:
            os.umask(before)
        found = (repository / "receipts").stat()
        assert found.st_mode & 0o777 == (0o770 if found.st_gid == group else 0o700)
        # Another user of the group writes the files too, so they belong to it as the folder does.
        files = (repository / "receipts").iterdir()
        assert {file.stat().st_gid for file in files} == {found.st_gid}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_an_erasure_before_the_first_question_lets_nobody_else_read_the_questions(
    tmp_path: Path,
) -> None:
    before = os.umask(0o022)
    try:
        with ibidem.init(tmp_path / "kb") as repo:
            with repo.transaction() as tx:
                node = tx.add_node("Doc", summary="harbour")
            repo.maintenance.erase([node])
            repo.retrieve("harbour")
    finally:
        os.umask(before)
    folder = tmp_path / "kb" / ".ibidem" / "receipts"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / LOG_FILE).stat().st_mode & 0o777 == 0o600


def test_a_repeat_in_a_row_is_kept_once(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    for _ in range(3):
        receipts.append(BLOCKS[0])
    receipts.append(BLOCKS[1])
    assert len(list(receipts.blocks())) == 2


def test_an_ambiguous_beginning_is_refused(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    for block in BLOCKS:
        receipts.append(block)
    texts = [str(ReceiptCid.of(block))[:8] for block in BLOCKS]
    twice = next(text for text in texts if texts.count(text) > 1)
    with pytest.raises(NotFoundError) as caught:
        receipts.find(twice)
    assert caught.value.kind is ErrorKind.AMBIGUOUS
    for bad in ("bafyr4i", "", None, 7):
        with pytest.raises(InvalidInputError):
            receipts.find(bad)  # type: ignore[arg-type]


def test_a_torn_tail_is_ignored_and_what_comes_after_it_is_found(tmp_path: Path) -> None:
    for block in BLOCKS[:2]:
        ReceiptLog(tmp_path).append(block)
    whole = (tmp_path / LOG_FILE).read_bytes()
    second = whole.rfind(b"\x00IbR")
    for stop in range(second, len(whole)):
        (tmp_path / LOG_FILE).write_bytes(whole[:stop])
        assert [block for _, block in ReceiptLog(tmp_path).blocks()] == BLOCKS[:1]
        ReceiptLog(tmp_path).append(BLOCKS[2])
        assert [block for _, block in ReceiptLog(tmp_path).blocks()] == [BLOCKS[0], BLOCKS[2]]
        # One zero is no sign of a torn receipt: zeros stand where one was erased.
        assert stop == second + 1 or count_whole(tmp_path) == 2


def test_a_flipped_bit_loses_one_receipt_only(tmp_path: Path) -> None:
    for block in BLOCKS[:3]:
        ReceiptLog(tmp_path).append(block)
    whole = (tmp_path / LOG_FILE).read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        (tmp_path / LOG_FILE).write_bytes(damaged)
        found = [block for _, block in ReceiptLog(tmp_path).blocks()]
        assert len(found) == 2
        assert set(found) <= set(BLOCKS)


def test_a_log_that_can_not_be_written_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ReceiptLog(tmp_path / "file").append(BLOCKS[0])


def test_a_log_that_is_taken_away_is_begun_again(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    receipts.append(BLOCKS[0])
    (tmp_path / LOG_FILE).unlink()
    receipts.append(BLOCKS[1])
    assert [block for _, block in receipts.blocks()] == [BLOCKS[1]]
    receipts.close()
    receipts.append(BLOCKS[2])
    assert len(list(receipts.blocks())) == 2


def count_whole(folder: Path) -> int:
    """Returns how many receipts the logs in a folder have; there is nothing else in them, but a
    zero at the end of the older one."""
    found = list(ReceiptLog(folder).blocks())
    sizes = [path.stat().st_size for path in folder.glob("log*")]
    zeros = len(list(folder.glob(OLDER_FILE)))
    assert sum(sizes) - zeros == sum(HEAD_BYTES + len(block) for _, block in found)
    return len(found)


def run(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment)


def test_a_receipt_that_does_not_fit_on_the_disk_leaves_no_torn_one(tmp_path: Path) -> None:
    """A limit on the size of files cuts a write short as a full disk does."""
    pytest.importorskip("resource")
    program = """
import resource, signal, sys
from pathlib import Path
from ibidem.objects.codec import encode
from ibidem.repo.receipts.log import ReceiptLog
receipts = ReceiptLog(Path(sys.argv[1]))
receipts.append(encode({"number": 1}))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
receipts.append(encode({"number": 2, "filling": "x" * 2000}))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
receipts.append(encode({"number": 3}))
receipts.append(encode({"number": 2, "filling": "x" * 2000}))
"""
    assert run(program, str(tmp_path)).wait() == 0
    assert count_whole(tmp_path) == 3


def test_a_torn_receipt_after_a_crash_is_mended_by_the_next_answer(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="the mill calculates")
        first = repo.retrieve("mill").receipt
    log = tmp_path / ".ibidem" / "receipts" / LOG_FILE
    whole = log.read_bytes()
    for torn in (whole[:-1], whole[:20], whole[:40] + bytes(len(whole)), b"\x00Ib", b"rubbish"):
        log.write_bytes(whole + torn)
        with ibidem.open(tmp_path) as repo:
            second = repo.retrieve("calculates").receipt
            report = repo.maintenance.fsck()
            assert report.is_clean
            assert not report.notes
            assert report.counts["logged-receipt"] == 2
            for receipt in (first, second):
                assert receipt is not None
                assert repo.receipts.replay(receipt.cid)


def test_what_another_writer_tore_is_mended_by_one_that_goes_on(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    receipts.append(BLOCKS[0])
    whole = (tmp_path / LOG_FILE).read_bytes()
    with (tmp_path / LOG_FILE).open("ab") as file:
        file.write(whole[:-3])
    receipts.append(BLOCKS[1])
    assert count_whole(tmp_path) == 2


def test_zeros_of_an_erasure_at_the_end_are_not_torn(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    for block in BLOCKS[:2]:
        receipts.append(block)
    whole = (tmp_path / LOG_FILE).read_bytes()
    second = whole.rfind(b"\x00IbR")
    (tmp_path / LOG_FILE).write_bytes(whole[:second] + bytes(len(whole) - second))
    ReceiptLog(tmp_path).append(BLOCKS[2])
    assert (tmp_path / LOG_FILE).read_bytes().startswith(whole[:second] + bytes(10))
    assert [block for _, block in ReceiptLog(tmp_path).blocks()] == [BLOCKS[0], BLOCKS[2]]


def calls_of(call: Callable[[], object]) -> list[str]:
    """Returns the functions of the system and the hashes that a call uses, by name."""
    names: list[str] = []

    def note(_: FrameType, event: str, function: Any) -> None:
        if event == "c_call" and function.__module__ in ("posix", "nt", "fcntl", "blake3"):
            names.append(function.__name__)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


@pytest.mark.skipif(os.name == "nt", reason="Windows locks by other calls")
def test_a_writer_that_finds_the_log_as_it_left_it_looks_at_nothing_else(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    receipts.append(BLOCKS[0])
    assert [name for name in calls_of(lambda: receipts.append(BLOCKS[1])) if name != "blake3"] == [
        *("flock", "fstat", "write", "flock")
    ]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_log_that_is_off_is_neither_hashed_for_nor_locked(tmp_path: Path, is_open: bool) -> None:
    is_on = is_open
    receipts = ReceiptLog(tmp_path, is_on=lambda: is_on)
    receipts.append(BLOCKS[0])
    is_on = False
    assert not calls_of(lambda: receipts.append(BLOCKS[1]))
    assert count_whole(tmp_path) == is_open


def test_a_log_that_is_switched_off_and_cleared_elsewhere_gets_no_receipt(tmp_path: Path) -> None:
    """Another process switches it off after the writer has looked and before it has the lock."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        with repo.transaction() as tx:
            tx.add_node("Doc", summary="the mill calculates")
        repo.retrieve("mill")
        log = repo.core.receipts
        answers = [True]
        is_on, log._is_on = log._is_on, lambda: answers.pop() if answers else is_on()
        other.receipts.log_questions("never")
        repo.retrieve("calculates")
        assert not answers
        assert not list(log.blocks())


@pytest.mark.parametrize("torn", [b"", b"\x00IbR\x07"])
def test_a_receipt_of_before_an_erasure_elsewhere_is_not_appended(
    tmp_path: Path, torn: bytes
) -> None:
    with ibidem.init(tmp_path) as repo:
        log = repo.core.receipts
        log.append(BLOCKS[0])
        remove_derived(repo.core)
        with log_file(tmp_path).open("ab") as file:
            file.write(torn)
        for block in BLOCKS[1:3]:
            log.append(block, generation=0)
        assert not list(log.blocks())
        log.append(BLOCKS[1], generation=1)
        log.append(BLOCKS[2], generation=0)
        log.append(BLOCKS[3], generation=1)
        assert [block for _, block in log.blocks()] == [BLOCKS[1], BLOCKS[3]]


def test_a_zero_of_an_erasure_outlasts_what_a_killed_writer_leaves(tmp_path: Path) -> None:
    first, other = ReceiptLog(tmp_path), ReceiptLog(tmp_path)
    first.append(BLOCKS[0])
    size = (tmp_path / LOG_FILE).stat().st_size
    with (tmp_path / LOG_FILE).open("ab") as file:
        file.write(b"\0" + b"\x00IbR\x07")
    other.append(BLOCKS[1])
    data = (tmp_path / LOG_FILE).read_bytes()
    assert data[size : size + 5] == b"\x00\x00IbR"
    assert [block for _, block in first.blocks()] == BLOCKS[:2]


def test_a_repeated_receipt_is_appended_after_another_process_cleared_the_log(
    tmp_path: Path,
) -> None:
    first, other = ReceiptLog(tmp_path), ReceiptLog(tmp_path)
    for _ in range(2):
        first.append(BLOCKS[0])
    assert [block for _, block in first.blocks()] == BLOCKS[:1]
    other.clear()
    first.append(BLOCKS[0])
    assert [block for _, block in other.blocks()] == BLOCKS[:1]


def test_an_erasure_leaves_no_torn_receipt_whose_removal_hides_it(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        first = repo.core.receipts
        first.append(BLOCKS[0])
        whole = log_file(tmp_path).stat().st_size
        with log_file(tmp_path).open("ab") as file:
            file.write(b"\x00IbR\x07")
        _blank_receipts(tmp_path / ".ibidem", lambda _frame, _block: False)
        other = ReceiptLog(log_file(tmp_path).parent, log_bytes_max=whole + 1)
        other.append(BLOCKS[1], generation=1)
        first.append(BLOCKS[2], generation=0)
        assert [block for _, block in other.blocks()] == BLOCKS[:2]


def log_file(folder: Path) -> Path:
    return folder / ".ibidem" / "receipts" / LOG_FILE


def test_a_receipt_that_holds_a_frame_is_not_taken_for_a_torn_one(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    receipts.append(BLOCKS[0])
    inner = (tmp_path / LOG_FILE).read_bytes()
    outer = encode({"text": inner, "more": "x" * 100})
    receipts.append(outer)
    for block in (BLOCKS[1], BLOCKS[2]):
        ReceiptLog(tmp_path).append(block)
    assert [block for _, block in receipts.blocks()] == [BLOCKS[0], outer, BLOCKS[1], BLOCKS[2]]


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_the_log_never_exceeds_its_bound_and_drops_the_oldest(
    tmp_path: Path, is_on_disk: bool
) -> None:
    receipts = ReceiptLog(tmp_path if is_on_disk else None, log_bytes_max=1000)
    assert receipts.bound_bytes == 2000
    for number, block in enumerate(BLOCKS):
        receipts.append(block)
        count, size_bytes = receipts.size()
        assert size_bytes <= receipts.bound_bytes
        assert [found for _, found in receipts.blocks()] == BLOCKS[: number + 1][-count:]
    assert size_bytes > receipts.bound_bytes // 2
    if is_on_disk:
        sizes = [(tmp_path / name).stat().st_size for name in (LOG_FILE, OLDER_FILE)]
        assert max(sizes) <= 1000


def test_a_receipt_goes_into_the_newer_file_after_another_process_renamed_the_log(
    tmp_path: Path,
) -> None:
    here, elsewhere = (ReceiptLog(tmp_path, log_bytes_max=1000) for _ in range(2))
    large = [encode({"number": number, "filling": "x" * 700}) for number in range(3)]
    here.append(large[0])
    elsewhere.append(large[1])
    here.append(BLOCKS[0])
    elsewhere.append(large[2])
    assert [block for _, block in here.blocks()] == [large[1], BLOCKS[0], large[2]]
    assert max(path.stat().st_size for path in tmp_path.glob("log*")) <= 1000


def test_a_reader_misses_nothing_of_a_log_that_is_renamed_meanwhile(tmp_path: Path) -> None:
    large = [encode({"number": number, "filling": "x" * 700}) for number in range(3)]
    receipts, other = (ReceiptLog(tmp_path, log_bytes_max=1000) for _ in range(2))
    for block in large[:2]:
        other.append(block)
    is_first = True

    def rename(_: FrameType, event: str, function: Any) -> None:
        nonlocal is_first
        if event == "c_return" and function.__name__ == "read" and is_first:
            is_first = False
            other.append(large[2])

    sys.setprofile(rename)
    try:
        found = [block for _, block in receipts.blocks()]
    finally:
        sys.setprofile(None)
    assert found == large[1:2]


WRITING = """
import sys
from pathlib import Path
from ibidem.objects.codec import encode
from ibidem.repo.receipts.log import ReceiptLog
receipts = ReceiptLog(Path(sys.argv[1]), log_bytes_max=int(sys.argv[2]))
for number in range(300):
    receipts.append(encode({"writer": sys.argv[3], "number": number}))
"""


@pytest.mark.parametrize("bound", [1 << 20, 4000])
def test_4_processes_leave_whole_receipts_within_the_bound(tmp_path: Path, bound: int) -> None:
    folder = tmp_path / "receipts"
    running = [run(WRITING, str(folder), str(bound), str(writer)) for writer in range(4)]
    assert [process.wait(120) for process in running] == [0] * 4
    count = count_whole(folder)
    assert count == 1200 if bound == 1 << 20 else 50 < count < 200
    assert sum(path.stat().st_size for path in folder.glob("log*")) <= 2 * bound


def test_threads_and_children_of_a_fork_append_whole_receipts(tmp_path: Path) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    program = """
import os, sys, threading
from pathlib import Path
from ibidem.objects.codec import encode
from ibidem.repo.receipts.log import ReceiptLog
receipts = ReceiptLog(Path(sys.argv[1]))
receipts.append(encode({"who": "parent"}))
def work(who):
    for number in range(100):
        receipts.append(encode({"who": who, "number": number}))
child = os.fork()
threads = [threading.Thread(target=work, args=(f"{child} {n}",)) for n in range(4)]
[one.start() for one in threads]
[one.join() for one in threads]
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    assert run(program, str(tmp_path)).wait(120) == 0
    assert count_whole(tmp_path) == 801


def test_an_answer_does_not_wait_long_for_a_writer_that_holds_the_log(tmp_path: Path) -> None:
    receipts = ReceiptLog(tmp_path)
    receipts.append(BLOCKS[0])
    with writer_lock(tmp_path / "lock", timeout_seconds=1):
        thread = threading.Thread(target=receipts.append, args=(BLOCKS[1],))
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
    receipts.append(BLOCKS[1])
    assert [block for _, block in receipts.blocks()] == BLOCKS[:2]


def test_who_asked_is_beside_the_answer():
    """[10-h]"""
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="tea")
    plain = repo.retrieve("tea")
    repo.act_as("clerk", "count")
    named = repo.retrieve("tea")
    assert named.to_bytes() == plain.to_bytes()
    assert plain.receipt is not None
    assert named.receipt is not None
    assert (named.receipt.agent, named.receipt.task) == ("clerk", "count")
    assert Receipt.decode(named.receipt.encode()) == named.receipt
    repo.act_as(None)
    assert repo.retrieve("tea").receipt == plain.receipt
    for receipt in (plain.receipt, named.receipt):
        assert repo.receipts.replay(receipt).to_bytes() == plain.to_bytes()
    for agent in ("clerk", "cook", None):
        repo.act_as(agent)
        receipt = repo.packs("tea").receipt  # which may be cached
        assert receipt is not None
        assert receipt.agent == agent
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="milk")
    assert repo.commit_at().agent is None
    for wrong in ("", 3):
        with pytest.raises(InvalidInputError, match="agent: got"):
            repo.act_as(wrong)  # type: ignore[arg-type]
