"""Makes `favicon.ico` and `card.png` of the pages from `icon.svg`, with Debian's Chromium: `python tools/images.py`."""

import struct
import subprocess
import tempfile
from pathlib import Path

STATIC = Path(__file__).parents[1] / "src/registerwatch/pages/static"
SIZES = (16, 32, 48)
PAGE = "<style>*{{margin:0}}body{{background:{background}}}svg{{display:block;width:{size}px;height:{size}px}}</style>"
CARD_STYLE = (
    "<style>body{width:1200px;height:630px;display:flex;align-items:center;justify-content:center;gap:56px;"
    "font:600 104px sans-serif;color:#18222f}svg{flex:none}</style>"
)


def main() -> None:
    """Make both."""
    icon = (STATIC / "icon.svg").read_text()
    images = [_drawn(PAGE.format(size=size, background="transparent") + icon, size, size) for size in SIZES]
    (STATIC / "favicon.ico").write_bytes(_ico(images))
    card = PAGE.format(size=184, background="#fff") + CARD_STYLE + icon + "Registerwatch"
    (STATIC / "card.png").write_bytes(_drawn(card, 1200, 630))


def _drawn(html: str, width: int, height: int) -> bytes:
    """The page as a PNG image of this size."""
    with tempfile.TemporaryDirectory() as folder:
        page, image = Path(folder) / "page.html", Path(folder) / "page.png"
        page.write_text(html)
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--default-background-color=00000000"]
        subprocess.run(  # noqa: S603  # a fixed program and files of our own
            [*command, f"--window-size={width},{height}", f"--screenshot={image}", page.as_uri()],
            check=True,
            capture_output=True,
        )
        return image.read_bytes()


def _ico(images: list[bytes]) -> bytes:
    """A file of several images: a directory with their sizes and places, then the images."""
    place = 6 + 16 * len(images)
    directory = struct.pack("<HHH", 0, 1, len(images))
    for size, image in zip(SIZES, images, strict=True):
        directory += struct.pack("<BBBBHHII", size, size, 0, 0, 1, 32, len(image), place)
        place += len(image)
    return directory + b"".join(images)


if __name__ == "__main__":
    main()
