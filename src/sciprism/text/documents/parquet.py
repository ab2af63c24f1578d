"""Tables in Parquet files with a text column."""

from __future__ import annotations

from collections.abc import Iterator

from sciprism.errors import InputError
from sciprism.text.documents.document import Document, DocumentFile
from sciprism.text.documents.registry import document_readers
from sciprism.text.documents.rows import IDS, LANGUAGES, LICENCES, TEXTS, build_row_document

BATCH_ROWS = 256
"""Rows in memory."""
_KNOWN = {*IDS, *LANGUAGES, *LICENCES, *TEXTS, "title"}


class ParquetReader:
    """Read the columns that `JsonRowReader` reads, a batch of rows at a time."""

    suffixes: tuple[str, ...] = (".parquet",)

    def recognises(self, head: str) -> bool:
        """Look for Parquet's magic bytes."""
        return head.startswith("PAR1")

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield the text of each row; raises InputError for a damaged file and for missing columns."""
        import pyarrow
        from pyarrow.parquet import ParquetFile

        try:
            with ParquetFile(file.path) as table:
                names = table.schema_arrow.names
                if missing := [each for each in file.columns if each not in names]:
                    raise InputError(f"{file.path}: no column {missing[0]!r}; it has {', '.join(names)}")
                wanted = [each for each in names if each in _KNOWN or each in file.columns]
                batches = table.iter_batches(BATCH_ROWS, columns=wanted)
                for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
                    yield build_row_document(row, file.columns, file.input_file.locate(number, None))
        except pyarrow.ArrowException as error:
            raise InputError(f"{file.path}: the Parquet file is damaged ({error}); fetch it again") from error


document_readers.register("parquet")(ParquetReader())
