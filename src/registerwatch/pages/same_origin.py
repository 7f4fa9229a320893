"""The check that forms come from our own pages: browsers send the session's cookie with other sites' forms too."""

from urllib.parse import urlsplit

from starlette.requests import Request

from registerwatch.errors import CrossSiteRequest
from registerwatch.web.injection import service_of

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
NOT_FROM_HERE = (
    "This form was not sent from a page of this site, so nothing was done. Open the page here and send it again."
)


async def require_same_origin(request: Request) -> None:
    """A dependency that raises `CrossSiteRequest` for a request of another site that would change something.

    Browsers send the origin of a request in `Sec-Fetch-Site`, older ones in `Origin`. Without both it is refused.
    """
    if request.method not in SAFE_METHODS and not _is_same_origin(request):
        raise CrossSiteRequest(NOT_FROM_HERE)


def _is_same_origin(request: Request) -> bool:
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    if origin is None:
        return False
    public = urlsplit(service_of(request).settings.public_url)
    sent = urlsplit(origin)
    schemes = {"https", public.scheme}  # if people use https, any network can forge a page over http
    return sent.scheme in schemes and sent.netloc in (public.netloc, request.headers.get("host"))
