"""The register of one's repositories: names in a small file in the user's configuration folder.

A name stands wherever `--repo` takes a path. A repository gets into the register only by a command
that says so. Only the program reads the file; nothing below it knows names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.store.files import change_file

_Change = Callable[[dict[str, str]], dict[str, str]]
GLOBAL = "global"
"""The name of the repository that `--global` means."""
_FILE = "repositories.json"
_NAME = re.compile(r"\w[\w.-]{0,99}")


class Registry:
    """The registered repositories of a user."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Reads nothing.

        Args:
            environment: of this run; `XDG_CONFIG_HOME` and `XDG_DATA_HOME` come before the folders
                of the system.
        """
        self._environment = environment

    @property
    def file(self) -> Path:
        """The file, which need not exist."""
        from platformdirs import user_config_path

        own = user_config_path("ibidem", appauthor=False)
        return self._below("XDG_CONFIG_HOME", own) / _FILE

    @property
    def global_folder(self) -> Path:
        """Where `repo init --global` creates the global repository."""
        from platformdirs import user_data_path

        own = user_data_path("ibidem", appauthor=False)
        return self._below("XDG_DATA_HOME", own) / GLOBAL

    def all(self) -> dict[str, str]:
        """Returns the registered addresses by name, ascending; an address is a URL or an absolute
        path.

        Raises:
            InvalidInputError: the file has another form.
        """
        try:
            return self._read(self.file.read_bytes())
        except FileNotFoundError:
            return {}

    def get(self, name: str) -> str | None:
        """Returns the address of a name, None if it is not registered."""
        return self.all().get(name) if is_name(name) else None

    def check(self, name: str, address: str) -> None:
        """Raises `InvalidInputError` if a name cannot be one, or is that of another repository."""
        if not is_name(name):
            raise InvalidInputError(
                f"name: got {name!r:.80}, expected 1 to 100 letters, digits, '_', '.' and '-', "
                "the first of them no '.' or '-'"
            )
        _check_free(self.all(), name, address)

    def add(self, name: str, address: str) -> None:
        """Registers a repository; the same again changes nothing.

        Raises:
            InvalidInputError: as `check`.
        """
        self.check(name, address)

        def added(before: dict[str, str]) -> dict[str, str]:
            _check_free(before, name, address)
            return {**before, name: address}

        self._change(added)

    def remove(self, name: str) -> str:
        """Removes a name and returns its address; the repository stays.

        Raises:
            NotFoundError: it is not registered.
        """
        address = self.get(name)
        if address is None:
            raise NotFoundError(
                f"name: no repository is registered as {name!r:.80}",
                kind=ErrorKind.NOT_FOUND,
                hint="`repo config repos` lists them",
            )
        self._change(lambda before: {one: at for one, at in before.items() if one != name})
        return address

    def _change(self, change: _Change) -> None:
        def changed(data: bytes | None) -> bytes:
            found = change(self._read(data or b"{}"))
            text = json.dumps(dict(sorted(found.items())), indent=2, ensure_ascii=False)
            return text.encode() + b"\n"

        file = self.file
        file.parent.parent.mkdir(parents=True, exist_ok=True)
        change_file(file, changed, mode=0o600, folder_mode=0o700)  # an address may have a password

    def _read(self, data: bytes) -> dict[str, str]:
        try:
            found = json.loads(data)
        except ValueError as error:
            raise InvalidInputError(f"{self.file}: {error}") from error
        is_map = isinstance(found, dict) and all(
            is_name(name) and isinstance(address, str) and address
            for name, address in found.items()
        )
        if not is_map:
            raise InvalidInputError(f"{self.file}: expected an object from names to addresses")
        return dict(sorted(found.items()))

    def _below(self, variable: str, own: Path) -> Path:
        base = self._environment.get(variable)
        return Path(base) / "ibidem" if base and Path(base).is_absolute() else own


def is_name(text: str) -> bool:
    """Returns whether a text can be a name: it is no path with a folder, and no URL."""
    return _NAME.fullmatch(text) is not None


def _check_free(known: Mapping[str, str], name: str, address: str) -> None:
    if known.get(name, address) != address:
        from ibidem.store.backends import without_password

        raise InvalidInputError(
            f"name: {name!r} is registered as {without_password(known[name])}, and this is "
            f"{without_password(address)}",
            hint=f"take another name, or run `repo config repos remove {name}`",
        )
