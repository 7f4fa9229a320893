"""Forms are taken from our own pages alone: a browser sends the session's cookie along with another site's form too."""

from urllib.parse import urlsplit

from starlette.requests import Request

from registerwatch.errors import CrossSiteRequest
from registerwatch.web.injection import service_of

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
NOT_FROM_HERE = (
    "This form was not sent from a page of this site, so nothing was done. Open the page here and send it again."
)


async def require_same_origin(request: Request) -> None:
    """A dependency. Raises `CrossSiteRequest` for a request that changes something and comes from elsewhere.

    Browsers say where a request comes from in `Sec-Fetch-Site`, older ones in `Origin`. What says neither is refused.
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
    schemes = {"https", public.scheme}  # a page that came over http may be anybody's where people use https
    return sent.scheme in schemes and sent.netloc in (public.netloc, request.headers.get("host"))
