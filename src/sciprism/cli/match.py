"""`sciprism match`: submissions to reviewers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.options import AsJson, NamedModel, SkipBad, check_outputs, split_names, with_settings
from sciprism.cli.output import ProgressDisplay, print_facts, print_json, print_skipped, table_width
from sciprism.errors import InputError
from sciprism.uses.matching.settings import MatchFiles, MatchSettings

if TYPE_CHECKING:
    from sciprism.uses.matching import Matching

ScoresOut = Annotated[
    Path | None, typer.Option("--scores-out", help="Also write the scores, rows paper,reviewer,score.")
]
Conflicts = Annotated[
    str, typer.Option(help="Conflicts to find: author, domain, institution, coauthor, own-paper; all; none.")
]
Bare = Annotated[bool, typer.Option("--bare", help="Write three columns without a header, as OpenReview's.")]
MAX_REASON = 240
"""Characters of a reason in the terminal; the files have all of it."""


@with_settings
def match(
    submissions: Annotated[list[Path], typer.Argument(help="Files or folders of submissions.")],
    reviewers: Annotated[
        Path,
        typer.Option(help="A folder with one paper file per reviewer (ID.jsonl ...), or a table or JSON of reviewers."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The assignment to write: .csv, or .json as OpenReview's.")
    ],
    files: MatchFiles,
    settings: MatchSettings,
    conflicts: Conflicts = "all",
    scores_out: ScoresOut = None,
    model: NamedModel = "",
    bare: Bare = False,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Assign reviewers to submissions by the reviewers' papers; an audit file is written next to the output.

    Example: sciprism match submissions.jsonl --reviewers profiles/ -o assignments.csv --max-papers 4
    """
    from sciprism.uses.matching import match as assign

    if conflicts != "all":
        settings = replace(settings, conflicts=() if conflicts == "none" else split_names(conflicts))
    check_outputs(filter(None, (output, scores_out)), [*submissions, reviewers, *files.listed()])
    if output.suffix.lower() not in (".csv", ".json", ""):
        raise InputError(f"{output}: end its name in .csv, or in .json for OpenReview's form")
    with ProgressDisplay("reading") as progress:
        matching = assign(
            submissions,
            reviewers,
            settings=settings,
            files=files,
            encoder=model or None,
            skip_bad=skip_bad,
            progress=progress,
        )
    _print(matching, _write(matching, output, scores_out, bare), as_json)


def _write(matching: Matching, output: Path, scores_out: Path | None, bare: bool) -> dict[str, str]:
    """Write the files; return what each is -> its path."""
    audit = matching.write(output, bare=bare)
    conflicts = output.with_name(f"{output.stem}.conflicts.csv")
    written = {"output": output, "audit_file": audit, "conflicts_file": conflicts}
    if scores_out is not None:
        matching.write_scores(scores_out)
        written["scores_file"] = scores_out
    return {name: str(path) for name, path in written.items()}


def _print(matching: Matching, written: dict[str, str], as_json: bool) -> None:
    audit = matching.audit
    print_skipped(audit["skipped"], audit["counts"]["records skipped"])
    unchecked = {kind: _describe_unchecked(why) for kind, why in audit["conflicts not checked"].items()}
    authors = "".join(f"author conflicts: {text}" for kind, text in unchecked.items() if kind == "author")
    if as_json:
        print_json("sciprism.match/1", {**written, **matching.to_json()})
    else:
        print(f"{authors}\n" if authors else "", end="")
        _print_facts(matching, written, {kind: text for kind, text in unchecked.items() if kind != "author"})
    if authors:
        print(f"sciprism: {authors}", file=sys.stderr)


def _describe_unchecked(reason: str) -> str:
    """Return "not checked, profiles have no names", or "not checked for 2 of 9 pairs: ..."."""
    return f"not checked{' ' if reason.startswith('for ') else ', '}{reason}"


def _print_facts(matching: Matching, written: dict[str, str], unchecked: dict[str, str]) -> None:
    """Print what was found. unchecked: kinds of conflicts, and what was not checked."""
    audit = matching.audit
    counts, result = audit["counts"], audit["result"]
    loads, versions = result["reviewers by load"], counts.get("papers listed in several versions", 0)
    facts = {
        "submissions": f"{counts['submissions']:,}",
        "reviewers": f"{counts['reviewers']:,}; with submissions: "
        + ", ".join(f"{n} with {load}" for load, n in loads.items()),
        "loads": _describe_loads(audit),
        "conflicts": ", ".join(f"{kind} {count:,}" for kind, count in audit["conflicts"].items()) or "none",
        "not checked": "\n".join(
            f"{kind}: {text.removeprefix('not checked').strip(', ')}" for kind, text in unchecked.items()
        ),
        "bids on conflicts": f"{counts['bids above 0 on forbidden pairs']:,}, which are ignored; see the audit",
        "without abstract": f"{counts['submissions without abstract']:,} submissions, scored by title alone",
        "without papers": ", ".join(audit["reviewers without papers"][:5]),
        "listed again": f"{versions:,} versions of papers of one reviewer, counted once" if versions else "",
        "mean score": f"{result['mean score']:.4f}",
        "worst submission": _describe_worst(result),
        "of the highest sum": f"{100 * result['share of the highest sum']:.1f} %"
        if "share of the highest sum" in result
        else "",
        "moved": _describe_moves(audit),
        "not used": "; ".join(_describe_dropped(audit["dropped"])),
        "written": ", ".join(written.values()),
    }
    absent = set() if counts["bids above 0 on forbidden pairs"] else {"bids on conflicts"}
    absent |= set() if counts["submissions without abstract"] else {"without abstract"}
    print_facts({name: text for name, text in facts.items() if text and name not in absent})
    _print_worst(matching)


def _print_worst(matching: Matching) -> None:
    """Print the worst-served submissions, and why each has its reviewers."""
    width = table_width()
    print("\nworst served:")
    for paper, mean, pairs in matching.worst():
        head = f"{mean:.4f}  {paper}: "
        print(head + shorten(pairs[0].title, max(width - len(head), 20), placeholder=" …"))
        for pair in pairs:
            reason = shorten(f"{pair.reviewer} {pair.score:.4f}: {pair.reason}", MAX_REASON, placeholder=" …")
            print("\n".join(wrap(reason, width, initial_indent=" " * 8, subsequent_indent=" " * 10)))


def _describe_loads(audit: dict[str, Any]) -> str:
    """Return "0 to 6, deviation 1.9; --balance evens them", or what balancing changed."""
    result = audit["result"]
    before = result.get("before balancing")
    parts = [_describe_spread(result["loads"])]
    if before:
        parts.append(f"before --balance {_describe_spread(before['loads'])}, mean score {before['mean score']:.4f}")
    elif result["loads"]["most"] - result["loads"]["least"] > 1 and audit["settings"]["objective"] != "perturbed":
        parts.append("--balance evens them")
    return "; ".join(parts)


def _describe_spread(loads: dict[str, float]) -> str:
    return (
        f"{loads['least']} to {loads['most']} (mean {loads['mean']:.1f}, standard deviation {loads['deviation']:.1f})"
    )


def _describe_worst(result: dict[str, Any]) -> str:
    bound = result.get("worst submission, upper bound")
    text = f"{result['worst submission']:.4f}"
    return text if bound is None else f"{text}; no assignment exceeds {bound:.4f}"


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
