"""Files are read in a process with bounds, whatever they are."""

import pytest

from registerwatch.errors import InvalidInput
from registerwatch.files.tables.process import BOUNDS, TableReader, TooMuchWork, table_processes
from registerwatch.files.tables.table import MAX_FILE_BYTES, ReadChoices
from registerwatch.platform.bounded_process import ProcessBounds
from tests.files.tables.workbooks import a_workbook, a_written_workbook
from tests.support.list_files import in_this_process

UDI = "04012345000009"


async def test_texts_and_workbooks_are_read_in_a_process_with_their_choices() -> None:
    reader = TableReader()

    for content in (a_workbook(["a", "b"], ["c", UDI]), f"a;b\nc;{UDI}\n".encode()):
        found = await reader.read(content, 1, ReadChoices(heading_row=0))

        assert [(row.number, row.code) for row in found.rows] == [(1, "b"), (2, UDI)]
        assert (found.headings, found.choices.code_column) == (["Column A", "Column B"], 1)


async def test_what_cannot_be_read_or_takes_too_much_is_told() -> None:
    content = a_workbook([UDI])
    slow = TableReader(table_processes(ProcessBounds(1, 0.0001, BOUNDS.memory_bytes)))
    far_apart = a_written_workbook('<row><c r="A1"><v>1</v></c></row><row r="9999"><c r="XFD9999"><v>1</v></c></row>')

    with pytest.raises(InvalidInput, match="cannot be read"):
        await TableReader().read(content[:99], 1, ReadChoices())
    with pytest.raises(InvalidInput, match="takes too long"):
        await slow.read(content, 1, ReadChoices())
    with pytest.raises(TooMuchWork, match="too much memory"):
        await TableReader().read(far_apart, 1, ReadChoices())
    with pytest.raises(InvalidInput, match="more than 10 MiB"):
        await TableReader().read(bytes(MAX_FILE_BYTES + 1), 1, ReadChoices())


@pytest.mark.parametrize("content", [b"%PDF-1.7", b"\x7fELF\x02\x01\x01\x00", b"a;b\n\x00;c\n"])
async def test_no_process_is_started_for_what_begins_neither_as_a_text_nor_as_a_workbook(content: bytes) -> None:
    def read(_: bytes) -> bytes:
        raise AssertionError

    with pytest.raises(InvalidInput):
        await in_this_process(read).read(content, 1, ReadChoices())
