"""A local PostgreSQL server for tests: on a socket in a temporary folder, ended with the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.s3_server import require


def program(name: str) -> str:
    """Returns the path of a program of the server, or skips the test."""
    found = shutil.which(name)
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if found is None and not installed:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return found or str(installed[-1])


@contextmanager
def postgres() -> Iterator[str]:
    """Runs the server; yields the address of its database, without a schema."""
    require("psycopg")
    initdb, control = program("initdb"), program("pg_ctl")
    # A socket's path may have 107 characters. The server refuses to run as root.
    with tempfile.TemporaryDirectory(prefix="ibidem-pg-") as name:
        folder = Path(name)
        user: list[str] = []
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
            user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = str(folder / "data")

        def run(*command: str) -> None:
            done = subprocess.run(
                [*user, *command],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
            )
            assert done.returncode == 0, done.stderr

        run(initdb, "-D", data, "-A", "trust", "-U", "test", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(control, "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql:///postgres?host={folder}&user=test"
        finally:
            run(control, "-D", data, "-m", "immediate", "stop")
