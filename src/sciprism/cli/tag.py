"""`sciprism tag`: suggest labels of a vocabulary for papers; learn from tagged ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.options import DefaultCommandGroup, Reading, TableReading, check_outputs, read_lines
from sciprism.cli.output import (
    AS_JSON,
    ProgressDisplay,
    echo,
    plain_console,
    print_facts,
    print_json,
    print_result,
    print_skip_counts,
    print_skipped,
    print_table,
)
from sciprism.drop_report import count_noun
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.arrays import Floats
    from sciprism.drop_report import DropReport
    from sciprism.papers import Paper
    from sciprism.store import StoredCollection
    from sciprism.uses.tagging.evidence import TaggedPapers
    from sciprism.uses.tagging.suggestions import Judgement, PaperTags, TagChoice, TagReport, TagReportCard
    from sciprism.uses.tagging.tagger import FeedbackReport, Tagger, TagVectors
    from sciprism.uses.tagging.vocabulary import Vocabulary

MAX_NOTES = 5  # notes on a vocabulary that are printed; the others are counted


@dataclass(frozen=True, kw_only=True)
class VocabularyFiles:
    """Where a vocabulary is."""

    vocabulary: Annotated[tuple[Path, ...], "SKOS (Turtle, RDF/XML), MeSH XML, CSV, TSV or JSONL; repeatable."] = ()
    language: Annotated[str, "Language of the labels' names, such as de; else English."] = ""

    def read(self) -> tuple[Vocabulary, list[str]]:
        """Read the vocabulary and say on standard error what was left out of it; return the notes too."""
        from sciprism.papers.input_file import ReadOptions
        from sciprism.papers.read import ReadReport, read_labels
        from sciprism.uses.tagging.vocabulary import Vocabulary

        report = ReadReport()
        options = ReadOptions(language=self.language)
        labels = list(read_labels(self.vocabulary, options=options, skip_bad=True, report=report))
        vocabulary = Vocabulary(labels)
        print_skipped(report.skipped, report.skipped_count)
        notes = [f"{file.path}: {file.note}" for file in report.files if file.note] + vocabulary.notes
        for note in notes[:MAX_NOTES]:
            echo(note, error=True)
        if more := len(notes[MAX_NOTES:]):
            echo(f"and {more:,} more notes on the vocabulary", error=True)
        return vocabulary, notes


@dataclass(frozen=True, kw_only=True)
class TaggerChoice(VocabularyFiles):
    """What suggests tags: a trained tagger, or a vocabulary."""

    tagger: Annotated[Path | None, "A trained tagger, which has its vocabulary."] = None

    def check(self, tagged: str = "") -> None:
        """Raise InputError unless one of the two is named. tagged: papers whose votes a trained tagger has already."""
        if (self.tagger is None) == (not self.vocabulary):
            raise InputError("name one of --vocabulary FILE and --tagger FOLDER")
        if tagged and self.tagger is not None:
            raise InputError("--tagged goes with --vocabulary; a tagger knows the papers it was trained on")

    def open(
        self,
        vectors: TagVectors,
        read_tagged: Callable[[Vocabulary, TagVectors], tuple[TaggedPapers, TagReport]] | None = None,
    ) -> tuple[Tagger, TagReport | None]:
        """Read the trained tagger, or build one from the vocabulary, with similar tagged papers if there are any.

        Return the report on these too.
        """
        from sciprism.uses.tagging.tagger import build_zero_shot, load_tagger

        if self.tagger is not None:
            return load_tagger(self.tagger), None
        labels, _ = self.read()
        data, report = read_tagged(labels, vectors) if read_tagged is not None else (None, None)
        with ProgressDisplay("encoding", "labels", len(labels)) as display:
            label_vectors = vectors.encode(labels.labels, "label", display)
        return build_zero_shot(labels, label_vectors, tagged=data), report


@dataclass(frozen=True, kw_only=True)
class LabelChoice:
    """Which labels are suggested; an excluded name that ends in .txt is a file of names."""

    exclude: Annotated[tuple[str, ...], "A label never to suggest, or a .txt with one a line; repeatable."] = ()
    branch: Annotated[tuple[str, ...], "Only this label and those below it; repeatable."] = ()
    parents: Annotated[str, "Labels above suggested ones: keep, drop or add."] = "keep"
    one: Annotated[bool, "The one best label of each paper, of a list of classes."] = False

    def build(self, limit: int | None, threshold: float | None) -> TagChoice:
        """Return which candidates are suggested."""
        from sciprism.uses.tagging.suggestions import Parents, TagChoice

        given = [read_lines(name) if name.endswith(".txt") else [name] for name in self.exclude]
        return TagChoice(
            limit=limit,
            threshold=threshold,
            excluded=[name for names in given for name in names],
            branch=self.branch,
            parents=cast("Parents", self.parents),
            one=self.one,
        )


def open_vectors(model: str, tagger: Path | None, inputs: Sequence[str]) -> TagVectors:
    """Load the model of the vectors: as named, that of the tagger or of an input collection, or the default."""
    from sciprism.uses.tagging.tagger import load_vectors

    return load_vectors(model, tagger, [stored for name in inputs if (stored := _open_collection(name)) is not None])


def _open_collection(name: str) -> StoredCollection | None:
    """Open a collection of `sciprism embed`; None for files of papers."""
    from sciprism.store import StoredCollection
    from sciprism.store.collection import is_collection

    return StoredCollection.open(name) if is_collection(name) else None


def read_papers_with_vectors(name: str, reading: Reading, vectors: TagVectors) -> tuple[list[Paper], Floats]:
    """Return papers and their vectors: stored ones of a collection, else encoded ones."""
    from sciprism.papers import ReadReport

    if (stored := _open_collection(name)) is not None:
        return vectors.read_collection(stored)
    report = ReadReport()
    papers = list(reading.read_files([name], report))
    print_skip_counts(report.files, error=True)
    if not papers:
        raise InputError(f"{name} has no paper that can be tagged")
    return papers, encode_papers(papers, vectors)


@dataclass(frozen=True, slots=True)
class PaperBlocks:
    """Papers with their vectors, block by block, and how many there are in all."""

    total: int
    blocks: Iterable[tuple[list[Paper], Floats]]


def stream_papers(name: str, reading: Reading, vectors: TagVectors) -> PaperBlocks:
    """Return papers and vectors in blocks: stored ones of a collection, else encoded where they are needed.

    A file is read once before, so that a bad record is found before the work; standard input is held in memory.
    """
    from sciprism.papers import ReadReport

    if (stored := _open_collection(name)) is not None:
        return PaperBlocks(len(stored), vectors.iterate_collection(stored))
    report = ReadReport()
    papers = reading.read_files([name], report)
    again = name != "-" and not Path(name).is_fifo()
    held = [] if again else list(papers)
    with ProgressDisplay("reading", "papers") as display:
        total = sum(1 for _ in display.count(papers)) if again else len(held)
    print_skip_counts(report.files, error=True)
    if not total:
        raise InputError(f"{name} has no paper that can be tagged")
    opened = reading.read_files([name], ReadReport()) if again else iter(held)
    return PaperBlocks(total, _encode_blocks(opened, vectors))


def _encode_blocks(papers: Iterator[Paper], vectors: TagVectors) -> Iterator[tuple[list[Paper], Floats]]:
    from sciprism.encoders.languages import warn_of_other_languages
    from sciprism.papers.languages import count_other_languages
    from sciprism.uses.tagging.tagger import PAPER_BLOCK

    others, total = Counter[str](), 0
    while block := list(islice(papers, PAPER_BLOCK)):
        others += count_other_languages(f"{paper.title} {paper.abstract}" for paper in block)
        total += len(block)
        yield block, vectors.encode(block)
    if others:
        warn_of_other_languages(vectors.encoder, others, total, "papers")


def encode_papers(papers: Sequence[Paper], vectors: TagVectors) -> Floats:
    """Encode papers with a display of progress."""
    with ProgressDisplay("encoding", "papers", len(papers)) as display:
        return vectors.encode(papers, progress=display)


@dataclass(frozen=True, kw_only=True)
class TagPlaces:
    """Where the tags of papers are: in a table, or in a field of the papers."""

    tags: Annotated[Path | None, "A table with columns paper, uri: the papers' tags."] = None
    tags_in: Annotated[str, "Where the papers have their tags: keywords or fields.", "--tags-in"] = "keywords"

    def __post_init__(self) -> None:
        if self.tags_in not in ("keywords", "fields"):
            raise InputError(f"--tags-in {self.tags_in!r} is not keywords or fields")

    def read(
        self, name: str, reading: Reading, vocabulary: Vocabulary, vectors: TagVectors
    ) -> tuple[TaggedPapers, TagReport]:
        """Read the papers of a file, folder or collection; those without a known tag are left out and counted."""
        from sciprism.drop_report import DropReport
        from sciprism.uses.tagging.evidence import TaggedPapers, build_tags
        from sciprism.uses.tagging.suggestions import read_tag_table, resolve_tags

        dropped, table = DropReport(), dict[str, list[str]]()
        where = f"--tags {self.tags}" if self.tags else f"the field {self.tags_in} (--tags-in)"
        papers, rows = read_papers_with_vectors(name, reading, vectors)
        if self.tags is not None:
            table = read_tag_table(self.tags, dropped)
            named = [table.pop(paper.id, []) for paper in papers]
        else:
            named = [list(getattr(paper, self.tags_in)) for paper in papers]
        rows_of_tags, report = resolve_tags(named, vocabulary, dropped)
        report.unused = len(table)
        usable = [number for number, labels in enumerate(rows_of_tags) if labels]
        if not usable:
            examples = ", ".join(repr(tag) for tag, _ in report.unknown.most_common(3))
            lacking = f"; not in the vocabulary: {examples}" if examples else ""
            several = ", ".join(map(repr, [*report.homonyms][:3]))
            lacking += f"; names of several labels: {several}" if several else ""
            raise InputError(
                f"{name}: no paper has a tag of the vocabulary in {where}{lacking or '; there are no tags'}"
            )
        matrix = build_tags((rows_of_tags[number] for number in usable), len(vocabulary))
        return TaggedPapers([papers[number] for number in usable], rows[usable], matrix), report


def read_judged_papers(
    tagger: Tagger, judgements: Sequence[Judgement], name: str, reading: Reading, open_vectors: Callable[[], TagVectors]
) -> tuple[list[Paper], Floats]:
    """Return the judged papers whose text the tagger lacks, and their vectors; a model is loaded for these alone."""
    import numpy as np

    from sciprism.papers import ReadReport
    from sciprism.uses.tagging.tagger import list_unknown_papers

    needed = list_unknown_papers(tagger, judgements)
    if not needed or not name:
        return [], np.empty((0, tagger.label_vectors.shape[1]), np.float32)
    if (stored := _open_collection(name)) is not None:
        papers, rows = open_vectors().read_collection(stored)
        chosen = [number for number, paper in enumerate(papers) if paper.id in needed]
        return [papers[number] for number in chosen], rows[chosen]
    report = ReadReport()
    papers = [paper for paper in reading.read_files([name], report) if paper.id in needed]
    print_skip_counts(report.files, error=True)
    return papers, encode_papers(papers, open_vectors())


INDENT = " " * 8  # before a reason in the terminal
MAX_NAMED = 5  # unknown tags that are named; all are counted


tag = typer.Typer(
    name="tag",
    cls=DefaultCommandGroup,
    no_args_is_help=True,
    help="Suggest labels of a vocabulary: sciprism tag PAPERS --vocabulary FILE. Train on tagged papers, learn from "
    "reviewed suggestions, report errors.",
)

ModelName = Annotated[str, "Model of the vectors: folder, packaged name or hub id.", "--model"]


@tag.command()
def suggest(
    papers: Annotated[str, "A file or folder of papers, or a collection of `sciprism embed`."],
    source: TaggerChoice,
    labels: LabelChoice,
    reading: TableReading,
    output: Annotated[Path | None, "The file: .csv, .jsonl, .tsv or .json (both Annif's).", "-o", "--output"] = None,
    tagged: Annotated[str, "Papers with tags, whose similar papers vote, without training."] = "",
    tags_in: Annotated[str, "Where they have their tags: keywords or fields.", "--tags-in"] = "keywords",
    limit: Annotated[int | None, "Tags for each paper, at most; else all that reach the threshold."] = None,
    threshold: Annotated[float | None, "The lowest probability; else the one of best F1."] = None,
    model: ModelName = "",
) -> None:
    """Suggest tags for papers. `sciprism tag PAPERS` is the same: the word suggest may be left out.

    Names of labels are looked for, meanings compared. Each tag has a probability and a reason.

    Example: sciprism tag suggest refs.bib --vocabulary uat.ttl -o tags.csv
    """
    source.check(tagged)
    inputs = [papers, tagged, source.tagger or "", *source.vocabulary]
    file_format = _check_output(output, inputs) if output is not None else ""
    choice = labels.build(limit, threshold)
    vectors = open_vectors(model, source.tagger, [papers])
    similar = partial(TagPlaces(tags_in=tags_in).read, tagged, Reading(skip_bad=reading.skip_bad))
    opened, unused = source.open(vectors, similar if tagged else None)
    if unused is not None:
        opened.facts["tags"] = unused.to_json()
        _print_unused(unused, error=True)
    choice.allowed(opened.vocabulary)  # before the work: unknown names
    read = stream_papers(papers, reading, vectors)
    if output is None:
        print_suggestions(opened, read, choice)
    else:
        write_suggestions(opened, read, choice, output, file_format)


@tag.command("train")
def train(
    papers: Annotated[str, "Tagged papers: a file, such as Annif's corpus, or a collection."],
    vocabulary: VocabularyFiles,
    tags: TagPlaces,
    reading: TableReading,
    output: Annotated[Path, "The tagger to write, a folder.", "-o", "--output"] = Path("tagger"),
    model: ModelName = "",
) -> None:
    """Train a tagger on tagged papers; labels that no paper has are still suggested, by their names.

    Example: sciprism tag train tagged.jsonl --vocabulary mesh.xml -o tagger
    """
    from sciprism.uses.tagging.tagger import FORMATS, TagVectors, check_output, save_tagger
    from sciprism.uses.tagging.tagger import train as fit

    check_output(output)
    if not vocabulary.vocabulary:
        raise InputError("name the vocabulary with --vocabulary FILE")
    labels, notes = vocabulary.read()
    vectors = TagVectors(open_vectors(model, None, [papers]).encoder, ["proximity", *FORMATS])  # measured for training
    data, report = tags.read(papers, reading, labels, vectors)
    with ProgressDisplay("training", "papers", len(data.papers)) as display:
        label_vectors = vectors.encode(labels.labels, "label")
        learned = fit(labels, label_vectors, data, progress=display)
    learned.encoder = vectors.facts
    save_tagger(learned, output)
    facts = {"output": str(output), **learned.facts, "tags": report.to_json(), "notes": list(notes)}
    print_result("sciprism.tag-train/1", facts, lambda: _print_trained(output, learned, report))


@tag.command("feedback")
def feedback(
    tagger: Annotated[Path, "A folder made by `sciprism tag train`."],
    reviewed: Annotated[Path, "Suggestions as CSV with yes or no in the column verdict."],
    reading: Reading,
    papers: Annotated[str, "The judged papers, where the tagger was not trained on them."] = "",
    output: Annotated[Path | None, "The new tagger; else it replaces the old.", "-o", "--output"] = None,
) -> None:
    """Train a tagger again with accepted and rejected suggestions.

    Example: sciprism tag feedback tagger tags.csv --papers refs.bib
    """
    from sciprism.drop_report import DropReport
    from sciprism.uses.tagging.suggestions import read_judgements
    from sciprism.uses.tagging.tagger import check_output, learn_from_feedback, load_tagger, save_tagger

    target = output or tagger
    check_output(target)
    dropped = DropReport()
    judgements = read_judgements(reviewed, dropped)
    before = load_tagger(tagger)
    load = partial(open_vectors, "", tagger, [])
    texts, vectors = read_judged_papers(before, judgements, papers, reading, load)
    with ProgressDisplay("training", "papers") as display:
        learned, report = learn_from_feedback(before, judgements, texts, vectors, progress=display)
    save_tagger(learned, target)
    facts = {"output": str(target), **asdict(report), "dropped": dropped.to_json()}
    print_result("sciprism.tag-feedback/1", facts, lambda: _print_feedback(target, report, dropped))


@tag.command("report")
def report(
    papers: Annotated[str, "Tagged papers that the tagger was not trained on."],
    tagger: Annotated[Path, "A folder made by `sciprism tag train`.", "--tagger"],
    tags: TagPlaces,
    reading: Reading,
    count: Annotated[int, "Labels to show of each kind.", "-k"] = 10,
) -> None:
    """Compare suggestions with the tags of papers: scores, and the labels most often wrong or missed.

    Example: sciprism tag report test.jsonl --tagger tagger
    """
    from sciprism.uses.tagging.suggestions import TagChoice, compare_tags
    from sciprism.uses.tagging.tagger import load_tagger

    vectors, opened = open_vectors("", tagger, [papers]), load_tagger(tagger)
    data, read = tags.read(papers, reading, opened.vocabulary, vectors)
    with ProgressDisplay("tagging", "papers", len(data.papers)) as display:
        suggested = list(display.count(opened.suggest(data.papers, data.vectors, TagChoice())))
    gold = [data.tags[[number]].indices.tolist() for number in range(len(data.papers))]
    card = compare_tags(opened.vocabulary, suggested, gold)
    document = {**card.to_json(count), "tags": read.to_json()}
    print_result("sciprism.tag-report/1", document, lambda: _print_card(card, read, count, opened.vocabulary))


def _check_output(output: Path, inputs: Sequence[str | Path]) -> str:
    """Return the format of the file to write; InputError where writing it would lose an input or verdicts."""
    from sciprism.uses.tagging.suggestions import check_verdicts, choose_format

    chosen = choose_format(output)
    check_outputs([output], inputs)
    check_verdicts(output, chosen)
    return chosen


def print_suggestions(tagger: Tagger, read: PaperBlocks, choice: TagChoice) -> None:
    """Print the tags of each paper, with probability and reason."""
    tagged = _suggest(tagger, read, choice)
    if AS_JSON.get():
        papers = [tags.to_json() for _, tags in tagged]
        print_json("sciprism.tag/1", {**_describe(tagger, choice), "papers": papers})
        return
    from rich.text import Text

    console = plain_console()
    for number, (_, paper) in enumerate(tagged):
        console.print(Text(f"{chr(10) if number else ''}{paper.title or '(no title)'}  [{paper.id}]", "bold"))
        for tag in paper.tags:
            label = tagger.vocabulary.describe(tagger.vocabulary.rows[tag.uri])
            console.print(Text(f"  {tag.probability:.2f}  {label}"))
            for line in wrap(tag.why, console.width - len(INDENT)):
                console.print(Text(INDENT + line, "dim"))
        if not paper.tags:
            console.print("  no tag above the threshold")


def write_suggestions(tagger: Tagger, read: PaperBlocks, choice: TagChoice, path: Path, format: str) -> None:
    """Write the tags of papers to a file of a format, and print how many there are."""
    from sciprism.uses.tagging.suggestions import write_tags

    counts = write_tags(path, format, _suggest(tagger, read, choice))
    papers, tags = len(counts), sum(counts)
    facts = {"output": str(path), "format": format, "papers": papers, "tags": tags, "untagged": counts.count(0)}
    text = f"{path}: {count_noun(tags, 'tag')} of {count_noun(papers, 'paper')}"
    print_result("sciprism.tag/1", _describe(tagger, choice) | facts, text)


def _print_trained(output: Path, tagger: Tagger, report: TagReport) -> None:
    """Print what a tagger was trained on, and which tags were not used."""
    print_facts({name: f"{value:,}" for name, value in tagger.facts.items()} | {"tags": f"{report.tags:,}"})
    _print_unused(report)
    echo(f"wrote {output}")


def _print_feedback(output: Path, report: FeedbackReport, dropped: DropReport) -> None:
    """Print what was learned from feedback. dropped: rows of the table that were not used."""
    echo(f"{output}: tags accepted {report.accepted:,}, rejected {report.rejected:,}; papers {report.papers:,}")
    lacking = "judged papers were not learned from, as the tagger lacks them; name their file with --papers"
    for what, names in (("tags not in the vocabulary", report.unknown), (lacking, report.missing)):
        if names:
            echo(f"{len(names):,} {what}: {', '.join(names[:MAX_NAMED])}{', ...' if len(names) > MAX_NAMED else ''}")
    _print_homonyms(len(report.ambiguous), report.ambiguous)
    if dropped.ids:
        echo(f"rows that were not used: {dropped}")


def _print_card(card: TagReportCard, read: TagReport, count: int, vocabulary: Vocabulary) -> None:
    """Print scores, and the labels most often wrong and missed."""
    papers, *scores = card.scores.values()
    heads = ["papers", "P@1", "P@5", "nDCG@5", "F1@5", "F1"]
    print_table([], heads, [[f"{papers:,}", *(f"{value:.3f}" for value in scores)]])
    for title, errors in (
        ("suggested wrongly", card.list_worst("wrong", count)),
        ("missed", card.list_worst("missed", count)),
    ):
        if errors:
            echo(f"Most often {title}:")
            named = [(vocabulary.describe(vocabulary.rows[label.uri]), label) for label in errors]
            rows = ([name, f"{label.right:,}", f"{label.wrong:,}", f"{label.missed:,}"] for name, label in named)
            print_table(["label"], ["right", "wrong", "missed"], rows)
    _print_unused(read)


def _print_unused(report: TagReport, error: bool = False) -> None:
    """Print which tags, papers and lines were not used. error: to standard error."""
    if count := report.unknown.total():
        named = ", ".join(name for name, _ in report.unknown.most_common(MAX_NAMED))
        echo(f"{count_noun(count, 'tag')} not in the vocabulary: {named}", error=error)
    _print_homonyms(report.ambiguous.total(), report.homonyms, error)
    if count := report.untagged:
        echo(f"left out, without a tag of the vocabulary: {count_noun(count, 'paper')}", error=error)
    if count := report.unused:
        echo(f"in the table of tags and not among the papers: {count_noun(count, 'paper')}", error=error)
    if report.dropped.ids:
        echo(f"lines that were not used: {report.dropped}", error=error)


def _print_homonyms(count: int, homonyms: Mapping[str, Sequence[str]], error: bool = False) -> None:
    """Print how many tags are a name of several labels. homonyms: tag -> ids of the labels."""
    if count:
        named = "; ".join(f"{name} ({', '.join(ids)})" for name, ids in [*homonyms.items()][:MAX_NAMED])
        echo(f"{count_noun(count, 'tag')} not used, as names of several labels; give ids: {named}", error=error)


def _suggest(tagger: Tagger, read: PaperBlocks, choice: TagChoice) -> Iterator[tuple[Paper, PaperTags]]:
    with ProgressDisplay("tagging", "papers", read.total) as display:
        pairs = (
            pair
            for papers, vectors in read.blocks
            for pair in zip(papers, tagger.suggest(papers, vectors, choice), strict=True)
        )
        untagged = 0
        for paper, tags in display.count(pairs):
            untagged += not tags.tags
            yield paper, tags
    if untagged:
        echo(f"without a tag: {untagged:,} of {read.total:,}; try --one, or --limit 3 --threshold 0", error=True)


def _describe(tagger: Tagger, choice: TagChoice) -> dict[str, object]:
    threshold = choice.find_threshold(tagger.weighing.threshold)
    facts = {"labels": len(tagger.vocabulary), "trained": tagger.training is not None, "threshold": threshold}
    return facts | ({"tags": tagger.facts["tags"]} if "tags" in tagger.facts else {})
