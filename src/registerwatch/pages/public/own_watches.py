"""The signed-in user's watches on the subjects of a public page."""

from collections.abc import Mapping, Sequence

from fastapi import Request

from registerwatch.bootstrap import Service
from registerwatch.pages.account.visitor import visitor_of


async def own_watches(request: Request, service: Service, subjects: Sequence[str]) -> Mapping[str, int]:
    """The ids of the visitor's watches on some subjects, by subject; none without a session."""
    visitor = await visitor_of(request) if subjects else None
    return {} if visitor is None else await service.watches.service.ids_of(visitor.caller, subjects)
