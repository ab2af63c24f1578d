"""`sciprism match`: submissions to reviewers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.options import DefaultCommandGroup, check_outputs
from sciprism.cli.output import ProgressDisplay, echo, print_facts, print_result, print_skipped, table_width
from sciprism.errors import InputError
from sciprism.uses.matching.settings import MatchFiles, MatchSettings

if TYPE_CHECKING:
    from sciprism.uses.matching.run import ExplainedPair, ExplainedSubmission, Matching


MAX_REASON = 240  # characters of a reason in the terminal; the files have all of it


match = typer.Typer(
    name="match",
    cls=DefaultCommandGroup,
    no_args_is_help=True,
    help="Assign reviewers to submissions: sciprism match SUBMISSIONS --reviewers PROFILES -o FILE (its options: "
    "sciprism match assign --help). Explain pairs of an assignment, write report pages.",
)
Assignment = Annotated[Path | None, "The assignment; else the only one in this folder.", "--assignment", "-a"]


@match.command()
def assign(
    submissions: Annotated[list[Path], "Files or folders of submissions."],
    reviewers: Annotated[
        Path, "A folder with a paper file per reviewer (ID.jsonl ...), or a table or JSON.", "--reviewers"
    ],
    output: Annotated[Path, "The assignment to write: .csv, or .json as for OpenReview.", "--output", "-o"],
    files: MatchFiles,
    settings: MatchSettings,
    scores_out: Annotated[Path | None, "Also write scores, rows paper,reviewer,score.", "--scores-out"] = None,
    model: Annotated[str, "A model: folder, packaged name or hub id."] = "",
    bare: Annotated[bool, "Write three columns without a header, as OpenReview does.", "--bare"] = False,
    skip_bad: Annotated[bool, "Skip and count records that cannot be used."] = False,
) -> None:
    """Assign reviewers to submissions by the reviewers' papers. `sciprism match SUBMISSIONS` is the same.

    Also writes an audit, conflicts and details, which `match explain` and `match report` read.

    Example: sciprism match assign submissions.jsonl --reviewers profiles/ -o assignments.csv --max-papers 4
    """
    from sciprism.uses.matching.reviewers import write_rows
    from sciprism.uses.matching.run import check_companions, list_companions
    from sciprism.uses.matching.run import match as assign_reviewers

    check_outputs(
        filter(None, (output, scores_out, *list_companions(output))), [*submissions, reviewers, *files.listed()]
    )
    check_companions(output)
    if output.suffix.lower() not in (".csv", ".json", ""):
        raise InputError(f"{output}: end its name in .csv, or in .json for OpenReview's form")
    with ProgressDisplay("reading") as progress:
        matching = assign_reviewers(
            submissions,
            reviewers,
            settings=settings,
            files=files,
            encoder=model or None,
            skip_bad=skip_bad,
            progress=progress,
        )
    matching.write(output, bare=bare)
    conflicts, details, audit = map(str, list_companions(output))
    written = {"output": str(output), "audit_file": audit, "conflicts_file": conflicts, "details_file": details}
    if scores_out is not None:
        write_rows(scores_out, matching.scored())
        written["scores_file"] = str(scores_out)
    print_skipped(matching.audit["skipped"], matching.audit["counts"]["records skipped"])
    if authors := matching.audit["conflicts not checked"].get("author"):
        echo(f"sciprism: author conflicts: not checked {authors}", error=True)
    print_result("sciprism.match/1", written | matching.to_json(), lambda: _print(matching, written))


def _print(matching: Matching, written: dict[str, str]) -> None:
    audit = matching.audit
    counts, result = audit["counts"], audit["result"]
    versions = counts.get("papers listed in several versions")
    ignored_bids, title_only = counts["bids above 0 on forbidden pairs"], counts["submissions without abstract"]
    share = result.get("share of the highest sum")
    facts = {
        "submissions": f"{counts['submissions']:,}",
        "reviewers": f"{counts['reviewers']:,}",
        "loads": _describe_loads(audit),
        "conflicts": ", ".join(f"{kind} {count:,}" for kind, count in audit["conflicts"].items()) or "none",
        "not checked": "\n".join(
            f"{kind}: {why}" for kind, why in audit["conflicts not checked"].items() if kind != "author"
        ),
        "bids on conflicts": f"{ignored_bids:,}, which are ignored; see the audit" if ignored_bids else "",
        "without abstract": f"{title_only:,} submissions, scored by title alone" if title_only else "",
        "without papers": _describe_some(audit["reviewers without papers"], counts["reviewers without papers"]),
        "listed again": f"{versions:,} versions of papers of one reviewer, counted once" if versions else "",
        "mean score": f"{result['mean score']:.4f}",
        "worst submission": _describe_worst(result),
        "of the highest sum": "" if share is None else f"{100 * share:.1f} %",
        "moved": _describe_moves(audit),
        "not used": "; ".join(_describe_dropped(audit["dropped"])),
        "written": ", ".join(written.values()),
    }
    print_facts({name: text for name, text in facts.items() if text})
    _print_worst(matching)


def _print_worst(matching: Matching) -> None:
    width = table_width()
    echo("\nworst served:")
    for paper, mean, pairs in matching.worst():
        head = f"{mean:.4f}  {paper}: "
        echo(head + shorten(pairs[0].title, max(width - len(head), 20), placeholder=" …"))
        for pair in pairs:
            reason = shorten(f"{pair.reviewer} {pair.score:.4f}: {pair.reason}", MAX_REASON, placeholder=" …")
            echo("\n".join(wrap(reason, width, initial_indent=" " * 8, subsequent_indent=" " * 10)))


def _describe_loads(audit: dict[str, Any]) -> str:
    """Return "0 to 6, deviation 1.9; --balance evens them", or what balancing changed."""
    result = audit["result"]
    loads, before = result["loads"], result.get("before balancing")
    more = ""
    if before:
        more = f"; before --balance {_describe_spread(before['loads'])}, mean score {before['mean score']:.4f}"
    elif loads["most"] - loads["least"] > 1:
        more = "; --balance evens them"
    return _describe_spread(loads) + more


def _describe_spread(loads: dict[str, float]) -> str:
    return (
        f"{loads['least']} to {loads['most']} (mean {loads['mean']:.1f}, standard deviation {loads['deviation']:.1f})"
    )


def _describe_worst(result: dict[str, Any]) -> str:
    bound = result.get("worst submission, upper bound")
    return f"{result['worst submission']:.4f}" + ("" if bound is None else f"; no assignment exceeds {bound:.4f}")


def _describe_some(ids: list[str], count: int) -> str:
    """Return "12 reviewers: r1, r2 ..."."""
    return f"{count:,} reviewers: {', '.join(ids[:5])}{' ...' if count > 5 else ''}" if count else ""


def _describe_dropped(dropped: dict[str, Any]) -> Iterator[str]:
    for reason, ids in dropped.items():
        if not reason.startswith("earlier pair"):
            more = " ..." if ids["count"] > len(ids["first"]) else ""
            yield f"{reason} {ids['count']:,}: {', '.join(ids['first'])}{more}"


def _describe_moves(audit: dict[str, Any]) -> str:
    if "moved" not in (result := audit["result"]):
        return ""
    gone = sum(dropped["count"] for reason, dropped in audit["dropped"].items() if reason.startswith("earlier pair"))
    lost = f", {gone:,} have lost their reviewer or submission" if gone else ""
    return f"{result['moved']:,} earlier pairs; {result['kept of the earlier assignment']:,} stay{lost}"


@match.command()
def explain(
    submission: Annotated[str, "The id of a submission."],
    reviewer: Annotated[str, typer.Argument(help="A reviewer, by id, e-mail address or name.")] = "",
    assignment: Assignment = None,
) -> None:
    """Explain a submission's reviewers and next candidates, or why a reviewer has it or not.

    Pairs are read from the assignment's file, which you may edit.

    Example: sciprism match explain S1 "Ann Lee" -a assignments.csv
    """
    from sciprism.uses.matching.run import FinishedAssignment

    finished = FinishedAssignment(_find_assignment(assignment))
    row = finished.find_submission(submission)
    if reviewer:
        pair = finished.explain_pair(row, finished.find_reviewer(reviewer))
        head, title = (
            f"{finished.submissions[row]}: {finished.title(row)}",
            "not assigned" if pair.absence else "assigned",
        )
        document = {"submission": finished.submissions[row], **pair.to_json()}
        print_result("sciprism.match-explain/1", document, lambda: _print_pairs(f"{head}\n{title}", [pair]))
    else:
        explained = finished.explain(row)
        print_result("sciprism.match-explain/1", explained.to_json(), lambda: _print_explained(explained))


def _print_explained(explained: ExplainedSubmission) -> None:
    echo(f"{explained.id}: {explained.title}\nmean {explained.mean:.4f}")
    _print_pairs("assigned", explained.assigned)
    _print_pairs("next candidates", explained.following)
    if explained.forbidden:
        echo("may not review it")
    for name, reason in explained.forbidden.items():
        echo("\n".join(wrap(f"{name}: {reason}", table_width(), initial_indent="    ", subsequent_indent=" " * 8)))


@match.command()
def report(
    output: Annotated[Path, "The folder of pages to write; new or empty.", "--output", "-o"],
    assignment: Assignment = None,
) -> None:
    """Write HTML pages of an assignment: an index, and one page per submission and per reviewer.

    Pages in `reviewers` hold only what that reviewer may see. All others are for chairs.

    Example: sciprism match report -a assignments.csv -o report
    """
    from sciprism.uses.matching.run import FinishedAssignment, write_pages

    finished = FinishedAssignment(_find_assignment(assignment))
    write_pages(finished, output)
    counts = {"submissions": len(finished.submissions), "reviewers": len(finished.reviewers)}
    facts = {name: f"{number:,} pages" for name, number in counts.items()} | {"open": str(output / "index.html")}
    print_result("sciprism.match-report/1", {"output": str(output), **counts}, lambda: print_facts(facts))


def _find_assignment(path: Path | None) -> Path:
    """Return the named assignment, or the only one in this folder. Raises InputError for none or several."""
    if path is not None:
        return path
    stems = [file.name.removesuffix(".details.json") for file in Path().glob("*.details.json")]
    found = [path for stem in stems for kind in (".csv", ".json", "") if (path := Path(stem + kind)).is_file()]
    if len(found) != 1:
        raise InputError(f"{len(found)} assignments in this folder; name one with --assignment")
    return found[0]


def _print_pairs(title: str, pairs: Sequence[ExplainedPair]) -> None:
    """Print pairs with rank and load, and below each why it is assigned, or why not."""
    echo(title)
    width = table_width()
    for pair in pairs:
        score = f"{pair.score:.4f}, rank {pair.rank} of {pair.considered}" if pair.score is not None else "no score"
        name = f" ({pair.name})" if pair.name not in ("", pair.reviewer) else ""
        echo(f"    {pair.reviewer}{name}  {score}; has {pair.load} of {pair.most} submissions")
        for text in filter(None, (pair.absence, pair.reason)):
            echo("\n".join(wrap(text, width, initial_indent=" " * 8, subsequent_indent=" " * 8)))
