"""The DDI corpus (2013): pairs of drugs in a sentence, with their kind of interaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import PairInput
from sciprism.datasets.layouts.language.parts import PartFiles, split_off_dev
from sciprism.datasets.layouts.language.records import LanguageRecord, read_records
from sciprism.datasets.layouts.language.texts import LabelledText, build_pair_input
from sciprism.drop_report import DropReport
from sciprism.errors import InputError

DRUG_MASK, DRUGS_MASK = "@DRUG$", "@DRUG-DRUG$"
Span = tuple[int, int]
_OFFSET = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrugPairs:
    """Read documents of sentences with `text`, `entities` and `pairs`; each pair is a text of its own.

    The drugs of a pair become `@DRUG$`, overlapping drugs one `@DRUG-DRUG$`; other drugs do not change. An
    offset such as "54-68" counts from 0 and includes its end; "1-5;9-12" is one drug in two pieces.
    dev_share: of the train documents, where there is no dev, sampled by a hash of their ids.
    """

    files: PartFiles
    dev_share: float = 0.0

    def read(self, data_root: DataRoot) -> PairInput:
        """Return one text for each pair, with the kind of interaction or "false"."""
        dropped = DropReport()
        parts = self.files.read(
            data_root,
            lambda path, _: (pair for each in read_records(data_root, path) for pair in _read_pairs(each, dropped)),
        )
        split_off_dev(parts, self.dev_share, key=lambda text: text.group)
        return build_pair_input(parts, dropped, self.files.where)


def mask_drugs(text: str, one: Span, other: Span) -> str:
    """Replace both spans (start, end) by `@DRUG$`, or overlapping ones by one `@DRUG-DRUG$`."""
    (start, end), (second, last) = sorted((one, other))
    if second < end:
        return f"{text[:start]}{DRUGS_MASK}{text[max(end, last) :]}"
    return f"{text[:start]}{DRUG_MASK}{text[end:second]}{DRUG_MASK}{text[last:]}"


def _read_pairs(document: LanguageRecord, dropped: DropReport) -> Iterator[LabelledText]:
    for number, sentence in enumerate(document.need("sentences")):
        name = f"{document.id}.s{number}"
        try:
            spans = {drug["id"]: _parse_offset(drug["offset"], name, dropped) for drug in sentence["entities"]}
            text, pairs = sentence["text"], sentence["pairs"]
            labelled_pairs = [(pair["e1"], pair["e2"], str(pair["label"])) for pair in pairs]
        except (KeyError, TypeError) as error:
            raise InputError(f"{document.where}: sentence {number} lacks {error}") from None
        for at, (one, other, label) in enumerate(labelled_pairs):
            found = [spans[drug] for drug in (one, other) if drug in spans]
            if len(found) < 2 or not all(0 <= start < end <= len(text) for start, end in found):
                dropped.add("pair with an unknown drug, dropped", f"{name}.p{at}")
                continue
            if max(found)[0] < min(found)[1]:
                dropped.add("drugs that overlap", f"{name}.p{at}")
            yield LabelledText(f"{name}.p{at}", (mask_drugs(text, *found).strip(),), label, document.id)


def _parse_offset(offset: str, name: str, dropped: DropReport) -> Span:
    """Return the start of an offset's first piece and the end of its last."""
    pieces = [_OFFSET.fullmatch(piece.strip()) for piece in str(offset).split(";")]
    if len(pieces) > 1:
        dropped.add("drug in several pieces, read from the first to the last", name)
    numbers = [(int(piece[1]), int(piece[2]) + 1) for piece in pieces if piece]
    if len(numbers) < len(pieces):
        raise InputError(f"{name}: the offset {offset!r} is not like 54-68 or 1-5;9-12")
    return min(start for start, _ in numbers), max(end for _, end in numbers)
