"""Functions that behave badly in the sandbox, in every way that it must withstand."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

from headgate.ingest.sandbox.restrictions import die_with_the_worker
from headgate.ingest.sandbox.tasks import Answer, Parameters, Paths, sandboxed
from headgate.ingest.sandbox.worker import send_chunk

MIB = 2**20
ANSWERS = 3
"""The descriptor that a subprocess answers on."""


@sandboxed
def echo(paths: Paths, parameters: Parameters) -> Answer:
    return Answer({"paths": [str(path) for path in paths], **parameters}, b"body")


@sandboxed
def pid(paths: Paths, parameters: Parameters) -> Answer:
    return Answer(os.getpid())


@sandboxed
def burn(paths: Paths, parameters: Parameters) -> Answer:
    while True:
        pass


@sandboxed
def wait_for_ever(paths: Paths, parameters: Parameters) -> Answer:
    """Say who is running, then do nothing."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.pause()"],
        preexec_fn=die_with_the_worker,  # noqa: PLW1509
    )
    send_chunk(f"{os.getpid()} {child.pid}".encode())
    while True:
        signal.pause()


@sandboxed
def hoard(paths: Paths, parameters: Parameters) -> Answer:
    return Answer(len(bytearray(int(parameters["bytes"]))))


@sandboxed
def die_of_a_bad_pointer(paths: Paths, parameters: Parameters) -> Answer:
    return Answer(str(ctypes.string_at(0)))


@sandboxed
def die_as_if_by_the_system(paths: Paths, parameters: Parameters) -> Answer:
    os.kill(os.getpid(), signal.SIGKILL)
    return Answer()


@sandboxed
def leave(paths: Paths, parameters: Parameters) -> Answer:
    os._exit(0)


@sandboxed
def fail(paths: Paths, parameters: Parameters) -> Answer:
    raise RecursionError("too deep")


@sandboxed
def flood(paths: Paths, parameters: Parameters) -> Answer:
    """Send chunks without end."""
    while True:
        send_chunk(bytes(MIB))


@sandboxed
def announce_too_much(paths: Paths, parameters: Parameters) -> Answer:
    _write(b"HG\x03" + (2**31).to_bytes(4, "little") + (2**62).to_bytes(8, "little"))
    signal.pause()
    return Answer()


@sandboxed
def babble(paths: Paths, parameters: Parameters) -> Answer:
    _write(b"hello, this is not a frame at all, and there is more of it")
    signal.pause()
    return Answer()


@sandboxed
def answer_without_json(paths: Paths, parameters: Parameters) -> Answer:
    _write(b"HG\x03" + (4).to_bytes(4, "little") + bytes(8) + b"oops")
    signal.pause()
    return Answer()


@sandboxed
def answer_strangely(paths: Paths, parameters: Parameters) -> Answer:
    return Answer(object())


@sandboxed
def print_something(paths: Paths, parameters: Parameters) -> Answer:
    sys.stdout.write("a library says hello")
    sys.stdout.flush()
    os.write(1, b"and a C library, too")
    return Answer("done")


@sandboxed
def write_file(paths: Paths, parameters: Parameters) -> Answer:
    with paths[0].open("wb") as file:
        file.write(bytes(int(parameters["bytes"])))
    return Answer("written")


@sandboxed
def open_many(paths: Paths, parameters: Parameters) -> Answer:
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(int(parameters["count"]))]
    for number in opened:
        os.close(number)
    return Answer(len(opened))


@sandboxed
def describe_itself(paths: Paths, parameters: Parameters) -> Answer:
    """Say which descriptors, variables and folder the process has."""
    return Answer(
        {
            "descriptors": [number for number in range(256) if _is_open(number)],
            "variables": dict(os.environ),
            "folder": str(Path.cwd()),
            "leads_its_group": os.getpgid(0) == os.getpid(),
        }
    )


def not_registered(paths: Paths, parameters: Parameters) -> Answer:
    return Answer("must not run")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _write(raw: bytes) -> None:
    os.write(ANSWERS, raw)
