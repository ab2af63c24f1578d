"""The page of evidence: every claim with the paper's figure, ours, its interval and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan

from sciprism.reproduce.claims.declared import Claim
from sciprism.reproduce.claims.records import UNITS, Finding, Record

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
  the sign of a difference. Held: all of the interval lies where the claim says. Not held: none of it does.
- Items are resampled, the same for both sides. The mean over k seeds spreads by Student's t, k - 1 degrees
  of freedom, seeds of both sides in pairs where they are as many. *One seed*: an interval of items alone.
- A claim with several questions is held if all are, not held if one is not. Where one of m answers is enough,
  each has an interval of 1 - 0.05 / m. Lines marked (beside) decide nothing.
- A question is decided on the part of the suite that has the most seeds; other parts follow, in brackets.
- Scores and their differences are times 100. Commands take the models with `--models KEY=RUN`, once per seed.
"""


def page(claims: Mapping[str, Claim], records: Mapping[str, Record]) -> str:
    """Return the page as Markdown, paper by paper in the order of the claims."""
    parts = [INTRODUCTION.rstrip()]
    known = dict.fromkeys([*PAPERS, *(claim.paper for claim in claims.values())])
    for paper in known:
        own = [claim for claim in claims.values() if claim.paper == paper]
        if not own:
            continue
        lines = [line for claim in own for line in _lines(claim, records.get(claim.id))]
        rule = "| " + " | ".join("---" for _ in HEADS) + " |"
        parts.append("\n".join([f"## {PAPERS.get(paper, paper)}", "", _row(HEADS), rule, *map(_row, lines)]))
    return "\n\n".join(parts) + "\n"


def _lines(claim: Claim, record: Record | None) -> Iterator[tuple[str, ...]]:
    verdict = f"**{_verdict(record)}**" if record else OPEN
    text = f"{claim.text}; tested: {claim.test}"
    yield (claim.id, text, claim.figure, "", "", "", verdict, _command(claim, record))
    for remark in record.remarks if record else ():
        yield ("", f"· {remark}", "", "", "", "", "", "")
    for finding in record.findings if record else ():
        part = f" ({told})" if (told := _part(finding)) else ""
        yield ("", f"· {finding.name}{part}", "", *_numbers(finding), _said(claim, finding), "")
    for name in record.lacking if record else ():
        yield ("", f"· {name}", "", "", "", "", OPEN, "")


def _verdict(record: Record) -> str:
    one = any(finding.one_seed for finding in record.findings if finding.decides)
    return f"{record.verdict}, one seed" if one else record.verdict


def _said(claim: Claim, finding: Finding) -> str:
    names = {c.name for question in claim.questions if not question.decisive for c in question.contrasts}
    if finding.name in names:
        return f"{finding.verdict} (beside)"
    return finding.verdict if finding.decides else f"({finding.verdict})"


def _part(finding: Finding) -> str:
    tasks = f"{finding.tasks} task{'s' if finding.tasks > 1 else ''}" if finding.tasks else ""
    level = f"interval of {100 * finding.level:g}%" if finding.level != 0.95 else ""
    return ", ".join(filter(None, (finding.view, tasks, level)))


def _numbers(finding: Finding) -> tuple[str, str, str]:
    factor = UNITS.get(finding.unit, 1.0)
    unit = "" if finding.unit == "points" else f" {finding.unit}"
    sign = "+" if finding.unit in UNITS else ""
    if isnan(finding.value):
        return "undefined", "", _seeds(finding)
    low, high = (f"{factor * edge:{sign}.2f}" for edge in (finding.low, finding.high))
    return f"{factor * finding.value:{sign}.2f}{unit}", f"{low} to {high}", _seeds(finding)


def _seeds(finding: Finding) -> str:
    return " / ".join(map(str, finding.seeds))


def _command(claim: Claim, record: Record | None) -> str:
    named = [claim.command] if claim.command else []
    named += [f"sciprism reproduce {claim.paper} {table} --data {claim.data}" for table in claim.tables]
    named = named or list(record.commands[:1] if record else ())
    return "; ".join(f"`{command}`" for command in named)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
