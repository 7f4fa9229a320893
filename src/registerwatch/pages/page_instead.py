"""An exception that answers with another page than the requested one: a redirection, or a form that comes first."""

from starlette.requests import Request
from starlette.responses import Response


class PageInstead(Exception):
    """Ends an endpoint or a dependency with a page. This is not an error."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def answer_page_instead(_request: Request, instead: Exception) -> Response:
    """Handle the exception."""
    assert isinstance(instead, PageInstead)
    return instead.response
