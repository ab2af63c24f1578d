"""What the commands of `sciprism tag` print and write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from sciprism.cli.output import ProgressDisplay, plain_console, print_facts, print_json, print_table

if TYPE_CHECKING:
    from sciprism.cli.tag_inputs import PaperBlocks
    from sciprism.papers import Paper
    from sciprism.uses.tagging.suggestions import LabelErrors, PaperTags, TagChoice, TagReportCard
    from sciprism.uses.tagging.tag_files import TagReport
    from sciprism.uses.tagging.tagger import Tagger
    from sciprism.uses.tagging.training import FeedbackReport

INDENT = " " * 8
"""Before a reason in the terminal."""
MAX_NAMED = 5
"""Unknown tags that are named; all are counted."""


def print_suggestions(tagger: Tagger, read: PaperBlocks, choice: TagChoice, *, as_json: bool) -> None:
    """Print the tags of each paper, with probability and reason."""
    tagged = _suggest(tagger, read, choice)
    if as_json:
        found = [each.to_json() for _, each in tagged]
        print_json("sciprism.tag/1", {**_describe(tagger, choice), "papers": found})
        return
    from rich.text import Text

    console = plain_console()
    for number, (_, paper) in enumerate(tagged):
        console.print(Text(f"{chr(10) if number else ''}{paper.title or '(no title)'}  [{paper.id}]", "bold"))
        for tag in paper.tags:
            console.print(Text(f"  {tag.probability:.2f}  {tag.label}"))
            for line in wrap(tag.why, console.width - len(INDENT)):
                console.print(Text(INDENT + line, "dim"))
        if not paper.tags:
            console.print("  no tag above the threshold")


def write_suggestions(
    tagger: Tagger, read: PaperBlocks, choice: TagChoice, output: tuple[Path, str], *, as_json: bool
) -> None:
    """Write the tags of papers to a file of a format, and print how many there are."""
    from sciprism.uses.tagging.tag_files import write_tags

    path, format = output
    counts = list[int]()

    def count() -> Iterator[tuple[Paper, PaperTags]]:
        for paper, tags in _suggest(tagger, read, choice):
            counts.append(len(tags.tags))
            yield paper, tags

    write_tags(path, format, count())
    facts = {"output": str(path), "format": format, "papers": len(counts), "tags": sum(counts)}
    untagged = counts.count(0)
    if as_json:
        print_json("sciprism.tag/1", {**_describe(tagger, choice), **facts, "untagged": untagged})
        return
    none = f"; {untagged:,} papers have none above the threshold" if untagged else ""
    print(f"{path}: {sum(counts):,} tags of {len(counts):,} papers{none}")


def print_trained(output: Path, tagger: Tagger, report: TagReport, notes: Sequence[str], *, as_json: bool) -> None:
    """Print what a tagger was trained on, and which tags were not used."""
    if as_json:
        tags = {**asdict(report), "unknown": dict(report.unknown)}
        print_json("sciprism.tag-train/1", {"output": str(output), **tagger.facts, "tags": tags, "notes": list(notes)})
        return
    print_facts({name: f"{value:,}" for name, value in tagger.facts.items()} | {"tags": f"{report.tags:,}"})
    _print_unused(report)
    print(f"wrote {output}")


def print_feedback(output: Path, report: FeedbackReport, *, as_json: bool) -> None:
    """Print what was learned from feedback."""
    if as_json:
        print_json("sciprism.tag-feedback/1", {"output": str(output), **asdict(report)})
        return
    print(f"{output}: {report.accepted:,} accepted and {report.rejected:,} rejected tags of {report.papers:,} papers")
    lacking = "judged papers were not learned from, as the tagger lacks them; name their file with --papers"
    for what, names in (("tags not in the vocabulary", report.unknown), (lacking, report.missing)):
        if names:
            print(f"{len(names):,} {what}: {', '.join(names[:MAX_NAMED])}{', ...' if len(names) > MAX_NAMED else ''}")


def print_report_card(card: TagReportCard, read: TagReport, count: int) -> None:
    """Print scores, and the labels most often wrong and missed."""
    scores = card.scores
    names = {"P@1": scores.precision_1, "P@5": scores.precision_5, "nDCG@5": scores.ndcg_5, "F1@5": scores.f1_5}
    values = [f"{value:.3f}" for value in (*names.values(), scores.f1)]
    print_table([], ["papers", *names, "F1"], [[f"{scores.papers:,}", *values]])
    for title, found in (("suggested wrongly", card.most_wrong(count)), ("missed", card.most_missed(count))):
        if found:
            print(f"Most often {title}:")
            print_table(["label"], ["right", "wrong", "missed"], map(_error_cells, found))
    _print_unused(read)


def _error_cells(errors: LabelErrors) -> list[str]:
    return [errors.label, f"{errors.right:,}", f"{errors.wrong:,}", f"{errors.missed:,}"]


def _print_unused(report: TagReport) -> None:
    if report.unknown:
        named = ", ".join(name for name, _ in report.unknown.most_common(MAX_NAMED))
        print(f"{sum(report.unknown.values()):,} tags are not in the vocabulary: {named}")
    if report.untagged:
        print(f"{report.untagged:,} papers without a tag of the vocabulary were left out")
    if report.unused:
        print(f"{report.unused:,} papers of the table of tags are not among the papers")


def _suggest(tagger: Tagger, read: PaperBlocks, choice: TagChoice) -> Iterator[tuple[Paper, PaperTags]]:
    """Yield papers with their tags, with a display of progress."""
    with ProgressDisplay("tagging", "papers", read.total) as display:
        pairs = (
            pair
            for papers, vectors in read.blocks
            for pair in zip(papers, chain.from_iterable(tagger.suggest(papers, vectors, choice)), strict=True)
        )
        yield from display.count(pairs)


def _describe(tagger: Tagger, choice: TagChoice) -> dict[str, object]:
    threshold = tagger.weighing.threshold if choice.threshold is None else choice.threshold
    return {"labels": len(tagger.vocabulary), "trained": tagger.training is not None, "threshold": threshold}
