"""Writing the index of this node: one process at a time."""

import fcntl
import shutil
from typing import IO

import tantivy

from registerwatch.errors import IndexUnavailable
from registerwatch.register.search.fields import to_document
from registerwatch.register.search.index import SearchIndex

WRITER_HEAP = 40_000_000
"""Bytes of documents that are collected before a segment is written."""


class IndexWriter:
    """The one writer of a node's index. Holds a lock that ends with the process, however it ends.

    The revision that is indexed is noted after each commit. After a kill between the two the same rows are indexed
    again, which changes nothing.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._target = index
        self._lock: IO[str] | None = None
        self._writer: tantivy.IndexWriter | None = None
        self._new_identifiers: _NewIdentifiers | None = None
        self._copy_id = ""
        self._revision = 0

    @property
    def revision(self) -> int:
        """The copy's revision up to which the index is written."""
        return self._revision

    def acquire(self, copy_id: str) -> bool:
        """Become the writer of the index of this copy; False when another process is. Another copy gets a new index."""
        if self._writer is not None and self._copy_id == copy_id:
            return True
        self.release()
        folder = self._target.folder
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = open(folder.parent / "writer.lock", "w")  # noqa: SIM115  # held until release
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                return False
            self._lock = lock
            self._copy_id = copy_id
            self._revision = self._target.indexed_revision(copy_id)
            if self._revision == 0:
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
            self._writer = self._target.open().writer(heap_size=WRITER_HEAP, num_threads=1)
        except (OSError, ValueError) as error:
            self.release()
            raise IndexUnavailable(f"The search index in {folder} cannot be written: {error}") from error
        self._new_identifiers = _NewIdentifiers() if self._revision == 0 else None
        return True

    def start_rebuild(self) -> None:
        """Empty the index; what was findable stays so until the next commit."""
        assert self._writer is not None, "acquire() comes first"
        self._writer.delete_all_documents()
        self._new_identifiers = _NewIdentifiers()
        self._revision = 0

    def put(self, row_id: int, stored: bytes, *, is_current: bool) -> None:
        """Index a row in place of what was indexed for its UDI-DI; a row that is not current is left out.

        Raises `IndexUnavailable`; rows since the last commit are lost then; `revision` says where to continue.
        """
        assert self._writer is not None, "acquire() comes first"
        if not is_current:
            return  # the record that displaced it has a revision of its own
        udi, entry = to_document(row_id, stored)
        try:
            if self._new_identifiers is None or not self._new_identifiers.is_new(udi):
                self._writer.delete_documents_by_term("udi", udi)
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
        except (OSError, ValueError) as error:
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
    """Which identifiers are new to a new index, so that no older entry of them has to be deleted. It takes 8 MB.

    It may take a new identifier for an old one, which costs a deletion that finds nothing; never the other way round.
    """

    _BITS = 1 << 26

    def __init__(self) -> None:
        self._bits = bytearray(self._BITS >> 3)

    def is_new(self, identifier: str) -> bool:
        place = hash(identifier) & (self._BITS - 1)
        byte, mask = place >> 3, 1 << (place & 7)
        if self._bits[byte] & mask:
            return False
        self._bits[byte] |= mask
        return True
