"""A real S3 server on loopback: moto, in a virtual environment of its own in the user's cache folder.

It is installed once for its pins. HEADGATE_TEST_NO_S3=1 leaves its tests out.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PINS = ("moto[server]==5.2.5",)
_START_S = 60


@contextmanager
def serve_s3() -> Generator[str, None, None]:
    """Run a server on a free port and yield its address."""
    if os.environ.get("HEADGATE_TEST_NO_S3") == "1":
        pytest.skip("HEADGATE_TEST_NO_S3=1 leaves it out")
    environment = install()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [environment / "bin" / "moto_server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(server, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def make_bucket(endpoint: str, name: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT")).close()


def make_keys(endpoint: str, *, actions: list[str]) -> tuple[str, str]:
    """Return the keys of a user who may do so much, and let the server check keys from now on."""
    program = f"""
import boto3, json
iam = boto3.client("iam", endpoint_url={endpoint!r}, region_name="us-east-1",
                   aws_access_key_id="a", aws_secret_access_key="b")
iam.create_user(UserName="guest")
allowed = {{"Effect": "Allow", "Action": {actions!r}, "Resource": "*"}}
policy = {{"Version": "2012-10-17", "Statement": [allowed]}}
iam.put_user_policy(UserName="guest", PolicyName="guest", PolicyDocument=json.dumps(policy))
key = iam.create_access_key(UserName="guest")["AccessKey"]
print(json.dumps([key["AccessKeyId"], key["SecretAccessKey"]]))
"""
    python = install() / "bin" / "python"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    plain = {"Content-Type": "text/plain"}
    check = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", b"0", plain, method="POST")
    urllib.request.urlopen(check).close()
    access_key, secret_key = json.loads(done.stdout)
    return access_key, secret_key


def install() -> Path:
    """Return the virtual environment of these pins; the first one who asks makes it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "headgate-tests"
    cache.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256("\n".join((sys.version, *PINS)).encode()).hexdigest()[:12]
    environment = cache / f"moto-{key}"
    with (cache / f"moto-{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (environment / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
            pip = [
                environment / "bin" / "python",
                "-m",
                "pip",
                "--disable-pip-version-check",
                "-q",
                "install",
            ]
            subprocess.run([*pip, *PINS], check=True)
            (environment / "complete").touch()
    return environment


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
