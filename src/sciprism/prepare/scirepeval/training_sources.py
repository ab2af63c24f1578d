"""Write SciRepEval's training sources: the published ones of a config, the same eight kinds of user papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import Part
from sciprism.errors import InputError
from sciprism.evaluation.task import read_sizes
from sciprism.files import sha256
from sciprism.prepare.example_folder import MIN_DEV_EXAMPLES, PARTS, Build, ExampleFolder, SourceReport, TrainingSource
from sciprism.prepare.preparation import CountTable, Preparation, check_workers
from sciprism.prepare.samplers.answers import (
    MAX_FIELDS,
    SEED,
    most_cited_year,
    most_frequent,
    sample_log_citations,
    sample_scaled_years,
    sample_single_headings,
    sample_venue_fields,
    single_qualified_descriptor,
    year_range_after,
)
from sciprism.prepare.samplers.links import sample_citation_triplets, sample_same_author
from sciprism.prepare.samplers.sampling import Sampling
from sciprism.prepare.samplers.scored_lists import (
    count_lists,
    limit_lists,
    sample_influential_citations,
    sample_scored_triplets,
)
from sciprism.prepare.scirepeval.published import TYPES, build_published_source, read_config
from sciprism.prepare.sources.user_corpus import MissingDataError, UserCorpus, UserPapers, read_corpus
from sciprism.registry import Registry
from sciprism.training.examples import Example, item_key

NO_NEGATIVE = "pair without a negative"
USER_PAPERS = "user papers"

source_builders: Registry[Callable[[str, UserCorpus], TrainingSource]] = Registry("kind of source")
"""By the names of the published sources, which the recipes use."""


def build_user_sources(corpus: UserCorpus) -> tuple[list[TrainingSource], dict[str, str]]:
    """Return the sources that can be built from a corpus, and the reason for each of the others.

    Candidates of dev queries include train papers.
    """
    sources, skipped = [], {}
    for name, declare in source_builders.items():
        try:
            sources.append(declare(name, corpus))
        except MissingDataError as reason:
            skipped[name] = str(reason)
    return sources, skipped


def split_pairs(examples: Iterable[Example], sampling: Sampling) -> Iterator[Example]:
    """Yield an example of each positive with its negative; pairs without a negative are counted."""
    for example in examples:
        for positive, negative in zip(example.positives, example.negatives, strict=False):
            yield Example(example.query, (positive,), (negative,))
        for positive in example.positives[len(example.negatives) :]:
            sampling.drop(NO_NEGATIVE, f"{item_key(example.query)}, {item_key(positive)}")


def _declare(name: str, type: str, build: Build, **more: Any) -> TrainingSource:
    declaration: dict[str, Any] = {"format": TYPES[type], "data": USER_PAPERS, "min_dev_examples": MIN_DEV_EXAMPLES}
    return TrainingSource(name=name, type=type, build=build, **declaration | more)


@source_builders.register("cite_context")
def declare_influential(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a cited paper, one that mentions it often, and one that mentions it rarely."""
    corpus.need_column("citations", "mentions")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        return sample_influential_citations(papers, corpus.citations(), limit_lists(sampling), queries=queries)

    return _declare(name, "triplet", build)


@source_builders.register("s2and")
def declare_same_author(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a paper and another one by an author of it."""
    corpus.need("authors")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        authors_of = corpus.authors()
        papers = []
        for paper in corpus.candidates(part):
            if paper.id in authors_of:
                papers.append(paper)
            elif corpus.part(paper.id) == part:
                sampling.drop("no author", paper.id)
        authors, queries = [authors_of[paper.id] for paper in papers], corpus.ids_of(part)
        return split_pairs(sample_same_author(papers, authors, limit_lists(sampling), queries=queries), sampling)

    return _declare(name, "triplet", build)


@source_builders.register("fos")
def declare_venue_fields(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with one to three fields of their venues."""
    corpus.need("venues")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_venue_fields(corpus.papers_of(part), corpus.venues, sampling)

    few = (fields for fields in corpus.venues.values() if len({*fields}) <= MAX_FIELDS)
    labels = tuple(sorted({field for fields in few for field in fields}))
    return _declare(name, "classification", build, labels=labels, multi_label=True)


@source_builders.register("cite_pred")
def declare_citation_count(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers of one year with the logarithm of their number of citations."""
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    if year is None:
        raise MissingDataError("no cited paper has a year")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_log_citations(corpus.papers_of(part), corpus.counts, sampling, year=year)

    facts = {"year": year, "counted": "by the table" if corpus.table("counts") else "citations known here"}
    return _declare(name, "regression", build, facts=facts)


@source_builders.register("year_pred")
def declare_year(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with their publication year, scaled like the citation counts."""
    span = year_range_after(corpus.papers)
    if span is None:
        raise MissingDataError("papers of at least two years after 2005 are needed")
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    counted = sample_log_citations(corpus.papers, corpus.counts, Sampling(), year=year) if year else ()
    labels = [float(example.answers[0]) for example in counted]
    factor = fmean(labels) if any(labels) else 1.0

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_scaled_years(corpus.papers_of(part), sampling, first=span[0], last=span[1], factor=factor)

    return _declare(name, "regression", build, facts={"first": span[0], "last": span[1], "factor": factor})


@source_builders.register("mesh")
def declare_mesh(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with their only qualified heading."""
    corpus.need("mesh")
    headings = (corpus.headings.get(paper.id, ()) for paper in corpus.papers)
    labels = most_frequent(map(single_qualified_descriptor, headings))

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_single_headings(corpus.papers_of(part), corpus.headings, sampling, descriptors=labels)

    return _declare(name, "classification", build, labels=labels)


@source_builders.register("specter")
def declare_citation_triplets(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a paper and one that it cites; three of five negatives are easy, two hard."""
    if not any(paper.references for paper in corpus.papers):
        corpus.need("citations")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        edges = ((citing, cited) for citing, cited, count in corpus.citations() if count)
        return split_pairs(sample_citation_triplets(papers, edges, limit_lists(sampling), queries=queries), sampling)

    return _declare(name, "triplet", build)


@source_builders.register("search")
def declare_search(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a query, a clicked paper and one that was not clicked."""
    corpus.need("clicks")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_scored_triplets(corpus.clicks(part, limit_lists(sampling)), sampling)

    return _declare(name, "ir", build, format="search", query="query")


MAX_EXAMPLES, MAX_DEV_EXAMPLES = 600_000, 40_000
"""Examples of a train and of a dev file, as published."""
IN_CONFIG = "the config has a source of this name"
TABLE_1 = {
    "mesh": "mesh",
    "fos": "fos",
    "cite_pred": "citation-count",
    "year_pred": "publication-year",
    "s2and": "same-author",
    "cite_context": "influential-citations",
    "specter": "citation-triplets",
    "search": "search",
}
"""Published source -> the task in the paper's table of sizes."""
PUBLISHED = {name: next(iter(read_sizes("scirepeval/1")[task].values())) for name, task in TABLE_1.items()}
"""Published source -> its records, or queries with lists, of train and dev."""
WORDS, COUNTS = ("source", "type", "format", "query"), ("train", "dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """Sizes of files, 0 for all; the seed of samples; the number of processes."""

    max_examples: int = MAX_EXAMPLES
    max_dev_examples: int = MAX_DEV_EXAMPLES
    seed: int = SEED
    workers: int = 1

    def __post_init__(self) -> None:
        counts = {"max_examples": self.max_examples, "max_dev_examples": self.max_dev_examples}
        check_workers(self.workers, **counts, seed=self.seed)

    def samplings(self, source: TrainingSource) -> dict[Part, Sampling]:
        """Return how each part of a source is sampled: at most as many examples as here and in the config."""
        samplings: dict[Part, Sampling] = {}
        for part in source.parts:
            requested = source.max_examples.get(part, 0)
            limits = (self.max_examples if part == "train" else self.max_dev_examples, requested)
            limit, report = min(filter(None, limits), default=0), SourceReport(requested=requested)
            samplings[part] = Sampling(limit=limit, seed=self.seed, workers=self.workers, report=report)
        return samplings


_DEFAULT_SETTINGS = SourceSettings()


def prepare_scirepeval(
    out: Path,
    *,
    config: Path | None = None,
    user_papers: UserPapers | None = None,
    data: Path | None = None,
    settings: SourceSettings = _DEFAULT_SETTINGS,
) -> Preparation:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of a config's tasks, of user papers, or both.

    Sources of user papers have the published names; a source of the config with the same name wins.

    data: the folder of hub data sets and files of the config. All inputs are checked before anything is
    written; a second call writes the same bytes. Raises InputError, also where no source can be written.
    """
    if config is None and user_papers is None:
        raise InputError("no config file and no papers; give one of them (--papers)")
    data_root, facts = DataRoot(data), dict[str, Any]()
    sources: list[TrainingSource] = []
    skipped: dict[str, str] = {}
    if config is not None:
        sources += [build_published_source(task, data_root) for task in read_config(config, data)]
        facts["config"] = {"file": config.name, "sha256": sha256(config)}
    if user_papers is not None:
        corpus, read = read_corpus(user_papers, data_root, settings.seed)
        kinds, skipped = build_user_sources(corpus)
        names = {source.name for source in sources}
        skipped = {name: reason for name, reason in skipped.items() if name not in names}
        skipped |= {f"{source.name}, of your papers": IN_CONFIG for source in kinds if source.name in names}
        sources += [source for source in kinds if source.name not in names]
        facts |= read
    done = Preparation(not_made=skipped)
    _write_sources(done, ExampleFolder(out), sources, data_root, settings, facts)
    return done


def _write_sources(
    done: Preparation,
    folder: ExampleFolder,
    sources: Sequence[TrainingSource],
    data_root: DataRoot,
    settings: SourceSettings,
    facts: Mapping[str, Any],
) -> None:
    """Write the sources and `sources.json`. facts: further keys of it."""
    rows: list[list[str | int]] = []
    records: list[dict[str, Any]] = []
    read: dict[str, int] = {}
    for source in sources:
        samplings = settings.samplings(source)
        dropped = samplings["train"].report.dropped
        if source.write(folder, samplings):
            examples = (folder.counts.get(source.file(part), 0) for part in PARTS)
            rows.append([source.name, source.type, source.format, source.query, *examples])
            records.append(source.to_json(folder, samplings))
            if source.name in PUBLISHED and source.data != USER_PAPERS:
                read[source.name] = sum(sampling.report.records for sampling in samplings.values())
                records[-1]["records"] = {"read": read[source.name], "published": PUBLISHED[source.name]}
            done.dropped[source.name] = dropped
            done.warnings += find_shortages(source, samplings)
        else:
            counts = Counter({reason: dropped.count(reason) for reason in dropped.ids})
            reasons = (f"{reason} {count:,}" for reason, count in counts.most_common(3))
            done.not_made[source.name] = "; ".join(["no example remains", *reasons])
    for name in done.not_made:
        for part in PARTS:
            folder.remove(f"{part}/{name}.jsonl")  # of an earlier run, or a dev file alone
    if not records:
        reasons = (f"{name}: {reason}" for name, reason in done.not_made.items())
        raise InputError(f"no training source can be built. {'; '.join(reasons)}")
    table = CountTable(WORDS, COUNTS, rows).with_column("records read", read)
    done.files, done.tables = folder.counts, [table.with_column("Table 1", {name: PUBLISHED[name] for name in read})]
    max_examples = {"train": settings.max_examples, "dev": settings.max_dev_examples}
    record = {"seed": settings.seed, "max_examples": max_examples, **facts, "sources": records}
    record |= {"skipped": done.not_made, "data": data_root.provenance()}
    done.record = folder.write_manifest("sources.json", record)


def find_shortages(source: TrainingSource, samplings: Mapping[Part, Sampling]) -> list[str]:
    """Return a warning for each part that has fewer records than the config requests."""
    warnings = []
    for part, sampling in samplings.items():
        requested, records = source.max_examples.get(part, 0), sampling.report.records
        if requested and records < (count_lists(sampling.limit) if source.type == "ir" else sampling.limit):
            shortage = f"{source.name}, {part}: {records:,} records, fewer than {requested:,} examples need"
            warnings.append(f"{shortage}: all are used")
    return warnings
