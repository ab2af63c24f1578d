"""The open data sets: which papers each holds, and which of them it gives to train, dev and test.

`SOURCES` has one line for each data set; rules and readings are the words that the lines are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

from sciprism.datasets.data_root import DataRoot
from sciprism.papers.records import Paper
from sciprism.seeding import random_fraction

Part = Literal["train", "dev", "test"]
Record = Mapping[str, Any]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
UNNAMED = "?"
"""The id of a paper whose record has none."""
DOI = re.compile(r"10\.\d{4,9}/\S+")
_PART_IN_NAME = re.compile(r"train|dev|test")


class Told(NamedTuple):
    """What a rule may look at: the record, the paper's id, the name of the file."""

    row: Record
    name: str
    file: str


@dataclass(frozen=True, slots=True)
class All:
    """Every paper is of one part."""

    part: Part

    def __call__(self, told: Told) -> Part:  # noqa: ARG002  (the rules' signature)
        """Return the part."""
        return self.part


@dataclass(frozen=True, slots=True)
class ByFile:
    """The part stands in the file's name, as the data set was published."""

    def __call__(self, told: Told) -> Part:
        """Return the part."""
        found = _PART_IN_NAME.search(told.file)
        return cast(Part, found[0]) if found else "train"


@dataclass(frozen=True, slots=True)
class ByField:
    """The part stands in the record."""

    field: str = "split"

    def __call__(self, told: Told) -> Part:
        """Return the part."""
        return cast(Part, told.row[self.field])


@dataclass(frozen=True, slots=True)
class ByYear:
    """Papers from the year `test` on are test, from `dev` on dev; earlier ones and undated ones are train."""

    dev: int
    test: int

    def __call__(self, told: Told) -> Part:
        """Return the part."""
        year = told.row.get("year") or 0
        return "test" if year >= self.test else "dev" if year >= self.dev else "train"


@dataclass(frozen=True, slots=True)
class ByHash:
    """A share of the papers, drawn by a hash of their ids; `only`: of records with these values."""

    test: float
    dev: float
    only: tuple[tuple[str, Any], ...] = ()

    def __call__(self, told: Told) -> Part:
        """Return the part."""
        if any(told.row.get(key) != value for key, value in self.only):
            return "train"
        at = draw(told.name)
        return "test" if at < self.test else "dev" if at < self.test + self.dev else "train"


Rule = All | ByFile | ByField | ByYear | ByHash


def draw(name: str, seed: int = 0) -> float:
    """Return a number in [0, 1) that a name and a seed alone decide, on every machine."""
    return random_fraction(seed, name)


Reading = Callable[[Record], Iterator[Paper]]


def with_ids_of(system: str) -> Reading:
    """Return the reading of one paper a record whose id is one of a system: pmid, s2 ..."""

    def read(row: Record) -> Iterator[Paper]:
        for paper in one_paper(row):
            yield replace(paper, ids={**paper.ids, system: paper.id})

    return read


def one_paper(row: Record) -> Iterator[Paper]:
    """Yield a record as a paper, whatever its fields are called."""
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


def title_alone(row: Record) -> Iterator[Paper]:
    """Yield a record whose text is a paper's title."""
    yield Paper(id=UNNAMED, title=row["text"])


def question(row: Record) -> Iterator[Paper]:
    """Yield an article whose title is the question, under its PMID."""
    yield Paper(id=row["id"], title=row["question"], ids={"pmid": row["id"]})


def sentences(row: Record) -> Iterator[Paper]:
    """Yield each sentence as if it were a title: the first one of another set's abstract often is."""
    for key in ("text", "sentence1", "sentence2", "context"):
        if row.get(key):
            yield Paper(id=UNNAMED, title=row[key])
    if "tokens" in row:
        yield Paper(id=UNNAMED, title=" ".join(row["tokens"]))


def first_sentence(row: Record) -> Iterator[Paper]:
    """Yield a document by its first sentence, which is an article's title."""
    yield Paper(id=row["id"], title=row["sentences"][0]["text"] if row["sentences"] else "")


def article(row: Record) -> Iterator[Paper]:
    """Yield a full article: its title is the first line, its DOI the first one named."""
    title, _, text = row["context"].partition("\n")
    doi = DOI.search(text[:2000])
    yield Paper(id=row["id"], title=title, ids={"doi": doi[0]} if doi else {})


def evidence(row: Record) -> Iterator[Paper]:
    """Yield the articles that a question's snippets come from."""
    found = [*row.get("documents", ()), *(snippet["pmid"] for snippet in row.get("snippets", ()))]
    for pmid in dict.fromkeys(str(name).rsplit("/", 1)[-1] for name in found):
        yield Paper(id=f"pmid:{pmid}")


def mention(row: Record) -> Iterator[Paper]:
    """Yield the conference paper on which an author is mentioned."""
    yield Paper(id=row["paper_id"], ids={"conference_papers": row["paper_id"]})


def nested(row: Record) -> Iterator[Paper]:
    """Yield the papers of a training example: query, positive, negative, candidates, or the record itself."""
    for record in [row, row.get("query"), row.get("pos"), row.get("neg"), *row.get("candidates", ())]:
        if isinstance(record, Mapping) and record.get("title"):
            for paper in one_paper(record):
                yield paper if paper.id == UNNAMED else replace(paper, ids={"s2": paper.id})


@dataclass(frozen=True, slots=True)
class Source:
    """A data set, its rules (the strongest part counts), and how its records name papers."""

    data: str
    rules: tuple[Rule, ...]
    papers: Reading = one_paper
    files: str = "*.jsonl.gz"

    def own_part(self, told: Told) -> Part:
        """Return the part that the data set itself gives a paper."""
        if len(self.rules) == 1:
            return self.rules[0](told)
        return max((rule(told) for rule in self.rules), key=PARTS.index)

    def read(self, home: DataRoot) -> Iterator[tuple[Record, Paper, Part]]:
        """Yield each record with every paper it speaks of and the part that the data set gives it."""
        for path in sorted(home.local(self.data).glob(self.files)):
            for row in home.records(path):
                for paper in self.papers(row):
                    yield row, paper, self.own_part(Told(row, paper.id, path.name))


ICLR_2018 = (("venue", "ICLR"), ("year", 2018))  # the one list with reviews of many rejected papers
BY_FILE, BY_FIELD, TEST = (ByFile(),), (ByField(),), (All("test"),)
SOURCES = (
    # Years tell train from test; the hash adds test papers of every year, for the prediction of the year.
    Source("arxiv_multidomain", (ByField(), ByHash(0.04, 0.01))),
    Source("conference_papers", (ByYear(2021, 2022), ByHash(0.04, 0.01), ByHash(0.3, 0.05, ICLR_2018))),
    Source("citegraph_vis", (ByYear(2015, 2016),)),
    Source("author_disambiguation_robotics", BY_FIELD, mention),
    # Sets that only test: their documents are candidates of one and the same ranking.
    Source("citegraph_acl", TEST),
    Source("ir_cacm", TEST, files="corpus.jsonl.gz"),
    Source("ir_cranfield", TEST, files="corpus.jsonl.gz"),
    Source("ir_npl", TEST, files="corpus.jsonl.gz"),
    Source("ir_scifact", TEST, with_ids_of("s2"), files="corpus.jsonl.gz"),
    Source("ir_csfcube", TEST, with_ids_of("s2"), files="corpus.jsonl.gz"),
    Source("reviewer_goldstandard", TEST, with_ids_of("sha"), files="papers.jsonl.gz"),
    Source("cls_s2orc_fields", TEST),
    Source("qa_covidqa", TEST, article, files="documents.jsonl.gz"),
    Source("xmc_pubmed_mesh", BY_FIELD),
    Source("cls_systematic_review_screening", (ByHash(0.5, 0.0),)),
    Source("cls_ohsumed", BY_FILE),
    Source("cls_mag_titles", BY_FILE, title_alone),
    Source("cls_hallmarks_of_cancer", BY_FILE, with_ids_of("pmid")),
    Source("cls_biomimicry", BY_FIELD),
    Source("cls_abstract_spans", BY_FIELD),
    Source("cls_citation_intent", BY_FILE, sentences),
    Source("cls_scicite", BY_FILE, sentences),
    Source("scirepeval_samples", (All("train"),), nested),
    Source("ner_bc5cdr", BY_FILE, sentences),
    Source("ner_ncbi_disease", BY_FILE, sentences),
    Source("ner_bc2gm", BY_FILE, sentences),
    Source("ner_jnlpba", BY_FILE, sentences),
    Source("ner_ebmnlp_pico", BY_FILE, sentences),
    Source("ner_anatem", BY_FILE, sentences),
    Source("ner_bionlp13cg", BY_FILE, sentences),
    Source("ner_bionlp11id", BY_FILE, sentences),
    Source("ner_craft", BY_FILE, sentences),
    Source("ie_climate", BY_FIELD, with_ids_of("sha")),
    Source("ie_planetary_lpsc", BY_FIELD),
    Source("re_chemprot", BY_FILE, sentences),
    Source("re_ddi2013", BY_FILE, first_sentence),
    Source("re_gad", BY_FILE, sentences),
    Source("qa_pubmedqa", BY_FILE, question),
    Source("qa_bioasq", BY_FILE, evidence),
    Source("qa_bioasq_yesno_blurb", BY_FILE, sentences),
    Source("sim_biosses", BY_FILE, sentences),
)
WITHOUT_PAPERS = ("labels_arxiv", "labels_mesh", "labels_uat")
BY_DATA = {source.data: source for source in SOURCES}
