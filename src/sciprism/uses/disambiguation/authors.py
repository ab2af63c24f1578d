"""Tell authors of one name apart: papers in, for each signature an author, a probability and a reason out; tables."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sciprism.arrays import Doubles, Floats
from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.bibliographic_fields import normalize, parse_name
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper, Signature
from sciprism.papers.rows import cell_getter, detect_columns, normalize_header, read_rows
from sciprism.parallel import Progress, show_nothing
from sciprism.uses.disambiguation.clustering import MAX_PAIRS, all_pairs, join_blocks
from sciprism.uses.disambiguation.features import COLUMNS as FEATURE_COLUMNS
from sciprism.uses.disambiguation.features import FEATURES, PairFeatures

MAX_BLOCK = 1500  # signatures that are compared with each other; a larger block is divided
BATCH = 3000  # signatures whose features are held
APART = 1e6  # distance of two signatures that must not be merged: no mean of a block is as small as 1 with it
SHOWN = 3  # coauthors that a reason names
_ORCID = re.compile(r"(?<!\d)\d{4}-\d{4}-\d{4}-\d{3}[\dX](?!\d)", re.IGNORECASE)
Place = tuple[str, int]  # a paper's id and the position of an author, from 1


class KnownAuthor(NamedTuple):
    """What is known of a signature before: its author's id, an ORCID, the name as written; each may be empty."""

    author: str = ""
    orcid: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class AuthorRow:
    """One signature, and whose it is.

    position: from 1. probability: that its author is that of the signature which the reason names; None without one.
    """

    paper_id: str
    position: int
    name: str
    author_id: str
    orcid: str
    probability: float | None
    reason: str


@dataclass(slots=True)
class Disambiguation:
    """The row of each signature, in order, and what a person should know.

    divided: blocks that were too large. conflicts: ids given before and ORCIDs that contradict each other. unnamed: how
    many authors have no name. repeated: how many papers have the id of an earlier one, which counts.
    """

    rows: list[AuthorRow] = field(default_factory=list)
    divided: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    unnamed: int = 0
    repeated: int = 0

    def count(self) -> dict[str, int]:
        """Count signatures, authors, and authors of several signatures."""
        sizes = Counter(row.author_id for row in self.rows)
        several = sum(size > 1 for size in sizes.values())
        return {"signatures": len(self.rows), "authors": len(sizes), "of these with several papers": several}

    def to_json(self) -> dict[str, Any]:
        """Return counts and rows as JSON values."""
        facts = {"counts": self.count(), "divided_blocks": self.divided, "conflicts": self.conflicts}
        return facts | {"unnamed": self.unnamed, "repeated": self.repeated, "signatures": [*map(asdict, self.rows)]}


def find_orcid(text: str) -> str:
    """Return the ORCID in a text, or "": zeros and a wrong check digit (ISO 7064, MOD 11-2) are none."""
    found = _ORCID.search(text)
    digits = found[0].upper().replace("-", "") if found else "0"
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    right = digits.strip("0") and "0123456789X"[(12 - total % 11) % 11] == digits[-1]
    return found[0].upper() if found and right else ""


def list_signatures(papers: Sequence[Paper]) -> list[Signature]:
    """Return the signatures of papers: each author with a name. Their `author` is empty."""
    return [
        Signature(
            id=f"{paper.id}#{position + 1}",
            paper=row,
            name=name,
            block=block,
            author="",
            position=position,
            coauthors=tuple(other for place, other in enumerate(paper.authors) if place != position),
        )
        for row, paper in enumerate(papers)
        for position, name in enumerate(paper.authors)
        if (block := parse_name(name).block)
    ]


def disambiguate(
    papers: Iterable[Paper],
    *,
    known: Mapping[Place, KnownAuthor] | None = None,
    progress: Progress = show_nothing,
) -> Disambiguation:
    """Group the signatures of papers into authors, each block apart: first initial and surname.

    known: ids given before, which stay, and ORCIDs, which papers may have too. Signatures of one id are one author;
    those of two ids are not, nor are two of one paper.
    """
    read, result = [replace(paper, abstract="", references=()) for paper in papers], Disambiguation()
    listed = list({paper.id: paper for paper in reversed(read)}.values())[::-1]
    signatures, model, result.repeated = list_signatures(listed), PairModel.load(), len(read) - len(listed)
    result.unnamed = sum(len(paper.authors) for paper in listed) - len(signatures)
    given = _match_known(listed, signatures, known or {}, result.conflicts)
    persons = _identify(given, result.conflicts)
    used = {author.author for author in (known or {}).values()}
    numbers = defaultdict[str, Iterator[int]](lambda: count(1))
    rows: dict[int, AuthorRow] = {}

    def give_id(block: str) -> str:
        """Return a new id such as "a-lee-2", none that was given before."""
        name = block.replace(" ", "-")
        return next(id for n in numbers[name] if (id := f"{name}-{n}") not in used)

    for batch in join_blocks(_list_blocks(signatures, result.divided), len, BATCH):
        for block in _compare_blocks(batch, listed, signatures, persons, model):
            for group in block.group(model.cut):
                author = max(block.persons[place] for place in group) or give_id(block.signatures[group[0]].block)
                for place in group:
                    row, signature = block.rows[place], block.signatures[place]
                    why = block.explain(place, group)
                    if persons[row]:
                        why = None, "id given before" if given[row].author else "ORCID"
                    name = (block.papers[place].id, signature.position + 1, signature.name)
                    rows[row] = AuthorRow(*name, author, given[row].orcid, *why)
        progress("comparing", "signatures", len(rows), len(signatures))
    result.rows = [rows[row] for row in range(len(signatures))]
    return result


def _match_known(
    papers: Sequence[Paper], signatures: Sequence[Signature], known: Mapping[Place, KnownAuthor], conflicts: list[str]
) -> list[KnownAuthor]:
    """Return what is known of each signature, with the ORCIDs of the papers.

    Nothing where the name at the place is another now; no ORCID that a paper has of several authors.
    """
    orcids: list[dict[str, str]] = []
    for paper in papers:
        found = {name: find_orcid(text) for name, text in paper.orcids.items()}
        orcids.append({normalize(name): orcid for name, orcid in found.items() if orcid})
        conflicts += [
            f"{paper.id}, {name}: {text!r} is not an ORCID, or its check digit is wrong; it is not used"
            for name, text in paper.orcids.items()
            if text.strip() and not found[name]
        ]
    counts, given = [Counter(of_paper.values()) for of_paper in orcids], list[KnownAuthor]()
    for signature in signatures:
        place, name = (papers[signature.paper].id, signature.position + 1), normalize(signature.name)
        author = known.get(place, KnownAuthor())
        if author.name and normalize(author.name) != name:
            conflicts.append(f"{place[0]}, author {place[1]}: {signature.name!r} now, not {author.name!r}; a new id")
            author = KnownAuthor()
        orcid = orcids[signature.paper].get(name, "")
        if not author.orcid and counts[signature.paper][orcid] == 1:
            author = author._replace(orcid=orcid)
        given.append(author)
    return given


def _identify(given: Sequence[KnownAuthor], conflicts: list[str]) -> list[str]:
    """Return the person of each signature: the id given before, else that of its ORCID, else the ORCID, else ""."""
    authors, orcids = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for author in given:
        if author.author and author.orcid:
            authors[author.orcid].add(author.author)
            orcids[author.author].add(author.orcid)
    for kind, owned, ending in (
        ("ORCID {} has the ids", authors, ", which stay; its other signatures count as without ORCID"),
        ("id {} has the ORCIDs", orcids, "; it stays one author"),
    ):
        several = {name: sorted(ids) for name, ids in owned.items() if len(ids) > 1}
        conflicts += [f"{kind.format(name)} {', '.join(ids)}{ending}" for name, ids in several.items()]

    def find(author: KnownAuthor) -> str:
        owners = authors.get(author.orcid, {author.orcid})
        return author.author or (next(iter(owners)) if len(owners) == 1 else "")

    return list(map(find, given))


def _list_blocks(signatures: Sequence[Signature], divided: list[str]) -> Iterator[list[int]]:
    """Yield the rows of each block; a large one in parts, by the given names in full."""
    blocks = defaultdict[str, list[int]](list)
    for row, signature in enumerate(signatures):
        blocks[signature.block].append(row)
    for name, rows in blocks.items():
        if len(rows) > MAX_BLOCK:
            divided.append(f"{name} ({len(rows):,} signatures)")
            rows.sort(key=lambda row: parse_name(signatures[row].name).whole)
        size = -(-len(rows) // -(-len(rows) // MAX_BLOCK))  # of equal parts
        for start in range(0, len(rows), size):
            yield sorted(rows[start : start + size])


@dataclass(frozen=True, slots=True, eq=False)
class _ComparedBlock:
    """Signatures that are compared: rows, papers and persons of each, and distances (n, n)."""

    rows: list[int]
    signatures: list[Signature]
    papers: list[Paper]
    persons: list[str]
    distances: Doubles

    def group(self, cut: float) -> list[list[int]]:
        """Return the places of each author's, by average linkage; those of one person are always together."""
        from scipy.cluster.hierarchy import fcluster, linkage
        from scipy.spatial.distance import squareform

        if len(self.rows) == 1:
            return [[0]]
        distances, members = self.distances.copy(), defaultdict[str | int, list[int]](list)
        for place, person in enumerate(self.persons):
            members[person or place].append(place)
        for places in (places for places in members.values() if len(places) > 1):
            distances[places] = distances[places].mean(0)
            distances[:, places] = distances[:, places].mean(1, keepdims=True)
            distances[np.ix_(places, places)] = 0
        groups = defaultdict[int, list[int]](list)
        numbers = fcluster(linkage(squareform(distances, checks=False), "average"), cut, "distance")
        for place, number in enumerate(numbers.tolist()):
            groups[number].append(place)
        return list(groups.values())

    def explain(self, place: int, group: Sequence[int]) -> tuple[float | None, str]:
        """Return the probability that a signature is of the author of the nearest in its group, and why."""
        others = [other for other in (group if len(group) > 1 else range(len(self.rows))) if other != place]
        if not others:
            return None, "no other signature of this initial and surname"
        nearest = min(others, key=lambda other: float(self.distances[place, other]))
        distance = float(self.distances[place, nearest])
        name = f"{self.signatures[nearest].name} of {self.papers[nearest].id}"
        if len(group) > 1:
            likeness = _describe_likeness(*((self.signatures[n], self.papers[n]) for n in (place, nearest)))
            return round(1 - distance, 3), f"as {name}: {likeness}"
        if distance > 1:
            return None, f"the nearest, {name}, must be another, by the paper or a known id"
        return None, f"the nearest, {name}, has the probability {1 - distance:.2f} to be the same"


def _describe_likeness(one: tuple[Signature, Paper], other: tuple[Signature, Paper]) -> str:
    """Return what two signatures have in common, such as "same full name, coauthor Bo Kim, 2 years apart"."""
    names = [parse_name(signature.name) for signature, _ in (one, other)]
    same = names[0].whole == names[1].whole
    full = min(len(name.first) for name in names) > 1
    parts = [
        f"same {'full name' if full else 'initials'}" if same else "names that fit" if not full else "other given name"
    ]
    theirs = {parse_name(name).block for name in other[0].coauthors}
    shared = [name for name in one[0].coauthors if parse_name(name).block in theirs]
    if shared:
        more = f" and {len(shared) - SHOWN} more" if len(shared) > SHOWN else ""
        parts.append(f"coauthor{'s' * (len(shared) > 1)} {', '.join(shared[:SHOWN])}{more}")
    venues, years = [normalize(paper.venue) for _, paper in (one, other)], (one[1].year, other[1].year)
    parts += ["same venue"] * (venues[0] == venues[1] != "")
    if years[0] and years[1]:
        apart = abs(years[0] - years[1])
        parts.append(f"{apart} year{'s' * (apart > 1)} apart" if apart else "same year")
    return ", ".join(parts)


def _compare_blocks(
    blocks: Sequence[list[int]],
    papers: Sequence[Paper],
    signatures: Sequence[Signature],
    persons: Sequence[str],
    model: PairModel,
) -> Iterator[_ComparedBlock]:
    """Yield each block with the distances of its signatures; features are computed of all blocks together."""
    rows = [row for block in blocks if len(block) > 1 for row in block]
    used = {paper: place for place, paper in enumerate(dict.fromkeys(signatures[row].paper for row in rows))}
    local = [replace(signatures[row], paper=used[signatures[row].paper]) for row in rows]
    features, start = PairFeatures([papers[paper] for paper in used], local), 0
    for block in blocks:
        size, members, who = len(block), [signatures[row] for row in block], [persons[row] for row in block]
        distances = np.zeros((size, size))
        if size > 1:
            left, right = all_pairs(np.arange(size))
            for first in range(0, len(left), MAX_PAIRS):
                one, other = left[first : first + MAX_PAIRS], right[first : first + MAX_PAIRS]
                distances[one, other] = model.distances(features.table(one + start, other + start))
            start += size
        distances += distances.T
        # signatures of one paper, or of two persons, are so far apart that nothing merges them
        of_paper, given = np.array([signature.paper for signature in members]), np.array(who) != ""
        numbers, both = np.unique(who, return_inverse=True)[1], given[:, None] & given
        same = both & (numbers[:, None] == numbers)
        distances[((of_paper[:, None] == of_paper) | both) & ~same] = APART
        np.fill_diagonal(distances, 0)
        yield _ComparedBlock(block, members, [papers[signature.paper] for signature in members], who, distances)


COLUMNS = ("paper_id", "position", "name", "author_id", "orcid", "probability", "reason")


def read_authors(path: Path) -> dict[Place, KnownAuthor]:
    """Read the ids and ORCIDs that are known, by a paper's id and the author's position.

    Columns: paper_id, position (from 1), author_id or orcid, and name, which is compared where it is there. Raises
    InputError with the line for a place without a number, an ORCID that is none, or a place that is there twice.
    """
    file = InputFile(path)
    layout, columns = detect_columns(file.head(), {name: normalize_header(name) for name in COLUMNS})
    if not {"paper_id", "position"} <= columns.keys() or not {"author_id", "orcid"} & columns.keys():
        raise InputError(f"{path} has no columns paper_id, position and author_id or orcid")
    known: dict[Place, KnownAuthor] = {}
    for cells, fault in read_rows(file, layout):
        text = cell_getter(cells, columns)
        number, orcid = text("position"), text("orcid")
        found = find_orcid(orcid)
        place = text("paper_id"), int(number) if number.isdecimal() else 0
        if not fault and not (place[0] and place[1]):
            fault = f"paper_id {place[0]!r} and position {number!r} are not a place; positions are counted from 1"
        elif not fault and orcid and not found:
            fault = f"{orcid!r} is not an ORCID, or its check digit is wrong; one is 0000-0002-1825-0097"
        elif not fault and place in known:
            fault = f"author {number} of {place[0]} is there twice; remove one of the rows"
        if fault:
            raise InputError(f"{path}, line {file.record_line}: {fault}")
        known[place] = KnownAuthor(text("author_id"), found, text("name"))
    return known


def write_authors(path: Path, rows: Sequence[AuthorRow], known: Mapping[Place, KnownAuthor]) -> int:
    """Write a row for each signature, then what is known of others; return how many the latter are."""
    written = {(row.paper_id, row.position) for row in rows}
    others = [(place, author) for place, author in known.items() if place not in written]
    lines = [join_cells("" if value is None else value for value in asdict(row).values()) for row in rows]
    lines += [join_cells([*place, author.name, author.author, author.orcid, "", ""]) for place, author in others]
    write_lines(path, [join_cells(COLUMNS), *lines], errors="replace")
    return len(others)


DEFAULT = Path(__file__).with_name("same_author.json")


@dataclass(frozen=True, slots=True, eq=False)
class PairModel:
    """Trees, each a column of nodes: feature, threshold, left, right, the side of missing values, value of a leaf.

    cut: the mean distance (1 - probability) up to which groups of signatures are one person. A leaf is its own child.
    """

    trees: list[tuple[Any, ...]]
    cut: float

    @classmethod
    def load(cls, path: Path = DEFAULT) -> PairModel:
        """Read a model."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls([_parse_tree(tree) for tree in stored["trees"]], stored["cut"])

    def distances(self, table: Floats) -> Doubles:
        """Return the probability that the signatures of each pair are two persons. (n, 39) -> (n,)."""
        odds, rows = np.zeros(len(table)), np.arange(len(table))
        for columns, thresholds, left, right, missing_left, values, depth in self.trees:
            nodes = np.zeros(len(table), np.int64)
            for _ in range(depth):
                measured = table[rows, columns[nodes]]
                goes_left = np.where(np.isnan(measured), missing_left[nodes], measured <= thresholds[nodes])
                nodes = np.where(goes_left, left[nodes], right[nodes])
            odds += values[nodes]
        return 1 / (1 + np.exp(odds))


def _parse_tree(rows: list[list[Any]]) -> tuple[Any, ...]:
    """Return the arrays of a tree from its nodes: [feature, threshold, left, right, missing left] or [value]."""
    inner = [row if len(row) > 1 else [FEATURES[0].name, 0.0, place, place, 0] for place, row in enumerate(rows)]
    names, thresholds, left, right, missing = zip(*inner, strict=True)
    values = [0.0 if len(row) > 1 else row[0] for row in rows]
    depths = [0] * len(rows)
    for place, row in enumerate(rows):  # parents are first
        for child in row[2:4]:
            depths[child] = depths[place] + 1
    columns = np.array([FEATURE_COLUMNS[name] for name in names])
    return columns, *map(np.array, (thresholds, left, right)), np.array(missing, bool), np.array(values), max(depths)
