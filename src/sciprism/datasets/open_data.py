"""The open data: how the papers of each set are read, and one split of all of them.

`OPEN_DATA_SETS` declares each data set by its split rules and its reader of papers: it assigns its papers to train,
dev or test. Papers are merged over all data sets by id, DOI, PMID, arXiv id and title; test wins over dev, dev over
train. All training on these data, of tokenizers and masked language models too, uses train papers only.
"""

from __future__ import annotations

import json
import os
import re
import warnings
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast
from zipfile import BadZipFile

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError, ShownWarning
from sciprism.files import cache_folder, write_atomically
from sciprism.papers import identity
from sciprism.papers.identity import GENERIC_TITLES, MIN_TITLE_WORDS, normalize_words
from sciprism.papers.records import Paper
from sciprism.seeding import random_bits, random_fraction

Part = Literal["train", "dev", "test"]
Record = Mapping[str, Any]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
MISSING_DATA = "data set missing from the split"
UNNAMED = "?"  # the id of a paper whose record has none
DOI = re.compile(r"10\.\d{4,9}/\S+")
_PART_IN_NAME = re.compile(r"train|dev|test")


class PaperOrigin(NamedTuple):
    """Where a paper comes from: its record, its id and the name of its file."""

    row: Record
    paper_id: str
    file_name: str


SplitRule = Callable[[PaperOrigin], Part]  # assigns a paper to a part


def constant_rule(part: Part) -> SplitRule:
    """Return the rule that assigns every paper to one part."""
    return lambda origin: part  # noqa: ARG005 (the signature of rules)


def file_name_rule(origin: PaperOrigin) -> Part:
    """Read the part from the file's name, as the data set was published; train where it has none."""
    match = _PART_IN_NAME.search(origin.file_name)
    return cast(Part, match[0]) if match else "train"


def split_field_rule(origin: PaperOrigin) -> Part:
    """Read the part from the field `split` of the record."""
    return cast(Part, origin.row["split"])


def year_rule(dev: int, test: int) -> SplitRule:
    """Assign papers from year `test` on to test, from `dev` on to dev, earlier and undated ones to train."""

    def assign(origin: PaperOrigin) -> Part:
        year = origin.row.get("year") or 0
        return "test" if year >= test else "dev" if year >= dev else "train"

    return assign


def hash_rule(test: float, dev: float, only: tuple[tuple[str, Any], ...] = ()) -> SplitRule:
    """Assign shares of the papers by a hash of their ids; `only`: of the records with these values."""

    def assign(origin: PaperOrigin) -> Part:
        if any(origin.row.get(key) != value for key, value in only):
            return "train"
        fraction = random_fraction(0, origin.paper_id)
        return "test" if fraction < test else "dev" if fraction < test + dev else "train"

    return assign


PaperReader = Callable[[Record], Iterator[Paper]]


def build_paper_reader(system: str) -> PaperReader:
    """Return a reader of records whose paper id belongs to a system such as pmid or s2."""

    def read(row: Record) -> Iterator[Paper]:
        """Yield the paper, with its id as an id of the system."""
        for paper in read_paper(row):
            yield replace(paper, ids={**paper.ids, system: paper.id})

    return read


def read_paper(row: Record) -> Iterator[Paper]:
    """Yield the paper of a record, by any of the field names in use."""
    meta = row.get("metadata") or {}
    abstract = row.get("abstract")
    yield Paper(
        id=str(row.get("id") or row.get("_id") or row.get("corpus_id") or UNNAMED),
        title=row.get("title") or "",
        abstract=(row.get("text") if abstract is None else abstract) or "",
        venue=row.get("venue") or row.get("journal") or "",
        year=row.get("year") or meta.get("year"),
        ids={key: str(row[key]) for key in ("doi", "pmid") if row.get(key)},
    )


def read_question(row: Record) -> Iterator[Paper]:
    """Yield the article, with its PMID, whose title is the question."""
    yield Paper(id=row["id"], title=row["question"], ids={"pmid": row["id"]})


def read_sentences(row: Record) -> Iterator[Paper]:
    """Yield each sentence as a paper's title: sentence corpora contain titles that other data sets have."""
    for key in ("text", "sentence1", "sentence2", "context"):
        if row.get(key):
            yield Paper(id=UNNAMED, title=row[key])
    if "tokens" in row:
        yield Paper(id=UNNAMED, title=" ".join(row["tokens"]))


def read_first_sentence(row: Record) -> Iterator[Paper]:
    """Yield the article whose title is the document's first sentence."""
    yield Paper(id=row["id"], title=row["sentences"][0]["text"] if row["sentences"] else "")


def read_article(row: Record) -> Iterator[Paper]:
    """Yield a full article: its title is the first line, its DOI the first one in the text."""
    title, _, text = row["context"].partition("\n")
    doi = DOI.search(text[:2000])
    yield Paper(id=row["id"], title=title, ids={"doi": doi[0]} if doi else {})


def read_evidence_papers(row: Record) -> Iterator[Paper]:
    """Yield the articles that a question's snippets come from."""
    addresses = [*row.get("documents", ()), *(snippet["pmid"] for snippet in row.get("snippets", ()))]
    for pmid in dict.fromkeys(str(name).rsplit("/", 1)[-1] for name in addresses):
        yield Paper(id=f"pmid:{pmid}")


def read_mention_paper(row: Record) -> Iterator[Paper]:
    """Yield the conference paper on which an author is mentioned."""
    yield Paper(id=row["paper_id"], ids={"conference_papers": row["paper_id"]})


def read_nested_papers(row: Record) -> Iterator[Paper]:
    """Yield the papers of a training example: query, positive, negative, candidates, or the record itself."""
    for record in [row, row.get("query"), row.get("pos"), row.get("neg"), *row.get("candidates", ())]:
        if isinstance(record, Mapping) and record.get("title"):
            for paper in read_paper(record):
                yield paper if paper.id == UNNAMED else replace(paper, ids={"s2": paper.id})


@dataclass(frozen=True, slots=True)
class OpenDataSet:
    """A data set: its split rules (test wins over dev, dev over train) and the reader of its papers."""

    data: str
    rules: tuple[SplitRule, ...]
    read_papers: PaperReader = read_paper
    files: str = "*.jsonl.gz"

    def read(self, data_root: DataRoot) -> Iterator[tuple[Record, Paper, Part]]:
        """Yield each record with each of its papers and the part that the data set assigns to it."""
        for path in sorted(data_root.local(self.data).glob(self.files)):
            for row in data_root.records(path):
                for paper in self.read_papers(row):
                    origin = PaperOrigin(row, paper.id, path.name)
                    yield row, paper, max((rule(origin) for rule in self.rules), key=PARTS.index)


ICLR_2018 = (("venue", "ICLR"), ("year", 2018))  # the one conference with reviews of many rejected papers
BY_FILE, BY_FIELD, TEST = (file_name_rule,), (split_field_rule,), (constant_rule("test"),)
ENTITIES = ("bc5cdr", "ncbi_disease", "bc2gm", "jnlpba", "ebmnlp_pico", "anatem", "bionlp13cg", "bionlp11id", "craft")
OPEN_DATA_SETS = (
    # Split by year; the hash adds test papers of every year, to predict the year.
    OpenDataSet("arxiv_multidomain", (split_field_rule, hash_rule(0.04, 0.01))),
    OpenDataSet("conference_papers", (year_rule(2021, 2022), hash_rule(0.04, 0.01), hash_rule(0.3, 0.05, ICLR_2018))),
    OpenDataSet("citegraph_vis", (year_rule(2015, 2016),)),
    OpenDataSet("author_disambiguation_robotics", BY_FIELD, read_mention_paper),
    # Test sets only: all their documents are candidates of the same ranking.
    OpenDataSet("citegraph_acl", TEST),
    *(OpenDataSet(name, TEST, files="corpus.jsonl.gz") for name in ("ir_cacm", "ir_cranfield", "ir_npl")),
    OpenDataSet("ir_scifact", TEST, build_paper_reader("s2"), files="corpus.jsonl.gz"),
    OpenDataSet("ir_csfcube", TEST, build_paper_reader("s2"), files="corpus.jsonl.gz"),
    OpenDataSet("reviewer_goldstandard", TEST, build_paper_reader("sha"), files="papers.jsonl.gz"),
    OpenDataSet("cls_s2orc_fields", TEST),
    OpenDataSet("qa_covidqa", TEST, read_article, files="documents.jsonl.gz"),
    OpenDataSet("xmc_pubmed_mesh", BY_FIELD),
    OpenDataSet("cls_systematic_review_screening", (hash_rule(0.5, 0.0),)),
    OpenDataSet("cls_ohsumed", BY_FILE),
    OpenDataSet("cls_mag_titles", BY_FILE, read_sentences),
    OpenDataSet("cls_hallmarks_of_cancer", BY_FILE, build_paper_reader("pmid")),
    OpenDataSet("cls_biomimicry", BY_FIELD),
    OpenDataSet("cls_abstract_spans", BY_FIELD),
    OpenDataSet("cls_citation_intent", BY_FILE, read_sentences),
    OpenDataSet("cls_scicite", BY_FILE, read_sentences),
    OpenDataSet("scirepeval_samples", (constant_rule("train"),), read_nested_papers),
    *(OpenDataSet(f"ner_{name}", BY_FILE, read_sentences) for name in ENTITIES),
    OpenDataSet("ie_climate", BY_FIELD, build_paper_reader("sha")),
    OpenDataSet("ie_planetary_lpsc", BY_FIELD),
    OpenDataSet("re_chemprot", BY_FILE, read_sentences),
    OpenDataSet("re_ddi2013", BY_FILE, read_first_sentence),
    OpenDataSet("re_gad", BY_FILE, read_sentences),
    OpenDataSet("qa_pubmedqa", BY_FILE, read_question),
    OpenDataSet("qa_bioasq", BY_FILE, read_evidence_papers),
    OpenDataSet("qa_bioasq_yesno_blurb", BY_FILE, read_sentences),
    OpenDataSet("sim_biosses", BY_FILE, read_sentences),
)
OPEN_DATA_BY_NAME = {source.data: source for source in OPEN_DATA_SETS}


OPENING_WORDS = 8  # words of the abstract that complete a title too short to identify a paper
MAX_CHARACTERS = 500  # characters of a title, or of a text without one, that are compared
_SYSTEM_ID = re.compile(r"(doi|pmid|pmcid|arxiv|s2|openalex|sha):(.+)", re.IGNORECASE)
_ARXIV_VERSION = re.compile(r"v\d+$")


def list_paper_keys(paper: Paper, data: str = "") -> list[str]:
    """Return the keys that identify a paper: its id in a data set, ids of other systems, its title.

    Titles are compared without case, accents and spaces; one of fewer than 5 words counts only with the first
    words of the abstract, and a generic heading not at all. A text without a title is its own title.
    """
    keys = [f"{data}:{paper.id}"] if data and paper.id != UNNAMED else []
    systems = list(paper.ids.items())
    if parts := _SYSTEM_ID.fullmatch(paper.id):
        systems.append((parts[1].lower(), parts[2]))
    elif DOI.fullmatch(paper.id):
        systems.append(("doi", paper.id))
    for system, value in systems:
        name = value.lower()
        keys.append(f"{system}:{_ARXIV_VERSION.sub('', name) if system == 'arxiv' else name}")
    words = normalize_words((paper.title or paper.abstract)[:MAX_CHARACTERS])
    joined = "".join(words)
    if len(words) >= MIN_TITLE_WORDS:
        keys.append(f"title:{joined}")
    elif words and paper.abstract and joined not in GENERIC_TITLES:
        keys.append(f"title:{joined} {''.join(normalize_words(paper.abstract[:MAX_CHARACTERS])[:OPENING_WORDS])}")
    return keys


@dataclass(frozen=True, slots=True)
class SplitTable:
    """The part of every paper of the open data.

    counts: data set -> number of its papers by part ("train", "dev", "test", or "train, now test" where
    another data set tests on them). missing: data sets that were not found. tests: data sets that were.
    codes: hash of a key -> rank of the part + 4 * bit mask of the data sets whose test part has the paper.
    """

    counts: Mapping[str, Mapping[str, int]]
    missing: tuple[str, ...]
    tests: tuple[str, ...]
    codes: Mapping[int, int]

    @classmethod
    def build(cls, data_root: DataRoot) -> SplitTable:
        """Read every data set that exists and merge their papers."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        present = [source for source in OPEN_DATA_SETS if _exists(data_root.folder, source.data)]
        owners, hashes = array("q"), array("Q")  # of each key: the number of its paper, and the hash
        own, tests = bytearray(), array("q")  # of each paper: the rank of its part, and the bit of its data set if test
        ends = [0]
        for bit, source in enumerate(present):
            for _, paper, part in source.read(data_root):
                keys = [random_bits(key) for key in list_paper_keys(paper, source.data)]
                owners.extend([len(own)] * len(keys))
                hashes.extend(keys)
                own.append(PARTS.index(part))
                tests.append(1 << bit if part == "test" else 0)
            ends.append(len(own))
        # Papers that share a key are one: the components of the graph of papers and keys, in this order.
        keys_of, columns = np.unique(np.frombuffer(hashes, np.uint64), return_inverse=True)
        size = len(own) + len(keys_of) + 1
        links = coo_array((np.ones(len(owners)), (np.frombuffer(owners, np.int64), len(own) + columns)), (size, size))
        _, merged = connected_components(links, directed=False)
        papers, ranks, bits = merged[: len(own)], np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.maximum.at(ranks, papers, np.frombuffer(own, np.uint8))
        np.bitwise_or.at(bits, papers, np.frombuffer(tests, np.int64))
        counts: dict[str, dict[str, int]] = {}
        for source, start, end in zip(present, ends, ends[1:], strict=False):
            pairs = (
                (PARTS[rank], PARTS[now]) for rank, now in zip(own[start:end], ranks[papers[start:end]], strict=True)
            )
            counts[source.data] = dict(Counter(one if one == now else f"{one}, now {now}" for one, now in pairs))
        missing = tuple(source.data for source in OPEN_DATA_SETS if source not in present)
        codes = (ranks + 4 * bits)[merged[len(own) : -1]]
        return cls(
            counts,
            missing,
            tuple(source.data for source in present),
            dict(zip(keys_of.tolist(), codes.tolist(), strict=True)),
        )

    @classmethod
    def load(cls, data_root: DataRoot) -> SplitTable:
        """Return the split of the data under a root, from the cache unless a file has changed."""
        return _load_table(data_root.folder)

    def part(self, *keys: str) -> Part | None:
        """Return the part of the paper with any of these keys (`list_paper_keys`); None if none is known."""
        ranks = [self.codes[key] & 3 for key in map(random_bits, keys) if key in self.codes]
        return PARTS[max(ranks)] if ranks else None

    def tests_of(self, *keys: str) -> tuple[str, ...]:
        """Return the data sets whose test part has the paper with any of these keys (`list_paper_keys`)."""
        bits = 0
        for key in keys:
            bits |= self.codes.get(random_bits(key), 0) >> 2
        return tuple(data for bit, data in enumerate(self.tests) if bits >> bit & 1)


@lru_cache(maxsize=2)
def _load_table(folder: Path | None) -> SplitTable:
    cache = cache_folder() / f"split-{_hash_files(folder)}.npz"
    if cache.exists() and (stored := _read_cache(cache)):
        return stored
    table = SplitTable.build(DataRoot(folder))
    facts = {"counts": table.counts, "missing": table.missing, "tests": table.tests}
    hashes, codes = (np.array(list(part), np.uint64) for part in (table.codes.keys(), table.codes.values()))
    write = partial(np.savez, facts=np.array(json.dumps(facts)), names=hashes, codes=codes)
    with suppress(OSError, InputError):  # if the cache folder is writable
        write_atomically(cache, write, str(os.getpid()))
    return table


def _read_cache(path: Path) -> SplitTable | None:
    """Return the table of an earlier run; None, with a warning, where the file is damaged: zip has checksums."""
    try:
        with np.load(path) as stored:
            facts = json.loads(str(stored["facts"]))
            codes = dict(zip(stored["names"].tolist(), stored["codes"].tolist(), strict=True))
        return SplitTable(facts["counts"], tuple(facts["missing"]), tuple(facts["tests"]), codes)
    except (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError, BadZipFile, zlib.error):
        warnings.warn(ShownWarning(f"{path} is damaged; it is made again"), stacklevel=2)
        return None


def _hash_files(folder: Path | None) -> str:
    """Return a hash of the rules and of all data files by name, size and time."""
    rules = (Path(__file__), Path(identity.__file__), Path(identity.__file__).with_name("titles.toml"))
    state = [path.read_text("utf-8") for path in rules]
    for source in OPEN_DATA_SETS:
        if _exists(folder, source.data):
            for path in sorted(((folder or Path()) / source.data).glob(source.files)):
                state.append(f"{path.resolve()} {path.stat().st_size} {path.stat().st_mtime_ns}")
    return blake2b("\n".join(state).encode(), digest_size=12).hexdigest()


def _exists(folder: Path | None, data: str) -> bool:
    return ((folder or Path()) / data).is_dir()


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitEntry:
    """A record, its paper, the part by its own data set (`own_part`) and the part over all data sets."""

    row: Record
    paper: Paper
    own_part: Part
    part: Part


def read_entries(data_root: DataRoot, data: str, dropped: DropReport | None = None) -> list[SplitEntry]:
    """Return the papers of a data set in the order of its files, each with both parts.

    A paper without an id is named by the data set and its number. dropped: counts the data sets that were missing when
    the split was built.
    """
    table = SplitTable.load(data_root)
    if dropped is not None:
        dropped.add_all(MISSING_DATA, table.missing)
    entries = []
    for number, (row, paper, own_part) in enumerate(OPEN_DATA_BY_NAME[data].read(data_root)):
        if paper.id == UNNAMED:
            part = table.part(*list_paper_keys(paper)) or own_part
            paper = replace(paper, id=f"{data}#{number}")
        else:
            part = table.part(f"{data}:{paper.id}") or own_part
        entries.append(SplitEntry(row=row, paper=paper, own_part=own_part, part=part))
    return entries
