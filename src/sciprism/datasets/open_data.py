"""The open data sets: how the papers of each are read, and which of them it assigns to train, dev and test.

`OPEN_DATA_SETS` declares each data set by its split rules and its reader of papers.
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


def read_title(row: Record) -> Iterator[Paper]:
    """Yield the paper of a record whose text is its title."""
    yield Paper(id=UNNAMED, title=row["text"])


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
    OpenDataSet("cls_mag_titles", BY_FILE, read_title),
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
