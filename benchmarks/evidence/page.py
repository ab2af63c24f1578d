"""The evidence page, a row for each claim, and the record of each paper: all differences, intervals and arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from statistics import fmean
from textwrap import fill

from evidence.arms import Arm
from evidence.claim import Claim, ClaimQuestion, ScoreContrast
from evidence.records import UNITS, ClaimFinding, ClaimRecord
from evidence.verdict import VERDICTS, Verdict
from sciprism.reproduce.papers import GroupedSuite, Reproduction, describe_data

WIDTH = 110
PAPERS = {
    "scimult": "SciMult",
    "scirepeval": "SciRepEval",
    "multi2spe": "Multi2SPE",
    "indus": "INDUS",
    "prism": "prism",
}
INTRODUCTION = """# Evidence

What the papers claim, and what we found. This page is generated (`make evidence`) from records in `results/`.
An id leads to its record: the setting, how it was tested, every difference, and the command that shows it."""
CLAIMS = "## Every claim"
HEADS = ("paper", "claim", "in words", "answer that decides", "paper's figure", "ours, with its interval", "verdict")
RECORD = """Generated from `claims.json` by `make evidence`; [how to read it](../../docs/evidence.md#how-to-read-it)."""
METHOD = """## How to read it

- **held**: the whole 95% interval of the difference is on the claimed side, the paper's figure not above it;
  "not below by 1.00": above -1.00.
- **smaller than the paper's**: the whole interval is on the claimed side, and the paper's figure is above it.
- **no difference seen**: the interval includes zero and excludes the paper's figure.
- **undecided**: the interval includes zero and the paper's figure, or the paper prints none.
- **opposite**: the whole interval is on the other side.
- **not tested**: no result, or an arm whose training does not test it. It does only if, with every seed, its
  best score on whole dev texts is above that of the untouched backbone, and if on no type of task that it
  trains on its tests fall below the backbone's, by their 95% interval: a model that forgets does not test
  learning.
  Runs on file chose their checkpoint on dev texts cut as in training (32 to 96 tokens). Their tests decide;
  the cut dev score does where no test of the backbone is on file (INDUS, whose backbone has new words; M4).

Intervals are paired over test items, and over seeds: the mean over k seeds varies by Student's t, k - 1
degrees of freedom; equally many seeds are paired. With *one seed* the interval is over items alone, so
another seed can change the verdict. Intervals of measured values are of 95%; those of a method's cost go from
the fastest to the slowest round. No interval covers the choice of training papers, of a probe or of an
encoder. Method: [benchmarks.md](benchmarks.md).

The weakest answer of a claim is its verdict: opposite, no difference seen, not tested, undecided, smaller,
held. Where one of m answers is enough, to hold a claim or to contradict it, its interval is one of 1 - 0.05 /
m. Verdicts in brackets are shown, but do not count; nor does a figure in brackets, which the other model's
score leaves no room for. A question is decided on the view of the suite with the most seeds; "search (quick,
1)" is a group of tasks, its view, and how many tasks it has there. Scores and their differences are times
100; "steps" are the optimizer's, "kept" the step with the best dev score, which is the model, for each seed.
Commands take the models with `--models KEY=RUN`, once per seed."""


def format_page(claims: Mapping[str, Claim], records: Mapping[str, ClaimRecord], *, choice: str = "") -> str:
    """Return the page as Markdown, in the order of the claims. choice: the section that compares methods."""
    verdicts = {id: records[id].verdict if id in records else "not tested" for id in claims}
    parts = [INTRODUCTION, _wrap(_summarize(claims, records, verdicts)), CLAIMS]
    parts += [format_table(HEADS, (_list_claim(claim, records.get(id)) for id, claim in claims.items()))]
    parts += [choice] * bool(choice)
    return "\n\n".join([*parts, METHOD]) + "\n"


def format_record(
    claims: Sequence[Claim], records: Mapping[str, ClaimRecord], setting: str, paper: Reproduction
) -> str:
    """Return the record of a paper's claims as Markdown. setting: how ours differs from theirs."""
    parts = [f"# {PAPERS.get(paper.name, paper.name)}: its claims, one by one", RECORD]
    parts += [_wrap(f"Our setting: {setting}"), *_describe_suites(claims, paper.suites)]
    found = (record.arms for claim in claims if (record := records.get(claim.id)))
    arms = {arm.model: arm for each in found for arm in each}
    parts += [_format_arms([*arms.values()])] * bool(arms)
    parts += ["\n\n".join(_format_claim(claim, records.get(claim.id), paper.suites)) for claim in claims]
    return "\n\n".join(parts) + "\n"


def _list_claim(claim: Claim, record: ClaimRecord | None) -> tuple[str, ...]:
    """Return the row of a claim, with the answer that gave the verdict, or the first one that counts."""
    paper, link = (
        PAPERS.get(claim.paper, claim.paper),
        f"[{claim.id}](../results/{claim.paper}/claims.md#{claim.id.lower()})",
    )
    counting = [each for each in record.findings if each.decides] if record and record.verdict != "not tested" else []
    deciding = min(counting, key=lambda each: each.verdict != record.verdict, default=None) if record else None
    if not deciding:
        return (paper, link, claim.text, "", "", "", "not tested")
    value, limits = _numbers(deciding)
    return (
        paper,
        link,
        claim.text,
        deciding.name,
        _figure(deciding),
        f"{value} [{limits}]{_level(deciding)}",
        _title(record),
    )


def _summarize(claims: Mapping[str, Claim], records: Mapping[str, ClaimRecord], verdicts: Mapping[str, Verdict]) -> str:
    """Return the paragraph that a reader can quote."""
    counts = Counter(verdicts.values())
    tested = len(claims) - counts["not tested"]
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS[:-1] if counts[verdict]]
    arms = [arm for record in records.values() for arm in record.arms if arm.stages and not arm.untested]
    steps = max((sum(stage.steps for stage in arm.stages) for arm in arms), default=0)
    size = max((arm.parameters for arm in arms), default=0)
    small = f" (at most {size / 1e6:.0f} million parameters, {steps:,} steps of training)" if arms else ""
    why = "since our training of it forgets or is too short and does not test it, or the data cannot answer. "
    left = f"Not tested: {counts['not tested']}, {why}" if counts["not tested"] else ""
    count = f"All {tested} claims were" if tested == len(claims) else f"Of {len(claims)} claims, {tested} were"
    one_seed = sum(map(_rests_on_one_seed, records.values()))
    few = f"{one_seed} of these verdicts rest on one seed. " if one_seed else ""
    return (
        f"**{count} tested: {', '.join(parts) or 'none'}. {few}{left}"
        f"What was tested is at the size of a laptop{small}: a verdict says what happens there, not at the papers' "
        "size.**"
    )


def _describe_suites(claims: Sequence[Claim], suites: Mapping[str, GroupedSuite]) -> Iterator[str]:
    """Yield where the recipes of some suites depart from the paper, and what the data of their groups are."""
    used: dict[str, dict[str, None]] = {}
    for claim in claims:
        for question in claim.questions:
            for contrast in question.contrasts:
                used.setdefault(claim.data, {})[contrast.ours.group] = None
    for data, groups in used.items():
        suite = suites[data]
        if departures := suite.describe_departures():
            yield _wrap(departures)
        yield "\n".join(_wrap(f"- {suite.label(g)}: {describe_data(suite, g)}.", "  ") for g in groups)


def _format_claim(claim: Claim, record: ClaimRecord | None, suites: Mapping[str, GroupedSuite]) -> Iterator[str]:
    """Yield the paragraphs of a claim: what is claimed, what was found, what is lacking."""
    yield f"## {claim.id}"
    yield _wrap(f"**{_title(record)}**: {claim.text}. Paper: {claim.figure}. Tested: {claim.test}.")
    yield from (_wrap(remark) for remark in claim.remarks)
    if record:
        yield from filter(None, (*_format_answers(claim, record, suites), _format_measured(record)))
        yield from _format_reasons(record)
        if record.lacking:
            yield _wrap(f"No results for: {'; '.join(record.lacking)}.")
        yield from (_wrap(f"{remark[0].upper()}{remark[1:]}.") for remark in record.remarks)
    else:
        yield "Not tested: no results."
    yield "\n".join(f"- `{command}`" for command in _commands(claim, record))


def _format_reasons(record: ClaimRecord) -> Iterator[str]:
    """Yield why findings are no test; arms with one reason share a line."""
    by_reason: dict[str, dict[str, None]] = {}
    for finding in record.findings:
        if finding.untested:
            arm, _, reason = finding.untested.partition(": ")
            by_reason.setdefault(reason, {})[arm] = None
    yield from (_wrap(f"Not tested: {', '.join(arms)}: {reason}.") for reason, arms in by_reason.items())


def _title(record: ClaimRecord | None) -> str:
    if record is None:
        return "not tested"
    return f"{record.verdict}, one seed" if _rests_on_one_seed(record) else record.verdict


def _rests_on_one_seed(record: ClaimRecord) -> bool:
    return any(finding.one_seed and finding.decides and not finding.untested for finding in record.findings)


def _commands(claim: Claim, record: ClaimRecord | None) -> list[str]:
    commands = [claim.command] if claim.command else []
    commands += [f"sciprism reproduce {claim.paper} {table} --data {claim.data}" for table in claim.tables]
    return commands or list(record.commands[:1] if record else ())


def _format_arms(arms: Sequence[Arm]) -> str:
    rows = []
    for arm in arms:
        steps = " + ".join(f"{stage.name} {stage.steps:,}" for stage in arm.stages)
        kept = ", ".join(f"{step:,}" for step in arm.kept)
        backbone = [known for known, _ in arm.dev if known is not None]
        dev = f"{fmean(own for _, own in arm.dev):.3f}" if arm.dev else ""
        known = f"{fmean(backbone):.3f}" if backbone else ""
        size = f"{arm.parameters / 1e6:.1f} M" if arm.parameters else ""
        cut = "cut" if arm.dev and arm.cut else "whole" if arm.dev else ""
        kind, lowest = min(arm.in_train.items(), key=lambda named: named[1][0], default=("", ()))
        tests = "{} {:+.1f} [{:+.1f}, {:+.1f}]".format(kind, *(100 * n for n in lowest)) if lowest else ""
        rows.append((arm.model, steps, kept, str(len(arm.dev) or ""), size, cut, known, dev, tests))
    dev_heads = ("dev texts", "backbone's dev score", "its own")
    heads = (
        "arm",
        "steps",
        "kept",
        "seeds",
        "parameters",
        *dev_heads,
        "lowest type of tests as trained, to the backbone's",
    )
    return format_table(heads, rows)


def _format_answers(claim: Claim, record: ClaimRecord, suites: Mapping[str, GroupedSuite]) -> Iterator[str]:
    """Yield a table for each model whose differences from others were measured, one for all if each has one."""
    found = {finding.name: finding for finding in reversed(record.findings)}  # the deciding one is the first of a name
    by_model: dict[str, list[tuple[str, ...]]] = {}
    for question in claim.questions:
        for contrast in question.contrasts:
            if contrast.name in found:
                group = suites[claim.data].stand_ins.get(contrast.ours.group, contrast.ours.group)
                row = _format_row(question, contrast, found[contrast.name], group)
                by_model.setdefault(contrast.ours.model, []).append(row)
    heads = ("against", "on", "paper", "ours", "95% interval", "seeds", "verdict")
    if len(by_model) > 1 and all(len(rows) == 1 for rows in by_model.values()):
        yield format_table(("model", *heads), [(model, *rows[0]) for model, rows in by_model.items()])
    else:
        yield from (f"`{model}`:\n\n{format_table(heads, rows)}" for model, rows in by_model.items())
    yield from (_wrap(f"{name}: **{verdict}**.") for name, verdict in record.answers.items())


def _format_row(question: ClaimQuestion, contrast: ScoreContrast, finding: ClaimFinding, group: str) -> tuple[str, ...]:
    value, limits = _numbers(finding)
    seeds = "/".join(map(str, finding.seeds))
    other = contrast.other.label(contrast.ours) or "itself"
    view = "quick, " if finding.view.endswith("/quick") else ""
    on, verdict = f"{group} ({view}{finding.tasks})", _shorten(finding.verdict, question.decisive)
    return (other, on, _figure(finding) or _margin(contrast), value, f"{limits}{_level(finding)}", seeds, verdict)


def _format_measured(record: ClaimRecord) -> str:
    """Return the table of what other commands measured."""
    measured = [finding for finding in record.findings if not finding.view]
    rows = [(each.name, _figure(each), *_numbers(each), _shorten(each.verdict, each.decides)) for each in measured]
    return format_table(("measured", "paper", "ours", "interval", "verdict"), rows) if rows else ""


def _shorten(verdict: Verdict, decides: bool) -> str:
    shown = verdict.removesuffix(" than the paper's")
    return shown if decides else f"({shown})"


def _figure(finding: ClaimFinding) -> str:
    if finding.figure is None:
        return ""
    sign = "+" if finding.unit in UNITS else ""
    shown = f"{UNITS.get(finding.unit, 1.0) * finding.figure:{sign}.2f}{_unit(finding)}"
    return f"({shown})" if finding.no_room else shown


def _margin(contrast: ScoreContrast) -> str:
    """Return what a claim without a figure allows: "not below by 0.50"."""
    by = "" if contrast.direction == "within" else " by"
    return f"{contrast.direction}{by} {100 * contrast.margin:.2f}" if contrast.margin else ""


def _numbers(finding: ClaimFinding) -> tuple[str, str]:
    """Return the value and its interval."""
    if isnan(finding.value):
        return "undefined", ""
    factor, sign = UNITS.get(finding.unit, 1.0), "+" if finding.unit in UNITS else ""
    value, low, high = (f"{factor * n:{sign}.2f}" for n in (finding.value, finding.low, finding.high))
    return f"{value}{_unit(finding)}", f"{low}, {high}"


def _level(finding: ClaimFinding) -> str:
    return f" ({100 * finding.level:.3g}%)" if finding.level != 0.95 else ""


def _unit(finding: ClaimFinding) -> str:
    return "" if finding.unit == "points" else f" {finding.unit}"


def format_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table without the columns that are empty in every row."""
    table = list(rows)
    kept = [place for place in range(len(heads)) if any(row[place] for row in table)]
    lines = [[heads[place] for place in kept], ["---"] * len(kept)]
    lines += [[row[place].replace("|", "\\|") for place in kept] for row in table]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _wrap(text: str, indent: str = "") -> str:
    return fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
