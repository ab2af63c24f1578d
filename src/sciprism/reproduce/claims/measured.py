"""What claims rest on that is no score: tokens of the same texts, and seconds of the same work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sciprism.errors import InputError
from sciprism.reproduce.claims.declared import all_held, verdict
from sciprism.reproduce.claims.records import Finding, Record, read, write
from sciprism.reproduce.claims.registry import claims
from sciprism.text.tokens import batches, token_ids

LEVEL = 0.95
FEWER = "tokens, all domains"
FASTER = "times as fast"
SCORES = "scores, which `make evidence` looks up"
Counts = NDArray[np.int64]


def fewer_tokens(
    ours: Tokenizer, other: Tokenizer, domains: Mapping[str, Iterable[str]], *, lower: bool = False
) -> list[Finding]:
    """Return the change of the number of tokens against another tokenizer: over all texts, then by domain.

    The first decides; a domain alone is shown. lower: texts are lower-cased for both.
    """
    pairs = {}
    for domain, texts in domains.items():
        shown = (text.lower() if lower else text for text in texts)
        counted = [_counts(ours, other, batch) for batch in batches(shown)]
        if not counted:
            raise InputError(f"{domain}: no text")
        pairs[domain] = np.concatenate(counted)
    whole = replace(_change(FEWER, np.concatenate(list(pairs.values()))), tasks=len(pairs))
    return [whole, *(replace(_change(f"tokens, {d}", own), decides=False) for d, own in pairs.items())]


def times_as_fast(ours: Sequence[float], other: Sequence[float], least: float) -> Finding:
    """Return how many times as fast we are. ours, other: seconds of the same work, turn by turn.

    The geometric mean of the rounds' ratios, spread by Student's t over their logarithms. Held: all of the
    interval is above `least`.
    """
    from scipy.stats import t

    logs = np.log(np.asarray(other) / np.asarray(ours))
    if len(logs) < 2:
        raise InputError(f"{len(logs)} round; two or more tell how ratios spread")
    middle, error = float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(len(logs))
    off = float(t.ppf((1 + LEVEL) / 2, len(logs) - 1)) * error
    low, high = math.exp(middle - off), math.exp(middle + off)
    said = verdict((low, high), "above", least)
    return Finding(
        name=FASTER, value=math.exp(middle), low=low, high=high, verdict=said, unit="x", n=len(logs)
    )


def add(home: Path, claim: str, findings: Sequence[Finding], command: str, date: str = "") -> Path:
    """Write findings into the record of a claim below a folder of results, beside those that are there."""
    lacking = (SCORES,) if claims[claim].questions else ()
    known = read(home, claim) or Record(claim=claim, verdict="undecided", findings=(), lacking=lacking)
    names = {finding.name for finding in findings}
    every = (*findings, *(finding for finding in known.findings if finding.name not in names))
    record = replace(
        known,
        findings=every,
        verdict=all_held(finding.verdict for finding in every if finding.decides),
        lacking=tuple(name for name in known.lacking if name not in names),
        commands=tuple(dict.fromkeys((*known.commands, command))),
        date=max(known.date, date),
    )
    if record.lacking and record.verdict == "held":
        record = replace(record, verdict="undecided")
    return write(home, record)


def _counts(ours: Tokenizer, other: Tokenizer, texts: Sequence[str]) -> Counts:
    """Return the tokens of each text, ours and theirs, (n, 2)."""
    columns = [list(map(len, token_ids(tokenizer, texts))) for tokenizer in (ours, other)]
    return np.array(columns, np.int64).T


def _change(name: str, counts: Counts) -> Finding:
    """Return a relative change of sums, with the interval of a ratio estimator over texts."""
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
    said = verdict((low, high), "below")
    return Finding(name=name, value=value - 1, low=low, high=high, verdict=said, unit="%", n=n)
