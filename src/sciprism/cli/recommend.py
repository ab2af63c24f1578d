"""`sciprism recommend`: new papers for someone, by the papers that they have."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

from sciprism.cli.options import Reading, check_outputs
from sciprism.cli.output import (
    ProgressDisplay,
    echo,
    join_counts,
    print_hits,
    print_result,
    print_skipped,
    print_table,
    table_width,
)
from sciprism.drop_report import CONTAINERS, count_noun
from sciprism.errors import InterruptedRunError
from sciprism.uses.recommending.settings import RecommendSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sciprism.papers.records import Paper
    from sciprism.uses.recommending.run import LeftOut, Recommendation, Recommendations

SHOWN = 10  # papers that the terminal shows where a file holds all of them
MAX_NEAR = 48  # characters of an own paper's title in the terminal


def recommend(
    library: Annotated[list[str], "Papers that you have: a file or collection; repeatable.", "--library"],
    new: Annotated[list[str], "Papers to rank: a file or collection; repeatable.", "--new"],
    settings: RecommendSettings,
    reading: Reading,
    output: Annotated[
        Path | None, "A .csv, .jsonl, .bib or .ris file; without suffix, the first three.", "-o", "--output"
    ] = None,
    unwanted: Annotated[
        list[str] | None, "Papers whose like should not be shown; repeatable.", "--not", "--unwanted"
    ] = None,
    seen: Annotated[Path | None, "A .csv of papers shown before, to leave out; the list is appended.", "--seen"] = None,
    model: Annotated[str, "A model for files: folder, packaged name or hub id.", "--model"] = "",
) -> None:
    """Rank new papers by the papers that you have, with the nearest of yours as the reason.

    Papers that you have are left out, counted and listed. The same command resumes.

    Example: sciprism recommend --library my.bib --new today.jsonl -o ranked.csv
    """
    from sciprism.uses.recommending import run as results

    inputs = {"library": library, "new": new, "unwanted": unwanted or []}
    if output is not None:  # a wrong name is an error now, not after the work
        check_outputs([*results.list_outputs(output), results.name_left_out(output)], chain(*inputs.values()))
        results.check_companions(output)
    if seen is not None:
        check_outputs([seen], chain(*inputs.values()))
    shown = results.read_seen(seen) if seen is not None else []
    recommended = _rank(inputs, shown, settings, model, reading)
    files = results.write_recommendations(recommended, output) if output is not None else []
    if seen is not None:
        results.add_seen(recommended, seen)
    print_skipped(recommended.skipped, recommended.counts.skipped)
    document = inputs | {"output": list(map(str, files))} | recommended.to_json()
    print_result("sciprism.recommend/1", document, lambda: _print(recommended, files))


def _rank(
    inputs: dict[str, list[str]], seen: list[Paper], settings: RecommendSettings, model: str, reading: Reading
) -> Recommendations:
    """Return the recommendations with a display of progress; say of an interruption that vectors are cached."""
    from sciprism.uses.recommending.run import recommend as rank

    try:
        with ProgressDisplay("reading", "papers") as display:
            return rank(
                **inputs, seen=seen, settings=settings, model=model, skip_bad=reading.skip_bad, progress=display
            )
    except KeyboardInterrupt:
        message = "nothing was written; vectors computed so far are cached, and the same command continues"
        raise InterruptedRunError(message) from None


def _print(recommended: Recommendations, files: list[Path]) -> None:
    counts, names = recommended.counts, [hit.interest for hit in recommended.hits]
    rows = [[one.name, f"{one.papers:,}", f"{names.count(one.name):,}"] for one in recommended.interests]
    print_table(["interest of the library"], ["papers", "recommended"], rows)
    left_out = {f"that the library has (by {reason})": count for reason, count in counts.owned.items()}
    left_out |= {"unwanted": counts.unwanted, "shown before": counts.seen, "repeated": counts.repeated}
    left_out["skipped"] = counts.skipped
    again = f" ({counts.library_versions:,} of them versions of others, which count once)"
    library = f"{count_noun(counts.library, 'paper')} of the library{again * bool(counts.library_versions)}"
    echo(f"{library}, {count_noun(counts.new, 'new paper')}")
    if any(left_out.values()):
        echo(f"left out: {join_counts(left_out)}")
        _print_left_out(recommended.left_out, files)
    missing = counts.library_without_abstract + counts.new_without_abstract
    for what, count in ((CONTAINERS, counts.containers), ("compared by the title alone, without abstract", missing)):
        if count:
            echo(f"{what}: {count:,}")
    if files:
        echo(f"wrote {count_noun(len(recommended.hits), 'paper')} to {', '.join(map(str, files))}")
    if recommended.hits:
        print_hits((hit, [_describe_near(hit)]) for hit in recommended.hits[: SHOWN if files else None])
    else:
        echo("no paper to recommend", error=True)


def _print_left_out(left_out: Sequence[LeftOut], files: list[Path]) -> None:
    """Name the papers that are left out with the reason, or the first of many."""
    from sciprism.uses.recommending.run import REPEATED, SEEN, UNWANTED, name_left_out

    places = {UNWANTED: "is in --not as [{}]", SEEN: "was shown before as [{}]", REPEATED: "repeats the new paper [{}]"}
    where = f"in {name_left_out(files[0])}" if files else "with --json, or in a file with -o"
    for paper in left_out[:SHOWN]:
        place = places.get(paper.reason, f"is in the library as [{{}}] (by {paper.reason})").format(paper.copy_of)
        title = shorten(paper.title or "(no title)", table_width() - 2, placeholder=" …")
        echo(f"  {title}\n    [{paper.id}] {place}")
    if len(left_out) > SHOWN:
        echo(f"  and {len(left_out) - SHOWN:,} more; all {where}")
    elif files and left_out:
        echo(f"  all {where}")


def _describe_near(hit: Recommendation) -> tuple[str, str]:
    """Return the nearest of the own papers, with its style."""
    near = hit.because[0]
    title = shorten(near.title or near.id, MAX_NEAR, placeholder=" …")
    return f"near yours: {title} ({near.similarity:.2f})", "not bold italic"
