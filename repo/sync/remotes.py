"""The remotes that a repository knows by name: addresses beside the repository, no part of it.

They stand in `.ibidem/local/remotes.json`. Nothing that comes from elsewhere writes there, and no
token does: at most the path of a file that holds one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.record import record
from ibidem.repo.sync.names import check_remote

FILE = Path("local") / "remotes.json"
_VERSION = 1


@record
class RemoteAddress:
    """Where a remote is."""

    location: str
    """An URL, or the absolute path of a folder or a file."""
    token_file: str | None = None
    """Path of a file with the token, for an URL."""
    is_plain_allowed: bool = False
    """Whether the token may cross a network without encryption."""


class Remotes:
    """The remotes of one repository; in memory where it has no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._kept: dict[str, RemoteAddress] = {}

    def all(self) -> dict[str, RemoteAddress]:
        """Returns the addresses by name.

        Raises:
            CorruptError: the file is not what this program writes.
        """
        if self._path is None:
            return dict(self._kept)
        try:
            found = json.loads(self._path.read_bytes())
            if found["version"] != _VERSION:
                raise ValueError("version")
            remotes = {
                check_remote(name): RemoteAddress(**row) for name, row in found["remotes"].items()
            }
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CorruptError(
                f"remotes: {self._path} is damaged",
                hint="delete it and add the remotes again; no data is affected",
            ) from error
        return dict(sorted(remotes.items()))

    def get(self, name: str) -> RemoteAddress:
        """Returns the address of a remote; raises `NotFoundError` where there is none."""
        found = self.all().get(check_remote(name))
        if found is None:
            raise NotFoundError(
                f"remote {name!r} is not known here",
                hint=f"repo remote add {name} LOCATION; or if {name} is a branch, say the remote "
                f"first: repo push origin {name}",
            )
        return found

    def add(self, name: str, address: RemoteAddress) -> None:
        """Adds a remote; raises `InvalidInputError` when there is one of that name."""
        known = self.all()
        if check_remote(name) in known:
            raise InvalidInputError(
                f"remote: {name!r} exists, at {known[name].location}", hint="remove it first"
            )
        self._write({**known, name: address})

    def remove(self, name: str) -> None:
        """Removes a remote; what was copied from it stays."""
        self.get(name)
        known = self.all()
        del known[name]
        self._write(known)

    def _write(self, remotes: Mapping[str, RemoteAddress]) -> None:
        if self._path is None:
            self._kept = dict(remotes)
            return
        self._path.parent.mkdir(exist_ok=True)
        rows = {name: asdict(remotes[name]) for name in sorted(remotes)}
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        draft.write_text(json.dumps({"version": _VERSION, "remotes": rows}, indent=2) + "\n")
        draft.replace(self._path)
