"""Routers of pages that need a session or open one."""

from fastapi import APIRouter, Depends
from starlette.convertors import IntegerConvertor, register_url_convertor

from registerwatch.pages.same_origin import require_same_origin
from registerwatch.web.injection import counted
from registerwatch.web.limits.rate_limits import Limit


class _BoundedInteger(IntegerConvertor):
    """`{…:int}` in paths. Python raises for more than 4,300 digits, before anything is counted."""

    regex = "[0-9]{1,40}"


register_url_convertor("int", _BoundedInteger())  # before the first path with it


def account_pages() -> APIRouter:
    """A router that counts requests and accepts forms only from our own pages."""
    return APIRouter(dependencies=[Depends(counted(Limit.ACCOUNT)), Depends(require_same_origin)])
