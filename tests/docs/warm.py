"""The program `repo`, already loaded: each call is a fork of one server.

    python warm.py SOCKET MODULE

A call is a process of its own, with its own folder, arguments, environment and open files, and ends
with its own status; only what starting Python and importing costs is paid once. The client sends
its standard files and the call; the server forks, and the child sends back the status.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

KILLED = 137
"""The status of a call whose process ended without one."""
CLIENT = f"""
import array, os, sys
from _socket import AF_UNIX, SCM_RIGHTS, SHUT_WR, SOCK_STREAM, SOL_SOCKET, socket
from marshal import dumps
there = socket(AF_UNIX, SOCK_STREAM)
there.connect(sys.argv[1])
there.sendmsg([b"-"], [(SOL_SOCKET, SCM_RIGHTS, array.array("i", (0, 1, 2)))])
there.sendall(dumps([os.getcwd(), sys.argv[2:], dict(os.environ)]))
there.shutdown(SHUT_WR)
os._exit((there.recv(1) or bytes([{KILLED}]))[0])
"""


@contextmanager
def served(module: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Serves a module for as long as the context lasts; yields the command line that calls it."""
    with tempfile.TemporaryDirectory() as folder:  # the address of a socket has to be short
        client, address = Path(folder) / "client.py", Path(folder) / "socket"
        client.write_text(CLIENT)
        server = subprocess.Popen(
            [sys.executable, __file__, address, module],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield f'"{sys.executable}" -I -S "{client}" "{address}"'
        finally:
            server.kill()
            server.communicate()


def serve(address: str, module: str) -> NoReturn:
    """Answers calls until it is killed."""
    package = importlib.import_module(module)
    for found in pkgutil.walk_packages(package.__path__, f"{module}."):
        if not found.name.endswith("__main__"):
            with suppress(ImportError):  # of an extra that is not installed
                importlib.import_module(found.name)
    gc.freeze()  # else each call walks through, and so copies, all that was imported
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(address)
        listening.listen(64)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            caller, _ = listening.accept()
            if not os.fork():
                listening.close()
                _answer(caller, module)
            caller.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _answer(caller: socket.socket, module: str) -> NoReturn:
    """Runs the module as the call says, and ends this process."""
    files = array.array("i")
    _, ancillary, _, _ = caller.recvmsg(1, socket.CMSG_SPACE(3 * files.itemsize))
    files.frombytes(ancillary[0][2])
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    with caller.makefile("rb") as stream:
        folder, arguments, environment = marshal.load(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv[1:] = arguments
    status = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        atexit._run_exitfuncs()
        for stream_ in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream_.flush()
        caller.sendall(bytes([status & 0xFF]))
        os._exit(status)


if __name__ == "__main__":
    serve(*sys.argv[1:])
