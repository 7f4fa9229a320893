"""`Idempotency-Key`: a POST that is sent again gets the first answer."""

import re

from starlette.requests import Request
from starlette.responses import Response

from registerwatch.accounts.limits.idempotency import Answered, IdempotentRequest, RequestQuota, digest_of_parts, joined
from registerwatch.errors import InvalidInput, Unauthenticated
from registerwatch.platform.db.run_uncancelled import run_uncancelled
from registerwatch.rest.routing.auth import body_of_caller, caller_of
from registerwatch.rest.routing.checked_route import CheckedRoute
from registerwatch.rest.routing.direct_route import Handler
from registerwatch.web.injection import counted, sent_credential, service_of
from registerwatch.web.limits.body_limits import refuse_declared_excess
from registerwatch.web.limits.rate_limits import Limit
from registerwatch.web.responses import JSON, NOT_CACHED

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
TELLS_A_SECRET_ONCE = frozenset({"/v1/keys", "/v1/feeds"})
"""Routes whose answers hold secrets of which only digests are stored."""
BAD_KEY = f"`{HEADER}` has 1 to 255 visible characters of ASCII."

_count = counted(Limit.ACCOUNT)
_KEY = re.compile(r"[!-~]{1,255}")


class IdempotentRoute(CheckedRoute):
    """A route that carries out a POST once a day for each `Idempotency-Key` and credential."""

    def get_route_handler(self) -> Handler:
        """The handler of the route, after the lookup of an earlier answer."""
        handler = super().get_route_handler()
        if "POST" not in (self.methods or ()):
            return handler

        async def answered_once(request: Request) -> Response:
            key = request.headers.get(HEADER)
            asked = None if key is None else await _asked(request, key)
            return await (handler(request) if asked is None else _once(request, asked, handler))

        return answered_once


async def _asked(request: Request, key: str) -> IdempotentRequest | None:
    """The request to look up; None without a valid credential, which the route refuses. Raises `InvalidInput`."""
    if not _KEY.fullmatch(key):
        raise InvalidInput(BAD_KEY)
    await _count(request)
    try:
        await caller_of(request)  # a body is received only from a known caller
        refuse_declared_excess(request)
        body = await body_of_caller(request)
        caller = await caller_of(request)
    except Unauthenticated:
        return None
    credential = sent_credential(request)
    assert credential is not None, "else there is no caller"
    address = f"{request.method} {request.url.path}?{request.url.query}"
    return IdempotentRequest(
        caller.account.id,
        digest_of_parts(credential.digest.encode(), key.encode()),
        credential.mac(joined(address.encode(), body)),  # bodies hold passwords
        RequestQuota.of(caller),
    )


async def _once(request: Request, asked: IdempotentRequest, handler: Handler) -> Response:
    store = service_of(request).accounts.idempotency
    before = await store.begin(asked)
    if before is not None:
        return Response(before.body, before.status, {"Cache-Control": NOT_CACHED, REPLAYED: "true"}, JSON)
    answered = None
    try:
        response = await handler(request)
        if response.status_code < 300:
            answered = Answered(response.status_code, bytes(response.body).decode())
        return response
    finally:
        is_kept = request.scope["route"].path not in TELLS_A_SECRET_ONCE
        await run_uncancelled(store.end(asked, answered, is_kept=is_kept))
