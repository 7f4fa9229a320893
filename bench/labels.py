"""Labels with symbols, and photos of them as cameras make them: turned, small, noisy, pale."""

import io
from dataclasses import dataclass
from typing import Literal

import zxingcpp
from PIL import Image, ImageChops, ImageFilter

UDI = "04012345678901"
PRIMARY = f"(01){UDI}"
PRODUCTION = "(17)280131(10)A1B2C3"
WHOLE = f"{PRIMARY}{PRODUCTION}(21)1234567"

SymbolName = Literal["DataMatrix", "Code128", "QRCode", "EAN13", "Code39"]
BENCH_GREY, MARGIN_PIXELS = 140, 40
"""What lies behind a label, and the white around its symbol."""
_RENDERED = 8
"""Pixels of a module before it is made smaller."""


@dataclass(frozen=True, slots=True)
class Shot:
    """How a label is photographed. `module` is the width of the narrowest bar in pixels."""

    module: float = 4
    turn: float = 0
    noise: float = 0
    contrast: float = 1
    blur: float = 0
    size: tuple[int, int] = (1600, 1200)


def symbol(name: SymbolName, content: str, module: float = 4) -> Image.Image:
    """A symbol in black on white. What begins with a bracket is written as GS1 element strings."""
    barcode = zxingcpp.create_barcode(content, getattr(zxingcpp.BarcodeFormat, name), gs1=content.startswith("("))
    pixels = memoryview(barcode.to_image(scale=_RENDERED))  # type: ignore[arg-type]  # it has the buffer's protocol
    height, width = pixels.shape or (0, 0)
    drawn = Image.frombytes("L", (width, height), bytes(pixels))
    small = max(1, int(width * module / _RENDERED)), max(1, int(height * module / _RENDERED))
    return drawn.resize(small, Image.Resampling.BOX)


def label(*symbols: Image.Image) -> Image.Image:
    """A white label with symbols, one below the other."""
    width = max(each.width for each in symbols) + 2 * MARGIN_PIXELS
    height = sum(each.height + MARGIN_PIXELS for each in symbols) + MARGIN_PIXELS
    drawn, top = Image.new("L", (width, height), 255), MARGIN_PIXELS
    for each in symbols:
        drawn.paste(each, (MARGIN_PIXELS, top))
        top += each.height + MARGIN_PIXELS
    return drawn


def photographed(drawn: Image.Image, shot: Shot) -> Image.Image:
    """A label in the middle of a photo."""
    turned = drawn.rotate(shot.turn, expand=True, fillcolor=BENCH_GREY, resample=Image.Resampling.BICUBIC)
    photo = Image.new("L", shot.size, BENCH_GREY)
    photo.paste(turned, ((shot.size[0] - turned.width) // 2, (shot.size[1] - turned.height) // 2))
    if shot.contrast != 1:
        photo = photo.point([int(128 + (value - 128) * shot.contrast) for value in range(256)])
    if shot.blur:
        photo = photo.filter(ImageFilter.GaussianBlur(shot.blur))
    if shot.noise:
        photo = ImageChops.add(photo, Image.effect_noise(shot.size, shot.noise), 1, -128)
    return photo.convert("RGB")


def photo_of(name: SymbolName, content: str, shot: Shot = Shot(), *, form: str = "JPEG", quality: int = 85) -> bytes:
    """A file with a photo of a label with one symbol."""
    return saved(photographed(label(symbol(name, content, shot.module)), shot), form, quality=quality)


def saved(photo: Image.Image, form: str = "JPEG", *, quality: int = 85, **options: object) -> bytes:
    """A photo as a file."""
    content = io.BytesIO()
    photo.save(content, form, quality=quality, **options)
    return content.getvalue()
