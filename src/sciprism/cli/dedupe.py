"""`sciprism dedupe`: merge the records of one paper that several databases or files have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sciprism.cli.options import PaperFiles, TableReading, check_outputs
from sciprism.cli.output import ProgressDisplay, echo, join_counts, print_result, print_skip_counts, print_table
from sciprism.drop_report import CONTAINERS, count_noun
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.uses.deduplication import Deduplication


def dedupe(
    files: PaperFiles,
    output: Annotated[Path, "The file to write: .bib, .ris, .csv or .jsonl.", "-o", "--output"],
    reading: TableReading,
    merge_preprints: Annotated[bool, "Merge preprints with their articles; else they are linked."] = False,
    review: Annotated[Path | None, "A .csv of uncertain pairs; its decisions are applied."] = None,
) -> None:
    """Merge duplicate records, and count what was removed.

    The fullest record stays, the others fill its gaps, and a note names them. Uncertain pairs are not merged: --review
    writes them to a table. Fill its column `decision` with "duplicate" or "different" and run the same command again.

    Example: sciprism dedupe pubmed.nbib scopus.csv -o merged.ris --review pairs.csv
    """
    from sciprism.papers import ReadReport
    from sciprism.uses.deduplication import check_output, write_papers
    from sciprism.uses.deduplication import dedupe as find

    check_output(output)
    check_outputs(filter(None, [output, review]), files)
    if review and review.resolve() == output.resolve():
        raise InputError(f"{output} is the output and the review file; name another one for one of them")
    report = ReadReport()
    with ProgressDisplay("reading", "records") as display:
        records = list(display.count(reading.read_files(files, report)))
        if not records:
            raise InputError(f"{', '.join(files)}: no records; nothing was written")
        result = find(records, review=review, merge_preprints=merge_preprints, progress=display)
    write_papers(result.papers(), output)
    print_skip_counts(report.files, error=True)
    names = {"output": str(output), "review": review and str(review), "skipped": report.skipped_count}
    document = {"inputs": files} | names | result.to_json()
    print_result("sciprism.dedupe/1", document, lambda: _print(result, output, review))


def _print(result: Deduplication, output: Path, review: Path | None) -> None:
    sources = result.count_sources()
    sources += [{"file": "all", "records": len(result.records), "removed": result.removed}] * (len(sources) > 1)
    rows = [(row["file"], f"{row['records']:,}", f"{row['removed']:,}") for row in sources]
    print_table(["source"], ["records", "duplicates removed"], rows)
    counts = {"groups of duplicates merged": len(result.groups), "pairs decided before": result.decided}
    counts |= {"pairs of preprint and article": len(result.versions)}
    echo(join_counts(counts) or "no duplicates")
    if result.containers:
        echo(join_counts({CONTAINERS: len(result.containers)}))
    if result.columns:
        named = "; ".join(f"{result.records[group[0]].title!r:.60}, {len(group):,}" for group in result.columns)
        echo(f"columns of a journal, whose records are different papers: {len(result.columns):,} ({named:.200})")
    if result.uncertain:
        where = f"decide on them in {review}" if review else "--review pairs.csv writes them"
        echo(f"uncertain pairs, which were not merged: {len(result.uncertain):,}; {where}")
    echo(f"wrote {count_noun(len(result.records) - result.removed, 'paper')} to {output}")
