"""The papers of a collection as tables of Arrow, pandas and Polars."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from sciprism.errors import InputError
from sciprism.store import StoredCollection
from sciprism.store.live_papers import iterate_papers

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class CollectionTables:
    """The details of all papers of a collection as a table."""

    stored: StoredCollection

    def to_arrow(self) -> pa.Table:
        """Return the papers as an Arrow table: id, title, abstract, authors, venue, year, fields, keywords, ids."""
        from sciprism.uses.collection_export import build_table, join_tables

        return join_tables(map(build_table, iterate_papers(self.stored)))

    def to_pandas(self) -> pd.DataFrame:
        """Return the papers as a pandas table.

        >>> library.to_pandas()[["id", "year"]].values.tolist()
        [['dna', 1953], ['folding', 1973]]
        """
        try:
            return self.to_arrow().to_pandas()
        except ModuleNotFoundError:
            raise InputError("tables of pandas need it: pip install pandas") from None

    def to_polars(self) -> pl.DataFrame:
        """Return the papers as a Polars table."""
        try:
            import polars
        except ModuleNotFoundError:
            raise InputError("tables of Polars need it: pip install polars") from None
        return cast("pl.DataFrame", polars.from_arrow(self.to_arrow()))
