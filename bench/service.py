"""The service as it is measured: a process over the filled copy, without limits, with a local register or none."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

import psutil

from bench.connection import Connection, Request
from bench.inputs import Inputs, Stored
from bench.log import say, timed
from bench.machine import SERVER_CORE
from bench.processes import (
    NO_REGISTER,
    free_port,
    registerwatch,
    running,
    service_environment,
    wait_until_answering,
)

UNPACED = "1000000"
"""Requests per minute to the stand-in register: as many as it answers."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running service."""

    port: int
    process: psutil.Popen


@contextmanager
def served(
    inputs: Inputs,
    register: str = NO_REGISTER,
    *,
    stored: Stored | None = None,
    cores: Sequence[int] = (SERVER_CORE,),
    **settings: str,
) -> Iterator[Served]:
    """The service on the server's core or those named, over the SQLite copy or the one named.

    `settings` are named as in the environment.
    """
    stored = stored or inputs.stored
    port, log = free_port(), inputs.path(f"serve-{stored.kind}.log")
    if stored.address is not None:
        settings["DATABASE_URL"] = stored.address
    environment = service_environment(stored.data_dir, register, **settings)
    command = [registerwatch(), "serve", "--port", str(port)]
    with running(command, log, environment=environment, cores=cores) as process:
        wait_until_answering(process, port, "/health", log).close()
        yield Served(port, process)


@contextmanager
def serving(
    inputs: Inputs, register: str = NO_REGISTER, *, cores: Sequence[int] = (SERVER_CORE,), **settings: str
) -> Iterator[int]:
    """The same over the SQLite copy; gives its port."""
    with served(inputs, register, stored=None, cores=cores, **settings) as service:
        yield service.port


@contextmanager
def stand_in_register(inputs: Inputs, cores: Sequence[int] = ()) -> Iterator[str]:
    """The stand-in register over the same generated world; gives its address."""
    port, log = free_port(), inputs.path("register.log")
    size = ["--devices", str(inputs.devices), "--seed", str(inputs.seed)]
    command = [registerwatch(), "register", "serve", "--port", str(port), *size]
    with running(command, log, cores=cores) as process:
        wait_until_answering(process, port, "/eudamed/applicationInfo", log).close()
        yield f"http://127.0.0.1:{port}/eudamed"


def device_requests(udis: Sequence[str]) -> list[Request]:
    """A read of each device."""
    return [Request(f"/v1/devices/{quote(udi, safe='')}") for udi in udis]


def bring_up_to_date(connection: Connection, codes: Sequence[str]) -> None:
    """Let the service read devices and actors from the register, so that nothing goes on behind when they are read."""
    with timed(f"reading {len(codes):,} devices and actors from the stand-in register"):
        answers = [connection.get(f"/v1/refresh?q={quote(code, safe='')}") for code in codes]
    failed = sum(answer.status != 200 or b'"refreshed":true' not in answer.body for answer in answers)
    if failed:
        say(f"{failed} of them could not be read; they are measured as they are")
