"""`sciprism search`, `sciprism similar`: papers of a collection, ranked for a query in words or for a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.options import CollectionFolder, Model, split_names
from sciprism.cli.output import AS_JSON, echo, plain_console, print_hits, print_result, warn_unfinished
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.papers import Paper
    from sciprism.store import Filter, StoredCollection
    from sciprism.uses.calibration import SimilarityScale
    from sciprism.uses.search import Hit, Ranking

MAX_REASON = 320  # characters of a reason in the terminal; JSON has all of it
SENTENCES = 10  # of an abstract, about
FEW_TEXTS = 256  # queries and sentences, which take less time without torch than its import
_FILE_NAME = re.compile(r"^[./~]|\.[A-Za-z]{2,8}$")


@dataclass(frozen=True, kw_only=True)
class FilterChoice:
    """Which papers a search may return."""

    year: Annotated[str, "Only papers of these years: 1997, 1990-2000, 1990-, -2000."] = ""
    venue: Annotated[str, "Only papers whose venue contains this."] = ""
    field: Annotated[str, "Only papers of this field."] = ""
    author: Annotated[str, "Only papers of this author: a surname or name, also with initials."] = ""

    def build(self) -> Filter:
        """Return the filter. Raises InputError for years of another form."""
        from sciprism.store import Filter

        names: dict[str, Any] = {"venue": self.venue, "field": self.field, "author": self.author}
        if not self.year:
            return Filter(**names)
        match = re.fullmatch(r"(\d+)|(\d*)-(\d*)", self.year.strip())
        if match is None or self.year.strip() == "-":
            raise InputError(f"--year {self.year!r} is not a year or a span such as 1990-2000, 1990- or -2000")
        single, first, last = match.groups()
        year_from, year_to = (int(text) if text else None for text in (single or first, single or last))
        if year_from is not None and year_to is not None and year_from > year_to:
            raise InputError(f"--year {self.year!r} ends before it begins")
        return Filter(year_from=year_from, year_to=year_to, **names)


def search(
    collection: Annotated[
        str, typer.Argument(help="A folder made by `sciprism embed`; not with --in.", show_default=False)
    ] = "",
    words: Annotated[
        list[str] | None,
        typer.Argument(help="The words of one query; - alone: a query a line of standard input.", show_default=False),
    ] = None,
    database: Annotated[str, "Search a collection that `sciprism push` copied to this address.", "--in"] = "",
    query: Annotated[list[str] | None, "A query; repeatable.", "-q", "--query"] = None,
    k: Annotated[int, "Papers to show for each query.", "-k"] = 10,
    mode: Annotated[str, "hybrid, exact (meaning), lexical (words), approximate; auto: hybrid if it can."] = "auto",
    *,
    among: FilterChoice,
    why: Annotated[bool, "Show the sentence nearest to the query; --no-why is faster."] = True,
    model: Model = "",
) -> None:
    """Rank the papers of a collection for a query in words.

    All words are one query, with quotes or without. For several queries: -q ONE -q TWO, or - < FILE. In --mode
    lexical a query may have "phrases", AND, OR, NOT and parentheses.

    Example: sciprism search vecs/ dark matter halos -k 5 --year 1990-2010

    Example: sciprism search vecs/ '"dark matter" AND (halo OR galaxy) NOT survey' --mode lexical

    Example: sciprism search --in postgresql://localhost/library/papers dark matter halos
    """
    from sciprism.uses.search import check_mode

    check_mode(mode)
    chosen = among.build()
    words = [*filter(None, [collection if database else ""]), *(words or [])]
    collect = partial(_collect_queries, words, query or [], mode)
    rank = _search_database if database else partial(_search_folder, quick=not AS_JSON.get())
    mode, rankings = rank(database or collection, model, collect, k=k, mode=mode, filter=chosen, why=why)
    print_rankings("search", database or collection, rankings, mode)


def _search_folder(
    folder: str,
    model: str,
    collect: Callable[[], list[str]],
    *,
    k: int,
    mode: str,
    filter: Filter,
    why: bool,
    quick: bool,
) -> tuple[str, list[Ranking]]:
    """Rank papers; return the mode too.

    quick: encode without torch where possible: scores may differ in digits that JSON alone shows.
    """
    from sciprism.uses.collection import load_encoder, load_query_encoder
    from sciprism.uses.search import choose_mode
    from sciprism.uses.search import search as rank

    if not folder:
        raise InputError("name the folder of a collection, or the address of a pushed one with --in")
    opened = open_papers(Path(folder), filter)
    queries = collect()
    few = quick and len(queries) * (1 + k * SENTENCES * why) <= FEW_TEXTS
    encoder = (load_query_encoder if few else load_encoder)(opened, model) if why or mode != "lexical" else None
    mode = choose_mode(opened, mode)
    return mode, rank(opened, encoder, queries, k, mode=mode, filter=filter, why=why)


def _search_database(
    address: str, model: str, collect: Callable[[], list[str]], *, k: int, mode: str, filter: Filter, why: bool
) -> tuple[str, list[Ranking]]:
    from sciprism.databases import RemoteCollection
    from sciprism.uses.collection import load_recorded_encoder

    queries, mode = collect(), "hybrid" if mode == "auto" else mode
    with RemoteCollection(address) as remote:
        if not remote.record.complete:
            warn_unfinished(address, len(remote), "push")
        needed = why or mode != "lexical"
        encoder = load_recorded_encoder(remote.record.encoder, address, model) if needed else None
        return mode, remote.rank(encoder, queries, k, mode, filter, why)


def _collect_queries(words: list[str], queries: Iterable[str], mode: str) -> list[str]:
    """Return the query in words, and those of -q; of "-" alone the lines of standard input that are not empty.

    In mode lexical, words that the shell had in quotes are a phrase. Warns of operators in other modes.
    """
    from sciprism.index.boolean_query import BOOLEAN_SIGNS

    read = words == ["-"]
    if "-" in words and not read:
        raise InputError("- is among the words of a query; alone it reads queries from standard input")
    if mode == "lexical" and len(words) > 1:
        words = [f'"{word}"' if " " in word and not BOOLEAN_SIGNS.search(word) else word for word in words]
    collected = [*(_read_queries() if read else [" ".join(words)] if words else []), *queries]
    if not collected:
        raise InputError("no query; write its words after the collection, or -q QUERY, or - < FILE")
    if mode != "lexical" and any(map(BOOLEAN_SIGNS.search, collected)):
        echo("quotes, AND, OR and NOT have an effect in --mode lexical alone", error=True)
    return collected


def _read_queries() -> list[str]:
    from sciprism.papers.cleaning import is_blank
    from sciprism.papers.input_file import InputFile

    lines = [line.strip() for _, line in InputFile(Path("-")).lines() if not is_blank(line)]
    if not lines:
        raise InputError("standard input holds no query; write one a line")
    return lines


def similar(
    collection: CollectionFolder,
    to: Annotated[str, "An id or its beginning, a DOI, PMID, arXiv id or link, a title, or a file of papers.", "--to"],
    k: Annotated[int, "Papers to show.", "-k"] = 10,
    *,
    why: Annotated[bool, "Show the nearest sentence; --no-why loads no model."] = True,
    calibrated: Annotated[bool, "Show what each similarity means: a percentile, probabilities."] = False,
) -> None:
    """Rank the papers of a collection that are nearest to one of them, or to each paper of a file.

    --calibrated adds how many pairs of the collection are less similar, and how probable it is that two papers of this
    similarity share a category or cite each other; `sciprism calibrate` fits that to a collection.

    Example: sciprism similar vecs/ --to watson-crick-1953 -k 5
    """
    from sciprism.uses.calibration import SimilarityScale
    from sciprism.uses.collection import load_encoder
    from sciprism.uses.search import similar as rank
    from sciprism.uses.search import similar_to_papers

    opened = open_papers(collection)
    scale = SimilarityScale(opened) if calibrated else None
    if papers := _read_given_papers(opened, to):
        rankings = similar_to_papers(opened, load_encoder(opened), papers, k, why=why)
    else:
        rankings = [rank(opened, load_encoder(opened) if why else None, to, k)]
    print_rankings("similar", collection, rankings, "exact", scale)


def calibrate(
    collection: CollectionFolder, by: Annotated[str, "Relations of two papers: fields, keywords, references.", "--by"]
) -> None:
    """Fit, to a collection's papers, how probable a relation of two papers is by their similarity.

    A relation is a field or a keyword in common, or a citation. Pairs of at most 10,000 papers are counted; what is
    fitted is stored in the collection, for `sciprism similar --calibrated`, and replaces what was fitted before.

    Example: sciprism calibrate vecs/ --by fields,references
    """
    from sciprism.uses.calibration import fit_relations

    opened = open_papers(collection)
    curves = fit_relations(opened, split_names(by))
    lines = []
    for curve in curves:
        ends = zip(("least", "most"), curve.curve.scores[[0, -1]], curve.curve.probabilities[[0, -1]], strict=True)
        shown = ", ".join(f"{share:.3g} at the {end} similarity ({score:.2f})" for end, score, share in ends)
        lines += [f"probability that {curve.relation}, among {curve.pairs}: {curve.base_rate:.3g}; {shown}"]
    document = {"collection": str(collection), "curves": [curve.to_json() for curve in curves]}
    print_result("sciprism.calibrate/1", document, "\n".join(lines))


def _read_given_papers(collection: StoredCollection, to: str) -> list[Paper]:
    """Return the papers of a file, none where `to` names a stored paper. InputError for a file that is not there."""
    from sciprism.papers import read_papers
    from sciprism.store.paper_lookup import find_paper

    stored = collection.find_row(to) is not None
    if not stored and (to == "-" or Path(to).is_file()):
        return list(read_papers(to))
    if not stored and _FILE_NAME.search(to):
        try:
            find_paper(collection, to)
        except InputError:
            raise InputError(f"{to}: no such file, and {collection.folder} has no paper of that id or title") from None
    return []


def open_papers(folder: Path, filter: Filter | None = None) -> StoredCollection:
    """Open a collection; InputError where it is finished and empty, or where no paper can pass the filter.

    Warns on standard error of an unfinished one.
    """
    from sciprism.store import StoredCollection
    from sciprism.store.paper_lookup import check_filter

    collection = StoredCollection.open(folder)
    if len(collection):
        if filter is not None:
            check_filter(collection, filter)
    elif collection.manifest.input is not None:
        raise InputError(f"{folder} holds no papers; add some with: sciprism embed FILES -o {folder}")
    if collection.manifest.input is None:
        warn_unfinished(folder, len(collection), "embed")
    return collection


def print_rankings(
    command: str, collection: str | Path, rankings: Sequence[Ranking], mode: str, scale: SimilarityScale | None = None
) -> None:
    """Print every ranking of `search` or `similar`. collection: where the papers are. scale: explains scores."""
    documents = [ranking.to_json() for ranking in rankings]
    document: dict[str, Any] = {"collection": str(collection), "mode": mode, "rankings": documents}
    if scale:
        for hit in (hit for ranking in documents for hit in ranking["hits"]):
            hit["calibrated"] = scale.describe(hit["score"])
        document["calibration"] = scale.to_json()
    print_result(f"sciprism.{command}/1", document, partial(_print_rankings, rankings, scale))


def _print_rankings(rankings: Sequence[Ranking], scale: SimilarityScale | None) -> None:
    for number, ranking in enumerate(rankings):
        if len(rankings) > 1:
            plain_console().print(f"{chr(10) * bool(number)}{ranking.query}", style="bold")
        if ranking.hits:
            print_hits((hit, _describe_hit(hit, scale)) for hit in ranking.hits)
        else:
            echo("no paper found")
    if scale:
        echo("\n".join([f"compared with {scale.pairs:,} pairs of papers of this collection", *scale.notes]))


def _describe_hit(hit: Hit, scale: SimilarityScale | None) -> Iterator[tuple[str, str]]:
    """Yield what is shown below a paper, with its style."""
    if hit.url and hit.id not in hit.url:
        yield hit.url, "not bold dim"
    if hit.why:
        yield f"“{shorten(hit.why, MAX_REASON, placeholder=' …')}”", "not bold italic"
    if scale:
        yield _explain_score(scale.describe(hit.score)), "not bold"


def _explain_score(calibrated: Mapping[str, Any]) -> str:
    """Return "more similar than 99.98% of pairs; probability that they share a field 0.71 (of random pairs 0.05)"."""
    percentile = calibrated["percentile"]
    than = "all pairs" if percentile == 100 else f"{min(percentile, 99.99):.2f}% of pairs"
    return "; ".join(
        [f"more similar than {than}"]
        + [
            f"probability that {row['relation']} {row['probability']:.2g} (of random pairs {row['base_rate']:.2g})"
            for row in calibrated["relations"]
        ]
    )
