"""The DDI corpus (2013): pairs of drugs in a sentence, with how the two interact, if they do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Segments
from sciprism.datasets.layouts.language.parts import PartFiles, cut_dev
from sciprism.datasets.layouts.language.records import Record, records
from sciprism.datasets.layouts.language.texts import Text, segments
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

ONE, BOTH = "@DRUG$", "@DRUG-DRUG$"
Span = tuple[int, int]
_OFFSET = re.compile(r"(\d+)-(\d+)")
LOST = "pair of a drug that is not there, left out"
APART, OVERLAP = "drug named in several pieces, taken from the first to the last", "drugs that overlap"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrugPairs:
    """Read documents of sentences with `text`, `entities` and `pairs`; each pair is a text of its own.

    The drugs of a pair become `@DRUG$`, drugs that overlap one `@DRUG-DRUG$`; others stay as they are. An
    offset such as "54-68" counts from 0 and includes its end; "1-5;9-12" is one drug in two pieces.
    dev_share: of the train documents, where there is no dev, drawn by a hash of their ids.
    """

    files: PartFiles
    dev_share: float = 0.0

    def read(self, home: DataRoot) -> Segments:
        """Return one text for each pair, with the kind of interaction or "false"."""
        tally = DropReport()
        parts = self.files.read(
            home, lambda path, _: (pair for each in records(home, path) for pair in _pairs(each, tally))
        )
        cut_dev(parts, self.dev_share, key=lambda text: text.group)
        return segments(parts, tally, self.files.where)


def masked(text: str, one: Span, other: Span) -> str:
    """Put `@DRUG$` in the place of both spans (start, end), or `@DRUG-DRUG$` for both where they overlap."""
    (start, end), (second, last) = sorted((one, other))
    if second < end:
        return f"{text[:start]}{BOTH}{text[max(end, last) :]}"
    return f"{text[:start]}{ONE}{text[end:second]}{ONE}{text[last:]}"


def _pairs(document: Record, tally: DropReport) -> Iterator[Text]:
    for number, sentence in enumerate(document.need("sentences")):
        name = f"{document.id}.s{number}"
        try:
            spans = {drug["id"]: _span(drug["offset"], name, tally) for drug in sentence["entities"]}
            text, pairs = sentence["text"], sentence["pairs"]
            told = [(pair["e1"], pair["e2"], str(pair["label"])) for pair in pairs]
        except (KeyError, TypeError) as error:
            raise InputError(f"{document.where}: sentence {number} lacks {error}") from None
        for place, (one, other, label) in enumerate(told):
            found = _both(spans, one, other, text)
            if found is None:
                tally.add(LOST, f"{name}.p{place}")
                continue
            if max(found)[0] < min(found)[1]:
                tally.add(OVERLAP, f"{name}.p{place}")
            yield Text(f"{name}.p{place}", (masked(text, *found).strip(),), label, document.id)


def _both(spans: Mapping[Any, Span], one: Any, other: Any, text: str) -> tuple[Span, Span] | None:
    """Return the spans of a pair's drugs, or nothing where one is not in the sentence."""
    if one not in spans or other not in spans:
        return None
    found = spans[one], spans[other]
    return found if all(0 <= start < end <= len(text) for start, end in found) else None


def _span(offset: str, name: str, tally: DropReport) -> Span:
    """Return the start of an offset's first piece and the place behind its last."""
    pieces = [_OFFSET.fullmatch(piece.strip()) for piece in str(offset).split(";")]
    if len(pieces) > 1:
        tally.add(APART, name)
    numbers = [(int(piece[1]), int(piece[2]) + 1) for piece in pieces if piece]
    if len(numbers) < len(pieces):
        raise InputError(f"{name}: the offset {offset!r} is not like 54-68 or 1-5;9-12")
    return min(start for start, _ in numbers), max(end for _, end in numbers)
