"""Files of the site, each under an address that changes with its content; favicon.ico and robots.txt."""

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files

import msgspec
from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from registerwatch.web.injection import InjectedService
from registerwatch.web.security_headers import ANY_SITE, RESOURCE_POLICY, THIS_SITE

MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml; charset=utf-8",
    "png": "image/png",
    "ico": "image/vnd.microsoft.icon",
}
KEPT_FOR_A_DAY = "public, max-age=86400"
KEPT_FOR_A_YEAR = "public, max-age=31536000, immutable"
REVALIDATED = "no-cache"

ROBOTS = """\
User-agent: *
Disallow: /v1/
Disallow: /mcp
Disallow: /compare
Disallow: /?q=
Disallow: /?status=
Disallow: /?risk=
Disallow: /?page=
"""
"""A bare `/?` would forbid everything: parsers that drop an empty query, such as Python's, read it as `/`."""


class Asset(msgspec.Struct, frozen=True):
    """A file of the site. `name` is `style.css`; `stamped` is the name with a digest of the content."""

    name: str
    stamped: str
    body: bytes

    @property
    def media_type(self) -> str:
        """Its `Content-Type`."""
        return MEDIA_TYPES[self.name.rpartition(".")[2]]

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of its answers. Other sites may show images, as in previews of links."""
        return {RESOURCE_POLICY: ANY_SITE if self.media_type.startswith("image/") else THIS_SITE}


@cache
def assets() -> Mapping[str, Asset]:
    """All files by name, read once, when the first page is rendered."""
    folder = files("registerwatch.pages") / "static"
    return {entry.name: _asset(entry.name, entry.read_bytes()) for entry in folder.iterdir() if entry.is_file()}


def asset_address(name: str) -> str:
    """`/static/style.5f0c….css` of `style.css`."""
    return f"/static/{assets()[name].stamped}"


router = APIRouter()


@router.get("/static/{stamped}")
async def asset(stamped: str) -> Response:
    """A file. An address with another digest gets the present file, as during the roll-out of a version."""
    stem, _, extension = stamped.partition(".")
    found = assets().get(f"{stem}.{extension.rpartition('.')[2]}")
    if found is None:
        raise HTTPException(404)
    kept = KEPT_FOR_A_YEAR if stamped == found.stamped else REVALIDATED
    return Response(found.body, 200, {**found.headers, "Cache-Control": kept}, found.media_type)


@router.get("/favicon.ico")
async def favicon() -> Response:
    """The icon at the address that browsers, feed readers and search engines try."""
    icon = assets()["favicon.ico"]
    return Response(icon.body, 200, {**icon.headers, "Cache-Control": KEPT_FOR_A_DAY}, icon.media_type)


@router.get("/robots.txt")
async def robots(service: InjectedService) -> Response:
    """Crawlers may index records, but not the endless searches and the interface for programs.

    Records that are not EUDAMED's may be fetched too: only a fetched page can say `noindex`.
    """
    settings = service.settings
    listed = f"\nSitemap: {settings.public_url}/sitemap.xml\n" if settings.reads_real_register else ""
    return PlainTextResponse(ROBOTS + listed, headers={"Cache-Control": KEPT_FOR_A_DAY})


def _asset(name: str, body: bytes) -> Asset:
    stem, _, extension = name.rpartition(".")
    return Asset(name, f"{stem}.{blake2b(body, digest_size=8).hexdigest()}.{extension}", body)
