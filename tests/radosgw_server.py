"""A second S3 server for tests: Ceph's `radosgw` over one storage daemon in memory, from Debian.

It shares no code with `ministack`. It answers 500 to some conditional requests under contention,
although none of them took effect.
"""

from __future__ import annotations

import hmac
import os
import shutil
import subprocess
import tempfile
import urllib.request
import uuid
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email.utils import formatdate
from pathlib import Path

import pytest
from tests.s3_server import BUCKET, free_port, require, running

PROGRAMS = (
    *("radosgw", "radosgw-admin", "ceph", "ceph-mon", "ceph-osd"),
    *("ceph-authtool", "monmaptool"),
)
_KEY = "test"
_PLACES = ("mon", "osd", "run", "log", "rgw")
_CONFIGURATION = """[global]
fsid={cluster}
mon_host={monitor}
auth_cluster_required=cephx
auth_service_required=cephx
auth_client_required=cephx
osd_pool_default_size=1
osd_pool_default_min_size=1
osd_pool_default_pg_num=8
osd_pool_default_pgp_num=8
osd_crush_chooseleaf_type=0
mon_allow_pool_size_one=true
mon_max_pg_per_osd=1000
mon_data={folder}/mon
osd_data={folder}/osd
osd_objectstore=memstore
memstore_device_bytes=2147483648
public_addr=127.0.0.1
cluster_addr=127.0.0.1
run_dir={folder}/run
admin_socket={folder}/run/$name.asok
pid_file=
log_file={folder}/log/$name.log
mon_data_avail_crit=1
mon_data_avail_warn=1
keyring={folder}/keyring
rgw_data={folder}/rgw
rgw_frontends=beast endpoint=127.0.0.1:{port} tcp_nodelay=1
rgw_thread_pool_size=64
"""


@contextmanager
def radosgw() -> Iterator[dict[str, str]]:
    """Runs the daemons with one bucket; yields the environment of their clients."""
    require("obstore")
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt-get install radosgw ceph-mon ceph-osd")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ibidem-rgw-")))
        for name in _PLACES:
            (folder / name).mkdir()
        monitor_port, port = free_port(), free_port()
        monitor = f"[v2:127.0.0.1:{monitor_port}/0]"
        cluster = str(uuid.uuid4())
        settings = folder / "ceph.conf"
        settings.write_text(
            _CONFIGURATION.format(cluster=cluster, monitor=monitor, folder=folder, port=port)
        )
        keys = str(folder / "keyring")

        def run(program: str, *arguments: str) -> str:
            done = subprocess.run(
                [program, *arguments],
                cwd=folder,
                env={**os.environ, "CEPH_CONF": str(settings)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, done.stdout
            return done.stdout

        def serve(program: str, listens: int, *arguments: str) -> None:
            command = [program, "-c", str(settings), "-f", *arguments]
            stack.enter_context(
                running(command, folder / "log" / program, listens, dict(os.environ))
            )

        every = ("--cap", "mon", "allow *", "--cap", "osd", "allow *")
        run("ceph-authtool", "--create-keyring", keys, "--gen-key", "-n", "mon.", *every[:3])
        run("ceph-authtool", keys, "--gen-key", "-n", "client.admin", *every)
        run("ceph-authtool", keys, "--gen-key", "-n", "osd.0", *every)
        run("monmaptool", "--create", "--fsid", cluster, "--addv", "a", monitor, "monmap")
        run("ceph-mon", "--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", keys)
        serve("ceph-mon", monitor_port, "-i", "a")
        run("ceph", "auth", "import", "-i", keys)
        run("ceph", "osd", "create")
        run("ceph-osd", "-i", "0", "--mkfs")
        serve("ceph-osd", monitor_port, "-i", "0")
        user = ("--uid=test", "--display-name=test", f"--access-key={_KEY}", f"--secret={_KEY}")
        run("radosgw-admin", "user", "create", *user)
        serve("radosgw", port, "-n", "client.admin", "--keyring", keys)
        variables = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _KEY,
            "AWS_REGION": "us-east-1",
        }
        _create_bucket(port)
        yield variables


def _create_bucket(port: int) -> None:
    """Creates the bucket, by a request that is signed in the oldest way, which is the shortest."""
    date = formatdate(usegmt=True)
    text = f"PUT\n\n\n{date}\n/{BUCKET}".encode()
    signature = b64encode(hmac.digest(_KEY.encode(), text, "sha1")).decode()
    headers = {"Date": date, "Authorization": f"AWS {_KEY}:{signature}", "Content-Type": ""}
    address = f"http://127.0.0.1:{port}/{BUCKET}"
    urllib.request.urlopen(
        urllib.request.Request(address, data=b"", headers=headers, method="PUT")
    ).close()
