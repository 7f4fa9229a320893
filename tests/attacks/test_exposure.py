"""What lies open: files, secrets in the database, headers."""

import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import psycopg

from tests.attacks.service import AttackedService

ANSWERS = ("/v1/me", "/v1/search?q=set", "/v1/nowhere", "/openapi.json", "/", "/health", "/metrics", "/robots.txt")
HOSTS = ((), ("a.example", "b.example"), ("a.example, b.example",), ("a b",), ("a/b",))


def test_nobody_else_on_the_machine_may_read_the_data(service: AttackedService) -> None:
    data = service.folder / "data"
    assert _mode(data) == 0o700
    readable = [path for path in data.rglob("*") if _mode(path) & 0o077]
    assert not readable


def test_the_database_holds_no_secret_of_a_webhook_in_clear(service: AttackedService, any_database_url: str) -> None:
    made = service.request("POST", "/v1/webhook", key=service.key, fields={"url": "http://127.0.0.1:9/"})
    secret = made.json()["webhook_secret"]
    assert secret.startswith("whsec_")
    assert secret.encode() not in b"".join(_stored(any_database_url))


def test_no_answer_lets_a_browser_guess_its_type_or_another_site_hold_it(service: AttackedService) -> None:
    with service.attacked("answers that another site loads"):
        for _ in service.rounds():
            for path in ANSWERS:
                _assert_is_held_by_nobody(path, service.request("GET", path))


def _assert_is_held_by_nobody(path: str, answer: httpx2.Response) -> None:
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    site = "cross-origin" if path.startswith("/v1/") else "same-origin"
    assert answer.headers["Cross-Origin-Resource-Policy"] == site, path
    assert site == "cross-origin" or answer.headers["Cross-Origin-Opener-Policy"] == "same-origin", path
    assert site == "cross-origin" or "camera=()" in answer.headers["Permissions-Policy"], path


def test_a_request_names_exactly_one_host(service: AttackedService) -> None:
    with service.attacked("requests that name no host or several"):
        for _ in service.rounds():
            for hosts in HOSTS:
                answered = _answer_to(service, hosts)
                assert answered.startswith(b"HTTP/1.1 400 "), hosts
                assert b"nosniff" in answered.lower()
                assert b"cross-origin-resource-policy: same-origin" in answered.lower()


def _answer_to(service: AttackedService, hosts: tuple[str, ...]) -> bytes:
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    with service.connect() as connection:
        connection.sendall(f"GET /live HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        return connection.makefile("rb").read()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _stored(database_url: str) -> Iterator[bytes]:
    """Everything that the database holds, as it lies on the disk."""
    if database_url.startswith("sqlite:"):
        file = Path(database_url.removeprefix("sqlite:///"))
        for each in file.parent.glob(f"{file.name}*"):
            yield each.read_bytes()
        return
    with closing(psycopg.connect(database_url)) as connection:
        for row in connection.execute("SELECT * FROM webhooks").fetchall():
            yield repr(row).encode()
