"""What a commit and a question read of the store: batches by level, not blocks one by one."""

from collections.abc import Iterable
from pathlib import Path

from ibidem.ingest.ingest import ingest
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.message import Message
from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.config import Config
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.store.memory import MemoryStore
from ibidem.store.testing import RecordingStore


def recorded(folder: Path, documents: int) -> tuple[Repository, RecordingStore]:
    """Returns a repository with so many documents of five parts, and what counts its reads."""
    for number in range(documents):
        text = f"# T{number}\n\nretries back off {number}\n\n## Why\n\nload {number}\n"
        (folder / f"{number}.md").write_text(text)
    store = RecordingStore(bootstrapped(MemoryStore(), Config.default(), "", lambda: 0))
    repo = Repository(Core(store, None, lambda: 0))  # type: ignore[arg-type]
    commit(repo, folder)
    return repo, store


def commit(repo: Repository, folder: Path) -> None:
    with repo.transaction() as tx:
        ingest(tx, [folder], root=folder)


def reads_of_commit(folder: Path, documents: int) -> int:
    folder.mkdir()
    repo, store = recorded(folder, documents)
    (folder / "3.md").write_text("# T3\n\nretries back off again\n")
    store.read_count = 0
    commit(repo, folder)
    return store.read_count


def test_a_commit_of_a_folder_reads_blocks_in_batches(tmp_path: Path) -> None:
    few, many = reads_of_commit(tmp_path / "few", 20), reads_of_commit(tmp_path / "many", 200)
    assert few <= 30
    assert many <= few + 15


def test_a_question_reads_blocks_in_batches(tmp_path: Path) -> None:
    repo, store = recorded(tmp_path, 200)
    head = repo.at()
    head.retrieve("retries", limit=1)
    reads = {}
    for limit in (1, 10, 16):
        store.read_count = 0
        result = head.retrieve("retries", limit=limit)
        assert len(result.items) == limit
        asked = store.read_count
        head.locate_many([item.node.id for item in result.items])
        reads[limit] = asked, store.read_count - asked
    assert reads[16][0] == reads[10][0] == reads[1][0]
    height = head.graph._tree(("nodes", "")).height
    assert max(located for _, located in reads.values()) <= 2 + 2 * height


def test_a_call_reads_the_cells_once(tmp_path: Path) -> None:
    repo, store = recorded(tmp_path, 3)
    head = repo.at()
    head.retrieve("retries")
    store.cell_read_count = 0
    head.retrieve("retries")
    assert store.cell_read_count == 0, "a revision is of the state that it was found in"
    repo.retrieve("retries")
    assert store.cell_read_count == 1
    with repo.transaction() as tx:  # brings the index along, for who has asked
        tx.add_node("Doc", key="a")
    store.cell_read_count = 0
    with repo.transaction() as tx:
        tx.add_node("Doc", key="b")
    assert store.cell_read_count == 1, "nobody else has published since it began"


def test_a_writer_that_came_second_reads_the_cells_again(tmp_path: Path) -> None:
    repo, store = recorded(tmp_path, 3)
    with repo.transaction() as tx:
        tx.add_node("Doc", key="a")
        with repo.transaction() as first:
            first.add_node("Doc", key="b")
        store.cell_read_count = 0
    assert store.cell_read_count == 1
    assert tx.commit is not None
    assert first.commit is not None
    assert tx.commit.parents == (first.commit.cid,)


class CountingStore(MemoryStore):
    """Counts blocks, also those of a batch."""

    blocks_read = 0

    def get(self, cid: Cid) -> bytes:
        self.blocks_read += 1
        return super().get(cid)


def blocks_of_message(messages: int) -> int:
    store = CountingStore()
    talks = Conversations(
        Repository(Core(bootstrapped(store, Config.default(), "", lambda: 0), None, lambda: 0))
    )
    talks.append("talk", [Message("user", f"message {at}") for at in range(messages)])
    store.blocks_read = 0
    talks.append("talk", [Message("user", "one more")])
    return store.blocks_read


def test_a_message_more_does_not_read_the_thread() -> None:
    assert blocks_of_message(2000) <= blocks_of_message(100) + 2 * 2000 // 64


def test_a_commit_reads_the_block_of_a_tree_once() -> None:
    read: list[Cid] = []

    class Store(RecordingStore):
        def get(self, cid: Cid) -> bytes:
            read.append(cid)
            return super().get(cid)

        def get_many(self, cids: Iterable[Cid]) -> list[bytes]:
            wanted = list(cids)
            read.extend(wanted)
            return super().get_many(wanted)

    store = Store(bootstrapped(MemoryStore(), Config.default(), "", lambda: 0))
    repo = Repository(Core(store, None, lambda: 0))  # type: ignore[arg-type]
    with repo.transaction() as tx:
        for number in range(2000):
            tx.add_node("Doc", summary=f"retries {number}", key=number)
    read.clear()
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="load", key="new")
    trees = [cid for cid in read if type(cid) is TreeCid]
    assert 3 <= len(trees) == len(set(trees))
