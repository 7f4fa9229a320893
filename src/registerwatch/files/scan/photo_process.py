"""Reading photos of labels in a separate process, which has bounds of time and memory and stores nothing.

The output is the symbols that the photo shows, as JSON.
"""

from collections.abc import Sequence

import msgspec

from registerwatch.errors import InvalidInput
from registerwatch.files.scan.symbols import Symbol
from registerwatch.platform.bounded_process import (
    BoundedProcesses,
    ProcessBounds,
    ProcessFailed,
    ProcessorBudget,
    RunProcess,
    Work,
    answer_contents,
)
from registerwatch.register.identifiers.gs1_fields import load_fields

MAX_AT_A_TIME, MAX_OF_ACCOUNT, MAX_OF_NETWORK = 2, 1, 1
WAIT_SECONDS = 15.0
"""How long a photo waits for those before it."""
BOUNDS = ProcessBounds(cpu_seconds=10, wall_seconds=45, memory_bytes=512 * 1024 * 1024)
"""Most photos take a second of processor time; beside a busy service a process has a tenth of a core."""

JPEG, PNG, RIFF, WEBP = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF", b"WEBP"
HEIF = (b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif")

NO_PHOTO = "This is no photo that can be read here. Send a JPEG, PNG or WebP."
IS_HEIF = (
    "This photo is a HEIC or AVIF, which is not read here. Take it with this page, or set the camera to JPEG"
    " (iPhone: Settings, Camera, Formats, “Most Compatible”)."
)
UNREADABLE = "This photo could not be read: it is damaged, or takes too long. Take another one, closer to the label."
BUSY = "Other photos are being read at the moment. Send yours again in a few seconds."


def photo_processes(
    bounds: ProcessBounds = BOUNDS, run: RunProcess | None = None, budget: ProcessorBudget | None = None
) -> BoundedProcesses:
    """The processes that read photos."""
    return BoundedProcesses(
        __name__,
        bounds,
        most=MAX_AT_A_TIME,
        most_per_account=MAX_OF_ACCOUNT,
        most_per_network=MAX_OF_NETWORK,
        wait_seconds=WAIT_SECONDS,
        busy=BUSY,
        budget=budget,
        run=run,
    )


class PhotoReader:
    """Reads photos, few at a time."""

    def __init__(self, processes: BoundedProcesses | None = None) -> None:
        self._processes = processes or photo_processes()

    async def read(self, content: bytes, account_id: int, network: str | None = None) -> Sequence[Symbol]:
        """The symbols in a photo that an account has sent from a network.

        Raises `InvalidInput` if it is not a photo or cannot be read, `Overloaded` if too many are being read.
        """
        _require_photo(content)
        try:
            output = await self._processes.run(content, account_id, network)
        except ProcessFailed:
            raise InvalidInput(UNREADABLE) from None
        return msgspec.json.decode(output, type=list[Symbol])


def _require_photo(content: bytes) -> None:
    """Raise `InvalidInput` for a file that does not begin as a photo, without a process."""
    if content.startswith((JPEG, PNG)) or (content.startswith(RIFF) and content[8:12] == WEBP):
        return
    raise InvalidInput(IS_HEIF if content[4:8] == b"ftyp" and content[8:12] in HEIF else NO_PHOTO)


def _prepared() -> Work:
    from registerwatch.files.scan.photo_symbols import (  # the service itself never loads these
        load_formats,
        symbols_in_photo,
    )

    load_formats()
    load_fields()
    return lambda content: msgspec.json.encode(symbols_in_photo(content))


if __name__ == "__main__":
    answer_contents(_prepared, BOUNDS)
