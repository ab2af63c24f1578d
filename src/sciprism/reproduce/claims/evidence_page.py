"""The evidence page: every claim with the paper's figure, our value, its interval and verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from math import isnan

from sciprism.reproduce.claims.claim import Claim
from sciprism.reproduce.claims.records import UNITS, ClaimFinding, ClaimRecord

OPEN = "not measured yet"
PAPERS = {
    "scimult": "SciMult",
    "scirepeval": "SciRepEval",
    "multi2spe": "Multi2SPE",
    "indus": "INDUS",
    "prism": "prism",
}
HEADS = ("claim", "", "paper's figure", "ours", "95% interval", "seeds", "verdict", "command")
INTRODUCTION = """# Evidence

What the papers claim, and what we found. This page is generated (`make evidence`) from records in `results/`.

- A claim is **held**, **not held** or **undecided** by a paired 95% interval over seeds and items, never by
  the sign of a difference. Held: the whole interval is in the claimed range. Not held: all of it is outside.
- Items are resampled, the same for both sides. The mean over k seeds varies by Student's t, k - 1 degrees
  of freedom; equally many seeds are paired. *One seed*: the interval is over items alone. No interval covers
  the choice of training papers, of a probe or of an encoder. Method: [benchmarks.md](benchmarks.md).
- A claim with several questions is held if all are, not held if one is not. If one of m answers is enough,
  each has an interval of 1 - 0.05 / m. Lines marked (not decisive) have no effect on the verdict.
- A question is decided on the view of the suite with the most seeds; other views follow, in brackets.
- Scores and their differences are times 100. Commands take the models with `--models KEY=RUN`, once per seed.
"""


def format_page(claims: Mapping[str, Claim], records: Mapping[str, ClaimRecord]) -> str:
    """Return the page as Markdown, paper by paper in the order of the claims."""
    parts = [INTRODUCTION.rstrip()]
    known = dict.fromkeys([*PAPERS, *(claim.paper for claim in claims.values())])
    for paper in known:
        of_paper = [claim for claim in claims.values() if claim.paper == paper]
        if not of_paper:
            continue
        lines = [line for claim in of_paper for line in _lines(claim, records.get(claim.id))]
        rule = "| " + " | ".join("---" for _ in HEADS) + " |"
        parts.append("\n".join([f"## {PAPERS.get(paper, paper)}", "", _row(HEADS), rule, *map(_row, lines)]))
    return "\n\n".join(parts) + "\n"


def _lines(claim: Claim, record: ClaimRecord | None) -> Iterator[tuple[str, ...]]:
    verdict = OPEN
    if record:
        one_seed = any(finding.one_seed for finding in record.findings if finding.decides)
        verdict = f"**{record.verdict}, one seed**" if one_seed else f"**{record.verdict}**"
    commands = [claim.command] if claim.command else []
    commands += [f"sciprism reproduce {claim.paper} {table} --data {claim.data}" for table in claim.tables]
    commands = commands or list(record.commands[:1] if record else ())
    shown = "; ".join(f"`{command}`" for command in commands)
    yield (claim.id, f"{claim.text}; tested: {claim.test}", claim.figure, "", "", "", verdict, shown)
    if not record:
        return
    yield from (("", f"· {remark}", "", "", "", "", "", "") for remark in record.remarks)
    indecisive = {c.name for question in claim.questions if not question.decisive for c in question.contrasts}
    yield from (_finding_line(finding, indecisive) for finding in record.findings)
    yield from (("", f"· {name}", "", "", "", "", OPEN, "") for name in record.lacking)


def _finding_line(finding: ClaimFinding, indecisive: Set[str]) -> tuple[str, ...]:
    tasks = f"{finding.tasks} task{'s' if finding.tasks > 1 else ''}" if finding.tasks else ""
    level = f"interval of {100 * finding.level:g}%" if finding.level != 0.95 else ""
    view = ", ".join(filter(None, (finding.view, tasks, level)))
    name = f"· {finding.name} ({view})" if view else f"· {finding.name}"
    factor = UNITS.get(finding.unit, 1.0)
    unit = "" if finding.unit == "points" else f" {finding.unit}"
    sign = "+" if finding.unit in UNITS else ""
    value, low, high = (f"{factor * n:{sign}.2f}" for n in (finding.value, finding.low, finding.high))
    numbers = ("undefined", "") if isnan(finding.value) else (f"{value}{unit}", f"{low} to {high}")
    verdict = finding.verdict if finding.decides else f"({finding.verdict})"
    if finding.name in indecisive:
        verdict = f"{finding.verdict} (not decisive)"
    return ("", name, "", *numbers, " / ".join(map(str, finding.seeds)), verdict, "")


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
