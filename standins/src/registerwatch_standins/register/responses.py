"""The responses of the register: JSON, errors, and the 302 that stands for "no such record"."""

from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope

NOT_FOUND_ROUTE = "/eudamed/page-not-found"
_encode = msgspec.json.Encoder().encode


def json_response(content: object, status: int = 200) -> Response:
    """Content as JSON in UTF-8."""
    return Response(_encode(content), status, media_type="application/json")


def no_such_record() -> Response:
    """A redirect to a page for people; a 404 comes of wrong paths alone."""
    return RedirectResponse(NOT_FOUND_ROUTE, 302)


def wrong_path(request: Request) -> Response:
    """What a path that there is not answers."""
    body = {"status": 404, "error": "Not Found", "message": "No message available", "path": request.url.path}
    return json_response(body, 404)


def page_not_found(request: Request) -> Response:
    """The page to which a missing record redirects: HTML, 200. Who follows is misled, as by the real one."""
    return HTMLResponse(
        "<!doctype html><html><head><title>EUDAMED</title></head><body><app-root></app-root></body></html>"
    )


async def query_error(request: Request, error: Exception) -> Response:
    """A query that is refused, in the form of Spring's default errors."""
    assert isinstance(error, HTTPException)
    status = error.status_code
    body = {"status": status, "error": HTTPStatus(status).phrase, "message": error.detail, "path": request.url.path}
    return json_response(body, status)


def gateway_page(title: str) -> str:
    """The HTML of the gateway in front of the register."""
    return f"<html><head><title>{title}</title></head><body><center><h1>{title}</h1></center></body></html>"


async def response_of(app: ASGIApp, scope: Scope, receive: Receive) -> Response:
    """The answer that an application gives, whole, so that a layer around it can send another one."""
    messages: list[Message] = []

    async def keep(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, keep)
    body = b"".join(message.get("body", b"") for message in messages[1:])
    response = Response(body, messages[0]["status"])
    response.raw_headers = list(messages[0]["headers"])
    return response


def with_body(response: Response, body: bytes) -> Response:
    """The response with another body."""
    response.body = body
    response.headers["content-length"] = str(len(body))
    return response
