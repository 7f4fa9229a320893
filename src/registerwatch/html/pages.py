"""Pages: search, device, actor, errors."""

from collections.abc import Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from registerwatch.bootstrap import Service
from registerwatch.web.limits import RateLimits


def router(service: Service, limits: RateLimits) -> APIRouter:
    """The pages, over one service."""
    return APIRouter(include_in_schema=False)


def error_page(request: Request, message: str, status: int, headers: Mapping[str, str]) -> Response:
    """An error as a page for people."""
    return HTMLResponse(message, status, dict(headers))
