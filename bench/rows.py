"""The devices of a filled copy, as the service's own index gets them: so that every peer searches the same rows."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from registerwatch.register.search.fields import IndexedDevice
from registerwatch.register.store.open_documents import open_documents
from registerwatch.settings import Settings

BATCH = 2_000

_decoder = msgspec.json.Decoder(IndexedDevice)


@dataclass(frozen=True, slots=True)
class NamedDevice:
    """A device and its texts: the trade names, the device name with the model, the manufacturer's name."""

    row_id: int
    udi: str
    manufacturer_srn: str
    trade_names: str
    device_name: str
    manufacturer_name: str
    status_code: str
    risk_class_code: str

    @property
    def text(self) -> str:
        """All that a name search looks at."""
        return " ".join(part for part in (self.trade_names, self.device_name, self.manufacturer_name) if part)


def devices_of(data_dir: Path) -> Iterator[NamedDevice]:
    """The current record of every UDI-DI in the copy, in the order in which they were stored."""
    documents = open_documents(Settings(data_dir=data_dir).database_address)
    with asyncio.Runner() as runner:
        revision = 0
        while rows := runner.run(documents.changed_since(revision, BATCH)):
            revision = rows[-1].revision
            yield from (_named(row.id, row.document) for row in rows if row.is_current)
        runner.run(documents.close())


def _named(row_id: int, document: bytes) -> NamedDevice:
    device = _decoder.decode(document)
    trade = dict.fromkeys(name for name in (device.trade_name, *device.trade_names.values()) if name)
    return NamedDevice(
        row_id=row_id,
        udi=device.udi,
        manufacturer_srn=device.manufacturer_srn,
        trade_names=" ".join(trade),
        device_name=" ".join(part for part in (device.device_name, device.device_model) if part),
        manufacturer_name=device.manufacturer_name,
        status_code=device.status_code,
        risk_class_code=device.risk_class_code,
    )
