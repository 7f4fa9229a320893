"""The register of a country, as a file of lines that its authority publishes: a UDI-DI and a name."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

from registerwatch.errors import BulkLoadRefused
from registerwatch.register.models import Completeness, Device, DeviceReading
from registerwatch.sources.source import RecordBatch

NAME = "national-register"


class NationalRegister:
    """Its only file. There is no other batch, so no cursor."""

    name = NAME
    load_name = "national"
    lags = True
    is_newest_first = False
    is_whole_register = False
    expected_records = None
    expected_seconds = None

    def __init__(self, path: Path) -> None:
        self._path = path

    async def batches(self, _cursor: str, received: Callable[[int], None]) -> AsyncIterator[RecordBatch]:
        """All records at once. Raises `BulkLoadRefused` where there is no file."""
        if not self._path.is_file():
            raise BulkLoadRefused(f"There is no file {self._path}.")
        content = self._path.read_bytes()
        received(len(content))
        yield RecordBatch([_reading_of(line) for line in content.decode().splitlines()], "")


def _reading_of(line: str) -> DeviceReading:
    udi, _, name = line.partition(";")
    device = Device(uuid=f"{NAME}-{udi}", udi=udi, trade_name=name, source=NAME)
    return DeviceReading(device=device, completeness=Completeness.SOME, source=NAME, lags=True)
