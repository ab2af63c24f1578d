"""Documents whose entities are spans of characters, as sentences of tagged words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Tagged
from sciprism.datasets.layouts.labelled import PART_NAMES
from sciprism.datasets.layouts.language.parts import NO_TEXT, Parts
from sciprism.datasets.layouts.language.records import Record, records
from sciprism.datasets.layouts.language.words import Sentence, tagged
from sciprism.datasets.sources import PARTS
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.text.sentences import split_sentences

_WORD = re.compile(r"</?[a-z]+>|\w+|[^\w\s]")
OUTSIDE = "span outside the text, left out"
WORDLESS = "span without a word, left out"
MISALIGNED = "span that begins or ends inside a word, widened to it"
NESTED = "span that shares a word with an earlier or longer one, left out"
KEPT_WHOLE = "sentence end inside an entity, not cut there"


class Word(NamedTuple):
    """A word and where it stands: text[start:end]."""

    text: str
    start: int
    end: int


class Entity(NamedTuple):
    """An entity as words: the first, and the one behind the last."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedDocuments:
    """Read documents of `id`, `text`, `entities` (each with `start`, `end`, `label`) and `split`.

    A word is a run of letters and digits, or one other mark; tags such as <heading> are no words. Paragraphs
    are cut into sentences, but not inside an entity; each is a row. A span that ends inside a word becomes
    the whole word; of spans that share a word the first, and of those the longest, counts.
    """

    path: str
    obtain: str = ""

    def read(self, home: DataRoot) -> Tagged:
        """Return the sentences of all documents. Raises InputError where a split is not known."""
        tally = DropReport()
        parts: Parts[Sentence] = {part: [] for part in PARTS}
        for record in records(home, home.local(self.path, self.obtain)):
            said = str(record.need("split"))
            if said not in PART_NAMES:
                raise InputError(f"{record.where}: the split is {said!r}; known: {', '.join(PART_NAMES)}")
            part = next(part for part in PARTS if part == PART_NAMES[said])
            parts[part] += sentences(record, tally)
        return tagged(parts, tally, self.path)


def sentences(record: Record, tally: DropReport) -> Iterator[Sentence]:
    """Yield the sentences of a document, with tags; what cannot be used is counted."""
    text = str(record.need("text") or "")
    words = words_of(text)
    if not words:
        tally.add(NO_TEXT, record.id)
        return
    found = entities_of(record, text, words, tally)
    tags = tags_of(len(words), found)
    ends = []
    for end in sentence_ends(text, words):
        if any(entity.start < end < entity.end for entity in found):
            tally.add(KEPT_WHOLE, record.id)
        else:
            ends.append(end)
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        spoken = tuple(word.text for word in words[start:end])
        yield Sentence(f"{record.id}:{number}", spoken, tuple(tags[start:end]))


def words_of(text: str) -> list[Word]:
    """Return the words of a text and where each stands."""
    return [
        Word(found[0], found.start(), found.end())
        for found in _WORD.finditer(text)
        if len(found[0]) == 1 or found[0][0] != "<"
    ]


def sentence_ends(text: str, words: Sequence[Word]) -> list[int]:
    """Return the number of words up to the end of each sentence; paragraphs end at line ends."""
    found, place = set(), 0
    for paragraph in text.splitlines():
        for sentence in split_sentences(paragraph):
            for piece in sentence.split():
                place = text.index(piece, place) + len(piece)
            found.add(bisect_right(words, place, key=lambda word: word.end))
    return sorted(found - {0})


def entities_of(record: Record, text: str, words: Sequence[Word], tally: DropReport) -> list[Entity]:
    """Return a document's entities in order, none sharing a word with another."""
    spans = []
    for number, entity in enumerate(record.need("entities") or ()):
        try:
            start, end, said = int(entity["start"]), int(entity["end"]), str(entity["label"])
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{record.where}: entity {number} is {entity!r:.80}; it needs start, end and label"
            ) from None
        name = f"{record.id}: {said} {start}-{end}"
        if not 0 <= start < end <= len(text):
            tally.add(OUTSIDE, name)
            continue
        first = bisect_right(words, start, key=lambda word: word.end)
        last = bisect_left(words, end, key=lambda word: word.start)
        if first >= last:
            tally.add(WORDLESS, name)
            continue
        if words[first].start < start or words[last - 1].end > end:
            tally.add(MISALIGNED, name)
        spans.append((first, -last, "-".join(said.split()), name))
    found: list[Entity] = []
    for first, last, label, name in sorted(spans):
        if found and first < found[-1].end:
            tally.add(NESTED, name)
        else:
            found.append(Entity(first, -last, label))
    return found


def tags_of(words: int, entities: Sequence[Entity]) -> list[str]:
    """Return the tag of each word, given entities that share none."""
    tags = ["O"] * words
    for entity in entities:
        tags[entity.start : entity.end] = [f"I-{entity.label}"] * (entity.end - entity.start)
        tags[entity.start] = f"B-{entity.label}"
    return tags
