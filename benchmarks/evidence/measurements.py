"""Measurements other than scores: token counts of the same texts, and seconds of the same work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from evidence.claims import claims
from evidence.records import ClaimFinding, ClaimRecord, read_record, write_record
from evidence.verdict import SUPPORTS, combine_all, decide
from sciprism.errors import InputError
from sciprism.text.tokenizer import batch_texts, encode_texts

LEVEL = 0.95
FEWER = "tokens, all domains"
FASTER = "times as fast"
SCORES = "scores, which `make evidence` looks up"
TokenCounts = NDArray[np.int64]


def compare_token_counts(
    ours: Tokenizer,
    other: Tokenizer,
    domains: Mapping[str, Iterable[str]],
    *,
    figure: float | None = None,
) -> list[ClaimFinding]:
    """Return the relative change of token counts against another tokenizer: over all texts, then by domain.

    The first one decides; domains are shown. figure: the paper's,
    over all texts.
    """
    pairs = {}
    for domain, texts in domains.items():
        counted = [
            [list(map(len, encode_texts(tokenizer, batch))) for tokenizer in (ours, other)]
            for batch in batch_texts(texts)
        ]
        if not counted:
            raise InputError(f"{domain}: no text")
        pairs[domain] = np.concatenate(counted, axis=1, dtype=np.int64).T
    whole = _relative_change(FEWER, np.concatenate(list(pairs.values())), figure)
    return [
        replace(whole, tasks=len(pairs)),
        *(replace(_relative_change(f"tokens, {d}", counts), decides=False) for d, counts in pairs.items()),
    ]


def compare_speed(ours: Sequence[float], other: Sequence[float], figure: float) -> ClaimFinding:
    """Return our speed-up. ours, other: seconds of the same work in alternating rounds. figure: the paper's.

    The geometric mean of the rounds' ratios, with an interval by Student's t over their logarithms.
    """
    from scipy.stats import t

    logs = np.log(np.asarray(other) / np.asarray(ours))
    if len(logs) < 2:
        raise InputError(f"{len(logs)} round; an interval needs two or more")
    middle, error = float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(len(logs))
    off = float(t.ppf((1 + LEVEL) / 2, len(logs) - 1)) * error
    low, high = math.exp(middle - off), math.exp(middle + off)
    verdict = decide((low, high), figure=figure, neutral=1.0)
    return ClaimFinding(
        name=FASTER,
        value=math.exp(middle),
        low=low,
        high=high,
        verdict=verdict,
        unit="x",
        n=len(logs),
        figure=figure,
    )


def add_findings(folder: Path, claim: str, findings: Sequence[ClaimFinding], command: str, date: str = "") -> Path:
    """Add findings to the record of a claim in a folder of results."""
    lacking = (SCORES,) if claims[claim].questions else ()
    known = read_record(folder, claim) or ClaimRecord(claim=claim, verdict="not tested", findings=(), lacking=lacking)
    names = {finding.name for finding in findings}
    every = (*findings, *(finding for finding in known.findings if finding.name not in names))
    record = replace(
        known,
        findings=every,
        verdict=combine_all([finding.verdict for finding in every if finding.decides]),
        lacking=tuple(name for name in known.lacking if name not in names),
        commands=tuple(dict.fromkeys((*known.commands, command))),
        date=max(known.date, date),
    )
    if record.lacking and record.verdict in SUPPORTS:
        record = replace(record, verdict="not tested")
    return write_record(folder, record)


def _relative_change(name: str, counts: TokenCounts, figure: float | None = None) -> ClaimFinding:
    """Return the relative change of sums, with the interval of a ratio estimator over texts (n, 2)."""
    mine, theirs = counts[:, 0].astype(float), counts[:, 1].astype(float)
    if not theirs.sum():
        raise InputError(f"{name}: the other tokenizer has no token for any text")
    value = float(mine.sum() / theirs.sum())
    n = len(counts)
    off = math.nan
    if n > 1:
        spread = float(((mine - value * theirs) ** 2).sum()) * n / (n - 1)
        off = 1.959964 * math.sqrt(spread) / float(theirs.sum())
    low, high = value - 1 - off, value - 1 + off
    verdict = decide((low, high), "below", figure=figure)
    return ClaimFinding(name=name, value=value - 1, low=low, high=high, verdict=verdict, unit="%", n=n, figure=figure)
