"""One run of the program: its repository, form of output, author and clock. The environment is read
only here; the options that fill it in are in `options/common.py`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import field
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeVar, cast

import click

from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.cli.render.progress import Meter
    from ibidem.embed.protocol import Embedder
    from ibidem.repo.repository import Repository
    from ibidem.retrieve.access.policy import Viewer

FOLDER = ".ibidem"
SETTINGS_FILE = "local/settings.json"
"""The local settings, in the folder of a repository."""
Color = Literal["auto", "always", "never"]
Function = TypeVar("Function", bound=Callable[..., Any])


@record(frozen=False)
class Session:
    """The common options and the environment of this run."""

    path: str | None = None
    """The value of `--repo`: a folder, a URL or a registered name."""
    is_global: bool = False
    """Whether `--global` was given."""
    json: bool = False
    color: Color = "auto"
    is_quiet: bool = False
    _meter: Meter | None = None
    viewer: str | None = None
    """The value of `--viewer`."""
    agent: str | None = None
    """The value of `--agent`, and likewise of `--task`."""
    task: str | None = None
    command: str = "repo"
    """What was called, for errors that come from no command."""
    context: click.Context | None = None
    """Of the command that runs; None before one is found."""
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    _settings: dict[str, Any] | None = None

    def address(self) -> str | Path:
        """Returns the address of the repository: a URL, or the folder that holds it.

        `--repo` or `--global`, else `IBIDEM_REPO`, else the nearest one at or above the working
        directory.

        Raises:
            NotFoundError: there is no folder with a repository; kind `ambiguous`: a folder and a
                registered name.
            InvalidInputError: both options were given.
        """
        if self.is_global:
            return self._global_address()
        given = self.path or self.environment.get("IBIDEM_REPO")
        if given:
            return self.address_of(given)
        here = Path.cwd()
        for folder in (here, *here.parents):
            if (folder / FOLDER).is_dir():
                return folder
        raise _no_repository(f"repository: no {FOLDER}/ in {here} or any folder above it")

    def _global_address(self) -> str | Path:
        if self.path is not None:
            raise InvalidInputError(f"repo: got {self.path!r:.80} with --global, expected one")
        from ibidem.cli.registry import GLOBAL, Registry

        found = Registry(self.environment).get(GLOBAL)
        if found is None:
            raise NotFoundError(
                "repository: there is no global one yet",
                kind=ErrorKind.REPOSITORY_NOT_FOUND,
                hint="run `repo init --global`",
            )
        return _registered(GLOBAL, found)

    def address_of(self, given: str) -> str | Path:
        """Returns the address of a repository that is named by its folder, its URL, or the name
        under which it is registered.

        Raises:
            NotFoundError: it is none of them; kind `ambiguous`: it names a folder with a repository
                and is registered for another.
        """
        if "://" in given:
            return given
        folder = Path(given)
        is_there = (folder / FOLDER).is_dir()
        if folder.name == given:
            from ibidem.cli.registry import Registry

            known = Registry(self.environment).get(given)
            if known is not None and is_there and known != str(folder.resolve()):
                raise NotFoundError(
                    f"repository: {given!r} is the folder {folder.resolve()} and is registered "
                    f"as {known}",
                    kind=ErrorKind.AMBIGUOUS,
                    hint=f"write ./{given} for the folder, or the whole address",
                )
            if known is not None:
                return _registered(given, known)
        if not is_there:
            other = " and no repository registered as that" if folder.name == given else ""
            raise _no_repository(f"repository: no {FOLDER}/ in {given}{other}")
        return folder

    @property
    def is_named(self) -> bool:
        """Whether an option or the environment says which repository it is."""
        return self.is_global or bool(self.path or self.environment.get("IBIDEM_REPO"))

    def name(self) -> str:
        """Returns what a person calls the repository of this run: what was given, or its folder."""
        if self.is_global:
            return "global"
        address = self.address()
        given = self.path or self.environment.get("IBIDEM_REPO")
        if isinstance(address, str):
            from ibidem.store.backends import without_password

            return given if given and "://" not in given else without_password(address)
        return given or address.resolve().name or str(address)

    def registered(self) -> dict[str, str | Path]:
        """Returns the addresses of the registered repositories by name.

        Raises:
            NotFoundError: one is not where it was.
        """
        from ibidem.cli.registry import Registry

        known = Registry(self.environment).all()
        return {name: _registered(name, address) for name, address in known.items()}

    def root(self) -> Path:
        """Returns the folder that names of documents are relative to: that of the repository, and
        for a repository elsewhere the working directory."""
        address = self.address()
        return address if isinstance(address, Path) else Path.cwd()

    def local_folder(self) -> Path:
        """Returns the folder of this machine's files: the settings, the token of the server."""
        address = self.address()
        if isinstance(address, Path):
            return address / FOLDER
        from ibidem.store.backends import location_at

        return location_at(address).folder

    def open(self, *, finish_erasing: bool = True) -> Repository:
        """Opens the repository of this run for the caller, as `ibidem.open` does; use it as a
        context manager."""
        return self.open_at(self.address(), finish_erasing=finish_erasing)

    def open_at(self, address: str | Path, *, finish_erasing: bool = True) -> Repository:
        """Opens the repository at an address for the caller of this run.

        Raises:
            InvalidInputError: it is behind a server, which commands do not ask.
        """
        import ibidem

        if str(address).startswith(("http://", "https://")):
            from ibidem.store.backends import without_password

            raise InvalidInputError(
                f"repo: got the server {without_password(str(address))}, "
                "expected a folder, the address of a store or a registered name",
                hint="clone it with `repo clone URL`, and ask the clone",
            )
        ibidem.set_threads(self._threads())
        found = ibidem.open(address, clock=self.clock(), finish_erasing=finish_erasing)
        found.core.embedder_for = self._embedder
        found.act_as(
            self.agent or self.environment.get("IBIDEM_AGENT") or None,
            self.task or self.environment.get("IBIDEM_TASK") or None,
        )
        found.show_progress(self.meter)
        viewer = self.caller()
        if viewer is None or viewer.everything:
            return found
        # A viewer refuses by itself what he may not.
        return cast("Repository", found.as_viewer(viewer, author=self.author()))

    def _threads(self) -> int | None:
        """Returns `IBIDEM_THREADS`, how many threads may share work; None if it is not set.

        Raises:
            InvalidInputError: it is no whole number.
        """
        given = self.environment.get("IBIDEM_THREADS")
        if not given:
            return None
        if not (given.isascii() and given.isdigit()):
            raise InvalidInputError(f"IBIDEM_THREADS: got {given!r}, expected a whole number")
        return int(given)

    def caller(self) -> Viewer | None:
        """Returns the caller: `--viewer`, else `IBIDEM_VIEWER`; None if neither is set.

        Raises:
            InvalidInputError: no such level.
        """
        return read_viewer(self.viewer or self.environment.get("IBIDEM_VIEWER"))

    @property
    def meter(self) -> Meter:
        """Shows the advance of long work on standard error."""
        if self._meter is None:
            from ibidem.cli.render.progress import Meter

            is_dumb = self.environment.get("TERM") == "dumb"
            self._meter = Meter(
                is_shown=not (self.json or self.is_quiet),
                is_terminal=sys.stderr.isatty() and not is_dumb,
                is_colored=self.colored(sys.stderr),
            )
        return self._meter

    def settings(self) -> dict[str, Any]:
        """Returns the local settings of the repository of this run, by name; none without one."""
        if self._settings is None:
            file = self._settings_file()
            if file is None or not file.exists():
                self._settings = {}
            else:
                from ibidem.cli.options.settings import read_local  # few repositories have any

                self._settings = read_local(file)
        return self._settings

    def _settings_file(self) -> Path | None:
        try:
            return self.local_folder() / SETTINGS_FILE
        except NotFoundError:
            return None

    def _embedder(self, model: str) -> Embedder:
        from ibidem.cli.embedders import embedder

        return embedder(self.environment, model)

    def clock(self) -> Callable[[], int]:
        """Returns the clock that dates commits, in microseconds; `SOURCE_DATE_EPOCH` stops it."""
        text = self.environment.get("SOURCE_DATE_EPOCH")
        if not text:
            return lambda: time.time_ns() // 1000
        if not text.isascii() or not text.isdigit() or len(text) > 12:
            raise InvalidInputError(
                f"SOURCE_DATE_EPOCH: got {text!r}, expected whole seconds since 1970"
            )
        fixed = int(text) * 1_000_000
        return lambda: fixed

    def author(self, given: str | None = None) -> str:
        """Returns the author of commits: the option, else `IBIDEM_AUTHOR`, else the setting, else
        the login name."""
        name = given or self.environment.get("IBIDEM_AUTHOR") or self.settings().get("author")
        if name:
            return name
        import getpass

        try:
            return getpass.getuser()
        except (OSError, KeyError, ImportError) as error:
            raise InvalidInputError(
                "author: this system has no login name", hint="pass --author NAME"
            ) from error

    def colored(self, stream: TextIO) -> bool:
        """Returns whether a stream gets colour.

        `--color`, then `NO_COLOR`, then `FORCE_COLOR`, then whether it is a terminal with colour.
        """
        if self.color != "auto":
            return self.color == "always"
        if self.environment.get("NO_COLOR"):
            return False
        if self.environment.get("FORCE_COLOR", "0") not in ("", "0"):
            return True
        return stream.isatty() and self.environment.get("TERM") != "dumb"


def pass_session(function: Function) -> Function:
    """Passes the session on as the first argument; a restricted viewer is refused what
    `repo/viewer/exposure.py` refuses."""

    @click.pass_context
    def checked(context: click.Context, /, *args: Any, **options: Any) -> Any:
        session = context.ensure_object(Session)
        session.context = context
        caller = session.caller()
        if caller is not None and not caller.everything:
            from ibidem.repo.viewer.exposure import check_exposed

            check_exposed(command_name(context))
        return context.invoke(function, session, *args, **options)

    return cast("Function", update_wrapper(checked, function))


def command_name(context: click.Context) -> str:
    """Returns `repo` and the name of the command that runs."""
    names: list[str] = []
    at: click.Context | None = context
    while at is not None and at.parent is not None:
        names.append(str(at.command.name))
        at = at.parent
    return " ".join(["repo", *reversed(names)])


def read_viewer(text: str | None) -> Viewer | None:
    """Returns the context that a person writes, None for no text.

    Raises:
        InvalidInputError: no such level.
    """
    if not text:
        return None
    from ibidem.retrieve.access.policy import ALL, ALL_SCOPES, Viewer, level_of

    if text == "all":
        return ALL
    level, _, scopes = text.partition(":")
    named = [one for one in scopes.split(",") if one]
    return Viewer(
        level=level_of("viewer", parse_level(level)),
        scopes=ALL_SCOPES if scopes == ALL_SCOPES else tuple(named),
    )


def parse_level(text: str) -> int | str:
    """Returns a level that a person writes as a number or by its name."""
    return int(text) if text.isascii() and text.isdigit() else text


def _registered(name: str, address: str) -> str | Path:
    """Returns the address that is registered for a name; raises `NotFoundError` for a folder that
    has no repository any more."""
    if "://" in address:
        return address
    if not (Path(address) / FOLDER).is_dir():
        raise NotFoundError(
            f"repository: {name!r} is registered as {address}, where there is none",
            kind=ErrorKind.REPOSITORY_NOT_FOUND,
            hint=f"run `repo config repos remove {name}`, or put it back",
        )
    return Path(address)


def _no_repository(message: str) -> NotFoundError:
    return NotFoundError(
        message,
        kind=ErrorKind.REPOSITORY_NOT_FOUND,
        hint="run `repo init`, or name the folder with --repo",
    )
