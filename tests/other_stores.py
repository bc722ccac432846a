"""Lets the tests that do not depend on the store run on another one.

`IBIDEM_TEST_STORE=log pytest tests/repo tests/memory tests/acceptance tests/ingest tests/testing
tests/adapters tests/serve tests/pages tests/embed`; instead of `log` also `s3`, `postgres` or
`split`. Tests of other rooms are about no store, about one of their own, or about processes and
files of a folder.

A folder is opened as always, but its blocks and cells are elsewhere: the tests need not know.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.s3_server import BUCKET as BUCKET_NAME

from ibidem.store.backends import Backend
from ibidem.store.cache import BlockCache
from ibidem.store.lmdb import backend
from ibidem.store.log.backend import creating
from ibidem.store.log.objects import Bucket
from ibidem.store.log.store import LogStore
from ibidem.store.protocol import LayoutReport, Store

_PROCESSES = "it starts processes, which use the store of folders"
_FILE = "it is about the file of LMDB, or counts copies in it"
_SNAPSHOT = "an erasure comes in the middle of a call, which ends on the state that it began with"
_FOLDER = "it looks for blocks, or for exact names, in a folder that has none of them"
_COPIED = "it copies a folder, and the copy names the same store"
_WRITTEN = "it opens a folder that the store of folders has written"
EXCLUDED = {
    "test_a_copy_that_authorises_it_erases_too": _FOLDER,
    "test_a_copy_that_does_not_authorise_it_keeps_what_it_has": _FOLDER,
    "test_a_field_that_is_new_in_the_table_is_erased": _FOLDER,
    "test_a_new_repository_is_a_folder_that_appears_whole": _FOLDER,
    "test_an_empty_repository_replays_what_a_file_brings": _WRITTEN,
    "test_children_do_the_work": _PROCESSES,
    "test_damaged_and_missing_blocks_come_from_another_copy": _COPIED,
    "test_much_waits_on_disk_and_leaves_nothing_behind": _FOLDER,
    "test_nothing_done_later_changes_a_replay": _WRITTEN,
    "test_only_a_repository_in_a_bucket_shares": _FOLDER,
    "test_what_a_killed_import_has_left_goes": _COPIED,
    "test_what_quotes_any_field_of_it_goes_too": _FOLDER,
    "test_a_damaged_layout_is_found_before_the_file_is_opened": _FILE,
    "test_a_killed_writer_leaves_the_last_whole_commit": _PROCESSES,
    "test_a_medium_that_is_refused_leaves_nothing_behind": _FILE,
    "test_a_process_that_knew_it_does_not_bring_it_back": _PROCESSES,
    "test_a_question_about_the_head_is_about_the_next_where_this_is_erased_from": _SNAPSHOT,
    "test_a_revision_from_before_an_erasure_makes_no_index_that_quotes_it": _SNAPSHOT,
    "test_a_text_is_found_as_json_writes_it": _FILE,
    "test_a_whole_repository_is_clean_and_everything_is_counted": _FILE,
    "test_goldens_work_under_xdist": _PROCESSES,
    "test_processes_write_the_same_bytes": _PROCESSES,
    "test_8_processes_lose_no_key_and_no_remote": _PROCESSES,
    "test_an_erasure_that_fails_at_any_step_is_finished_by_whoever_comes_next": _FILE,
    "test_an_open_of_a_whole_repository_reads_one_cell_more_and_no_block": _FILE,
    "test_deleted_records_that_were_not_overwritten_are_named": _FILE,
    "test_every_flip_is_found_or_without_effect": _FILE,
    "test_it_comes_back_by_no_way": _PROCESSES,
    "test_nothing_is_lost_beside_writers_and_readers": _PROCESSES,
    "test_processes_on_one_branch_lose_nothing": _PROCESSES,
    "test_processes_that_race_lose_no_commit": _PROCESSES,
    "test_two_processes_answer_with_the_same_bytes": _PROCESSES,
    "test_what_was_erased_is_known_though_the_view_that_said_so_is_given_up": _SNAPSHOT,
    "test_who_has_it_open_finishes_what_a_killed_process_began_before_anything_is_read": _PROCESSES,
}
"""Tests that do not hold on another store, and why."""
EXCLUDED_MODULES = {
    "test_workers": "its repositories are made for the whole module, before the store is another",
}
_POINTER = "format"
_OBJECTS = "blocks"


class LogInFolder:
    """The log that is used in buckets, in the folder of the repository."""

    @contextmanager
    def create(self, address: str, folder: Path) -> Iterator[Store]:
        with creating(_objects(folder), address, None) as store:
            yield store
        (folder / _POINTER).write_text('{"version": 1}')

    def open(self, address: str, folder: Path) -> Store:
        backend.check_format(folder)
        return LogStore(_objects(folder), cache=BlockCache(None))

    def check(self, address: str, folder: Path) -> LayoutReport:
        backend.check_format(folder)
        return LayoutReport()


class Pointed:
    """Another backend; a file in the folder says at which address."""

    def __init__(self, other: Backend, new_address: Callable[[], str]) -> None:
        self._other = other
        self._new_address = new_address
        self.opened: list[Store] = []
        """To be closed after a test that has left them to the garbage collector."""

    @contextmanager
    def create(self, address: str, folder: Path) -> Iterator[Store]:
        there = self._new_address()
        (folder / _OBJECTS).mkdir(exist_ok=True)
        with self._other.create(there, folder) as store:
            yield store
        (folder / _POINTER).write_text(json.dumps({"version": 1, "at": there}))

    def open(self, address: str, folder: Path) -> Store:
        self.opened.append(self._other.open(self._address(folder), folder))
        return self.opened[-1]

    def check(self, address: str, folder: Path) -> LayoutReport:
        return self._other.check(self._address(folder), folder)

    def _address(self, folder: Path) -> str:
        return str(backend.check_format(folder)["at"])


def other_backend(kind: str, address: str) -> Backend:
    """Returns the backend that stands in for folders.

    Args:
        address: of a server: a bucket, or a database.
    """
    if kind == "log":
        return LogInFolder()
    if kind == "s3":
        from ibidem.store.log.backend import BUCKET

        return Pointed(BUCKET, lambda: f"{address}/{uuid.uuid4().hex}")
    from ibidem.store.postgres.backend import POSTGRES

    def new_schema() -> str:
        name = uuid.uuid4().hex
        blocks = f"&blocks=s3://{BUCKET_NAME}/{name}" if kind == "split" else ""
        return f"{address}&schema=s{name}{blocks}"

    return Pointed(POSTGRES, new_schema)


def _objects(folder: Path) -> Bucket:
    from obstore.store import LocalStore

    return Bucket(LocalStore(folder / _OBJECTS / "objects", mkdir=True))
