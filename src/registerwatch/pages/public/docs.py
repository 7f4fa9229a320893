"""The documentation for users of the service: guides, and the interface for programs."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from registerwatch.pages.documentation.library import API_PATH, BY_NAME, PATH, TOPICS
from registerwatch.pages.documentation.markdown import code_block
from registerwatch.pages.documentation.reference import Documentation
from registerwatch.pages.public.summaries import PageSummary, origin_of
from registerwatch.pages.rendering import FRAGMENT_HEADER, page
from registerwatch.web.injection import limits_of, service_of
from registerwatch.web.limits.rate_limits import Limit

MAX_FILTER_LENGTH = 100

router = APIRouter()


@router.get(PATH)
async def index(request: Request) -> Response:
    """The table of contents."""
    documentation = await _documentation(request)
    about = "How to watch devices and manufacturers, and how programs and assistants use the service."
    return _page(request, documentation, "docs/index.html", PATH, "Documentation", about)


@router.get(API_PATH)
async def api(request: Request, q: str = "") -> Response:
    """All operations, or those that match a filter."""
    documentation = await _documentation(request)
    filtered = " ".join(q[:MAX_FILTER_LENGTH].split())
    found = documentation.matching(filtered)
    return _page(
        request,
        documentation,
        "docs/found.html" if FRAGMENT_HEADER in request.headers else "docs/api.html",
        API_PATH,
        "Interface for programs",
        "Every operation of the HTTP interface: keys, errors, limits, examples for curl.",
        filtered=filtered,
        found=found,
        found_count=sum(len(each.operations) for each in found),
    )


@router.get(API_PATH + "/{tag}")
async def operations(request: Request, tag: str) -> Response:
    """The operations of one tag in full."""
    documentation = await _documentation(request)
    group = documentation.group(tag)
    if group is None:
        raise HTTPException(404)
    return _page(
        request,
        documentation,
        "docs/operations.html",
        group.address,
        f"{group.title}: interface for programs",
        f"{', '.join(each.summary for each in group.operations[:4])}: parameters, answers, examples for curl.",
        group=group,
        body=await asyncio.to_thread(documentation.body, group),
    )


@router.get(PATH + "/{name}")
async def guide(request: Request, name: str) -> Response:
    """A page of `docs/`."""
    documentation = await _documentation(request)
    topic = BY_NAME.get(name)
    if topic is None:
        raise HTTPException(404)
    shown = await asyncio.to_thread(documentation.guide, topic)
    return _page(request, documentation, "docs/guide.html", topic.address, shown.title, topic.about, document=shown)


async def _documentation(request: Request) -> Documentation:
    """The documentation of this application, rendered at the first request. Counts the request."""
    await limits_of(request).check(request, Limit.PAGES)
    state = request.app.state
    if not hasattr(state, "documentation"):
        state.documentation = Documentation(request.app.openapi, service_of(request).settings.public_url)
    documentation: Documentation = state.documentation
    await asyncio.to_thread(lambda: documentation.groups)  # a tenth of a second, at the first request
    return documentation


def _page(
    request: Request,
    documentation: Documentation,
    template: str,
    address: str,
    title: str,
    about: str,
    **context: Any,
) -> Response:
    origin = origin_of(service_of(request).settings)
    summary = PageSummary(title, about, origin.public_url + address, origin)
    return page(
        request,
        template,
        summary=summary,
        here=address,
        topics=TOPICS,
        groups=documentation.groups,
        public_url=origin.public_url,
        code_block=code_block,
        **context,
    )
