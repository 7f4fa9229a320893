"""Photos to scan: many at once, made to take long, and processes that are killed while they read them."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import psutil
import pytest
from bench.labels import saved
from PIL import Image

from registerwatch.web.limits.body_limits import MAX_BODY_BYTES
from tests.attacks.service import AttackedService

MAX_PROCESSES = 2
MAX_GROWTH = 96 << 20
"""Of the service itself while it holds photos: two of an account, each for a moment twice, and what glibc keeps."""
ATTACKER = "198.51.100.7"
OTHERS_WAIT_SECONDS = 5.0
"""Far less than the 30 seconds in which a body has to arrive, on a busy machine too."""
ANSWERS = {200, 400, 429, 503}


@pytest.mark.parametrize("kills", [False, True], ids=["read", "killed"])
def test_fifty_photos_at_once_are_read_few_at_a_time_and_the_service_still_answers(
    service: AttackedService, kills: bool
) -> None:
    side, uploads = service.length.times(300, 1_500), service.length.times(5, 50)
    photo = saved(Image.effect_noise((side, side), 60))  # no symbol, so that everything is tried
    session = _session(service)

    before = psutil.Process(service.node.pid).memory_info().rss

    name = f"fifty photos at once, whose processes are {'killed' if kills else 'not killed'}"
    with (
        service.attacked(name, max_growth=MAX_GROWTH),
        _watched(service, kills=kills) as seen,
        ThreadPoolExecutor(uploads) as pool,
    ):
        answers = list(pool.map(lambda _: _sent(service, session, photo), range(uploads)))

    assert {each.status_code for each in answers} <= ANSWERS
    assert any(each.status_code in ((400,) if kills else (200,)) for each in answers)
    assert all("retry-after" in each.headers for each in answers if each.status_code in (429, 503))
    assert 0 < max(seen.readers) <= MAX_PROCESSES
    assert kills or any("Seccomp:\t2" in each and "NoNewPrivs:\t1" in each for each in seen.statuses)
    assert set(seen.live) == {200}
    assert max(seen.memory) - before <= MAX_GROWTH
    assert _sent(service, _session(service), photo).status_code == 200, "the next account's photo is read"


@pytest.mark.nightly
def test_photos_that_come_slowly_keep_no_other_network_from_sending_one(service: AttackedService) -> None:
    photo = saved(Image.effect_noise((800, 800), 60))
    assert len(photo) > MAX_BODY_BYTES, "it needs a place"
    sessions, other = [_session(service) for _ in range(6)], _session(service)
    with service.attacked("photos that come slowly"):
        for _ in service.rounds():
            with ExitStack() as opened:
                for session in sessions * 2:
                    _drip(opened.enter_context(service.connect()), session)
                began = time.monotonic()
                answer = _sent(service, other, photo, address="203.0.113.9")
                waited = time.monotonic() - began
            assert answer.status_code == 200, answer.text
            service.length.judges(waited=waited, at_most=OTHERS_WAIT_SECONDS)


def _drip(connection: socket.socket, session: str) -> None:
    """Send so much of a photo that it has its place, and nothing more."""
    head = (
        f"POST /app/scan HTTP/1.1\r\nHost: x\r\nCookie: session={session}\r\nSec-Fetch-Site: same-origin\r\n"
        f"X-Forwarded-For: {ATTACKER}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        "Content-Length: 10000000\r\n\r\n"
        '--b\r\nContent-Disposition: form-data; name="photo"; filename="x.jpg"\r\n\r\n'
    )
    connection.sendall(head.encode() + bytes(80 << 10))


def _session(service: AttackedService) -> str:
    who = {"email": f"scanner{service.number()}@trial.example", "password": "correct horse"}
    answer = service.node.ask("/v1/trial", who)
    assert answer.status_code == 200, answer.text
    return service.browser_session(who["email"])


def _sent(service: AttackedService, session: str, photo: bytes, address: str = ATTACKER) -> httpx2.Response:
    headers = {"Cookie": f"session={session}", "Sec-Fetch-Site": "same-origin", "X-Forwarded-For": address}
    with httpx2.Client(timeout=60) as client:
        return client.post(f"{service.node.url}/app/scan", files={"photo": ("x.jpg", photo)}, headers=headers)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen from time to time: processes of photos and what the kernel says of them, bytes of the service,
    answers of `/live`.
    """

    readers: list[int] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    live: list[int] = field(default_factory=list)


@contextmanager
def _watched(service: AttackedService, *, kills: bool) -> Iterator[Seen]:
    """What the service does while the block lasts; with `kills` every process of a photo is killed."""
    seen, ended, main = Seen(), threading.Event(), psutil.Process(service.node.pid)

    def look() -> None:
        while not ended.wait(0.02):
            readers = _readers(main)
            seen.readers.append(len(readers))
            seen.memory.append(main.memory_info().rss)
            for each in readers:
                with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                    seen.statuses.append(Path(f"/proc/{each.pid}/status").read_text())
                    if kills:
                        each.kill()
            seen.live.append(service.request("GET", "/live").status_code)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def _readers(main: psutil.Process) -> list[psutil.Process]:
    """The processes that read photos, without their template."""
    found = []
    for each in main.children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if each.ppid() != main.pid and any("photo_process" in word for word in each.cmdline()):
                found.append(each)
    return found
