"""Routers of pages that need a session or open one."""

from fastapi import APIRouter, Depends

from registerwatch.pages.same_origin import require_same_origin
from registerwatch.web.injection import counted
from registerwatch.web.limits.rate_limits import Limit


def account_pages() -> APIRouter:
    """A router that counts requests and accepts forms only from our own pages."""
    return APIRouter(dependencies=[Depends(counted(Limit.ACCOUNT)), Depends(require_same_origin)])
