"""Recommend new papers to someone by the papers that they have: relevant, diverse, of all interests, none twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import date
from heapq import nlargest
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows, normalize_rows
from sciprism.errors import InputError
from sciprism.files import check_companion, join_cells, write_lines
from sciprism.papers.bibliography_entries import find_doi, format_bibtex, format_ris
from sciprism.papers.cleaning import is_blank
from sciprism.papers.duplicates import find_versions
from sciprism.papers.identity import MIN_TEXT_WORDS, identify, may_share_source, normalize_words
from sciprism.papers.input_paths import Paths
from sciprism.papers.near_texts import SHINGLE_WORDS
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.parallel import Progress, show_nothing
from sciprism.store import StoredCollection
from sciprism.store.collection import is_collection
from sciprism.store.paper_lookup import PaperIndex
from sciprism.uses.collection import Collection, find_encoder, read_with_vectors
from sciprism.uses.recommending.interests import Interest, describe_interests, find_interests
from sciprism.uses.recommending.settings import RecommendSettings as RecommendSettings
from sciprism.uses.search import Hit, choose_paper_space, describe_paper

if TYPE_CHECKING:
    from sciprism.encoders.cached_encoder import CachedEncoder
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format


COLUMNS = ("rank", "score", "id", "doi", "url", "title", "authors", "year", "venue", "interest", "because")
ALL = (".csv", ".jsonl", ".bib")  # files that are written for a name without a suffix
SEEN_COLUMNS = ("shown", "id", "doi", "title", "authors", "year", "venue")
"""Of the file of papers that were shown; `shown` is the day."""
SUFFIXES = (*ALL, ".ris")
BEGINNINGS = {".csv": ",".join(COLUMNS), ".jsonl": '{"rank": ', ".bib": "% papers recommended by sciprism"}
"""How files of recommendations begin."""
NEAR_COPY, UNWANTED, SEEN, REPEATED = "near-duplicate", "unwanted", "seen", "repeated"
"""Reasons for leaving a paper out, besides an id that the library has."""


@dataclass(frozen=True, slots=True)
class NearPaper:
    """An own paper that is near to a recommended one, and the cosine of the two."""

    id: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A new paper that is not recommended, why, and the paper that it is a copy of.

    reason: by what the library has it, `doi`, `id`, `title`, `near-duplicate` ...; `unwanted`; `seen`; or `repeated`.
    """

    id: str
    title: str
    year: int | None
    doi: str
    reason: str
    copy_of: str
    copy_title: str


LEFT_OUT_COLUMNS = tuple(item.name for item in fields(LeftOut))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Hit):
    """A recommended paper. interest: the nearest one's name. because: the nearest own papers, nearest first.

    score: its relevance, before diversity and the interests' shares decide on the order. unwanted: similarity to the
    nearest unwanted paper, None where none was given.
    """

    interest: str = ""
    because: tuple[NearPaper, ...] = ()
    unwanted: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the recommendation as JSON values: the fields of a hit, the interest, and the papers it is near to."""
        row = Hit.to_json(self)
        del row["why"]
        return row | {"because": [asdict(near) for near in self.because]}


@dataclass(slots=True, kw_only=True)
class RecommendCounts:
    """How many papers there were. owned: new papers that the library has, by what shows it (`doi`, `title` ...).

    Near-duplicates and repeated papers, which are copies of a new one, are counted among the best new papers alone.
    containers: ids of the library that are of no paper (`find_containers`). skipped: records that could not be used, of
    all inputs. encoded: papers without a stored vector. library_versions:
    further records of papers of the library, which count once.
    """

    library: int = 0
    library_versions: int = 0
    library_without_abstract: int = 0
    unwanted_given: int = 0
    new: int = 0
    new_without_abstract: int = 0
    owned: dict[str, int] = field(default_factory=dict)
    unwanted: int = 0
    seen: int = 0
    repeated: int = 0
    containers: int = 0
    skipped: int = 0
    encoded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """Recommended papers, best first; the interests of the library, the largest first; counts; the model's name.

    skipped: why the first records that could not be used were skipped. left_out: all new papers that are copies.
    """

    hits: tuple[Recommendation, ...]
    interests: tuple[Interest, ...]
    counts: RecommendCounts
    model: str
    skipped: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return interests, counts and papers as JSON values."""
        counts = Counter(hit.interest for hit in self.hits)
        interests = [
            {"name": interest.name, "papers": interest.papers, "central": interest.central}
            | {"recommended": counts[interest.name]}
            for interest in self.interests
        ]
        return {
            "model": self.model,
            "counts": asdict(self.counts),
            "interests": interests,
            "hits": [hit.to_json() for hit in self.hits],
            "skipped": list(self.skipped),
            "left_out": [asdict(paper) for paper in self.left_out],
        }


def list_outputs(path: Path) -> list[Path]:
    """Return the files to write for a name: itself, or one of each kind for a name without a suffix.

    Raises InputError for an unknown suffix.
    """
    if path.suffix and path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}, or have no suffix, which writes three")
    return [path] if path.suffix else [path.with_name(path.name + suffix) for suffix in ALL]


def check_companions(path: Path) -> None:
    """Raise InputError where a file would be replaced that was not named, and that no earlier run wrote."""
    for file in set(list_outputs(path)) - {path}:
        check_companion(file, path, BEGINNINGS[file.suffix])
    check_companion(name_left_out(path), path, join_cells(LEFT_OUT_COLUMNS))


def name_left_out(path: Path) -> Path:
    """Return the file that lists what is left out, next to an output."""
    return path.with_name(f"{path.stem if path.suffix else path.name}-left-out.csv")


def write_recommendations(recommended: Recommendations, path: Path) -> list[Path]:
    """Write the list to a file by its suffix, or to three for a name without one; return the files.

    .csv: the columns of `COLUMNS`. .jsonl: an object per paper, with its abstract. .bib, .ris: with the reason as a
    note. What is left out is listed in a file of `name_left_out`. Each file is written as a whole, or not at all.
    """
    files = list_outputs(path)
    check_companions(path)
    for file in files:
        write_lines(file, _list_lines(recommended, file.suffix.lower()), errors="replace")
    left_out = name_left_out(path)
    if recommended.left_out or left_out.exists():  # that of an earlier run would mislead
        rows = [LEFT_OUT_COLUMNS, *map(astuple, recommended.left_out)]
        write_lines(left_out, map(join_cells, rows), errors="replace")
    return files


def read_seen(path: Path) -> list[Paper]:
    """Return the papers of a file that `add_seen` wrote, none where there is no file. Raises InputError for another."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        if file.readline().rstrip() != join_cells(SEEN_COLUMNS):
            raise InputError(f"{path} does not begin as a file that --seen wrote; name one, or a new file")
        has_rows = bool(file.read(1))
    return list(read_papers(path)) if has_rows else []


def add_seen(recommended: Recommendations, path: Path) -> None:
    """Add the recommended papers to the file of papers that were shown, written as a whole or not at all."""
    before = [path.read_text(encoding="utf-8").rstrip("\n")] if path.exists() else [join_cells(SEEN_COLUMNS)]
    rows = [
        hit.to_json()
        | {"shown": date.today(), "title": hit.title or hit.paper.abstract, "authors": "; ".join(hit.authors)}
        for hit in recommended.hits
    ]
    write_lines(path, [*before, *(join_cells(row[name] for name in SEEN_COLUMNS) for row in rows)], errors="replace")


def describe_reason(hit: Recommendation) -> str:
    """Return the nearest own papers of a recommendation as a line, "Title (id, 0.81); ..."."""
    return "; ".join(f"{near.title or '(no title)'} ({near.id}, {near.similarity:.2f})" for near in hit.because)


def _list_lines(recommended: Recommendations, suffix: str) -> Iterator[str]:
    if suffix == ".csv":
        yield join_cells(COLUMNS)
        for hit in recommended.hits:
            texts = {"score": f"{hit.score:.4f}", "authors": "; ".join(hit.authors), "because": describe_reason(hit)}
            row = hit.to_json() | texts
            yield join_cells(row[name] for name in COLUMNS)
    elif suffix == ".jsonl":
        for hit in recommended.hits:
            yield json.dumps(hit.to_json() | {"abstract": hit.paper.abstract}, ensure_ascii=False)
    else:
        entries = [
            (hit.paper, f"rank {hit.rank}, {hit.interest}; near {describe_reason(hit)}") for hit in recommended.hits
        ]
        if suffix == ".bib":
            yield BEGINNINGS[".bib"]
        yield from (format_bibtex if suffix == ".bib" else format_ris)(entries)


ENCODED = 256  # papers that are encoded at once, the most that an interruption loses
READ = 512  # papers of a collection that are compared at once: bounds the similarities in memory

PaperInput = Paths | Collection | Iterable[Paper]
"""Files of papers, folders of collections, an open collection, or papers."""
PaperVectors = Callable[[Sequence[Paper]], Floats]  # encodes papers, (n, d)
PaperBlock = tuple[list[Paper], Floats]  # and their vectors (b, d)


@dataclass(slots=True)
class PaperSource:
    """Some papers of an input: of a collection, whose vectors are mapped, or others, which are encoded once.

    skipped: what was skipped while the papers were read.
    """

    stored: StoredCollection | None = None
    papers: Iterable[Paper] = ()
    skipped: ReadReport = field(default_factory=ReadReport)

    def blocks(self, encode: PaperVectors) -> Iterator[PaperBlock]:
        """Yield all papers in blocks."""
        if self.stored is not None:
            yield from read_with_vectors(self.stored, choose_paper_space(self.stored), size=READ)
            return
        papers = iter(self.papers)
        while block := list(islice(papers, ENCODED)):
            yield block, encode(block)


def open_sources(papers: PaperInput, skip_bad: bool, name: str) -> list[PaperSource]:
    """Return the sources of an input; paths that are not collections are read together.

    name: what the input is, for messages. Raises InputError for a path that does not exist.
    """
    if isinstance(papers, Collection):
        return [PaperSource(papers.stored)]
    if isinstance(papers, str | Path):
        papers = [papers]
    elif not isinstance(papers, Sequence) or not papers or isinstance(papers[0], Paper):
        given = cast("Iterable[Paper]", papers)  # no path is among them
        return [PaperSource(papers=_check_papers(given, name))]
    paths = list(map(str, papers))
    stored = [path for path in paths if is_collection(path)]
    files = [path for path in paths if path not in stored]
    sources = [PaperSource(StoredCollection.open(path)) for path in stored]
    if files:
        report = ReadReport()
        sources.append(PaperSource(None, read_papers(files, skip_bad=skip_bad, report=report), report))
    return sources


def _check_papers(papers: Iterable[Paper], name: str) -> Iterator[Paper]:
    for number, paper in enumerate(papers, 1):
        if is_blank(f"{paper.title}{paper.abstract}"):
            raise InputError(f"{name} paper {number}, {paper.id!r}, has no title and no abstract; leave it out")
        yield paper


class SharedSpace:
    """Encodes papers so that their vectors compare with those of some collections.

    collections: all of one encoder and one space; InputError names two that differ. model: a name, a folder or an
    encoder; by default that of the collections, or without any the model that ships. It is loaded by the first paper
    without a stored vector; then `model` is its name. Vectors are cached: the next day encodes new papers alone.
    """

    def __init__(self, collections: Sequence[StoredCollection], model: str | Encoder = "") -> None:
        self._collections, self._model = collections, model
        self._encoder: Encoder | CachedEncoder | None = None
        self.model = collections[0].manifest.encoder.name if collections else ""
        self.encoded = 0
        spaces = [choose_paper_space(stored) for stored in collections]
        for other, space in zip(collections[1:], spaces[1:], strict=True):
            first, second = collections[0].manifest.encoder, other.manifest.encoder
            if (first.fingerprint, spaces[0]) != (second.fingerprint, space):
                raise InputError(
                    f"{collections[0].folder} has vectors of {first.name} (fingerprint {first.fingerprint}, space "
                    f"{spaces[0]}), {other.folder} of {second.name} (fingerprint {second.fingerprint}, space {space}); "
                    "they do not compare: embed one of them again with the other's model, or name its file of papers"
                )
        if not isinstance(model, str):
            find_encoder(model, collections)

    def encode(self, papers: Sequence[Paper]) -> Floats:
        """Return the vectors of papers, (n, d)."""
        from sciprism.encoders.cached_encoder import CachedEncoder

        spaces = [stored.manifest.spaces[choose_paper_space(stored)] for stored in self._collections]
        format = cast("Format", spaces[0].formats[0] if spaces else "proximity")
        if self._encoder is None:
            encoder = find_encoder(self._model, self._collections)
            if format not in encoder.formats:
                raise InputError(f"{encoder.name} has no format {format!r}; it has {', '.join(encoder.formats)}")
            self.model = encoder.name
            self._encoder = CachedEncoder(encoder) if isinstance(self._model, str) else encoder
        self.encoded += len(papers)
        return self._encoder.encode(papers, format=format, role="paper")


EXPONENT = 1.5
"""Above 1, near own papers count more than far ones; chosen on users' libraries (results/user_libraries.json)."""
UNWANTED_WEIGHT = 0.05  # of nearness to unwanted papers, beside nearness to own ones
NO_YEAR = 0.5  # what age counts for a paper without a year: as one of one half-life
TINY = np.finfo(np.float32).tiny
BEHIND = 0.5  # papers by which an interest must be behind its share before its next one is taken


@dataclass(frozen=True, slots=True)
class Relevance:
    """The scores of some papers (b,), best if high.

    overall: by all own papers. inside: by those of the nearest interest, whose number (from 0) is `interest`.
    fits: whether it is as near to the interest as the least near of the interest's own papers, and nearer to an own
    paper than to any unwanted one. nearest: similarity to the nearest own paper, whose row is `own`.
    """

    overall: Doubles
    inside: Doubles
    fits: NDArray[np.bool_]
    interest: Rows
    nearest: Doubles
    own: Rows


class LibraryProfile:
    """Vectors of a library (n, d), its papers' interests (n,) and vectors of unwanted papers (u, d), of length 1.

    A paper's relevance is `mean_similarity` to all own papers, minus the weighted similarity to the nearest unwanted
    paper, times 2 ** (-age / half-life). A relevance of 0 or less stays: age would raise it. centre: a part of the mean
    vector (d,) of new papers, taken off before papers are compared, so that what all of them share counts less.
    """

    def __init__(
        self,
        vectors: Floats,
        interests: Rows,
        unwanted: Floats,
        settings: RecommendSettings,
        centre: Floats | None = None,
    ) -> None:
        self.vectors, self.interests, self.unwanted = vectors, interests, unwanted
        self.centre = np.zeros(vectors.shape[1], np.float32) if centre is None else centre
        self.sizes = np.bincount(interests)
        self.members = [np.flatnonzero(interests == number) for number in range(len(self.sizes))]
        self._settings = settings
        self._own, self._disliked = self._without_centre(vectors), self._without_centre(unwanted)
        self.floors = self._find_floors()

    def score(self, vectors: NDArray[Any], years: NDArray[np.float64]) -> Relevance:
        """Score papers by their vectors (b, d) of length 1 and years (b,), NaN for none; float64 is exact."""
        near: NDArray[Any] = vectors @ self.vectors.T.astype(vectors.dtype)
        own = near.argmax(axis=1)
        rows = np.arange(len(vectors))
        nearest = np.asarray(near[rows, own], np.float64)
        fits = self.measure_unwanted(vectors) < nearest
        centred = self._without_centre(vectors)
        similarities = raise_cosines(centred @ self._own.T.astype(vectors.dtype))
        inside = np.stack([mean_similarity(similarities[:, members]) for members in self.members], axis=1)
        interest = inside.argmax(axis=1)
        penalty = np.zeros(len(vectors))
        if len(self.unwanted):
            penalty = UNWANTED_WEIGHT * (centred @ self._disliked.T.astype(vectors.dtype)).max(axis=1)
        recency: Doubles = np.ones(len(years))
        if half_life := self._settings.half_life:
            ages = np.maximum(date.today().year - years, 0.0)
            recency = np.where(np.isnan(ages), NO_YEAR, 2.0 ** (-np.nan_to_num(ages) / half_life))

        def adjust(similarity: Doubles) -> Doubles:
            scores = np.asarray(similarity, np.float64) - penalty
            return np.where(scores > 0, scores * recency, scores)

        return Relevance(
            overall=adjust(mean_similarity(similarities)),
            inside=adjust(inside[rows, interest]),
            fits=fits & (inside[rows, interest] >= self.floors[interest]),
            interest=interest,
            nearest=nearest,
            own=own,
        )

    def measure_unwanted(self, vectors: NDArray[Any]) -> Doubles:
        """Return the cosine of each paper (b, d) with the nearest unwanted one, -1 where none is."""
        if not len(self.unwanted):
            return np.full(len(vectors), -1.0)
        return np.asarray((vectors @ self.unwanted.T.astype(vectors.dtype)).max(axis=1), np.float64)

    def _without_centre(self, vectors: NDArray[Any]) -> NDArray[Any]:
        shifted = vectors - self.centre.astype(vectors.dtype) if len(vectors) else vectors
        unit: NDArray[Any] = shifted / np.maximum(np.linalg.norm(shifted, axis=1, keepdims=True), TINY)
        return unit

    def _find_floors(self) -> Doubles:
        """Return of each interest the least similarity of one of its papers to the others; of one paper, of any."""
        floors = np.full(len(self.members), np.nan)
        for number, rows in enumerate(self.members):
            if len(rows) < 2:
                continue
            for start in range(0, len(rows), READ):
                part = rows[start : start + READ]
                near = raise_cosines(self._own[part] @ self._own[rows].T)
                near[np.arange(len(part)), np.arange(start, start + len(part))] = 0.0  # itself
                best = mean_similarity(near) * (len(rows) / (len(rows) - 1)) ** (1 / EXPONENT)
                floors[number] = np.fmin(floors[number], best.min())
        measured = floors[~np.isnan(floors)]
        return np.where(np.isnan(floors), measured.min() if len(measured) else -np.inf, floors)


def raise_cosines(cosines: NDArray[Any]) -> NDArray[Any]:
    """Return cosines to the power of `EXPONENT`, negative ones as 0."""
    raised: NDArray[Any] = np.maximum(cosines, 0.0) ** EXPONENT
    return raised


def mean_similarity(raised: NDArray[Any]) -> Doubles:
    """Return the power mean of each row of raised cosines. (n, p) -> (n,).

    >>> mean_similarity(raise_cosines(np.array([[0.25, -1.0], [1.0, 1.0]]))).round(4)
    array([0.1575, 1.    ])
    """
    mean: Doubles = raised.mean(axis=1, dtype=np.float64) ** (1 / EXPONENT)
    return mean


def choose_papers(
    profile: LibraryProfile, vectors: Doubles, years: Doubles, settings: RecommendSettings
) -> tuple[list[int], Relevance]:
    """Return the rows of the papers to recommend, in the order of the list, and the relevance of all.

    The next paper has the highest (1 - diversity) * relevance - diversity * cosine to the nearest paper chosen before
    (maximal marginal relevance, Carbonell and Goldstein 1998). Where an interest has fewer papers than its share of
    the list so far, the next one is its best, by the similarity to its own papers alone; an interest without a paper
    that fits loses its share. vectors: (c, d) of length 1, in double precision, so that the order is the same on every
    machine. years: (c,).
    """
    relevance, diversity = profile.score(vectors, years), settings.diversity
    roots = np.sqrt(profile.sizes.astype(np.float64))
    shares = settings.balance * roots / roots.sum()  # of the list, for each interest
    left, nearest, given = np.ones(len(vectors), bool), np.zeros(len(vectors)), np.zeros(len(shares))
    chosen: list[int] = []
    while len(chosen) < settings.k and left.any():
        behind = shares * (len(chosen) + 1) - given
        late = [interest for interest in np.argsort(-behind, kind="stable") if behind[interest] >= BEHIND]
        fitting = (left & relevance.fits & (relevance.interest == interest) for interest in late)
        inside = next(filter(np.any, fitting), None)
        scores = relevance.overall if inside is None else relevance.inside
        values = (1 - diversity) * scores - diversity * nearest
        best = int(np.where(left if inside is None else inside, values, -np.inf).argmax())  # of equal ones the first
        similarities = vectors @ vectors[best]
        nearest = np.maximum(nearest, similarities) if chosen else similarities
        left[best] = False
        given[relevance.interest[best]] += 1
        chosen.append(best)
    return chosen, relevance


RETAINED = 300  # papers retained overall and of each interest, at least
PER_RESULT = 4  # papers retained for each one of the list
NEAR_COSINE = 0.85
"""Similarity from which two papers' texts are compared: vectors alone do not tell a copy from a sequel."""
MIN_SHARED_TEXT = 0.5
"""Jaccard similarity of the word 3-grams of two texts of one paper: its preprint, or a corrected abstract."""
FUNCTION_WORDS = {"a", "an", "and", "at", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with"}
"""In which titles of one paper may differ, where an abstract is missing."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new paper that may be recommended: its number in the order read, and its vector (d,) of length 1."""

    number: int
    paper: Paper
    vector: Floats


Scored = tuple[float, int, Candidate]
"""A score, and minus the candidate's number: of equal scores those read first are better."""


class CandidatePool:
    """The best new papers so far: memory depends on the length of the list, not on how many are read.

    own: the papers of the library, in the rows of the profile; versions: further records of them. hidden: those that
    are not to be shown, by the reason. counts: of new papers, which are counted here. left_out: those that are not
    recommended because they are known.
    """

    def __init__(
        self,
        profile: LibraryProfile,
        own: Sequence[Paper],
        hidden: Mapping[str, Sequence[Paper]],
        k: int,
        counts: RecommendCounts,
        versions: Sequence[Paper] = (),
    ) -> None:
        self.profile, self.own, self.counts = profile, own, counts
        known = {"": [*own, *versions], **hidden}
        self._known = {reason: PaperIndex(papers) for reason, papers in known.items()}
        self._size = max(RETAINED, PER_RESULT * k)
        self.left_out: list[LeftOut] = []
        self._best: list[list[Scored]] = [[] for _ in range(1 + len(profile.members))]

    def add(self, block: PaperBlock) -> None:
        """Score the papers of a block, and retain those among the best; count those that are known."""
        first, (read, stored) = self.counts.new, block
        self.counts.new += len(read)
        self.counts.new_without_abstract += sum(is_blank(paper.abstract) for paper in read)
        new = [i for i, paper in enumerate(read) if not self._is_known(paper)]
        papers = [read[i] for i in new]
        vectors = normalize_rows(stored[new])
        relevance = self.profile.score(vectors, list_years(papers))
        floors = np.array([best[-1][0] if len(best) == self._size else -np.inf for best in self._best])
        inside = 1 + relevance.interest
        good = (relevance.overall > floors[0]) | (relevance.inside > floors[inside])
        for place in np.flatnonzero(good).tolist():
            vector = vectors[place].copy()  # a view would hold its whole block in memory
            candidate = Candidate(first + new[place], papers[place], vector)
            nearest = self.own[relevance.own[place]]
            if relevance.nearest[place] >= NEAR_COSINE and is_near_copy(candidate.paper, nearest):
                self._leave_out(candidate.paper, NEAR_COPY, nearest)
                continue
            self._best[0].append((float(relevance.overall[place]), -candidate.number, candidate))
            if relevance.fits[place]:
                self._best[inside[place]].append((float(relevance.inside[place]), -candidate.number, candidate))
        self._best = [nlargest(self._size, best) for best in self._best]

    def list_best(self) -> list[Candidate]:
        """Return the retained papers, each once, in the order read; count all that are left out."""
        by_number = {candidate.number: candidate for best in self._best for _, _, candidate in best}
        seen, distinct = PaperIndex(), []
        for _, candidate in sorted(by_number.items()):
            if copy := seen.find_copy(candidate.paper):
                self._leave_out(candidate.paper, REPEATED, copy[1])
            else:
                seen.add(candidate.paper)
                distinct.append(candidate)
        reasons = Counter(paper.reason for paper in self.left_out)
        counts = self.counts
        counts.unwanted, counts.seen, counts.repeated = (reasons.pop(each, 0) for each in (UNWANTED, SEEN, REPEATED))
        counts.owned, counts.containers = dict(sorted(reasons.items())), len(self._known[""].containers)
        return distinct

    def _is_known(self, paper: Paper) -> bool:
        for reason, papers in self._known.items():
            if copy := papers.find_copy(paper):
                self._leave_out(paper, reason or copy[0], copy[1])
                return True
        return False

    def _leave_out(self, paper: Paper, reason: str, copy: Paper) -> None:
        self.left_out.append(LeftOut(paper.id, paper.title, paper.year, find_doi(paper), reason, copy.id, copy.title))


def list_years(papers: Sequence[Paper]) -> Doubles:
    """Return the years of papers, NaN for none."""
    return np.array([paper.year for paper in papers], np.float64)


def is_near_copy(paper: Paper, other: Paper) -> bool:
    """Return whether two papers have nearly the same text, or title where an abstract is missing.

    Neither has anything that tells them apart: an identifier, a number in the title, the word "Correction".
    """
    one, two = identify(paper), identify(other)
    if one.apart(two):
        return False
    texts = [normalize_words(text.abstract) for text in (paper, other)]
    if min(map(len, texts)) >= MIN_TEXT_WORDS:
        one_text, other_text = (
            set(zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)) for words in texts
        )
        return len(one_text & other_text) / len(one_text | other_text) >= MIN_SHARED_TEXT
    titles = [  # without what a catalogue may change: articles, prepositions, plurals
        {word.rstrip("s") for word in normalize_words(text.title)} - FUNCTION_WORDS for text in (paper, other)
    ]
    return one.long and two.long and titles[0] == titles[1] and may_share_source(one, two)


CENTRED = 1000  # new papers whose mean vector is what all have in common, where there are so many
COMMON = 0.75
"""Part of it that is taken off, chosen on dev halves of users, authors and papers."""
DOUBTED = 10  # new papers at which half of their mean vector is taken off: fewer may be of one topic by accident
REASONS = 3  # own papers that are named as the reason of a recommendation


def recommend(
    library: PaperInput,
    new: PaperInput,
    *,
    unwanted: PaperInput = (),
    seen: Sequence[Paper] = (),
    settings: RecommendSettings | None = None,
    model: str | Encoder = "",
    skip_bad: bool = False,
    progress: Progress = show_nothing,
) -> Recommendations:
    """Rank new papers for someone by the papers of their library, with the nearest own papers as the reason.

    library, new, unwanted: files of papers, folders of collections, or papers; new papers are read once, in blocks,
    so there may be millions. unwanted: papers that are not to be shown, nor others like them. seen: shown before, and
    left out. Papers that the library has, also as a preprint or under another id, are left out and listed. model: of
    files; by default that of the collections, else the one that ships. skip_bad: count records that cannot be used.
    InputError where the library has no papers, collections do not compare, or a record cannot be used.
    """
    settings = settings or RecommendSettings()
    given = {"library": library, "new": new, "unwanted": unwanted}
    inputs = {name: open_sources(papers, skip_bad, name) for name, papers in given.items()}
    piped = [name for name, papers in given.items() if isinstance(papers, str | list) and "-" in papers]
    if len(piped) > 1:
        raise InputError(f"{' and '.join(piped)} are both standard input, which can be read once; name a file")
    sources = [source for part in inputs.values() for source in part]
    space = SharedSpace([source.stored for source in sources if source.stored is not None], model)
    papers, every = _read_all(inputs["library"], space, "reading the library", progress)
    if not papers:
        raise InputError("the library has no papers; name a file or a collection of papers that you have")
    groups_of_versions = find_versions(papers)
    rows = [group[0] for group in groups_of_versions]
    own, vectors = [papers[row] for row in rows], every[rows]
    versions = [papers[row] for group in groups_of_versions for row in group[1:]]
    disliked, disliked_vectors = _read_all(inputs["unwanted"], space, "reading unwanted papers", progress)
    counts = RecommendCounts(library=len(papers), library_versions=len(versions), unwanted_given=len(disliked))
    counts.library_without_abstract = sum(is_blank(paper.abstract) for paper in papers)
    groups = find_interests(vectors)
    interests = tuple(describe_interests(own, vectors, groups))
    centre, blocks = _find_centre(inputs["new"], space)
    profile = LibraryProfile(vectors, groups, disliked_vectors, settings, centre)
    pool = CandidatePool(profile, own, {UNWANTED: disliked, SEEN: seen}, settings.k, counts, versions)
    for block in blocks:
        pool.add(block)
        progress("comparing new papers", "papers", counts.new, None)
    hits = tuple(_choose_hits(pool, interests, settings))  # counts what is repeated
    counts.skipped, counts.encoded = sum(source.skipped.skipped_count for source in sources), space.encoded
    skipped = tuple(str(record) for source in sources for record in source.skipped.skipped)
    return Recommendations(
        hits=hits, interests=interests, counts=counts, model=space.model, skipped=skipped, left_out=tuple(pool.left_out)
    )


def _read_all(
    sources: Sequence[PaperSource], space: SharedSpace, work: str, progress: Progress
) -> tuple[list[Paper], Floats]:
    """Return all papers and their vectors (n, d) of length 1."""
    papers, vectors = list[Paper](), list[Floats]()
    for read, encoded in (block for source in sources for block in source.blocks(space.encode)):
        papers += read
        vectors.append(normalize_rows(encoded))
        progress(work, "papers", len(papers), None)
    return papers, np.concatenate(vectors) if papers else np.empty((0, 0), np.float32)


def _find_centre(sources: Sequence[PaperSource], space: SharedSpace) -> tuple[Floats, Iterator[PaperBlock]]:
    """Return a part of the mean vector (d,) of some new papers, less where they are few, and the blocks of all.

    Of collections, papers are taken evenly; of files, the first ones, which are encoded once.
    """
    stored = [source.stored for source in sources if source.stored is not None]
    mapped, files = ([source for source in sources if (source.stored is None) == encoded] for encoded in (False, True))
    encoded = chain.from_iterable(source.blocks(space.encode) for source in files)
    head = list[PaperBlock]()
    while sum(len(papers) for papers, _ in head) < CENTRED and (block := next(encoded, None)):
        head.append(block)
    parts = [vectors for _, vectors in head]
    for one in stored:
        step = max(1, -(-len(one) // CENTRED))
        rows = one.live[step // 2 :: step]
        parts.append(one.read_rows(choose_paper_space(one), rows).block(0, len(rows)))
    vectors = normalize_rows(np.concatenate(parts)) if parts else np.zeros((0, 1), np.float32)
    centre = COMMON / (len(vectors) + DOUBTED) * vectors.sum(axis=0)
    blocks = chain.from_iterable(source.blocks(space.encode) for source in mapped)
    return centre.astype(np.float32), chain(blocks, head, encoded)


def _choose_hits(
    pool: CandidatePool, interests: Sequence[Interest], settings: RecommendSettings
) -> list[Recommendation]:
    """Choose the list from the best papers, scored again in double precision: the order is the same everywhere."""
    best = pool.list_best()
    if not best:
        return []
    profile = pool.profile
    vectors = np.stack([candidate.vector for candidate in best]).astype(np.float64)
    years = list_years([candidate.paper for candidate in best])
    chosen, relevance = choose_papers(profile, vectors, years, settings)
    unwanted = profile.measure_unwanted(vectors)
    hits = []
    for rank, place in enumerate(chosen, 1):
        similarities = profile.vectors.astype(np.float64) @ vectors[place]
        rows = np.argsort(-similarities, kind="stable")[:REASONS].tolist()
        near = (NearPaper(pool.own[row].id, pool.own[row].title, float(similarities[row])) for row in rows)
        hit = Recommendation(
            rank=rank,
            score=float(relevance.overall[place]),
            **describe_paper(best[place].paper),
            interest=interests[relevance.interest[place]].name,
            because=tuple(near),
            unwanted=float(unwanted[place]) if len(profile.unwanted) else None,
        )
        hits.append(hit)
    return hits
