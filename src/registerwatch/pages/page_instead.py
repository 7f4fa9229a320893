"""A page that is answered in place of the one that was asked for: a redirection, or a form that comes first."""

from starlette.requests import Request
from starlette.responses import Response


class PageInstead(Exception):
    """Ends an endpoint or a dependency with a page. It is no error."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def answer_page_instead(_request: Request, instead: Exception) -> Response:
    """Handler of the exception."""
    assert isinstance(instead, PageInstead)
    return instead.response
