"""The site map: an index, and parts of at most 50,000 addresses, read from the database in batches."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable
from xml.sax.saxutils import escape

import msgspec
from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from registerwatch.bootstrap import Service
from registerwatch.copy.listed_parts import ListedParts
from registerwatch.pages.addresses import actor_address, device_address
from registerwatch.pages.documentation.library import API_PATH, TOPICS
from registerwatch.pages.documentation.library import PATH as DOCS_PATH
from registerwatch.platform.clock import Clock
from registerwatch.web.compression import accepts_gzip
from registerwatch.web.injection import limits_of
from registerwatch.web.limits.rate_limits import Limit

KEPT_SECONDS = 3600
MAX_KEPT = 200
"""Parts that are kept in memory, compressed: a full one has about half a megabyte, and takes 0.2 to 0.4 s to make. The
register needs some 70. All of them fit, so that reading them in order makes none of them twice in an hour."""
HEADERS = {"Cache-Control": f"public, max-age={KEPT_SECONDS}", "Vary": "Accept-Encoding"}
MEDIA_TYPE = "application/xml; charset=utf-8"
READ_AT_ONCE = 64 * 1024

PAGES = ("/", DOCS_PATH, API_PATH, *(topic.address for topic in TOPICS))
"""Pages that are not about a record; the interface's page links to its operations."""

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
INDEX, PART = "sitemapindex", "urlset"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<{} xmlns="' + NAMESPACE + '">\n'


class _Kept(msgspec.Struct, frozen=True):
    made_at: float
    packed: bytes


class Sitemap:
    """The files of the site map, compressed. Each is kept for an hour; one is made at a time."""

    def __init__(self, listing: ListedParts, public_url: str, clock: Clock) -> None:
        self._listing = listing
        self._public_url = escape(public_url)
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._making = asyncio.Lock()
        self._actor_parts: dict[str, float] = {}
        """When an SRN last began a part, by SRN."""

    @classmethod
    def of(cls, service: Service) -> "Sitemap":
        """The site map of a service's records."""
        return cls(ListedParts(service.database), service.settings.public_url, service.clock)

    async def index(self) -> bytes | None:
        """The addresses of all parts."""
        return await self._file("", INDEX, self._parts)

    async def pages(self) -> bytes | None:
        """The pages that are not about a record."""
        return await self._file("pages", PART, self._pages)

    async def devices(self, part: int) -> bytes | None:
        """A part of the devices, None if it has none."""
        return await self._file(f"devices-{part}", PART, lambda: self._devices(part))

    async def actors(self, first: str) -> bytes | None:
        """The part of the actors that begins with this SRN, None if none does.

        Accepting any SRN would allow an unlimited number of files.
        """
        if not await self._begins_actor_part(first):
            return None
        return await self._file(f"actors-{first}", PART, lambda: self._actors(first))

    async def _file(self, name: str, root: str, batches: Callable[[], AsyncIterator[list[str]]]) -> bytes | None:
        async with self._making:
            kept = self._kept.get(name)
            if kept is None or not 0 <= self._clock.now() - kept.made_at < KEPT_SECONDS:
                packed = await _packed(root, batches())
                if packed is None:
                    return None
                kept = _Kept(self._clock.now(), packed)
                self._kept.pop(name, None)
                self._kept[name] = kept
                while len(self._kept) > MAX_KEPT:
                    del self._kept[next(iter(self._kept))]
            return kept.packed

    async def _parts(self) -> AsyncIterator[list[str]]:
        names = ["pages"]
        names += [f"devices-{part}" for part in await self._listing.device_parts()]
        names += [f"actors-{first}" for first in await self._found_actor_parts()]
        yield [f"<sitemap><loc>{self._public_url}/sitemap-{name}.xml</loc></sitemap>\n" for name in names]

    async def _begins_actor_part(self, first: str) -> bool:
        """Whether an SRN begins a part now, or did in an index that is still used."""
        if first not in self._actor_parts:
            await self._found_actor_parts()
        return first in self._actor_parts

    async def _found_actor_parts(self) -> list[str]:
        now, found = self._clock.now(), await self._listing.actor_parts()
        lately = {first: at for first, at in self._actor_parts.items() if 0 <= now - at < 2 * KEPT_SECONDS}
        self._actor_parts = lately | dict.fromkeys(found, now)
        return found

    async def _pages(self) -> AsyncIterator[list[str]]:
        yield [self._url(path) for path in PAGES]

    async def _devices(self, part: int) -> AsyncIterator[list[str]]:
        async for batch in self._listing.devices(part):
            yield [self._url(device_address(each.udi), each.updated) for each in batch]

    async def _actors(self, first: str) -> AsyncIterator[list[str]]:
        async for batch in self._listing.actors(first):
            yield [self._url(actor_address(srn)) for srn in batch]

    def _url(self, path: str, changed: str | None = None) -> str:
        modified = f"<lastmod>{escape(changed)}</lastmod>" if changed else ""
        return f"<url><loc>{self._public_url}{path}</loc>{modified}</url>\n"


async def _packed(root: str, batches: AsyncIterator[list[str]]) -> bytes | None:
    """An XML file of these elements, compressed; None without elements. Other work can run after each batch."""
    packer, pieces = zlib.compressobj(wbits=31), list[bytes]()
    async for elements in batches:
        if not pieces:
            pieces.append(packer.compress(_HEAD.format(root).encode()))
        pieces.append(packer.compress("".join(elements).encode()))
        await asyncio.sleep(0)
    if not pieces:
        return None
    return b"".join([*pieces, packer.compress(f"</{root}>\n".encode()), packer.flush()])


router = APIRouter()


@router.get("/sitemap.xml")
async def index(request: Request) -> Response:
    """The index."""
    return _answer(request, await (await _sitemap(request)).index())


@router.get("/sitemap-pages.xml")
async def pages(request: Request) -> Response:
    """The pages that are not about a record."""
    return _answer(request, await (await _sitemap(request)).pages())


@router.get("/sitemap-devices-{part}.xml")
async def devices(request: Request, part: str) -> Response:
    """A part of the devices, by its number."""
    sitemap = await _sitemap(request)
    is_number = part.isascii() and part.isdigit() and len(part) <= 9
    return _answer(request, await sitemap.devices(int(part)) if is_number else None)


@router.get("/sitemap-actors-{first}.xml")
async def actors(request: Request, first: str) -> Response:
    """A part of the actors, by the SRN that it begins with."""
    return _answer(request, await (await _sitemap(request)).actors(first))


async def _sitemap(request: Request) -> Sitemap:
    """The site map. 404 for a service whose pages must not be indexed. Counts the request."""
    await limits_of(request).check(request, Limit.PAGES)
    sitemap: Sitemap | None = request.app.state.sitemap
    if sitemap is None:
        raise HTTPException(404)
    return sitemap


def _answer(request: Request, packed: bytes | None) -> Response:
    if packed is None:
        raise HTTPException(404)
    if accepts_gzip(request.headers.get("accept-encoding", "")):
        return Response(packed, 200, {**HEADERS, "Content-Encoding": "gzip"}, MEDIA_TYPE)
    return StreamingResponse(_unpacked(packed), 200, HEADERS, MEDIA_TYPE)


async def _unpacked(packed: bytes) -> AsyncIterator[bytes]:
    """The content in pieces."""
    unpacker = zlib.decompressobj(wbits=31)
    while packed:
        yield unpacker.decompress(packed, READ_AT_ONCE)
        packed = unpacker.unconsumed_tail
