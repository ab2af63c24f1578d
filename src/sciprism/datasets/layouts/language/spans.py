"""Documents with entities as character spans, converted to sentences of tagged words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import TaggingInput
from sciprism.datasets.layouts.labelled import PART_NAMES
from sciprism.datasets.layouts.language.parts import NO_TEXT, Parts
from sciprism.datasets.layouts.language.records import LanguageRecord, read_records
from sciprism.datasets.layouts.language.words import TaggedSentence, build_tagging_input
from sciprism.datasets.open_data import PARTS
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.text.sentences import split_sentences

_WORD = re.compile(r"</?[a-z]+>|\w+|[^\w\s]")


class Word(NamedTuple):
    """A word and its character span: text[start:end]."""

    text: str
    start: int
    end: int


class Entity(NamedTuple):
    """An entity as a span of words: words[start:end]."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedDocuments:
    """Read documents of `id`, `text`, `entities` (each with `start`, `end`, `label`) and `split`.

    A word is a run of letters and digits, or one other character; markup such as <heading> is ignored.
    Paragraphs are split into sentences, but not inside an entity; each sentence is a row. A span that ends
    inside a word is widened to the whole word; of spans that share a word, the first and longest is used.
    """

    path: str
    obtain: str = ""

    def read(self, data_root: DataRoot) -> TaggingInput:
        """Return the sentences of all documents. Raises InputError for an unknown split."""
        dropped = DropReport()
        parts: Parts[TaggedSentence] = {part: [] for part in PARTS}
        for record in read_records(data_root, data_root.local(self.path, self.obtain)):
            value = str(record.need("split"))
            if value not in PART_NAMES:
                raise InputError(f"{record.where}: unknown split {value!r}; known: {', '.join(PART_NAMES)}")
            part = next(part for part in PARTS if part == PART_NAMES[value])
            parts[part] += build_sentences(record, dropped)
        return build_tagging_input(parts, dropped, self.path)


def build_sentences(record: LanguageRecord, dropped: DropReport) -> Iterator[TaggedSentence]:
    """Yield the tagged sentences of a document; unusable spans are counted."""
    text = str(record.need("text") or "")
    words = split_words(text)
    if not words:
        dropped.add(NO_TEXT, record.id)
        return
    found = parse_entities(record, text, words, dropped)
    tags = build_tags(len(words), found)
    ends = []
    for end in find_sentence_ends(text, words):
        if any(entity.start < end < entity.end for entity in found):
            dropped.add("sentence end inside an entity, ignored", record.id)
        else:
            ends.append(end)
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        yield TaggedSentence(
            f"{record.id}:{number}", tuple(word.text for word in words[start:end]), tuple(tags[start:end])
        )


def split_words(text: str) -> list[Word]:
    """Return the words of a text with their spans."""
    return [
        Word(found[0], found.start(), found.end())
        for found in _WORD.finditer(text)
        if len(found[0]) == 1 or found[0][0] != "<"
    ]


def find_sentence_ends(text: str, words: Sequence[Word]) -> list[int]:
    """Return the number of words up to the end of each sentence; a line is a paragraph."""
    found, place = set(), 0
    for paragraph in text.splitlines():
        for sentence in split_sentences(paragraph):
            for piece in sentence.split():
                place = text.index(piece, place) + len(piece)
            found.add(bisect_right(words, place, key=lambda word: word.end))
    return sorted(found - {0})


def parse_entities(record: LanguageRecord, text: str, words: Sequence[Word], dropped: DropReport) -> list[Entity]:
    """Return a document's entities in order, without overlaps."""
    spans = []
    for number, entity in enumerate(record.need("entities") or ()):
        try:
            start, end, value = int(entity["start"]), int(entity["end"]), str(entity["label"])
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{record.where}: entity {number} is {entity!r:.80}; it needs start, end and label"
            ) from None
        name = f"{record.id}: {value} {start}-{end}"
        if not 0 <= start < end <= len(text):
            dropped.add("span outside the text, dropped", name)
            continue
        first = bisect_right(words, start, key=lambda word: word.end)
        last = bisect_left(words, end, key=lambda word: word.start)
        if first >= last:
            dropped.add("span without a word, dropped", name)
            continue
        if words[first].start < start or words[last - 1].end > end:
            dropped.add("span that begins or ends inside a word, widened to it", name)
        spans.append((first, -last, "-".join(value.split()), name))
    found: list[Entity] = []
    for first, last, label, name in sorted(spans):
        if found and first < found[-1].end:
            dropped.add("span that shares a word with an earlier or longer one, dropped", name)
        else:
            found.append(Entity(first, -last, label))
    return found


def build_tags(words: int, entities: Sequence[Entity]) -> list[str]:
    """Return the tag of each word, given entities that do not overlap."""
    tags = ["O"] * words
    for entity in entities:
        tags[entity.start : entity.end] = [f"I-{entity.label}"] * (entity.end - entity.start)
        tags[entity.start] = f"B-{entity.label}"
    return tags
