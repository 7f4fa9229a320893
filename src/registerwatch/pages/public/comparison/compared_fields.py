"""The rows of a comparison of devices, in the order and words of their pages, and whether they differ. Pure."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import msgspec

from registerwatch.pages.addresses import actor_address, search_address
from registerwatch.pages.languages import language_name, language_tag
from registerwatch.pages.public.device import DeviceView
from registerwatch.platform.structs import replace
from registerwatch.register.certificate_states import ShownCertificate
from registerwatch.register.standing import DELISTED, OF_OTHER_RECORD

NOT_READ_YET, NOT_GIVEN, NOT_NAMED = "Not read yet", "Not given", "Not named"
AS_LAST_LISTED = "As when the device was last listed"


class RowState(Enum):
    """The result of comparing a field: words, sign, tone."""

    DIFFERENT = ("Differs", "≠", "warn")
    UNKNOWN = ("Not known whether it differs", "?", "none")
    SAME = ("Same", "=", "none")

    @property
    def words(self) -> str:
        """Its words."""
        return self.value[0]

    @property
    def sign(self) -> str:
        """Its sign besides colour."""
        return self.value[1]

    @property
    def tone(self) -> str:
        """Its tone, for the stylesheet."""
        return self.value[2]


class Fact(msgspec.Struct, frozen=True):
    """A line of a cell: words, then a day or an instant (ISO). `tag` is the `lang` of the words, empty for none."""

    words: str
    at: str = ""
    tag: str = ""
    address: str = ""
    is_compared: bool = True

    @property
    def text(self) -> str:
        """The line without markup."""
        return f"{self.words} {self.at}".strip()


class Cell(msgspec.Struct, frozen=True):
    """The field of one column. If it may be incomplete (not `is_known`), it is never the same as another."""

    facts: tuple[Fact, ...]
    is_known: bool = True

    @property
    def text(self) -> str:
        """All lines in one text."""
        return "; ".join(each.text for each in self.facts)

    @property
    def compared(self) -> tuple[str, ...]:
        """The texts that are compared."""
        return tuple(each.text for each in self.facts if each.is_compared)


UNREAD = Cell((Fact(NOT_READ_YET),), is_known=False)


class ComparedRow(msgspec.Struct, frozen=True):
    """A field; `cells` has None for a column without a record. `code` is the part of the title that is a code."""

    title: str
    cells: Sequence[Cell | None]
    code: str = ""

    @property
    def state(self) -> RowState:
        """Whether it differs among the columns with a record."""
        cells = [each for each in self.cells if each is not None]
        if len({each.compared for each in cells if each.is_known}) > 1:
            return RowState.DIFFERENT
        return RowState.SAME if all(each.is_known for each in cells) else RowState.UNKNOWN


Read = Callable[[DeviceView], Cell]


def rows_of(views: Sequence[DeviceView | None]) -> list[ComparedRow]:
    """The fields of these devices, in the order of their pages; None is a column without a record."""
    found = [each for each in views if each is not None]

    def row(title: str, read: Read, code: str = "") -> ComparedRow:
        return ComparedRow(title, [None if view is None else read(view) for view in views], code)

    representative = [row("Authorised representative", _representative)]
    other_codes = [row("Packaging and other codes", _other_codes)]
    return [
        row("Name", lambda view: _given(view, view.given_name, tag=view.name_tag)),
        row("Market status", _market_status),
        row("Date of the market status", lambda view: _dated(view, view.device.status_date)),
        row("Risk class", lambda view: _given(view, view.device.risk_class)),
        row("Certificates", _standing),
        row("Manufacturer", _manufacturer if all(each.is_listed for each in found) else _manufacturer_by_srn),
        row("Manufacturer status", _manufacturer_status),
        *(representative if any(each.device.authorised_representative for each in found) else []),
        row("Basic UDI-DI", _basic_udi),
        row("Device name", lambda view: _given(view, view.device.device_name)),
        row("Model", lambda view: _given(view, view.device.device_model)),
        row("Catalogue reference", lambda view: _given(view, view.device.reference)),
        row("Nomenclature (EMDN)", lambda view: _given(view, ", ".join(view.device.emdn))),
        row("Legislation", _legislation),
        *(other_codes if any(each.other_codes for each in found) else []),
        *(row("Certificate", _certificates_of(number), number) for number in _numbers(found)),
        *(row(f"Trade name ({language_name(code)})", _trade_name_in(code)) for code in _languages(found)),
        *(row(title, _detail(title)) for title in _details(found)),
        row("Last changed in the register", lambda view: _dated(view, view.device.updated)),
        row("Version of the record", lambda view: _given(view, _version(view))),
    ]


def _given(view: DeviceView, value: str, *, tag: str = "", address: str = "") -> Cell:
    if value:
        return Cell((Fact(value, tag=tag, address=address),))
    return Cell((Fact(NOT_GIVEN),)) if view.has_detail else UNREAD


def _other_codes(view: DeviceView) -> Cell:
    """Other codes without quantities, which bulk loads do not have."""
    return _given(view, ", ".join(sorted(f"{each.code} ({each.name})" for each in view.other_codes)))


def _details(views: Iterable[DeviceView]) -> list[str]:
    """Titles of the details that are known of any device."""
    return list(dict.fromkeys(title for view in views for title in _details_of(view)))


def _details_of(view: DeviceView) -> dict[str, str]:
    device = view.device
    linked = device.linked_device.udi if device.linked_device else ""
    countries = ", ".join(each.text for each in view.countries)
    known = {"Available in": countries, **{each.title: each.text for each in view.details}, "Linked device": linked}
    return {title: text for title, text in known.items() if text}


def _detail(title: str) -> Read:
    """A detail, which is unknown if the register does not give it."""

    def read(view: DeviceView) -> Cell:
        text = _details_of(view).get(title, "")
        return Cell((Fact(text),)) if text else Cell((Fact(NOT_GIVEN),), is_known=False)

    return read


def _dated(view: DeviceView, value: str | None) -> Cell:
    return Cell((Fact("", value),)) if value else _given(view, "")


def _version(view: DeviceView) -> str:
    return "" if view.device.version is None else str(view.device.version)


def _market_status(view: DeviceView) -> Cell:
    status = view.device.status
    if not view.is_listed:
        return Cell((Fact(DELISTED[0]), *([Fact(f"When it was last listed: {status}")] if status else [])))
    return Cell((Fact(status),)) if status else Cell((Fact("Not known"),), is_known=False)


def _standing(view: DeviceView) -> Cell:
    """The common standing of its certificates."""
    of_other = [Fact(OF_OTHER_RECORD[0], is_compared=False)] if view.of_other_records else []
    if not view.certificates:
        return UNREAD if view.certificates_unread else Cell((Fact("None named"), *of_other))
    counted = [Fact(f"{words}: {number}" if number > 1 else words) for words, _, number in view.count_by_words]
    others = [Fact("Others: not read yet")] if view.certificates_unread else []
    ends = (Fact(words, end) for words, end in view.standing.ends)
    return Cell((*counted, *ends, *of_other, *others), is_known=not others)


def _manufacturer(view: DeviceView) -> Cell:
    device = view.device
    if not device.manufacturer_srn:
        return _given(view, device.manufacturer_name)
    return _actor(device.manufacturer_name, device.manufacturer_srn)


def _manufacturer_by_srn(view: DeviceView) -> Cell:
    """The manufacturer beside a device that is no longer listed, whose record has an earlier name of it."""
    cell, notes = _manufacturer(view), [] if view.is_listed else [Fact(AS_LAST_LISTED, is_compared=False)]
    if not view.device.manufacturer_srn:
        return replace(cell, facts=(*cell.facts, *notes))
    name, *number = cell.facts
    return replace(cell, facts=(replace(name, is_compared=not number), *number, *notes))


def _manufacturer_status(view: DeviceView) -> Cell:
    status = view.device.manufacturer_status
    if view.is_maker_gone:
        return Cell((Fact(DELISTED[0]), *([Fact(f"Status in this record: {status}")] if status else [])))
    if status and not view.is_listed:
        return Cell((Fact(f"When the device was last listed: {status}"),), is_known=False)
    return _given(view, status)


def _representative(view: DeviceView) -> Cell:
    actor = view.device.authorised_representative
    return _actor(actor.name, actor.srn) if actor else _given(view, "")


def _actor(name: str, srn: str) -> Cell:
    number = [Fact(srn)] if name else []
    return Cell((Fact(name or srn, address=actor_address(srn)), *number))


def _basic_udi(view: DeviceView) -> Cell:
    code = view.device.basic_udi
    if not code and view.is_legacy:
        return Cell((Fact("None: a legacy device"),))
    return _given(view, code, address=search_address(code))


def _legislation(view: DeviceView) -> Cell:
    return _given(view, f"{view.legislation}, a legacy directive" if view.is_legacy else view.legislation)


def _numbers(views: Iterable[DeviceView]) -> list[str]:
    return list(dict.fromkeys(each.certificate.number for view in views for each in view.certificates))


def _certificates_of(number: str) -> Read:
    """The certificates with a number, which can have several revisions and notified bodies."""

    def read(view: DeviceView) -> Cell:
        named = [each for each in view.certificates if each.certificate.number == number]
        if not named:
            return UNREAD if view.certificates_unread else Cell((Fact(NOT_NAMED),))
        return Cell(tuple(fact for each in named for fact in _facts_of(each)))

    return read


def _facts_of(shown: ShownCertificate) -> Iterable[Fact]:
    certificate = shown.certificate
    if certificate.revision:
        yield Fact(f"Revision {certificate.revision}")
    if shown.kind:
        yield Fact(shown.kind)
    yield Fact(shown.words)
    if shown.differing_word:
        yield Fact(f"Register: {shown.differing_word.lower()}")
    if shown.contradiction:
        yield Fact(shown.contradiction, is_compared=False)
    yield Fact(shown.counts_in_words)
    yield Fact("Expiry", certificate.expiry) if certificate.expiry else Fact("Expiry: no end date")
    yield Fact("Valid from", certificate.valid_from) if certificate.valid_from else Fact("Valid from: no date given")
    body = " ".join(filter(None, (certificate.notified_body_name, certificate.notified_body)))
    yield Fact(f"Notified body: {body or NOT_GIVEN.lower()}")
    if certificate.unconfirmed_since and not certificate.confirmed:
        yield Fact("Not confirmed since", certificate.unconfirmed_since, is_compared=False)


def _languages(views: Iterable[DeviceView]) -> list[str]:
    return sorted({code for view in views for code in view.device.trade_names}, key=language_name)


def _trade_name_in(code: str) -> Read:
    def read(view: DeviceView) -> Cell:
        text = view.device.trade_names.get(code, "")
        if not text and "names" in view.device.missing:
            return UNREAD
        return Cell((Fact(text, tag=language_tag(code)) if text else Fact(NOT_GIVEN),))

    return read
