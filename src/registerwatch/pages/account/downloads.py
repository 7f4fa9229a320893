"""Counting of downloads of whole lists."""

from fastapi import Depends
from starlette.requests import Request

from registerwatch.pages.account.visitor import SignedIn
from registerwatch.web.injection import limits_of
from registerwatch.web.limits.rate_limits import Limit


async def _count(request: Request, visitor: SignedIn) -> None:
    await limits_of(request).check_party(request, Limit.DOWNLOAD, f"account {visitor.caller.account.id}")


COUNTED_DOWNLOAD = Depends(_count)
"""For routes that write a whole list into a file: `dependencies=[COUNTED_DOWNLOAD]`."""
