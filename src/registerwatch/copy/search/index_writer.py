"""Writes the index of this node: one process at a time."""

import fcntl
import os
import shutil
from typing import IO

import structlog
import tantivy

from registerwatch.copy.search.fields import to_document
from registerwatch.copy.search.index import SearchIndex
from registerwatch.copy.search.index_files import META, IndexFiles
from registerwatch.errors import IndexUnavailable
from registerwatch.platform.private_files import make_private_folder

log = structlog.get_logger(__name__)

WRITER_HEAP = 40_000_000
"""Bytes of documents that are collected before a segment is written."""


class IndexWriter:
    """The one writer of a node's index. It holds a lock that ends with the process in any case.

    The indexed revision is noted after each commit. After a kill between the two the same rows are indexed again, which
    changes nothing.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._target = index
        self._files = IndexFiles(index.folder)
        self._lock_path = index.folder.parent / "writer.lock"
        self._lock: IO[str] | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._new_identifiers: _NewIdentifiers | None = None
        self._copy_id = ""
        self._revision = 0
        self.acquisitions = 0
        """How often this process became the writer. Rows that were not committed before are lost then."""
        self.rebuilds = 0
        """How often this process found the index damaged and began it anew."""

    @property
    def revision(self) -> int:
        """The copy's revision up to which the index is written."""
        return self._revision

    def acquire(self, copy_id: str) -> bool:
        """Become the writer of the index of this copy; False when another process is.

        Another copy gets a new index, as does one whose index is damaged, also while it is written.
        """
        is_writer = self._writer is not None and self._copy_id == copy_id
        fault = self._fault() if is_writer else None
        if is_writer and fault is None:
            return True
        self.release()
        written = self._revision if self._copy_id == copy_id else 0
        try:
            if not self._locked():
                return False
            self._copy_id = copy_id
            self._writer = self._opened(fault, written).writer(heap_size=WRITER_HEAP, num_threads=1)
        except (OSError, ValueError) as error:
            self.release()
            folder = self._target.folder
            raise IndexUnavailable(f"The search index in {folder} cannot be written: {error}") from error
        self._new_identifiers = _NewIdentifiers() if self._revision == 0 else None
        self.acquisitions += 1
        return True

    def _locked(self) -> bool:
        """Take the lock; False when another process has it."""
        make_private_folder(self._lock_path.parent)
        lock = self._lock_path.open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        return True

    def _opened(self, fault: str | None, written: int) -> tantivy.Index:
        """The index on disk, or a new one where it is damaged or of another copy.

        `written` is the revision up to which this process wrote it before; a failed write may have been the first to
        meet files that are gone.
        """
        self._revision = self._target.noted_revision(self._copy_id)
        if written and not self._revision and fault is None:
            fault = "its files were deleted"
        if self._revision and fault is None:
            fault = self._files.fault(reads_new=True)
        if self._revision and fault is None:
            try:
                return self._target.open()
            except ValueError as error:
                fault = str(error)
        if fault is not None:
            self.rebuilds += 1
            log.error("the search index is damaged and is built anew", folder=str(self._target.folder), fault=fault)
        self._revision = 0
        self._target.close()
        shutil.rmtree(self._target.folder, ignore_errors=True)
        make_private_folder(self._target.folder)
        return self._target.open()

    def _fault(self) -> str | None:
        """The fault of this writer's lock and files, None without one."""
        if not self._has_lock():
            return "its folder was deleted"
        if not self._revision:
            return None if (self._target.folder / META).exists() else f"{META} is missing"
        if self._target.noted_revision(self._copy_id) != self._revision:
            return "the note of its revision is not what was written"
        return self._files.fault(reads_new=False)

    def _has_lock(self) -> bool:
        try:
            return self._lock is not None and os.path.samestat(os.fstat(self._lock.fileno()), self._lock_path.stat())
        except OSError:
            return False

    def start_rebuild(self) -> None:
        """Empty the index; its documents can be found until the next commit."""
        assert self._writer is not None, "acquire() comes first"
        self._writer.delete_all_documents()
        self._new_identifiers = _NewIdentifiers()
        self._revision = 0

    def put(self, row_id: int, stored: bytes, *, is_current: bool, is_listed: bool = True) -> None:
        """Index a row instead of the earlier one of its UDI-DI; a row that is not current is left out.

        A current record that the register no longer lists removes what was indexed.

        Raises `IndexUnavailable`; then rows since the last commit are lost, and `revision` says where to continue.
        """
        assert self._writer is not None, "acquire() comes first"
        if not is_current:
            return  # the record that displaced it has a revision of its own
        udi, entry = to_document(row_id, stored)
        try:
            if self._new_identifiers is None or not self._new_identifiers.is_new(udi):
                self._writer.delete_documents_by_term("udi", udi)
            if is_listed:
                self._writer.add_document(entry)
        except ValueError as error:
            self.release()
            raise IndexUnavailable(f"The search index cannot be written: {error}") from error

    def commit(self, revision: int) -> None:
        """Make the indexed rows findable and note the revision. Raises `IndexUnavailable`, as on a full disk."""
        assert self._writer is not None, "acquire() comes first"
        try:
            self._writer.commit()
            self._target.note_revision(self._copy_id, revision)
            self._files.fault(reads_new=False)  # from now on a change of what was just written is noticed
        except (OSError, ValueError) as error:
            self.release()
            raise IndexUnavailable(f"The search index cannot be written: {error}") from error
        self._revision = revision

    def note(self, revision: int) -> None:
        """Note that no row up to a revision is to be indexed. Raises `IndexUnavailable`."""
        try:
            self._target.note_revision(self._copy_id, revision)
        except OSError as error:
            self.release()
            raise IndexUnavailable(f"The search index cannot be written: {error}") from error
        self._revision = revision

    def finish(self) -> None:
        """End merges that are under way and stop writing."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None
        self.release()

    def release(self) -> None:
        """Stop writing, so that another process can."""
        self._writer = None
        self._new_identifiers = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class _NewIdentifiers:
    """Knows which identifiers are new to a new index, so that no older entry of them has to be deleted. It takes 8 MB.

    It may take a new identifier for an old one, which costs a deletion that finds nothing; never the other way round.
    """

    _BITS = 1 << 26

    def __init__(self) -> None:
        self._bits = bytearray(self._BITS >> 3)

    def is_new(self, identifier: str) -> bool:
        bit = hash(identifier) & (self._BITS - 1)
        byte, mask = bit >> 3, 1 << (bit & 7)
        if self._bits[byte] & mask:
            return False
        self._bits[byte] |= mask
        return True
