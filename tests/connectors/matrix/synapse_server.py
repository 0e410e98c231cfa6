"""A real Synapse on loopback: installed once a machine, started in a folder of its own.

It is a separate process in a virtual environment of its own, because its pins differ from ours. The
environment lies in the user's cache and is keyed by the version, so only the first run pays for it.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from started_server import StartedServer

VERSION = "1.163.0"
START_S = 60.0
READY_LINE = "Synapse now listening"
READY_LOGGER = "synapse.app._base"
OPT_OUT = "Set HEADGATE_TEST_SYNAPSE=off to leave out the tests that need it."
SECRET = "tests"
BRIDGE = "bridge"
BRIDGE_TOKEN = "token-of-the-bridge"
FAST = {"per_second": 10_000, "burst_count": 10_000}
RAISED_LIMITS: dict[str, Any] = {
    "rc_message": FAST,
    "rc_registration": FAST,
    "rc_login": {"address": FAST, "account": FAST, "failed_attempts": FAST},
    "rc_joins": {"local": FAST, "remote": FAST},
    "rc_joins_per_room": FAST,
    "rc_invites": {"per_room": FAST, "per_user": FAST, "per_issuer": FAST},
    "rc_room_creation": FAST,
    "rc_admin_redaction": FAST,
}


class SynapseUnavailable(Exception):
    """Synapse cannot run on this machine, with the reason."""


def installed_python() -> Path:
    """Return the Python that has Synapse; install it if this machine has not done so yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate-tests"
    cache.mkdir(parents=True, exist_ok=True)
    tag = f"synapse-{VERSION}-py{sys.version_info.major}{sys.version_info.minor}"
    folder = cache / tag
    # Two workers of a suite start at the same time; one installs, the other waits.
    with (cache / f"{tag}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            _install(folder)
    return folder / "bin" / "python"


def _install(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    python = folder / "bin" / "python"
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        f"matrix-synapse=={VERSION}",
    ]
    for command in ([sys.executable, "-m", "venv", folder], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SynapseUnavailable(f"Synapse {VERSION} cannot be installed: {done.stderr[-500:]} {OPT_OUT}")
    (folder / "complete").touch()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Synapse:
    """A homeserver named localhost, without federation."""

    folder: Path
    limits: dict[str, Any] = field(default_factory=lambda: dict(RAISED_LIMITS))
    port: int = field(default_factory=free_port)
    _server: StartedServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Synapse:
        python = installed_python()
        self._configure()
        command = [python, "-m", "synapse.app.homeserver", "--config-path", self.folder / "homeserver.yaml"]
        self._server = StartedServer(command, folder=self.folder, ready_line=READY_LINE)
        if not self._server.wait_until_ready(timeout_s=START_S):
            tail = self._server.output()[-1500:]
            self.kill()
            raise SynapseUnavailable(f"Synapse did not start: {tail} {OPT_OUT}")
        return self

    def kill(self) -> None:
        """End it as a crash does; what it has answered is on disk."""
        if self._server is not None:
            self._server.process.send_signal(signal.SIGKILL)
            self._server.wait()
            self._server = None

    def register(self, name: str, password: str = "pw") -> str:
        """Make a user, and return an access token on a device of the other side."""
        address = f"{self.url}/_synapse/admin/v1/register"
        nonce = httpx.get(address).json()["nonce"]
        signed = "\0".join([nonce, name, password, "admin"]).encode()
        mac = hmac.new(SECRET.encode(), signed, hashlib.sha1).hexdigest()
        wanted = {"nonce": nonce, "username": name, "password": password, "admin": True, "mac": mac}
        answer = httpx.post(address, json=wanted, timeout=30)
        answer.raise_for_status()
        return answer.json()["access_token"]

    def _configure(self) -> None:
        key = self.folder / "signing.key"
        if key.exists():
            return
        seed = base64.b64encode(hashlib.sha256(b"headgate tests").digest()).decode().rstrip("=")
        key.write_text(f"ed25519 a_test {seed}\n")
        (self.folder / "log.yaml").write_text(
            json.dumps(
                {
                    "version": 1,
                    "handlers": {"console": {"class": "logging.StreamHandler"}},
                    "root": {"level": "WARNING", "handlers": ["console"]},
                    "loggers": {READY_LOGGER: {"level": "INFO"}},
                    "disable_existing_loggers": False,
                }
            )
        )
        (self.folder / "bridge.yaml").write_text(
            json.dumps(
                {
                    "id": BRIDGE,
                    "url": None,
                    "as_token": BRIDGE_TOKEN,
                    "hs_token": SECRET,
                    "sender_localpart": BRIDGE,
                    "namespaces": {"users": [], "aliases": [], "rooms": []},
                }
            )
        )
        (self.folder / "homeserver.yaml").write_text(json.dumps(self._configuration()))

    def _configuration(self) -> dict[str, Any]:
        listener = {
            "bind_addresses": ["127.0.0.1"],
            "port": self.port,
            "type": "http",
            "tls": False,
            "resources": [{"names": ["client"], "compress": False}],
        }
        return {
            "server_name": "localhost",
            "listeners": [listener],
            "database": {"name": "sqlite3", "args": {"database": str(self.folder / "homeserver.db")}},
            "log_config": str(self.folder / "log.yaml"),
            "media_store_path": str(self.folder / "media"),
            "signing_key_path": str(self.folder / "signing.key"),
            "pid_file": str(self.folder / "homeserver.pid"),
            "registration_shared_secret": SECRET,
            "macaroon_secret_key": SECRET,
            "form_secret": SECRET,
            "app_service_config_files": [str(self.folder / "bridge.yaml")],
            "report_stats": False,
            "trusted_key_servers": [],
            "federation_domain_whitelist": [],
            "suppress_key_server_warning": True,
            # Hash passwords quickly: nothing here needs protection.
            "bcrypt_rounds": 4,
            **self.limits,
        }
