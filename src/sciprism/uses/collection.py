"""A collection for programs: papers with their vectors, to look up, search, change and hand on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.files import check_companion, lock_folder, write_atomically
from sciprism.index import lexical
from sciprism.papers.bibliography_entries import find_doi
from sciprism.papers.read import read_papers
from sciprism.papers.records import Paper
from sciprism.parallel import DEVICE, Progress, show_nothing
from sciprism.store import CollectionLayout, DeleteReport, EmbedReport, Filter, StoredCollection, delete, embed
from sciprism.store.collection import EncoderRecord
from sciprism.store.paper_lookup import READ_ROWS, check_filter, iterate_papers, iterate_vectors, list_ids
from sciprism.uses.search import Hit, Ranking, Searchable, choose_paper_space, search, similar, similar_to_papers

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.protocols import EncoderProtocol


def load_encoder(stored: StoredCollection, model: str = "") -> Encoder:
    """Load the encoder that made a collection, from the folder `model` if it was moved; InputError for another."""
    return load_recorded_encoder(stored.manifest.encoder, stored.folder, model)


def load_recorded_encoder(made_by: EncoderRecord, place: object, model: str = "") -> Encoder:
    """Load the encoder that made the vectors stored at a place, with its options, as `load_encoder`."""
    from sciprism.encoders.encoder import Encoder

    names = ("pooling", "max_length", "truncate_dim", "precision")
    options: dict[str, Any] = {name: made_by.options[name] for name in names if name in made_by.options}
    try:
        encoder = Encoder.load(model or made_by.name, **options)
    except InputError as error:
        hint = "" if model else f" ({place} was made with it: put it there again, or search with --model FOLDER)"
        raise InputError(f"{error}{hint}") from error
    made_by.check(encoder, place)
    return encoder


def find_encoder(model: Encoder | EncoderProtocol | str, collections: Sequence[StoredCollection] = ()) -> Encoder:
    """Return a given or named encoder, else that of some collections, else the one that ships.

    Raises InputError where it is not the one that made their vectors.
    """
    from sciprism.encoders.encoder import Encoder

    if isinstance(model, str):
        return load_encoder(collections[0], model) if collections else Encoder.load(model or None)
    for stored in collections[:1]:
        stored.check_encoder(cast("Encoder", model))
    return cast("Encoder", model)


def load_query_encoder(stored: StoredCollection, model: str = "") -> Encoder:
    """Load what encodes a few texts, as `load_encoder` does, but without torch where model and device allow it."""
    made_by = stored.manifest.encoder
    if DEVICE.get() in ("", "cpu") and not made_by.options.keys() & {"pooling", "max_length"}:
        from sciprism.encoders.query_encoder import open_query_encoder

        if (quick := open_query_encoder(model or made_by.name, made_by.fingerprint)) is not None:
            return cast("Encoder", quick)  # it has what a search asks of an encoder
    return load_encoder(stored, model)


def index_words(folder: Path, progress: Progress = show_nothing) -> None:
    """Index the words of a collection's papers, where they have changed, so that searches count them too."""
    with lock_folder(folder):
        lexical.update(StoredCollection.open(folder), progress)


class Collection(Searchable):
    """Papers and their vectors in a folder, as `sciprism embed` writes it.

    Papers are numbered from 0 in the order in which they were added; `ids`, `vectors` and iteration have that order.
    Files are memory-mapped and read where needed; the model is loaded by the first call that needs it.

    >>> from sciprism import Collection, Paper
    >>> papers = [
    ...     Paper(id="dna", title="Molecular structure of nucleic acids", year=1953),
    ...     Paper(id="halos", title="A universal density profile of dark matter halos", year=1997),
    ...     Paper(id="folding", title="Principles that govern the folding of protein chains", year=1973),
    ... ]
    >>> library = Collection.create("three", papers)
    >>> library
    Collection('three': 3 papers, proximity by sciprism-small)
    >>> len(library), library.ids, "dna" in library, library["dna"].year
    (3, ['dna', 'halos', 'folding'], True, 1953)
    >>> [hit.id for hit in library.search("the shape of DNA", k=1)]
    ['dna']
    >>> [hit.paper.title for hit in library.search("galaxies", year_from=1990)]
    ['A universal density profile of dark matter halos']
    """

    def __init__(self, folder: Path | str, *, model: str = "") -> None:
        """Open a collection. model: where its model is now, if it was moved.

        Raises InputError where the folder is not a collection, DamagedFileError where a file is missing or cut short.
        """
        self.folder, self._model = Path(folder), model
        self.stored = StoredCollection.open(folder)
        self._encoder: Encoder | None = None

    @classmethod
    def create(
        cls,
        folder: Path | str,
        papers: Iterable[Paper] = (),
        *,
        model: str | Encoder = "",
        formats: Sequence[str] | None = None,
        dtype: str | None = None,
    ) -> Collection:
        """Embed papers into a new folder, or one to add to, and open it.

        model: a name or folder (default: the model that ships), or an encoder. formats: of the vectors, such as
        "proximity" and "search". dtype: float32, float16 or int8.
        """
        from sciprism.encoders.encoder import Encoder

        encoder = model if isinstance(model, Encoder) else Encoder.load(model or None)
        layout = CollectionLayout(formats=tuple(formats) if formats else None, dtype=cast("Any", dtype))
        embed(papers, encoder, folder, layout=layout)
        index_words(Path(folder))
        collection = cls(folder)
        collection._encoder = encoder
        return collection

    def __repr__(self) -> str:
        manifest = self.stored.manifest
        state = "" if manifest.input else ", unfinished"
        return (
            f"Collection({str(self.folder)!r}: {len(self):,} papers, {', '.join(self.formats)} by "
            f"{Path(manifest.encoder.name).name}{state})"
        )

    def __len__(self) -> int:
        """Count the papers."""
        return len(self.stored)

    def __contains__(self, id: object) -> bool:
        """Tell whether a paper of an id is there."""
        return isinstance(id, str) and self.stored.find_row(id) is not None

    def __getitem__(self, id: str) -> Paper:
        """Return the paper of an id; KeyError where there is none."""
        row = self.stored.find_row(id)
        if row is None:
            raise KeyError(id)
        return self.stored.papers([row])[0]

    def __iter__(self) -> Iterator[Paper]:
        """Yield all papers."""
        for papers in iterate_papers(self.stored):
            yield from papers

    @property
    def ids(self) -> list[str]:
        """List the ids of all papers."""
        return list_ids(self.stored)

    @property
    def formats(self) -> list[str]:
        """List the formats whose vectors are stored."""
        return self.stored.manifest.formats

    @property
    def encoder(self) -> Encoder:
        """Return the encoder that made the vectors."""
        if self._encoder is None:
            self._encoder = load_encoder(self.stored, self._model)
        return self._encoder

    def vectors(self, format: str = "") -> Floats:
        """Return the vectors of all papers, float32 (n, d). format: of several, which; default: proximity.

        >>> library.vectors().shape, library.vector("dna").shape
        ((3, 384), (384,))
        """
        space = self.space(format)
        empty = np.empty((0, self.stored.manifest.spaces[space].dim), np.float32)
        return np.concatenate([empty, *iterate_vectors(self.stored, space)])

    def vector(self, id: str, format: str = "") -> Floats:
        """Return the vector (d,) of a paper."""
        return self.stored.vector(self.stored.find(id), self.space(format))

    def space(self, format: str = "") -> str:
        """Return the space in which the vectors of a format are; InputError where there are none."""
        if not format:
            return choose_paper_space(self.stored)
        for name, space in self.stored.manifest.spaces.items():
            if format in space.formats:
                return name
        raise InputError(f"{self.folder} holds vectors of {', '.join(self.formats)}, not of {format!r}")

    def rank(
        self, encoder: Encoder | None, queries: Sequence[str], k: int, mode: str, filter: Filter | None, why: bool
    ) -> list[Ranking]:
        """Rank papers for each query, as the function `search` does. Raises InputError for a filter none passes."""
        check_filter(self.stored, filter or Filter())
        return search(self.stored, encoder, queries, k, mode=mode, filter=filter, why=why)

    @overload
    def similar(
        self, to: str | Paper, k: int = 10, *, mode: str = ..., why: bool = ..., **filters: Any
    ) -> list[Hit]: ...
    @overload
    def similar(
        self, to: Iterable[Paper] | Path, k: int = 10, *, mode: str = ..., why: bool = ..., **filters: Any
    ) -> list[list[Hit]]: ...
    def similar(
        self,
        to: str | Paper | Iterable[Paper] | Path,
        k: int = 10,
        *,
        mode: str = "exact",
        why: bool = False,
        **filters: Any,
    ) -> list[Hit] | list[list[Hit]]:
        """Rank the papers nearest to one of the collection, without it; arguments as for `search`.

        to: its id, DOI or title, or the beginning of one id; or a paper from elsewhere, which the collection's model
        encodes. Of several papers, or the Path of a file of papers, a list of rankings.

        >>> [hit.id for hit in library.similar("dna", k=1)]
        ['folding']
        >>> new = Paper(id="new", title="The structure of protein chains")
        >>> [hit.id for hit in library.similar(new, k=1)]
        ['folding']
        """
        chosen = Filter(**filters)
        check_filter(self.stored, chosen)
        if isinstance(to, str):
            encoder = self.encoder if why else None
            return list(similar(self.stored, encoder, to, k, mode=mode, filter=chosen).hits)
        papers = [to] if isinstance(to, Paper) else list(read_papers(to) if isinstance(to, Path) else to)
        ranked = similar_to_papers(self.stored, self.encoder, papers, k, mode=mode, filter=chosen, why=why)
        rankings = [list(ranking.hits) for ranking in ranked]
        return rankings[0] if isinstance(to, Paper) else rankings

    def add(
        self, papers: Iterable[Paper], *, replace: bool = False, skip_bad: bool = False, prune: bool = False
    ) -> EmbedReport:
        """Encode and store papers; those stored with the same text are not encoded again. Return the counts.

        replace, skip_bad, prune: as the options of `sciprism embed`.

        >>> report = library.add([*papers, Paper(id="drift", title="The origin of continents", year=1912)])
        >>> report.new, report.unchanged, len(library)
        (1, 3, 4)
        """
        report = embed(papers, self.encoder, self.folder, replace=replace, skip_bad=skip_bad, prune=prune)
        index_words(self.folder)
        self.stored = StoredCollection.open(self.folder)
        return report

    def delete(self, ids: str | Iterable[str], *, missing_ok: bool = False) -> DeleteReport:
        """Delete papers, all or none; InputError for an unknown id, unless missing_ok.

        >>> library.delete(["drift", "halos"]).papers
        2
        """
        report = delete(self.folder, [ids] if isinstance(ids, str) else ids, missing_ok=missing_ok)
        self.stored = StoredCollection.open(self.folder)
        return report

    def export(self, path: Path | str, *, format: str = "") -> int:
        """Write vectors and metadata for other programs, .parquet, .npy or .csv; return the number of papers.

        >>> library.export("vectors.parquet")
        2
        """
        return export(self.stored, self.space(format), Path(path))

    def to_pandas(self, *, vectors: bool | str = False) -> pd.DataFrame:
        """Return the papers as a pandas table: id, title, abstract, authors, venue, year, fields, keywords, ids, doi.

        Years are integers (Int64), DOIs text, `ids` dictionaries.

        vectors: whether to add a column `vector`, an array for each paper; of several formats, which.

        >>> table = library.to_pandas(vectors=True)
        >>> table[["id", "year"]].values.tolist(), table["vector"][0].shape
        ([['dna', 1953], ['folding', 1973]], (384,))
        """
        import pandas
        import pyarrow as pa

        table = pa.concat_tables([build_table(()), *map(build_table, iterate_papers(self.stored))])
        if vectors:
            table = append_vectors(table.combine_chunks(), self.vectors(vectors if isinstance(vectors, str) else ""))
        types = {pa.int64(): pandas.Int64Dtype()}
        return cast("pd.DataFrame", table.to_pandas(types_mapper=types.get, maps_as_pydicts="strict"))


LISTS = ("authors", "fields", "keywords")
FIELDS = ("id", "title", "abstract", "authors", "venue", "year", "fields", "keywords", "ids")
COLUMNS = (*FIELDS, "doi")
SUFFIXES = (".parquet", ".npy", ".csv")
SEPARATOR = "; "  # between the values of a list in CSV


def build_table(papers: Iterable[Paper]) -> pa.Table:
    """Return papers as a table of `COLUMNS`; a paper without DOI has null there."""
    import pyarrow as pa

    kinds = {
        **dict.fromkeys(LISTS, pa.list_(pa.string())),
        "year": pa.int64(),
        "ids": pa.map_(pa.string(), pa.string()),
    }
    rows = list(papers)
    columns: dict[str, Any] = {name: [getattr(paper, name) for paper in rows] for name in FIELDS}
    columns["doi"] = [find_doi(paper) or None for paper in rows]
    columns["ids"] = [list(paper.ids.items()) for paper in rows]
    return pa.table(columns, schema=pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS]))


def export(stored: StoredCollection, space: str, path: Path) -> int:
    """Write vectors and metadata to .parquet, .csv, or .npy with the metadata next to it; return the papers.

    Raises InputError for another suffix, a file that the collection was made of, and metadata that would replace a file
    of another kind.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}")
    with_vectors = path.suffix != ".npy"
    table = path if with_vectors else path.with_suffix(".csv")
    _check_sources(stored, {path, table})
    if not with_vectors:
        check_companion(table, path, *(",".join(COLUMNS) + end for end in ("\r\n", ",v0,")))
        write_atomically(path, lambda file: write_npy(file, stored, space))
        path = table
    writer = write_parquet if path.suffix == ".parquet" else write_csv
    write_atomically(path, lambda file: writer(file, stored, space, with_vectors))
    return len(stored)


def _check_sources(stored: StoredCollection, outputs: set[Path]) -> None:
    """Raise InputError where an output is a file that the collection was made of."""
    existing = {output.resolve(): output for output in outputs if output.exists()}
    if not existing:
        return
    sources = {name for (names,) in stored.columns("file") for name in set(names) if name}
    for name in sorted(sources):
        if output := existing.get(Path(name).resolve()):
            raise InputError(f"{output} is a file that {stored.folder} was made of; name another file")


def read_with_vectors(
    stored: StoredCollection, space: str, rows: Rows | None = None, size: int = READ_ROWS
) -> Iterator[tuple[list[Paper], Floats]]:
    """Yield papers, all or those of some rows, and their vectors (b, d), in blocks of some size."""
    rows = stored.live if rows is None else rows
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        yield stored.papers(part), stored.read_rows(space, part).block(0, len(part))


def write_npy(file: Any, stored: StoredCollection, space: str) -> None:
    """Write the vectors of all papers as one array, float32 (n, d), shard by shard."""
    shape = (len(stored), stored.manifest.spaces[space].dim)
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for vectors in iterate_vectors(stored, space):
        file.write(np.ascontiguousarray(vectors, "<f4").tobytes())


def write_parquet(file: Any, stored: StoredCollection, space: str, _: bool) -> None:
    """Write a table of all papers with a column `vector` of lists of one length."""
    from pyarrow import parquet

    empty = append_vectors(build_table(()), np.empty((0, stored.manifest.spaces[space].dim), np.float32))
    with parquet.ParquetWriter(file, empty.schema, compression="zstd") as writer:
        for papers, vectors in read_with_vectors(stored, space):
            writer.write_table(append_vectors(build_table(papers), vectors))


def append_vectors(table: pa.Table, vectors: Floats) -> pa.Table:
    """Return a table with a column `vector` of lists of one length."""
    import pyarrow as pa

    values = pa.array(vectors.ravel(), pa.float32())
    return table.append_column("vector", pa.FixedSizeListArray.from_arrays(values, vectors.shape[1]))


def write_csv(file: Any, stored: StoredCollection, space: str, with_vectors: bool) -> None:
    """Write a table of all papers, with vectors a column for each of their numbers; lists are joined."""
    import csv
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    rows, width = csv.writer(text), stored.manifest.spaces[space].dim * with_vectors
    rows.writerow([*COLUMNS, *(f"v{i}" for i in range(width))])
    for papers, vectors in read_with_vectors(stored, space):
        values = zip(*(map(flatten, column.to_pylist()) for column in build_table(papers).columns), strict=True)
        numbers = vectors[:, :width].tolist()
        rows.writerows([*line, *(f"{n:.8g}" for n in more)] for line, more in zip(values, numbers, strict=True))
    text.detach()


def flatten(value: Any) -> Any:
    """Return a value as one cell of CSV."""
    if not isinstance(value, list):
        return "" if value is None else value
    return SEPARATOR.join("=".join(item) if isinstance(item, tuple) else item for item in value)
