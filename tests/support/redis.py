"""A Redis or Valkey server of the test run's own: nothing kept, reached by a socket file in a temporary folder."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.processes import until

WAIT_SECONDS = 5.0


def binary() -> str:
    """The server's program."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        raise RuntimeError("Redis is not installed; `make test` installs it, or install the package redis-server")
    return found


class RedisServer:
    """A server that can be frozen, killed and started again at the same address. `options` are the program's own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._socket = folder / "redis.sock"
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address, for the settings."""
        return f"unix://{self._socket}"

    def start(self) -> None:
        """Start it, empty; returns when it answers."""
        words = [binary(), "--port", "0", "--unixsocket", str(self._socket), "--dir", str(self._folder), "--save", ""]
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen([*words, *self._options], stdout=log, stderr=log)
        until(self._answers, "Redis to answer")

    def kill(self) -> None:
        """End it at once, frozen or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT_SECONDS)
        self._process = None

    def freeze(self) -> None:
        """Let it take connections and answer nothing; returns when it stands still."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitpid(self._process.pid, os.WUNTRACED)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        until(self._answers, "Redis to answer")

    def flush(self) -> None:
        """Forget everything."""
        with self._client() as client:
            client.flushall()

    def keys(self) -> dict[str, int]:
        """Every key, with the seconds that it will last; -1 is for ever."""
        with self._client() as client:
            return {key.decode(): client.ttl(key) for key in client.scan_iter()}

    def connections(self) -> int:
        """How many connections there are but for the one that asks."""
        with self._client() as client:
            return len(client.client_list()) - 1

    def _answers(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"Redis has ended:\n{(self._folder / 'log').read_text()}")
        try:
            with self._client() as client:
                return bool(client.ping())
        except redis.AuthenticationError:
            return True
        except redis.RedisError:
            return False

    def _client(self) -> "redis.Redis":
        at_once = Retry(NoBackoff(), 0)
        return redis.Redis(unix_socket_path=str(self._socket), socket_timeout=WAIT_SECONDS, retry=at_once)


@contextmanager
def server(*options: str) -> Iterator[RedisServer]:
    """A running server."""
    with tempfile.TemporaryDirectory(prefix="registerwatch-redis-", ignore_cleanup_errors=True) as folder:
        running = RedisServer(Path(folder), *options)
        try:
            running.start()
            yield running
        finally:
            running.kill()
