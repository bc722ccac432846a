"""The frozen tables: what they say, who writes them, that interpreters agree."""

import hashlib
import importlib.util
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest

from ibidem.index.analysis import fold as fold_module
from ibidem.index.analysis.fold import fold, fold_with_origins

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "index" / "analysis" / "unicode-14.bin"
TABLE_SHA256 = "f189fa6c0126da0b256500f3d47ffca2f9cbf655be46036b56f6068300e589ed"
IS_UNICODE_14 = unicodedata.unidata_version == "14.0.0"


def test_table_is_the_frozen_one() -> None:
    assert hashlib.sha256(TABLE.read_bytes()).hexdigest() == TABLE_SHA256


@pytest.mark.slow
@pytest.mark.skipif(not IS_UNICODE_14, reason="made with Unicode 14.0, Python 3.11")
def test_script_writes_the_frozen_table() -> None:
    path = ROOT / "tests" / "tools" / "make_unicode_tables.py"
    spec = importlib.util.spec_from_file_location("make_unicode_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert hashlib.sha256(module.build()).hexdigest() == TABLE_SHA256


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Don't_stop 3.5!", "Don't_stop 3.5 "),
        ("É", "e\u0301"),
        ("\u212b", "a\u030a"),
        ("a\u0301\u0323", "a\u0323\u0301"),
        ("\U0001d15e\U0001d16d\U0001d165", " \U0001d165\U0001d165\U0001d16d"),
        ("\u1112\u1161\u11ab\u11ab", "한\u11ab"),
        ("하\u11ab", "한"),
        ("İI\u0307I", "iiI"),
        ("٣", "3"),
        ("\u200b", " "),
        ("\u200d", ""),
        ("\ud800", " "),
        ("\u0378", " "),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded
    found, origins = fold_with_origins(text)
    assert found == folded
    assert len(origins) == len(folded)


@pytest.mark.slow
def test_every_assigned_letter_decomposes_as_unicode_says() -> None:
    """Against the running interpreter: what is assigned in 14.0 folds alike ever after."""
    for code in range(128, 0x110000):
        char = chr(code)
        folded = fold(char)
        if not folded or " " in folded or "i" in folded or unicodedata.category(char) == "Nd":
            continue
        decomposed = unicodedata.normalize("NFKD", char)
        if "\u0345" in decomposed or 0xAC00 <= code <= 0xD7A3:
            continue
        expected = unicodedata.normalize("NFKD", decomposed.casefold())
        expected = unicodedata.normalize("NFKD", expected.casefold())
        assert folded.replace("'", "") == fold(expected).replace("'", ""), hex(code)


def test_ascii_reads_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("the table was asked for")

    monkeypatch.setattr(fold_module, "_tables", refuse)
    monkeypatch.setattr(fold_module, "_replacements", refuse)
    assert fold("Plain text, only.") == "Plain text  only."


INTERPRETERS = ("python3.11", "python3.12", "python3.13", "python3.14")
PROGRAM = """
import hashlib, json, random, sys
sys.path.insert(0, sys.argv[1])
from ibidem.index.analysis import analyse
digest = hashlib.sha256()
for code in range(0x110000):
    char = chr(code)
    digest.update(ascii(analyse(f"a{char}b {char}I\\u0323", "english-1")).encode())
chosen = random.Random(14)
for _ in range(20000):
    text = "".join(
        chr(chosen.randrange(chosen.choice((0x600, 0x3100, 0x110000)))) for _ in range(10)
    )
    digest.update(ascii(analyse(text, "english-1")).encode())
with open(sys.argv[2], encoding="utf-8") as file:
    for case in json.load(file):
        if "output" in case:
            assert analyse(**case["input"]) == case["output"], case["name"]
print(digest.hexdigest())
"""
EVERY_CODE_POINT_SHA256 = "1a757af1fd06ed8d46590543f500a434361e4d8a149bbc1203f64aedc9a58c00"


@pytest.mark.slow
@pytest.mark.parametrize("name", INTERPRETERS)
def test_other_interpreters_give_the_same_terms(name: str) -> None:
    path = shutil.which(name)
    vectors = ROOT / "spec" / "vectors" / "retrieval" / "analysis.json"
    arguments = [str(path), "-c", PROGRAM, str(ROOT / "src"), str(vectors)]
    if (
        path is None
        or subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode
    ):
        pytest.skip(f"{name} is not on PATH: terms NOT compared with that version")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == EVERY_CODE_POINT_SHA256
