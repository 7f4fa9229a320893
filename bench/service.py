"""The service as it is measured: a process over the filled copy, without limits, with a local register or none."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.inputs import Inputs
from bench.machine import SERVER_CORE
from bench.processes import (
    NO_REGISTER,
    free_port,
    registerwatch,
    running,
    service_environment,
    wait_until_answering,
)


@contextmanager
def serving(inputs: Inputs, register: str = NO_REGISTER, **settings: str) -> Iterator[int]:
    """The service on the server's core; gives its port. `settings` are named as in the environment."""
    port, log = free_port(), inputs.path("serve.log")
    environment = service_environment(inputs.copy(), register, **settings)
    command = [registerwatch(), "serve", "--port", str(port)]
    with running(command, log, environment=environment, core=SERVER_CORE) as process:
        wait_until_answering(process, port, "/health", log).close()
        yield port


@contextmanager
def stand_in_register(inputs: Inputs) -> Iterator[str]:
    """The stand-in register over the same generated world; gives its address."""
    port, log = free_port(), inputs.path("register.log")
    size = ["--devices", str(inputs.devices), "--seed", str(inputs.seed)]
    with running([registerwatch(), "register", "serve", "--port", str(port), *size], log) as process:
        wait_until_answering(process, port, "/eudamed/applicationInfo", log).close()
        yield f"http://127.0.0.1:{port}/eudamed"
