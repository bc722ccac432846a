"""The option `--html`: a page that stands alone, for somebody who has no repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ibidem.cli.render import output
from ibidem.store.files import write_file

Function = TypeVar("Function", bound=Callable[..., Any])


def html_option(function: Function) -> Function:
    """Adds `--html`, passed on as `html`, a path or None."""
    return click.option(
        "--html",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Also write this to FILE as an HTML page that stands alone.",
    )(function)


def write_page(path: Path, page: str) -> None:
    """Writes a page, replacing the file, and says so on standard error.

    Raises:
        StorageError: a disk error.
    """
    data = page.encode()
    write_file(path, data)
    output.note(f"{path} written, {len(data):,} bytes")
