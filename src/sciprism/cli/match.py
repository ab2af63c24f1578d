"""`sciprism match`: submissions to reviewers."""

from __future__ import annotations

from pathlib import Path
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.options import AsJson, SkipBad, check_outputs, split_names
from sciprism.cli.output import ProgressDisplay, print_facts, print_json, print_skipped, table_width
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.uses.matching import MatchFiles, Matching, MatchSettings

Submissions = Annotated[list[Path], typer.Argument(help="Files or folders of submissions.")]
Reviewers = Annotated[
    Path,
    typer.Option(help="A folder with one paper file per reviewer (ID.jsonl ...), or a table or JSON of reviewers."),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="The assignment to write: .csv, or .json as OpenReview's.")
]
ReviewerPapers = Annotated[
    list[Path] | None, typer.Option(help="Papers of a table's reviewers: a folder of ID.jsonl ..., or paper files.")
]
Authors = Annotated[Path | None, typer.Option(help="A table of the submissions' authors: paper, email, institution.")]
Scores = Annotated[Path | None, typer.Option(help="Given scores, rows paper,reviewer,score; no model is used.")]
ScoresOut = Annotated[
    Path | None, typer.Option("--scores-out", help="Also write the scores, rows paper,reviewer,score.")
]
Bids = Annotated[Path | None, typer.Option(help="Bids, rows paper,reviewer,bid: -1 to 1, or very high ... very low.")]
Constraints = Annotated[
    Path | None, typer.Option(help="Rows paper,reviewer,-1 (forbidden), 0 (no conflict), 1 (locked).")
]
After = Annotated[list[Path] | None, typer.Option(help="An assignment of an earlier round; it counts; repeatable.")]
Keep = Annotated[Path | None, typer.Option(help="An earlier assignment of this round; as few pairs as possible move.")]
PerPaper = Annotated[int, typer.Option(help="Reviewers of each submission.")]
MinPapers = Annotated[int, typer.Option(help="Submissions of each reviewer, at least.")]
MaxPapers = Annotated[int, typer.Option(help="Submissions of each reviewer, at most.")]
Require = Annotated[list[str] | None, typer.Option(help="A group's minimum: seniority=senior:1; repeatable.")]
Conflicts = Annotated[
    str, typer.Option(help="Conflicts to find: author, domain, institution, coauthor, own-paper; all; none.")
]
CoauthorYears = Annotated[int, typer.Option(help="Years in which a joint paper is a conflict.")]
ScoringRule = Annotated[str, typer.Option(help="Of a reviewer's papers: best, mean-K or percentile-P.")]
HalfLife = Annotated[float, typer.Option(help="Years after which a paper counts half; 0: never.")]
AuthorWeight = Annotated[float, typer.Option("--authorship", help="Weight of papers as a middle author.")]
BidWeight = Annotated[float, typer.Option(help="What a bid of 1 adds to the score.")]
Candidates = Annotated[int, typer.Option(help="Reviewers that are considered for each submission, at least.")]
ObjectiveName = Annotated[str, typer.Option(help="fair, sum or perturbed.")]
MaxProbability = Annotated[float, typer.Option(help="Of a pair in a perturbed assignment, at most.")]
Seed = Annotated[int, typer.Option(help="Seed of a perturbed assignment.")]
Bare = Annotated[bool, typer.Option("--bare", help="Write three columns without a header, as OpenReview's.")]
MAX_REASON = 240
"""Characters of a reason in the terminal; the files have all of it."""

ModelName = Annotated[str, typer.Option(help="A model: folder, packaged name or hub id.")]


def match(
    submissions: Submissions,
    reviewers: Reviewers,
    output: Output,
    reviewer_papers: ReviewerPapers = None,
    authors: Authors = None,
    scores: Scores = None,
    scores_out: ScoresOut = None,
    bids: Bids = None,
    constraints: Constraints = None,
    after: After = None,
    keep: Keep = None,
    per_paper: PerPaper = 3,
    min_papers: MinPapers = 0,
    max_papers: MaxPapers = 6,
    require: Require = None,
    conflicts: Conflicts = "all",
    coauthor_years: CoauthorYears = 3,
    scoring: ScoringRule = "mean-3",
    half_life: HalfLife = 0.0,
    authorship: AuthorWeight = 1.0,
    bid_weight: BidWeight = 0.1,
    candidates: Candidates = 100,
    objective: ObjectiveName = "fair",
    max_probability: MaxProbability = 0.8,
    seed: Seed = 0,
    model: ModelName = "",
    bare: Bare = False,
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
) -> None:
    """Assign reviewers to submissions by the reviewers' papers; an audit file is written next to the output.

    Example: sciprism match submissions.jsonl --reviewers profiles/ -o assignments.csv --max-papers 4
    """
    written = _write(matching := _match(dict(locals())), output, scores_out, bare)
    _print(matching, written, as_json)


def _write(matching: Matching, output: Path, scores_out: Path | None, bare: bool) -> dict[str, str]:
    """Write the files; return what each is -> its path."""
    audit = matching.write(output, bare=bare)
    conflicts = output.with_name(f"{output.stem}.conflicts.csv")
    written = {"output": output, "audit_file": audit, "conflicts_file": conflicts}
    if scores_out is not None:
        matching.write_scores(scores_out)
        written["scores_file"] = scores_out
    return {name: str(path) for name, path in written.items()}


def _match(options: dict[str, Any]) -> Matching:
    """Run the command's options, with progress."""
    from sciprism.uses.matching import match as assign

    settings, files = build_settings(options), build_files(options)
    outputs = filter(None, (options["output"], options["scores_out"]))
    check_outputs(outputs, [*options["submissions"], options["reviewers"], *files.listed()])
    if options["output"].suffix.lower() not in (".csv", ".json", ""):
        raise InputError(f"{options['output']}: end its name in .csv, or in .json for OpenReview's form")
    with ProgressDisplay("reading") as progress:
        return assign(
            options["submissions"],
            options["reviewers"],
            settings=settings,
            files=files,
            encoder=options["model"] or None,
            skip_bad=options["skip_bad"],
            progress=progress,
        )


def build_settings(options: dict[str, Any]) -> MatchSettings:
    """Return the settings of the command's options, which have the same names."""
    from sciprism.uses.matching import MatchSettings
    from sciprism.uses.matching.conflicts import CONFLICT_KINDS

    kinds = {"all": tuple(CONFLICT_KINDS), "none": ()}.get(options["conflicts"], split_names(options["conflicts"]))
    special = {"conflicts": kinds, "require": tuple(options["require"] or ())}
    names = set(MatchSettings.__dataclass_fields__) & set(options)
    return MatchSettings(**{**{name: options[name] for name in names}, **special})


def build_files(options: dict[str, Any]) -> MatchFiles:
    """Return the files of the command's options, which have the same names."""
    from sciprism.uses.matching import MatchFiles

    given = {name: options[name] for name in MatchFiles.__dataclass_fields__}
    return MatchFiles(**given | {name: tuple(given[name] or ()) for name in ("reviewer_papers", "after")})


def _print(matching: Matching, written: dict[str, str], as_json: bool) -> None:
    audit = matching.audit
    print_skipped(audit["skipped"], audit["counts"]["records skipped"])
    if as_json:
        print_json("sciprism.match/1", {**written, **matching.to_json()})
        return
    counts, result = audit["counts"], audit["result"]
    loads = result["reviewers by load"]
    facts = {
        "submissions": f"{counts['submissions']:,}",
        "reviewers": f"{counts['reviewers']:,}; with submissions: "
        + ", ".join(f"{n} with {load}" for load, n in loads.items()),
        "conflicts": ", ".join(f"{kind} {count:,}" for kind, count in audit["conflicts"].items()) or "none",
        "not checked": "; ".join(f"{kind}: {why}" for kind, why in audit["conflicts not checked"].items()),
        "bids on conflicts": f"{counts['bids above 0 on forbidden pairs']:,}, which are ignored; see the audit",
        "without abstract": f"{counts['submissions without abstract']:,} submissions, scored by title alone",
        "without papers": ", ".join(audit["reviewers without papers"][:5]),
        "mean score": f"{result['mean score']:.4f}",
        "worst submission": _describe_worst(result),
        "of the highest sum": f"{100 * result['share of the highest sum']:.1f} %"
        if "share of the highest sum" in result
        else "",
        "moved": _describe_moves(audit),
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


def _describe_worst(result: dict[str, Any]) -> str:
    bound = result.get("worst submission, upper bound")
    text = f"{result['worst submission']:.4f}"
    return text if bound is None else f"{text}; no assignment exceeds {bound:.4f}"


def _describe_moves(audit: dict[str, Any]) -> str:
    if "moved" not in (result := audit["result"]):
        return ""
    gone = sum(dropped["count"] for reason, dropped in audit["dropped"].items() if reason.startswith("earlier pair"))
    lost = f", {gone:,} have lost their reviewer or submission" if gone else ""
    return f"{result['moved']:,} earlier pairs; {result['kept of the earlier assignment']:,} stay{lost}"
