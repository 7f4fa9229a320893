"""Answers about saved lists."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, UnsetType

from registerwatch.files.lists.models import COVERAGES, Coverage, CoverageCounts, Upload, UploadState, WatchedLines
from registerwatch.files.lists.service import ListState, ShownLine, UploadDetails
from registerwatch.files.tables.table import ReadChoices
from registerwatch.register.models import Listed, ManufacturerName, ManufacturerSrn, RiskClass, Status
from registerwatch.web.answers.answers import Answer, doc, instant, iso_or_none

COVERAGE = (
    "`found`: the copy has the device or actor; `certificate_ended`: it names certificates, and none counts as valid:"
    " each has ended, by date or by status, or is suspended; `off_market`: it is not on the EU market; `delisted`: the"
    " register lists it no more; `unknown`: the code can be one, and the stored copy has none, which need not mean that"
    " the register has none; `ambiguous`: it can be several; `invalid`: it can be none, `reason` says why."
)


class CoverageObject(Answer):
    """How many lines stand how, on the present day."""

    lines: Annotated[int, doc("All lines.", 300)]
    found: Annotated[int, doc("Lines whose device or actor the copy has, and of which nothing else is to tell.", 271)]
    certificate_ended: Annotated[int, doc("Lines with certificates of which none counts as valid.", 3)]
    off_market: Annotated[int, doc("Lines whose device is not on the EU market.", 9)]
    delisted: Annotated[int, doc("Lines whose device the register lists no more.", 1)]
    unknown: Annotated[int, doc("Lines whose code can be one that the copy does not have.", 10)]
    ambiguous: Annotated[int, doc("Lines whose code can be that of several devices of the copy.", 0)]
    invalid: Annotated[int, doc("Lines whose code can be none.", 6)]
    watched: Annotated[int, doc("Lines whose subject the account watches.", 120)]
    certificates_unread: Annotated[
        int, doc("Devices among `found` whose certificates nobody has read yet: one may have ended.", 17)
    ]
    changes_behind: Annotated[
        int, doc("Changes of the stored copy that are not taken in yet; usually 0 within half a minute.", 0)
    ]

    @classmethod
    def of(cls, counts: CoverageCounts, behind: int = 0) -> "CoverageObject":
        """The answer with these counts."""
        return cls(
            lines=counts.total,
            watched=counts.watched,
            certificates_unread=counts.certs_unread,
            changes_behind=behind,
            **{each: counts.of.get(each, 0) for each in COVERAGES},
        )


class ReadingObject(Answer):
    """How a file was read. What was recognised wrongly can be sent again, corrected."""

    headings: Annotated[Sequence[str], doc("Of the columns.", ["Article", "GTIN"])]
    code_column: Annotated[int, doc("The column with the codes, from 0.", 1)]
    heading_row: Annotated[int | None, doc("The row with the headings, from 1; 0 for none.", 1)]
    encoding: Annotated[str, doc("Of a text.", "utf-8")]
    encoding_guessed: Annotated[bool, doc("Whether it is only a guess.", False)]
    delimiter: Annotated[str, doc("Of a text.", ";")]
    sheet: Annotated[str, doc("The sheet of a workbook.", "Stock")]
    sheets: Annotated[Sequence[str], doc("All visible sheets of a workbook.", ["Stock", "Old"])]
    columns_left_out: Annotated[int, doc("Columns behind the 50th, which are not kept.", 0)]


class UploadObject(Answer):
    """A file that was sent for a list."""

    id: Annotated[int, doc("Number of the upload.", 12)]
    list_id: Annotated[int, doc("Number of the list.", 7)]
    created_at: Annotated[str, instant("When it was sent.")]
    filename: Annotated[str, doc("What the sender calls it.", "stock.xlsx")]
    state: Annotated[
        UploadState,
        doc(
            "`waiting`, `working`: it is being read and matched; `failed`: `error` says why; `ready`: it waits to be"
            " kept; `kept`: its lines are those of the list.",
            "working",
        ),
    ]
    error: Annotated[str | None, doc("Why it failed, could not be kept or waits, null otherwise.", None)]
    waits_until: Annotated[
        str | None, doc("Until when it waits for what `error` says, such as processor time; null otherwise.", None)
    ]
    lines: Annotated[int | None, doc("Its lines, null before it was read.", 300)]
    matched: Annotated[int, doc("Lines that are matched so far.", 300)]
    reading: Annotated[ReadingObject | None, doc("How it was read, null before.")]

    @classmethod
    def of(cls, upload: Upload) -> "UploadObject":
        """The answer for an upload."""
        return cls(
            upload.id,
            upload.list_id,
            iso_or_none(upload.created_at) or "",
            upload.filename,
            upload.state,
            upload.problem or None,
            iso_or_none(upload.waits_until),
            upload.total,
            upload.matched,
            _reading(upload),
        )


class DifferencesObject(Answer):
    """How an upload differs from the list as it is, in lines."""

    new: Annotated[int, doc("Codes that are not in the list.", 4)]
    changed: Annotated[int, doc("Codes that are there with other cells.", 2)]
    same: Annotated[int, doc("Lines that are there as they are.", 294)]
    gone: Annotated[int, doc("Lines of the list that are not in the upload.", 1)]


class ListObject(Answer):
    """A saved list."""

    id: Annotated[int, doc("Number of the list.", 7)]
    name: Annotated[str, doc("What people call it.", "Stock")]
    created_at: Annotated[str, instant("When it was made.")]
    coverage: Annotated[CoverageObject | None, doc("How its lines stand; null before its first upload is kept.")]
    kept: Annotated[UploadObject | None, doc("The upload whose lines it has.")]
    waiting: Annotated[UploadObject | None, doc("An upload that is not kept yet.")]

    @classmethod
    def of(cls, state: ListState) -> "ListObject":
        """The answer for a list."""
        item_list = state.item_list
        return cls(
            item_list.id,
            item_list.name,
            iso_or_none(item_list.created_at) or "",
            CoverageObject.of(state.counts, state.behind) if state.counts else None,
            UploadObject.of(item_list.kept) if item_list.kept else None,
            UploadObject.of(item_list.waiting) if item_list.waiting else None,
        )


class OneList(Answer):
    """One list."""

    list: Annotated[ListObject, doc("The list.")]


class AllLists(Answer):
    """The account's lists."""

    lists: Annotated[Sequence[ListObject], doc("By name.")]


class OneUpload(Answer):
    """One upload."""

    upload: Annotated[UploadObject, doc("The upload.")]
    coverage: Annotated[CoverageObject, doc("How its lines stand that are matched so far.")]
    differences: Annotated[
        DifferencesObject | None,
        doc("How it differs from the list as it is; null while it is worked on, and for the first of a list."),
    ]

    @classmethod
    def of(cls, state: UploadDetails) -> "OneUpload":
        """The answer for an upload."""
        found = state.differences
        differences = None if found is None else DifferencesObject(found.new, found.changed, found.same, found.gone)
        return cls(UploadObject.of(state.upload), CoverageObject.of(state.counts), differences)


class SentList(Answer):
    """A file was taken; it is read and matched in the background."""

    list_id: Annotated[int, doc("Number of the list.", 7)]
    upload_id: Annotated[int, doc("Number of the upload, for `/v1/lists/{id}/uploads/{upload_id}`.", 12)]


class LineObject(Answer):
    """A line of a list, with what the copy has of its subject."""

    line: Annotated[int, doc("Of the row in the file, from 1.", 2)]
    code: Annotated[str, doc("As it stands in the file.", "4012345678901")]
    cells: Annotated[dict[str, str], doc("The other cells that hold something, by heading.", {"Article": "4711"})]
    subject: Annotated[str | None, doc("UDI-DI or SRN, null where the code is none or several.", "04012345678901")]
    coverage: Annotated[Coverage, doc(COVERAGE, "found")]
    reason: Annotated[str | None, doc("Why there is no subject, null where there is one.", None)]
    watched: Annotated[bool, doc("Whether the account watches it.", False)]
    name: Annotated[str | UnsetType, doc("Of the device or actor.", "Ceramill Zolid HT+")] = UNSET
    manufacturer_name: ManufacturerName | UnsetType = UNSET
    manufacturer_srn: ManufacturerSrn | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    risk_class: RiskClass | UnsetType = UNSET
    certified_until: Annotated[
        str | UnsetType | None,
        doc(
            "The last date on which one of its certificates counts; empty where none does, null without certificates"
            " or where one has no end.",
            "2030-09-16",
        ),
    ] = UNSET
    certificates_read: Annotated[
        bool | UnsetType, doc("Whether every place was read that lists certificates.", True)
    ] = UNSET
    listed: Listed = UNSET

    @classmethod
    def of(cls, shown: ShownLine, headings: Sequence[str]) -> "LineObject":
        """The answer for a line."""
        line, stored = shown.line, shown.stored
        cells = {heading: cell for heading, cell in zip(headings, line.cells, strict=False) if cell}
        answer = cls(line.number, line.code, cells, line.subject, line.coverage, line.reason or None, line.is_watched)
        if stored is not None:
            answer.name, answer.manufacturer_name = stored.name, stored.manufacturer_name
            answer.manufacturer_srn, answer.status, answer.risk_class = (
                stored.manufacturer_srn,
                stored.last_status,
                stored.risk_class,
            )
            answer.certified_until, answer.certificates_read = shown.certified_until, line.certs_read
            answer.listed = UNSET if stored.is_listed else False
        return answer


class LinesAnswer(Answer):
    """Lines of a list, in the order of the file."""

    lines: Annotated[Sequence[LineObject], doc("The lines.")]
    total: Annotated[int, doc("How many match.", 9)]
    next: Annotated[int | None, doc("`after` of the next page; null where there is none.", 120)]


class WatchedAnswer(Answer):
    """What watching lines brought, in subjects: a code that is listed twice is watched once."""

    added: Annotated[int, doc("Newly watched.", 120)]
    watched: Annotated[int, doc("Watched already.", 3)]
    left: Annotated[int, doc("The plan had no room for them.", 0)]

    @classmethod
    def of(cls, watched: WatchedLines) -> "WatchedAnswer":
        """The answer for a result."""
        return cls(watched.added, watched.watched, watched.left)


def _reading(upload: Upload) -> ReadingObject | None:
    found = upload.found
    if found is None:
        return None
    choices: ReadChoices = found.choices
    return ReadingObject(
        found.headings,
        found.code_column,
        choices.heading_row,
        choices.encoding,
        found.is_encoding_guessed,
        choices.delimiter,
        choices.sheet,
        found.sheets,
        found.left_out_columns,
    )
