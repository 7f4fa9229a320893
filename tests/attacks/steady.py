"""Other people's requests while an attack goes on, sent by a process of its own: `python -m tests.attacks.steady`.

A request is due every few milliseconds, whether or not the one before was answered, so that a service that stands still
makes all of them late. The process ends when its input does, and prints what it saw in JSON.
"""

import http.client
import json
import os
import select
import sys
import time
from itertools import cycle

INTERVAL_SECONDS = 0.01
TIMEOUT_SECONDS = 60.0


def ask_steadily(port: int, key: str, paths: list[str]) -> dict[str, list[float] | list[str]]:
    """Milliseconds from when each request was due to its whole answer, and what was answered but 200."""
    waits: list[float] = []
    failures: list[str] = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    due = time.monotonic()
    for number, path in enumerate(cycle(paths)):
        if _has_ended(max(0.0, due - time.monotonic())):
            break
        try:
            connection.request("GET", path, headers={"X-API-Key": key, "X-Forwarded-For": _address(number)})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                failures.append(f"{answer.status} {path}")
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            failures.append(f"{type(error).__name__} {path}")
        waits.append((time.monotonic() - due) * 1000)
        due += INTERVAL_SECONDS
    connection.close()
    return {"waits": waits, "failures": failures}


def _has_ended(seconds: float) -> bool:
    """Wait so long; true where the input ended before."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def _address(number: int) -> str:
    """Requests come from many people."""
    return f"10.77.{number >> 8 & 255}.{number & 255}"


if __name__ == "__main__":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(json.dumps(ask_steadily(int(sys.argv[1]), sys.argv[2], sys.argv[3:])))
