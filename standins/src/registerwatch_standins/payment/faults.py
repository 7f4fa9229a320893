"""What can go wrong between a client and Stripe."""

from dataclasses import dataclass
from typing import Literal

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.register.extension import is_in_process

Mode = Literal["http-429", "http-500", "http-503", "silence", "hang-up", "lost-answer"]
"""`silence` never answers, `hang-up` drops the connection, `lost-answer` does so when what was params is done."""

_MESSAGES = {
    429: ("Too many requests hit the API too quickly.", "invalid_request_error"),
    500: ("An unknown error occurred.", "api_error"),
    503: ("The service is not available.", "api_error"),
}


@dataclass(slots=True)
class Fault:
    """Requests whose path begins with `path` fail, so many times (None: until it is cleared)."""

    mode: Mode
    times: int | None = None
    path: str = "/v1/"
    method: str = ""


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def fail(self, mode: Mode, times: int | None = None, path: str = "/v1/", method: str = "") -> None:
        """Add a fault."""
        self.faults.append(Fault(mode, times, path, method))

    def clear(self) -> None:
        """Work again."""
        self.faults.clear()

    def take(self, method: str, path: str) -> Fault | None:
        """The fault of a request, used up once."""
        for fault in self.faults:
            if path.startswith(fault.path) and fault.method in ("", method):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self.faults.remove(fault)
                return fault
        return None


class FaultLayer:
    """Shows faults instead of answers."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request or fail."""
        fault = self._faults.take(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if fault is None:
            await self._app(scope, receive, send)
        elif fault.mode.startswith("http-"):
            await _refusal(int(fault.mode.removeprefix("http-")))(scope, receive, send)
        elif fault.mode == "silence":
            await _silence(scope, receive)
        else:
            if fault.mode == "lost-answer":
                await self._app(scope, receive, _nobody)
            await _hang_up(scope, send)


def _refusal(status: int) -> Response:
    message, kind = _MESSAGES[status]
    body = ApiError(status, message, kind=kind).body()
    return Response(msgspec.json.encode(body), status, media_type="application/json")


async def _nobody(_message: Message) -> None:
    """Where an answer goes that gets lost."""


async def _silence(scope: Scope, receive: Receive) -> None:
    if is_in_process(scope):
        raise TimeoutError("the stand-in does not answer")
    while (await receive())["type"] != "http.disconnect":
        pass


async def _hang_up(scope: Scope, send: Send) -> None:
    """Begin an answer and break off; a server closes the connection when the application returns too early."""
    if is_in_process(scope):
        raise ConnectionResetError("the stand-in drops this connection")
    headers = [(b"content-type", b"application/json"), (b"content-length", b"100000")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{", "more_body": True})
