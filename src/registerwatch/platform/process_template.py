"""Makes processes fast: a template loads a module once, and makes a copy of itself for each content.

The service starts `python -I -m <module>` with an empty environment and a socket as its input. For a content it sends
the template one end of a new pair of sockets; the copy that the template makes of itself (fork) writes its process id,
a line, there. What follows is between the service and the copy: the template sees no content. It ends with the service,
whose end of the socket closes then.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

COMMAND: Sequence[str] = (sys.executable, "-I", "-m")


class ProcessTemplate:
    """The template of one module. It is started with the first copy, and again where it has ended."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def copy(self) -> socket.socket:
        """The connection to a new copy. It closes where the copy or the template ends. Raises `OSError` where no
        process can be started.
        """
        own, its = socket.socketpair()
        try:
            with its, self._lock:
                self._send(its)
        except OSError:
            own.close()
            raise
        return own

    def end(self) -> None:
        """End the template; copies go on."""
        if self._requests is not None and self._process is not None:
            self._requests.close()
            self._process.wait()
            self._requests = self._process = None

    def _send(self, connection: socket.socket) -> None:
        """Give the template a connection for a copy."""
        try:
            socket.send_fds(self._started(), [b"c"], [connection.fileno()])
        except BrokenPipeError:  # it has ended
            self.end()
            socket.send_fds(self._started(), [b"c"], [connection.fileno()])

    def _started(self) -> socket.socket:
        """The socket to the template, which is started where there is none."""
        if self._requests is None:
            requests, its = socket.socketpair()
            with its:
                self._process = subprocess.Popen(  # noqa: S603  # our own module
                    [*COMMAND, self._module],
                    stdin=its.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,  # an error may repeat the content, which must not be logged
                    env={},
                )
            self._requests = requests
        return self._requests


@cache
def template_of(module: str) -> ProcessTemplate:
    """The template of a module, which this process ends with its own end."""
    template = ProcessTemplate(module)
    atexit.register(template.end)
    return template


def serve_copies(answer: Callable[[int], None]) -> None:
    """In the template: call `answer` in a copy of this process for each connection, given by its file descriptor, until
    the service has ended. The module must have loaded everything and have no threads.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that copies that have ended leave nothing behind
    for stop in (signal.SIGINT, signal.SIGTERM):  # all processes may get them, and the service finishes its work
        signal.signal(stop, signal.SIG_IGN)
    with socket.socket(fileno=sys.stdin.fileno()) as requests:
        while connections := socket.recv_fds(requests, 1, 1)[1]:
            [connection] = connections
            with suppress(OSError):  # no process can be started: the service sees its connection end
                if os.fork() == 0:
                    requests.close()  # else the service would not learn of the template's end
                    _answer_and_end(answer, connection)
            os.close(connection)


def _answer_and_end(answer: Callable[[int], None], connection: int) -> None:
    try:
        os.write(connection, b"%d\n" % os.getpid())
        answer(connection)
    finally:
        os._exit(0)
