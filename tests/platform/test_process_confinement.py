"""What a process that is confined cannot do, tried in real ones: by both means, and by each alone."""

import json
import os
import socket
import subprocess
import sys

import pytest

from registerwatch.platform.process_confinement import AUDIT_ARCH, COMPUTING, LANDLOCK, SECCOMP, means

TRIES = """
import ctypes, json, os, socket, sys
from registerwatch.platform import process_confinement as confinement

without, parent = sys.argv[1], os.getppid()
if without == "seccomp":
    confinement._has_seccomp = lambda: False
elif without == "Landlock":
    confinement._landlock_version = lambda: 0
tries = {
    "the environment of who started it": lambda: open(f"/proc/{parent}/environ").read(),
    "a file": lambda: open("/etc/passwd").read(),
    "a folder": lambda: os.listdir("/"),
    "a file of its own": lambda: open("/tmp/x", "w"),
    "a module": lambda: __import__("wave"),
    "a connection": lambda: socket.socket().connect(("127.0.0.1", int(sys.argv[2]))),
    "a signal": lambda: os.kill(parent, 0),
    "another program": lambda: os.execv(sys.executable, [sys.executable, "-c", "print('[1]')"]),
    "a process": lambda: os.fork() or os._exit(0),
    "the memory of who started it": lambda: ctypes.CDLL(None).ptrace(16, parent, None, None) and 1 / 0,
}
confinement.confine()
done = []
for name, attempt in tries.items():
    try:
        attempt()
    except (OSError, ImportError, ZeroDivisionError):
        continue
    done.append(name)
print(json.dumps(done))
"""

HIDDEN = """
import ctypes, os
from registerwatch.platform.process_confinement import PR_SET_DUMPABLE, hide_memory

if os.geteuid() == 0:
    os.setuid(65534)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # a change of the user hides it, too
before = os.stat("/proc/self/environ").st_uid
hide_memory()
print(before == os.geteuid(), os.stat("/proc/self/environ").st_uid == 0)
"""


def output_of(script: str, *words: str) -> str:
    command = [sys.executable, "-I", "-c", script, *words]
    return subprocess.run(command, env={}, capture_output=True, text=True, timeout=30, check=True).stdout


@pytest.mark.parametrize(("without", "left"), [("", []), (LANDLOCK, []), (SECCOMP, ["a process"])])
def test_a_confined_process_opens_reaches_and_reads_nothing(without: str, left: list[str]) -> None:
    if {SECCOMP, LANDLOCK} - {without} - {*means()}:
        pytest.skip(f"this kernel has {', '.join(means()) or 'neither'}")

    with socket.create_server(("127.0.0.1", 0)) as server:
        assert json.loads(output_of(TRIES, without, str(server.getsockname()[1]))) == left


def test_a_process_that_hides_its_memory_leaves_no_other_of_its_user_to_read_its_environment() -> None:
    assert output_of(HIDDEN).split() == ["True", "True"]


def test_the_same_calls_are_let_through_on_each_kind_of_machine() -> None:
    assert AUDIT_ARCH.keys() == COMPUTING.keys()
    assert COMPUTING["x86_64"].keys() == COMPUTING["aarch64"].keys()
    assert os.uname().machine in COMPUTING or not means() or means() == (LANDLOCK,)
