"""What can go wrong between a client and Stripe."""

from dataclasses import dataclass
from typing import Literal

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registerwatch_standins.payment.errors import ApiError
from registerwatch_standins.register.transport import drop_connection, never_answer

Mode = Literal["http-429", "http-500", "http-503", "silence", "hang-up", "lost-answer"]
"""`silence` never answers, `hang-up` drops the connection, `lost-answer` does so after the request was carried out."""

_ERRORS: dict[str, ApiError] = {
    "http-429": ApiError(429, "Too many requests hit the API too quickly."),
    "http-500": ApiError(500, "An unknown error occurred.", kind="api_error"),
    "http-503": ApiError(503, "The service is not available.", kind="api_error"),
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
        elif error := _ERRORS.get(fault.mode):
            body = msgspec.json.encode(error.body())
            await Response(body, error.status, media_type="application/json")(scope, receive, send)
        elif fault.mode == "silence":
            await never_answer(scope, receive)
        else:
            if fault.mode == "lost-answer":
                await self._app(scope, receive, _discard)
            await drop_connection(scope, send, b"{")


async def _discard(_message: Message) -> None:
    """Lose a part of an answer."""
