"""The bare ASGI application that reads are compared with: the same bytes and headers, looked up in a dict.

It is served exactly as the service is. `python -m bench.bare SERVICE_PORT REQUESTS --port PORT` asks the service what
the file says and answers the same; `python -m bench.bare --port PORT` answers everything with an empty 200, as a
receiver of webhooks.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import msgspec
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from bench.figures import Row
from bench.load import CONNECTIONS, Answer, Client, Request, rate
from bench.processes import SERVER_CORE, Server, answering
from bench.setup import Setup
from registerwatch.web.limits.http_server import server_config

PEER = "bare ASGI app"
SERVERS_OWN = ("date", "transfer-encoding", "connection")  # headers that the ASGI server adds by itself
EMPTY = Answer(200, {"content-length": "0"}, b"")


def beside_bare(setup: Setup, what: str, port: int, requests: Sequence[Request], connections: int = CONNECTIONS) -> Row:
    """Requests per second of our service and of a bare application with its answers, both on the server's core."""
    with serving_answers_of(setup, port, requests) as other:
        measured = partial(rate, requests=requests, seconds=setup.seconds, connections=connections)
        return setup.row(what, {"ours": partial(measured, port), PEER: partial(measured, other.port)})


def serving_answers_of(setup: Setup, port: int, requests: Sequence[Request]) -> AbstractContextManager[Server]:
    """The application on the server's core, with the answers that the service at this port gives."""
    file = setup.path("requests.json")
    file.write_bytes(msgspec.json.encode(requests))
    return serving(setup, SERVER_CORE, port, file, target=requests[0].target)


def serving(setup: Setup, core: int, *answers: object, target: str = "/") -> AbstractContextManager[Server]:
    """The application on a core, with the answers that its arguments say."""
    command = [sys.executable, "-m", "bench.bare", *answers]
    return answering(command, setup.path("bare-app.log"), target, cores=[core])


def _key(target: str) -> tuple[str, bytes]:
    path, _, query = target.partition("?")
    return unquote(path), query.encode()


def _messages(answer: Answer) -> tuple[Message, Message]:
    headers = [(name.encode(), value.encode()) for name, value in answer.headers.items() if name not in SERVERS_OWN]
    start = {"type": "http.response.start", "status": answer.status, "headers": headers}
    return start, {"type": "http.response.body", "body": answer.body}


def main() -> None:
    """Serve until ended."""
    *asked, _, port = sys.argv[1:]
    answers: defaultdict[tuple[str, bytes], tuple[Message, Message]] = defaultdict(lambda: _messages(EMPTY))
    if asked:
        client, requests = Client(int(asked[0])), msgspec.json.decode(Path(asked[1]).read_bytes(), type=list[Request])
        answers = defaultdict(None, {_key(each.target): _messages(client.ask(each)) for each in requests})

    async def application(scope: Scope, _receive: Receive, send: Send) -> None:
        start, body = answers[scope["path"], scope["query_string"]]
        await send(start)
        await send(body)

    config = server_config(application, "127.0.0.1", int(port))
    config.lifespan = "off"
    uvicorn.Server(config).run()


if __name__ == "__main__":
    main()
