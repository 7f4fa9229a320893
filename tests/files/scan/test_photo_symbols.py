"""Reading symbols in photos: what is found, what is refused, what a process may use."""

import struct
import zlib
from collections.abc import Callable

import pytest
from bench.labels import (
    PRIMARY,
    PRODUCTION,
    WHOLE,
    Shot,
    SymbolName,
    label,
    photo_of,
    photographed,
    saved,
    symbol,
)
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from registerwatch.errors import InvalidInput
from registerwatch.files.scan.photo_process import BOUNDS, PhotoReader, photo_processes
from registerwatch.files.scan.photo_symbols import symbols_in_photo
from registerwatch.files.scan.symbols import Symbol
from registerwatch.platform.bounded_process import ProcessBounds, ProcessEnd, ProcessOutput
from registerwatch.platform.structs import replace
from tests.register.builders import PROPERTY

MATRIX = Symbol("Data Matrix", "]d2", "01040123456789011728013110A1B2C3\x1d211234567")
BARS = Symbol("Code 128", "]C1", "01040123456789011728013110A1B2C3")
QR = Symbol("QR Code", "]Q3", MATRIX.text)

SHOTS: dict[str, tuple[SymbolName, Shot, int]] = {
    "clean": ("DataMatrix", Shot(), 85),
    "turned a little": ("DataMatrix", Shot(turn=7), 85),
    "on its head": ("DataMatrix", Shot(turn=180), 85),
    "small": ("DataMatrix", Shot(module=2), 85),
    "noisy and turned": ("DataMatrix", Shot(module=5, turn=20, noise=40), 85),
    "pale, of low quality": ("DataMatrix", Shot(contrast=0.3), 40),
    "of 12 megapixels": ("DataMatrix", Shot(module=6, turn=3, noise=10, size=(4000, 3000)), 85),
    "bars": ("Code128", Shot(), 85),
    "bars upright": ("Code128", Shot(module=2, turn=90), 85),
    "bars askew": ("Code128", Shot(module=3, turn=45), 85),
    "bars turned, noisy, of low quality": ("Code128", Shot(module=4, turn=7, noise=40), 40),
    "QR": ("QRCode", Shot(module=4, turn=12, noise=20), 40),
}


@pytest.mark.parametrize(("name", "shot", "quality"), SHOTS.values(), ids=SHOTS)
def test_a_symbol_is_found_as_labels_are_photographed(name: SymbolName, shot: Shot, quality: int) -> None:
    content = PRIMARY + PRODUCTION if name == "Code128" else WHOLE
    expected = {"DataMatrix": MATRIX, "Code128": BARS, "QRCode": QR}[name]

    assert symbols_in_photo(photo_of(name, content, shot, quality=quality)) == [expected]


def test_all_symbols_of_a_label_are_found_in_every_format() -> None:
    both = label(symbol("Code128", PRIMARY, 3), symbol("Code128", PRODUCTION, 3), symbol("EAN13", "4012345678901"))
    photo = photographed(both, Shot())

    for form in ("JPEG", "PNG", "WEBP"):
        found = {(each.identifier, each.text) for each in symbols_in_photo(saved(photo, form))}
        assert found == {("]C1", "0104012345678901"), ("]C1", "1728013110A1B2C3"), ("]E0", "4012345678901")}, form


def test_where_no_symbol_names_a_device_the_photo_is_looked_at_in_further_ways() -> None:
    link = symbol("QRCode", "https://example.com/instructions", 4)
    askew = symbol("Code128", PRIMARY, 3).rotate(45, expand=True, fillcolor=255)

    found = symbols_in_photo(saved(photographed(label(link, askew), Shot())))

    assert [each.text for each in found] == ["https://example.com/instructions", "0104012345678901"]


def test_transparent_turned_and_mirrored_photos_are_read() -> None:
    drawn = label(symbol("DataMatrix", WHOLE)).convert("LA")
    clear = Image.new("LA", drawn.size, (0, 0))
    clear.paste(drawn, mask=drawn.getchannel("L").point([255 * (value < 128) for value in range(256)]))
    exif = Image.Exif()
    exif[0x0112] = 5  # mirrored and turned
    mirrored = photographed(label(symbol("DataMatrix", WHOLE)), Shot()).transpose(Image.Transpose.TRANSPOSE)

    assert symbols_in_photo(saved(clear, "PNG")) == [MATRIX]
    assert symbols_in_photo(saved(mirrored, "JPEG", exif=exif)) == [MATRIX]


def test_a_photo_without_a_symbol_has_none() -> None:
    noise = Image.effect_noise((1200, 900), 60)

    assert symbols_in_photo(saved(noise)) == []
    assert symbols_in_photo(saved(Image.new("L", (1, 1)), "PNG")) == []


def png(width: int, height: int, *, pixels: bool = True) -> bytes:
    """A PNG of one colour, with a bit for each pixel: a few KiB whatever its size."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = zlib.compress(bytes((width // 8 + 1) * height), 9) if pixels else b""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg_that_says_that_it_has(width: int, height: int) -> bytes:
    content = saved(Image.new("L", (16, 16)))
    place = content.index(b"\xff\xc0") + 5
    return content[:place] + struct.pack(">HH", height, width) + content[place + 4 :]


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "a PNG of 900 megapixels": (lambda: png(30_000, 30_000), "too many pixels"),
    "a PNG that is wide": (lambda: png(20_000, 10, pixels=False), "too many pixels"),
    "a PNG of 4 thousand million pixels a side": (lambda: png(2**31 - 1, 2**31 - 1, pixels=False), "too many pixels"),
    "a JPEG whose head is huge": (lambda: jpeg_that_says_that_it_has(65_000, 65_000), "too many pixels"),
    "a JPEG that says more than it has": (lambda: jpeg_that_says_that_it_has(7_000, 7_000)[:-10], "damaged"),
    "the beginning of a JPEG": (lambda: photo_of("DataMatrix", WHOLE)[:3_000], "damaged"),
    "the beginning of a PNG": (lambda: png(800, 600)[:60], "damaged"),
    "a GIF": (lambda: saved(Image.new("L", (30, 30)), "GIF"), "no photo"),
    "a TIFF": (lambda: saved(Image.new("L", (30, 30)), "TIFF"), "no photo"),
}


@pytest.mark.parametrize(("made", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_photo_or_a_bomb_is_refused(made: Callable[[], bytes], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        symbols_in_photo(made())


def test_of_a_moving_picture_the_first_is_read() -> None:
    first = photographed(label(symbol("DataMatrix", WHOLE)), Shot())
    others = [Image.new("RGB", first.size) for _ in range(3)]

    assert symbols_in_photo(saved(first, "WEBP", save_all=True, append_images=others)) == [MATRIX]


SMALL = photo_of("DataMatrix", WHOLE, Shot(size=(300, 300)))


@PROPERTY
@given(st.integers(0, len(SMALL) - 1), st.binary(max_size=8), st.booleans())
def test_a_damaged_photo_is_read_or_refused(place: int, damage: bytes, is_cut: bool) -> None:
    content = SMALL[:place] + damage + (b"" if is_cut else SMALL[place + len(damage) :])
    try:
        found = symbols_in_photo(content)
    except InvalidInput:
        return
    assert found in ([], [MATRIX])


async def test_a_photo_is_read_in_a_process_that_ends_when_it_uses_too_much() -> None:
    reader = PhotoReader()

    assert await reader.read(photo_of("DataMatrix", WHOLE), 1) == [MATRIX]
    with pytest.raises(InvalidInput, match="too many pixels"):
        await reader.read(png(30_000, 30_000), 1)
    with pytest.raises(InvalidInput, match="could not be read"):
        await PhotoReader(photo_processes(replace(BOUNDS, wall_seconds=0.0001))).read(SMALL, 1)


NO_PHOTOS = {
    "nothing": b"",
    "an SVG": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "a PDF": b"%PDF-1.7",
    "HTML": b"<!doctype html><script>alert(1)</script>",
    "a film": b"RIFF\x00\x00\x00\x00AVI LIST",
}


async def test_no_process_is_started_for_what_does_not_begin_as_a_photo() -> None:
    started: list[bytes] = []

    def note(_module: str, content: bytes, _bounds: ProcessBounds, _end: ProcessEnd) -> ProcessOutput:
        started.append(content)
        return ProcessOutput(b"[]", 0.1)

    reader = PhotoReader(photo_processes(run=note))
    for content in NO_PHOTOS.values():
        with pytest.raises(InvalidInput, match="no photo"):
            await reader.read(content, 1)
    with pytest.raises(InvalidInput, match="HEIC"):
        await reader.read(b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00", 1)
    assert started == []
