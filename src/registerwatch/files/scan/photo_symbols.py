"""The symbols that a photo shows: DataMatrix, GS1-128 and other codes of labels.

Only the process that reads photos (`photo_process`) imports this: its libraries parse what strangers sent.
"""

import io
from collections.abc import Iterator
from importlib import import_module

import zxingcpp
from PIL import Image, ImageFilter, ImageOps, UnidentifiedImageError

from registerwatch.errors import InvalidInput
from registerwatch.files.scan.photo_process import NO_PHOTO
from registerwatch.files.scan.symbols import MAX_SYMBOLS, Symbol

FORMATS = ("JPEG", "PNG", "WEBP")
LOADED = ("PIL.MpoImagePlugin", "PIL.WebPImagePlugin", "PIL.TiffImagePlugin")
"""Modules that Pillow loads for photos of these formats; the last one reads the camera's orientation."""
OF_JPEG = frozenset({"JPEG", "MPO"})
"""MPO holds several JPEGs; the first is read."""
MAX_SIDE, MAX_PIXELS, MAX_JPEG_PIXELS = 16_000, 25_000_000, 64_000_000
"""Limits of a photo as it was sent, checked from its header before decoding. Cameras make JPEG, which can be decoded
smaller; other formats take memory for each pixel.
"""
MAX_READ_PIXELS = 16_000_000
"""A larger photo is made smaller while it is decoded."""
MAX_TRIED_PIXELS = 4_000_000
"""Pixels of further views, which are tried if no device was found."""
TRIED_DEGREES = (22, 45, 67)
MIN_SIDE = 16

SYMBOLOGIES = zxingcpp.BarcodeFormats(
    [
        zxingcpp.BarcodeFormat.DataMatrix,
        zxingcpp.BarcodeFormat.QRCode,
        zxingcpp.BarcodeFormat.Code128,
        zxingcpp.BarcodeFormat.Code39,
        zxingcpp.BarcodeFormat.EANUPC,
        zxingcpp.BarcodeFormat.ITF14,
    ]
)
"""Symbologies in which UDIs are printed; HIBC uses Code 39 too."""

DAMAGED = "This photo is damaged or incomplete. Take another one."
TOO_LARGE = (
    f"This photo has too many pixels: a JPEG may have {MAX_JPEG_PIXELS // 1_000_000} megapixels, another photo"
    f" {MAX_PIXELS // 1_000_000}. Take it with a lower resolution."
)


def load_formats() -> None:
    """Load the modules that read each format: a process without access to files cannot load them later."""
    Image.preinit()
    for name in LOADED:
        import_module(name)


def symbols_in_photo(content: bytes) -> list[Symbol]:
    """The symbols in a photo, without duplicates. Raises `InvalidInput` if it is not a photo, damaged or too large.

    Further views are tried until a symbol names a device: a label may have others, with a lot or a link.
    """
    found: dict[Symbol, None] = {}
    for view in _views(_decoded(content)):
        found |= dict.fromkeys(_symbols(view))
        if any(each.names_device for each in found):
            break
    return list(found)[:MAX_SYMBOLS]


def _decoded(content: bytes) -> Image.Image:
    """The photo in grey, upright, with at most `MAX_READ_PIXELS`."""
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as photo:
            width, height = photo.size
            most = MAX_JPEG_PIXELS if photo.format in OF_JPEG else MAX_PIXELS
            if width * height > most or max(width, height) > MAX_SIDE:
                raise InvalidInput(TOO_LARGE)
            factor = _factor(photo.size, MAX_READ_PIXELS)
            photo.draft("L", (width // factor, height // factor))  # JPEG alone: decoded smaller, in grey
            grey = _grey(photo)
            return ImageOps.exif_transpose(_within(grey, MAX_READ_PIXELS))
    except UnidentifiedImageError:
        raise InvalidInput(NO_PHOTO) from None
    except Image.DecompressionBombError:
        raise InvalidInput(TOO_LARGE) from None
    except (OSError, SyntaxError, ValueError, EOFError):  # what Pillow raises for damaged files
        raise InvalidInput(DAMAGED) from None


def _grey(photo: Image.Image) -> Image.Image:
    """The photo in grey, on white where it is transparent."""
    if not photo.has_transparency_data:
        return photo.convert("L")
    with_alpha = photo.convert("LA")
    white = Image.new("L", photo.size, 255)
    white.paste(with_alpha.getchannel("L"), mask=with_alpha.getchannel("A"))
    return white


def _views(photo: Image.Image) -> Iterator[Image.Image]:
    """The photo, then views to try if no device was found in it: without noise, rotated, enlarged.

    A linear code is found if a level or upright line crosses all of its bars.
    """
    yield photo
    small = _within(photo, MAX_TRIED_PIXELS)
    yield small.filter(ImageFilter.GaussianBlur(1.5))
    soft = small.filter(ImageFilter.GaussianBlur(0.8))
    for degrees in TRIED_DEGREES:
        yield soft.rotate(degrees, resample=Image.Resampling.BILINEAR, expand=True, fillcolor=255)
    if small.width * small.height * 4 <= MAX_READ_PIXELS:
        yield small.resize((small.width * 2, small.height * 2), Image.Resampling.BICUBIC)


def _within(photo: Image.Image, pixels: int) -> Image.Image:
    factor = _factor(photo.size, pixels)
    return photo if factor == 1 else photo.reduce(factor)


def _factor(size: tuple[int, int], pixels: int) -> int:
    """The smallest whole number by which to divide the sides so that a photo has at most `pixels`."""
    factor = 1
    while (size[0] // factor) * (size[1] // factor) > pixels:
        factor += 1
    return factor


def _symbols(view: Image.Image) -> list[Symbol]:
    if min(view.size) < MIN_SIDE:
        return []
    grey = memoryview(view.tobytes()).cast("B", (view.height, view.width))
    found = zxingcpp.read_barcodes(grey, formats=SYMBOLOGIES, text_mode=zxingcpp.TextMode.Plain)
    return [Symbol(str(each.format), each.symbology_identifier, each.text) for each in found]
