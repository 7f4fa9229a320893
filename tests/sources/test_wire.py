"""Records that are read field by field: any form that means a value is taken, and what means none costs that field."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registerwatch.register.outcomes import RegisterFailure
from registerwatch.sources.data_lake import wire as data_lake
from registerwatch.sources.eudamed import wire
from registerwatch.sources.rows import check_needed
from registerwatch.sources.unread_fields import FieldOf, UnreadFields
from registerwatch.sources.wire import (
    Date,
    Instant,
    RecordReader,
    UnreadField,
    WireRecord,
    described,
    flag,
    whole_number,
)
from tests.register.builders import PROPERTY

Json = Any


class Coded(msgspec.Struct, frozen=True):
    code: str | None = None


class Sample(WireRecord, frozen=True):
    """A field of each type."""

    key: str
    number: Annotated[int, msgspec.Meta(ge=0)] | None = None
    flag: bool | None = None
    text: str | None = None
    revision: str | int | None = None
    date: Date | None = None
    instant: Instant | None = None
    names: dict[str, str] | None = None
    coded: Coded | None = None
    entries: list[Coded] | None = None


reader = RecordReader(Sample, "sample", keys={"key"})


def read(**fields: Json) -> Sample:
    return reader.decode(json.dumps({"key": "k", **fields}).encode())


@pytest.mark.parametrize("form", [3, 3.0, "3", " 3 ", "3.0", "+3"])
def test_a_whole_number_is_taken_in_any_form(form: Json) -> None:
    assert (read(number=form).number, read(number=form).unread) == (3, ())


@pytest.mark.parametrize("form", [3.5, "three", [], {}, -1, "-1", 1e300, "3.5"])
def test_what_is_no_whole_number_is_unknown_and_named(form: Json) -> None:
    assert (read(number=form).number, [each.path for each in read(number=form).unread]) == (None, ["number"])


@pytest.mark.parametrize(
    ("form", "means"),
    [(True, True), (1, True), (1.0, True), ("1", True), ("YES", True), (0.0, False), ("0.0", False), ("false", False)],
)
def test_a_flag_is_taken_in_any_form(form: Json, means: bool) -> None:
    assert read(flag=form).flag is means


@pytest.mark.parametrize("form", [2, -1.0, "maybe", [], {}, 0.5])
def test_what_is_no_flag_is_unknown_and_no_no(form: Json) -> None:
    assert (read(flag=form).flag, [each.path for each in read(flag=form).unread]) == (None, ["flag"])


@pytest.mark.parametrize("nothing", [None, ""])
def test_null_and_an_empty_text_are_nothing_and_no_unread_field(nothing: Json) -> None:
    names = [name for name in Sample.__struct_fields__ if name not in ("key", "unread")]

    assert read(**dict.fromkeys(names, nothing)) == read()


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ({"texts": [{"language": {"isoCode": "de", "name": "German"}, "text": " Alpha "}]}, {"de": "Alpha"}),
        ({"texts": [{"language": None, "text": "Alpha", "allLanguagesApplicable": True}]}, {"": "Alpha"}),
        ({"texts": None}, {}),
        ('{"texts": [{"language": {"isoCode": "en"}, "text": "Alpha"}]}', {"en": "Alpha"}),
        ("Alpha", {"": "Alpha"}),
        ("{Alpha}", {"": "{Alpha}"}),
        ({"en": "Alpha", "de": None}, {"en": "Alpha"}),
    ],
)
def test_a_text_in_languages_is_taken_as_an_object_as_json_in_a_text_and_as_a_text(
    form: Json, names: dict[str, str]
) -> None:
    assert (read(names=form).names, read(names=form).unread) == (names, ())


def test_an_object_where_a_text_is_wanted_gives_its_preferred_text() -> None:
    texts = [{"language": {"isoCode": "fr"}, "text": "Un"}, {"language": {"isoCode": "en"}, "text": "One"}]

    assert read(text={"texts": texts}).text == "One"


def test_dates_and_instants_are_read_once_and_what_is_none_is_named() -> None:
    found = read(date="2030-09-16T00:00:00", instant="2021-10-08T12:42:27.6")
    odd = read(date="soon", instant=5)

    assert (found.date, found.instant) == ("2030-09-16", "2021-10-08T10:42:27Z")
    assert odd.unread == (UnreadField("date", '"soon"'), UnreadField("instant", "5"))


def test_a_code_may_stand_alone_and_an_entry_that_cannot_be_read_costs_the_others_nothing() -> None:
    found = read(coded="c", entries=[{"code": "a"}, 5, "b", None, {"code": []}])

    assert (found.coded, found.entries) == (Coded("c"), [Coded("a"), Coded("b"), Coded(None)])
    assert [each.path for each in found.unread] == ["entries[]", "entries.code"]


@pytest.mark.parametrize("record", [[], None, 5, {}, {"key": 5}, {"key": ["k"]}, {"key": None}])
def test_a_record_without_its_key_cannot_be_read(record: Json) -> None:
    with pytest.raises(msgspec.DecodeError):
        reader.decode(json.dumps(record).encode())


def test_a_value_is_shown_shortened_and_never_what_may_be_personal() -> None:
    assert described("someone@example.org") == "a text of 19 characters"
    assert described({"electronicMail": "someone@example.org"}) == "an object with electronicMail"
    assert described(["someone@example.org"]) == "a list of 1"
    assert len(described("x" * 5_000)) <= 100


@PROPERTY
@given(st.integers(-(10**17), 10**17))
def test_a_number_means_the_same_in_every_form(number: int) -> None:
    assert whole_number(number) == whole_number(str(number)) == whole_number(f"{number}.0") == number
    if abs(number) < 2**53:
        assert whole_number(float(number)) == number


@PROPERTY
@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.none())))
def test_any_value_is_a_flag_or_is_refused(value: Json) -> None:
    with suppress(ValueError):
        assert flag(value) in (True, False)


# Any shape: a part of a real reply is replaced, and at most that field is unknown

READERS: dict[str, RecordReader[Any]] = {
    "device_search_rows_2026.json": wire.device_row,
    "device_detail.json": wire.device_detail,
    "described_device_detail_packages.json": wire.device_detail,
    "described_basic_udi_record_mdr.json": wire.basic_udi_record,
    "described_basic_udi_record_legacy.json": wire.basic_udi_record,
    "described_eos_row_2026.json": wire.actor_row,
    "certificate_search_page.json": wire.listed_certificate,
    "described_certificate_record.json": wire.certificate_record,
    "described_refused_applications_page.json": wire.refused_application,
    "described_notified_bodies.json": wire.listed_body,
    "described_datalake_udi_page.json": data_lake.device_row,
    "described_datalake_actors_page.json": data_lake.actor_row,
    "datalake_reference_rows.json": data_lake.reference_row,
}
KEYS = {"uuid", "primaryDi", "certificateNumber", "srn", "eudamedIdentifier", "applicationReferenceNumber"}
KEYS |= {"UUID", "PRIMARY_DI", "ACTOR_ID", "CODE", "primaryDi.code"}
ODD: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
) | st.sampled_from([[], {}, [None], {"code": []}, {"texts": 5}, {"texts": [5]}, "x" * 10_000, [[]], {"": {}}])


def records_of(content: Json) -> list[Json]:
    """The records in a capture, which is a page, a list or one record."""
    if isinstance(content, list):
        return content
    rows = content.get("content", content.get("value"))
    return rows if isinstance(rows, list) else [content]


def paths_in(value: Json, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in a record there are values."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*at, step)
        yield from paths_in(inner, (*at, step))


def changed(record: Json, path: tuple[Any, ...], put: Json, *, leaves_out: bool) -> Json:
    copy = json.loads(json.dumps(record))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    if leaves_out:
        del inner[path[-1]]
    else:
        inner[path[-1]] = put
    return copy


@pytest.mark.parametrize("name", READERS)
@PROPERTY
@given(data=st.data())
def test_any_value_anywhere_in_a_reply_costs_at_most_the_field_that_it_is_in(
    captures: Path, name: str, data: st.DataObject
) -> None:
    record = data.draw(st.sampled_from(records_of(json.loads((captures / name).read_bytes()))))
    path = data.draw(st.sampled_from(list(paths_in(record))))
    odd = changed(record, path, data.draw(ODD), leaves_out=data.draw(st.booleans()))
    before = READERS[name].decode(json.dumps(record).encode())

    try:
        after = READERS[name].decode(json.dumps(odd).encode())
    except msgspec.DecodeError:
        assert path[0] in KEYS, "only a key costs the record"
        return

    fields = dict(zip(type(before).__struct_encode_fields__, type(before).__struct_fields__, strict=True))
    others = [field for wire_name, field in fields.items() if wire_name not in (path[0], "unread")]
    assert [getattr(after, each) for each in others] == [getattr(before, each) for each in others]
    assert {each.path.split(".")[0].removesuffix("[]") for each in after.unread} <= {path[0]}


# Counts


def test_the_first_value_of_each_field_is_kept_and_all_are_counted_until_they_are_taken() -> None:
    unread = UnreadFields()
    for number in range(3):
        unread.note("device row", [UnreadField("riskClass.code", str(number))])
    before = unread.counts.copy()

    taken = unread.take()
    unread.note("device row", [UnreadField("riskClass.code", "9"), UnreadField("reference", "5")])

    field = FieldOf("device row", "riskClass.code")
    assert (taken[field].records, taken[field].example) == (3, "0")
    assert {each.field: count.records for each, count in unread.since(before).items()} == {
        "riskClass.code": 1,
        "reference": 1,
    }
    unread.give_back(taken)
    assert unread.take()[field].records == 4


def test_a_page_most_of_whose_rows_have_lost_the_same_needed_field_is_refused_with_an_example() -> None:
    rows = [data_lake.device_row.read({"UUID": f"u-{n}", "PRIMARY_DI": f"{n}", "RISK_CLASS_ID": []}) for n in range(6)]
    whole = [
        data_lake.device_row.read({"UUID": f"v-{n}", "PRIMARY_DI": f"{n}", "RISK_CLASS_ID": -10.0}) for n in range(6)
    ]

    check_needed([*rows[:6], *whole], data_lake.NEEDED)
    with pytest.raises(RegisterFailure, match=r"6 of 11 rows have a RISK_CLASS_ID that cannot be read, such as a list"):
        check_needed([*rows, *whole[:5]], data_lake.NEEDED)
