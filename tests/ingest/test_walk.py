"""Folders that were made to mislead, and the ignore files and secrets that must be left out."""

import os
import threading
from pathlib import Path

import pytest

from ibidem.ingest.ignore import is_ignored, parse_ignore
from ibidem.ingest.secret import has_private_key, is_secret_name
from ibidem.ingest.walk import FOLDER_DEPTH_MAX, Found, Skipped, ignores_above, opened, read, walk

KEY_LINE = b"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PRIVATE_KEY = b"-----BEGIN PRIVATE KEY-----\n" + KEY_LINE + b"\n-----END PRIVATE KEY-----\n"


def make(folder, files):
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def seen(folder, prefix="", ignores=()):
    found, skipped = [], {}
    for entry in walk(folder, prefix, ignores):
        if isinstance(entry, Found):
            found.append(entry.path)
        else:
            assert isinstance(entry, Skipped)
            skipped[entry.path] = entry.reason
    return found, skipped


def test_files_come_in_byte_order_below_their_prefix(tmp_path):
    make(tmp_path, {"b.md": "", "a/z.md": "", "a.md": "", "Z.md": "", "é.md": ""})
    assert seen(tmp_path, "docs")[0] == [
        "docs/Z.md",
        "docs/a/z.md",
        "docs/a.md",
        "docs/b.md",
        "docs/é.md",
    ]


def test_hidden_files_and_secrets_are_left_out_with_their_reason(tmp_path):
    make(
        tmp_path,
        {
            ".git/config": "",
            ".hidden": "",
            ".env": "",
            "id_rsa": "",
            "x/server.pem": "",
            "ok.md": "",
        },
    )
    found, skipped = seen(tmp_path)
    assert found == ["ok.md"]
    assert skipped == {
        ".git": "hidden",
        ".hidden": "hidden",
        ".env": "looks like a secret (by its name)",
        "id_rsa": "looks like a secret (by its name)",
        "x/server.pem": "looks like a secret (by its name)",
    }


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.local",
        "id_rsa",
        "ID_RSA",
        "id_ed25519.bak",
        "a.pem",
        "a.key",
        "credentials",
        "credentials.json",
        "secrets.yaml",
        "x.p12",
        ".netrc",
        ".pgpass",
        "client_secret_1.json",
        "service-account-prod.json",
        "terraform.tfstate",
    ],
)
def test_a_name_of_a_secret_is_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "id_rsa.pub",
        "keys.md",
        "secrets.md",
        "environment.py",
        ".env.example",
        "monkey",
        "a.keyboard",
    ],
)
def test_a_name_that_only_resembles_one_is_not(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize("kind", [b"", b"RSA ", b"EC ", b"OPENSSH ", b"ENCRYPTED "])
def test_a_private_key_is_known_by_its_block(kind):
    assert has_private_key(b"text\n" + PRIVATE_KEY.replace(b"PRIVATE", kind + b"PRIVATE"))
    assert has_private_key(b"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + KEY_LINE)


def test_text_about_private_keys_and_public_keys_is_not_one():
    assert not has_private_key(b"A file begins with -----BEGIN PRIVATE KEY----- and then goes on.")
    assert not has_private_key(PRIVATE_KEY.replace(b"PRIVATE", b"PUBLIC"))


def test_ignore_files_nest_and_the_deeper_one_decides(tmp_path):
    make(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n/top.md\n",
            "a.log": "",
            "build/x.md": "",
            "top.md": "",
            "in/top.md": "",
            "in/.gitignore": "!keep.log\n*.tmp\n",
            "in/keep.log": "",
            "in/b.log": "",
            "in/c.tmp": "",
            "c.tmp": "",
        },
    )
    found, skipped = seen(tmp_path)
    assert found == ["c.tmp", "in/keep.log", "in/top.md"]
    assert set(skipped) == {"a.log", "build", "top.md", "in/b.log", "in/c.tmp"}
    assert set(skipped.values()) == {"ignored (.gitignore)"}


def test_patterns_above_the_folder_hold_up_to_the_root(tmp_path):
    make(
        tmp_path,
        {
            ".gitignore": "*.log\n/docs/private/\n",
            "docs/a.log": "",
            "docs/private/x.md": "",
            "docs/b.md": "",
        },
    )
    above = ignores_above(tmp_path, tmp_path / "docs")
    assert seen(tmp_path / "docs", "docs", above)[0] == ["docs/b.md"]


def test_an_ignore_file_that_cannot_be_read_is_reported(tmp_path):
    make(tmp_path, {"a.md": ""})
    (tmp_path / ".gitignore").write_bytes(b"\xff\xfe")
    found, skipped = seen(tmp_path)
    assert found == ["a.md"]
    assert skipped[".gitignore"].startswith("ignore file not used")


def test_patterns_apply_to_names_below_their_folder_only():
    ignore = parse_ignore("docs", b"/a.md\n")
    assert is_ignored("docs/a.md", [ignore], folder=False)
    assert not is_ignored("docs/in/a.md", [ignore], folder=False)


def test_no_link_is_followed(tmp_path):
    outside = tmp_path / "outside"
    make(outside, {"secret.md": "outside"})
    tree = tmp_path / "tree"
    make(tree, {"a.md": "inside"})
    (tree / "file.md").symlink_to(outside / "secret.md")
    (tree / "folder").symlink_to(outside)
    (tree / "loop").symlink_to(tree)
    (tree / "dangling").symlink_to(tree / "nowhere")
    found, skipped = seen(tree)
    assert found == ["a.md"]
    assert set(skipped.values()) == {"symbolic link, not followed"}
    assert len(skipped) == 4


def test_a_folder_swapped_for_a_link_after_the_walk_is_not_followed(tmp_path):
    make(tmp_path, {"tree/in/a.md": "inside", "outside/a.md": "outside"})
    (entry,) = walk(tmp_path / "tree", "")
    (tmp_path / "tree" / "in").rename(tmp_path / "moved")
    (tmp_path / "tree" / "in").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError), opened(entry.base, entry.below):
        pass


def test_a_file_swapped_for_a_link_after_the_walk_is_not_followed(tmp_path):
    make(tmp_path, {"tree/a.md": "inside", "outside/a.md": "outside"})
    (entry,) = walk(tmp_path / "tree", "")
    (tmp_path / "tree" / "a.md").unlink()
    (tmp_path / "tree" / "a.md").symlink_to(tmp_path / "outside" / "a.md")
    with pytest.raises(OSError), opened(entry.base, entry.below):
        pass


def test_a_pipe_does_not_hang_the_walk_or_the_reading(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    done = threading.Event()

    def attempt():
        assert seen(tmp_path) == ([], {"pipe.md": "not a regular file"})
        with pytest.raises(ValueError, match="not a regular file"), opened(tmp_path, "pipe.md"):
            pass
        done.set()

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(300)
    assert done.is_set()


def test_a_huge_sparse_file_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "huge.md").open("wb") as file:
        file.truncate(10 << 40)
    with opened(tmp_path, "huge.md") as descriptor, pytest.raises(ValueError, match="at most 1000"):
        read(descriptor, 1000)


def test_a_file_that_lies_about_its_size_is_bounded_while_it_is_read():
    descriptor = os.open("/proc/self/maps", os.O_RDONLY)
    try:
        with pytest.raises(ValueError, match="grew past 10 bytes"):
            read(descriptor, 10)
    finally:
        os.close(descriptor)


def test_names_of_any_bytes_are_found_or_reported(tmp_path):
    (tmp_path / "line\nfeed.md").write_text("")
    (tmp_path / os.fsdecode(b"bad\xff.md")).write_text("")
    found, skipped = seen(tmp_path)
    assert found == ["line\nfeed.md"]
    assert skipped == {"bad\\udcff.md": "name is not UTF-8"}


def descriptors() -> list[Path]:
    return list(Path("/proc/self/fd").iterdir())


def target_of(descriptor: Path) -> Path:
    """Returns what an open descriptor is of; that of the listing itself is gone by now."""
    try:
        return descriptor.readlink()
    except FileNotFoundError:
        return descriptor


def test_folders_nest_to_a_limit_and_descriptors_are_closed(tmp_path):
    folder = tmp_path
    for _ in range(FOLDER_DEPTH_MAX + 3):
        folder = folder / "d"
        folder.mkdir()
    (folder / "a.md").write_text("")
    found, skipped = seen(tmp_path)
    assert found == []
    assert list(skipped.values()) == [f"more than {FOLDER_DEPTH_MAX} folders deep"]
    assert not [target for target in map(target_of, descriptors()) if tmp_path in target.parents]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_reported(tmp_path):
    make(tmp_path, {"a.md": "", "shut/b.md": ""})
    (tmp_path / "shut").chmod(0)
    try:
        found, skipped = seen(tmp_path)
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert found == ["a.md"]
    assert skipped["shut"].startswith("folder not readable")
