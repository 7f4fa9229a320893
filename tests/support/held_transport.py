"""What leads to the register, where a test holds requests back."""

import asyncio

import httpx2


class HeldTransport(httpx2.AsyncBaseTransport):
    """Leads to the register. A test holds some requests back, or has them meet a defect."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self.held: set[str] = set()
        """Parts of addresses; a request for such an address waits until `let` is set."""
        self.broken: set[str] = set()
        """Parts of addresses; a request for such an address meets a defect."""
        self.reached, self.let = asyncio.Event(), asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Carry one request."""
        address = str(request.url)
        if any(part in address for part in self.broken):
            raise LookupError("a defect that nobody thought of")
        if any(part in address for part in self.held):
            self.reached.set()
            await self.let.wait()
        return await self._inner.handle_async_request(request)
