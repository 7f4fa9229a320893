"""The part of the Data Lake's JSON that is read: devices, actors and the meanings of ids in columns.

Every number comes as a whole float, and a name in languages as JSON inside a text. Only the columns named here are
decoded, which keeps personal data out.
"""

from typing import Annotated, Any, Generic, TypeVar

import msgspec

from registerwatch.sources.fields import MAX_NUMBER, key
from registerwatch.sources.rows import RowPage, RowReader
from registerwatch.sources.wire import RecordReader, WireRecord

Row = TypeVar("Row", bound=WireRecord)

Id = Annotated[int, msgspec.Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
"""An id of `/reference`. Only column and id together are unique: -204 is a risk class and a country."""


class DeviceRow(WireRecord, frozen=True, rename="upper", gc=False):
    """The columns of `/udi` that are read. Other columns are never decoded."""

    uuid: str | None = None
    primary_di: str | None = None
    basic_udi: str | None = None
    trade_name: str | None = None
    device_name: str | None = None
    device_model: str | None = None
    reference: str | int | None = None
    risk_class_id: Id | None = None
    applicable_legislation_id: Id | None = None
    device_status_type_id: Id | None = None
    nomenclature_code: str | None = None
    mf_srn: str | None = None
    mf_name: str | None = None
    mf_actor_names: dict[str, str] | None = None
    ar_srn: str | None = None
    ar_name: str | None = None
    ar_actor_names: dict[str, str] | None = None
    sterile: bool | None = None
    latex: bool | None = None
    implantable: bool | None = None
    reusable: bool | None = None
    version_number: Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)] | None = None
    latest_version: bool | None = None
    unit_of_use_di: Any = msgspec.UNSET
    direct_marketing_di: Any = msgspec.UNSET
    """The direct marking, under the name that the column has."""
    secondary_di: Any = msgspec.UNSET
    container_package_dis: Any = msgspec.UNSET
    special_device_type_id: Id | None = None
    active: bool | None = None
    measuring_function: bool | None = None
    administering_medicine: bool | None = None
    medicinal_product: bool | None = None
    human_product: bool | None = None
    human_tissues: bool | None = None
    animal_tissues: bool | None = None
    microbial_substances: bool | None = None
    cmr_substance: bool | None = None
    endocrine_disruptor: bool | None = None
    sterilization: bool | None = None
    reprocessed: bool | None = None
    new_device: bool | None = None
    sutures: bool | None = None
    kit: bool | None = None
    reagent: bool | None = None
    instrument: bool | None = None
    self_testing: bool | None = None
    near_patient_testing: bool | None = None
    professional_testing: bool | None = None
    companion_diagnostics: bool | None = None


class ActorRow(WireRecord, frozen=True, rename="upper", gc=False):
    """The columns of `/actors` that are read. Columns with personal data have no field here."""

    actor_id: str | None = None
    name: str | None = None
    status: str | None = None
    act_country_iso2_code: str | None = None


class ReferenceRow(WireRecord, frozen=True, rename="upper", gc=False):
    """A row of `/reference`: the meaning of an id in a column, in one language."""

    id: Id | None = None
    code: str | None = None
    language: str | None = None
    value: str | None = None


class Page(RowPage[Row], Generic[Row], frozen=True, kw_only=True):
    """One page of a list, and the address of the next one."""

    next_link: str | None = None


class _Envelope(msgspec.Struct, frozen=True):
    value: list[msgspec.Raw]
    next_link: str | None = msgspec.field(name="nextLink", default=None)


class PageReader(RowReader[Row]):
    """Reads a page of a list."""

    _envelope = msgspec.json.Decoder(_Envelope)

    def decode(self, content: bytes) -> Page[Row]:
        """The page in JSON. Raises `msgspec.DecodeError` for other content."""
        envelope = self._envelope.decode(content)
        rows, unread = self.rows_of(envelope.value)
        return Page(content=rows, unread=unread, next_link=envelope.next_link)


device_row = RecordReader(DeviceRow, "Data Lake device", keys={"UUID", "PRIMARY_DI"})
actor_row = RecordReader(ActorRow, "Data Lake actor", keys={"ACTOR_ID"})
reference_row = RecordReader(ReferenceRow, "Data Lake reference", keys={"CODE"})
devices = PageReader(device_row, lambda row: bool(key(row.uuid) and key(row.primary_di)))
actors = PageReader(actor_row, lambda row: bool(key(row.actor_id)))
references = PageReader(reference_row, lambda row: bool(row.code and row.id is not None))

NEEDED = frozenset(
    {
        "APPLICABLE_LEGISLATION_ID",
        "DEVICE_STATUS_TYPE_ID",
        "LATEST_VERSION",
        "MF_SRN",
        "RISK_CLASS_ID",
        "VERSION_NUMBER",
    }
)
"""Columns without which a page of devices is not stored."""
