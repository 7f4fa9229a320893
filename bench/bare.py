"""The bare ASGI application that reads are compared with: the same bytes and headers, looked up in a dict.

It is served exactly as the service is. Run as `python -m bench.bare ANSWERS PORT`.
"""

import sys
from pathlib import Path

import uvicorn
from starlette.types import Receive, Scope, Send

from bench import capture
from registerwatch.server import server_config


class BareApplication:
    """Answers captured targets, and nothing else."""

    def __init__(self, answers: list[capture.Captured]) -> None:
        self._messages = {
            answer.target: (
                {"type": "http.response.start", "status": answer.status, "headers": answer.headers},
                {"type": "http.response.body", "body": answer.body},
            )
            for answer in answers
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        start, body = self._messages[scope["path"]]
        await send(start)
        await send(body)


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def main() -> None:
    """Serve until ended."""
    answers, port = Path(sys.argv[1]), int(sys.argv[2])
    uvicorn.Server(server_config(BareApplication(capture.read(answers)), "127.0.0.1", port)).run()


if __name__ == "__main__":
    main()
