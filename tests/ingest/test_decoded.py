"""Text in UTF-16 is read as such, also in a working folder; text in other encodings is left out."""

import hashlib

import pytest

import ibidem
from ibidem.ingest.document import read_document
from ibidem.ingest.folder_diff import folder_diff
from ibidem.ingest.folder_status import folder_status
from ibidem.ingest.formats import format_of
from ibidem.ingest.skip_reason import skip_reason
from ibidem.ingest.stat_table import stat_of
from ibidem.ingest.working_folder import WorkingFolder

TEXT = "# Büro\r\n\r\nDer Schlüssel liegt bei Frau Zöllner.\r\n"
LITTLE, BIG = b"\xff\xfe" + TEXT.encode("utf-16-le"), b"\xfe\xff" + TEXT.encode("utf-16-be")
KEY = "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA" * 4 + "\n"


@pytest.mark.parametrize("data", [LITTLE, BIG])
def test_utf_16_with_a_byte_order_mark_is_text(data):
    assert skip_reason("a.md", data, format_of("a.md")) is None
    document = read_document("a.md", data).drafts[-1]
    assert document.summary == "Büro"
    assert document.props["extractor"] == "ibidem-utf-16"
    assert document.props["source_sha256"] == hashlib.sha256(data).hexdigest()
    ours, plain = read_document("a.md", data).drafts, read_document("a.md", TEXT).drafts
    assert [each.id for each in ours] == [each.id for each in plain]
    assert ours[:-1] == plain[:-1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("Zöllner".encode("latin-1"), "text in another encoding (not UTF-8 at byte 1)"),
        ("Zö\x01".encode("latin-1"), "binary (not UTF-8 at byte 1)"),
        (b"\xff\xfea", "binary (not UTF-16 at byte 2)"),
        (b"\xff\xfe\x00\xd8a\x00", "binary (not UTF-16 at byte 2)"),
        ("Z\0".encode("utf-16"), "binary (NUL at byte 1)"),
        ("Z".encode("utf-32"), "binary (NUL at byte 0)"),
        ("Zö".encode("utf-16-le"), "binary (NUL at byte 1)"),
        (KEY.encode("utf-16"), "holds a private key"),
    ],
)
def test_what_is_left_out_says_why(data, reason):
    assert skip_reason("a.txt", data, format_of("a.txt")) == reason


def test_a_file_in_utf_16_is_compared_with_its_document(tmp_path):
    repo = ibidem.init(tmp_path)
    file = tmp_path / "a.md"
    file.write_bytes(LITTLE)
    assert repo.ingest(tmp_path).documents_added == 1

    def differences():
        folder = WorkingFolder.open(repo.core, tmp_path)
        root = repo.core.graph().root
        return folder_status(folder).changed, folder_diff(folder, root, root).changes

    assert differences() == ([], ())
    after = TEXT.replace("Frau", "Herrn")
    file.write_bytes(after.encode("utf-16"))
    changed, (difference,) = differences()
    assert (changed, difference.before, difference.after) == (["a.md"], TEXT, after)
    file.write_bytes(after.encode("utf-8"))
    assert repo.ingest(tmp_path).documents_changed == 1
    (document,) = repo.at("main").query(label="Document")
    assert "extractor" not in document.props


def test_a_file_that_another_version_left_out_is_read_again(tmp_path):
    repo = ibidem.init(tmp_path)
    file = tmp_path / "a.md"
    file.write_bytes(LITTLE)
    folder = WorkingFolder.open(repo.core, tmp_path)
    folder.started_ns = 1 << 62
    folder.saw("a.md", stat_of(file.stat()), LITTLE, reason="binary")
    assert folder.is_read("a.md", stat_of(file.stat()))
    folder.table.rows["a.md"] = folder.row("a.md")._replace(reader="an older version")
    folder.save()
    assert repo.ingest(tmp_path).documents_added == 1
