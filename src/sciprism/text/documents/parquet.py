"""Tables in Parquet files with a text column."""

from __future__ import annotations

from collections.abc import Iterator

from sciprism.errors import InputError
from sciprism.text.documents.document import Document, DocumentFile
from sciprism.text.documents.registry import document_readers
from sciprism.text.documents.rows import IDS, LANGUAGES, LICENCES, SYSTEMS, TEXTS, of_row

BATCH = 256
"""Rows in memory."""
_KNOWN = {*IDS, *LANGUAGES, *LICENCES, *SYSTEMS, *TEXTS, "title"}


class Parquet:
    """Read the columns that `rows` would read, a batch of rows at a time."""

    suffixes: tuple[str, ...] = (".parquet",)

    def recognises(self, head: str) -> bool:
        """Look for Parquet's mark."""
        return head.startswith("PAR1")

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield the text of each row; raises InputError for a damaged file and for columns not there."""
        import pyarrow
        from pyarrow.parquet import ParquetFile

        try:
            with ParquetFile(file.path) as table:
                there = table.schema_arrow.names
                if missing := [each for each in file.columns if each not in there]:
                    raise InputError(f"{file.path}: no column {missing[0]!r}; it has {', '.join(there)}")
                wanted = [each for each in there if each in _KNOWN or each in file.columns]
                number = 0
                for batch in table.iter_batches(BATCH, columns=wanted):
                    for row in batch.to_pylist():
                        number += 1
                        yield of_row(row, file.columns, file.place(number, None))
        except pyarrow.ArrowException as error:
            raise InputError(f"{file.path}: the Parquet file is damaged ({error}); fetch it anew") from error


document_readers.register("parquet")(Parquet())
