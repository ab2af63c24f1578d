"""Boolean queries: phrases in quotes, AND, OR, NOT and parentheses over the words of a lexical index."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.index.lexical import split_words, tokenize
from sciprism.papers.records import Paper

Mask = NDArray[np.bool_]
Item = TypeVar("Item")
MAX_DEPTH = 100  # parentheses inside each other
FIRST_DEPTH = 100
"""Papers that are ranked at first, to look for phrases in them; four times as many while too few have them."""
MAX_SHOWN = 40  # characters of a query that a message shows
BOOLEAN_SIGNS = re.compile(r'["“”„‟«»＂]|(?<![^\s()])(?:AND|OR|NOT)(?![^\s()])|\w\w\*(?![^\s()])')
"""What makes a query Boolean, where it is for words: a quotation mark, an operator in capitals, a word cut by *."""
_PLAIN_SIGNS = str.maketrans("“”„‟«»＂（）", '"""""""()')
_TOKEN = re.compile(r'"[^"]*"?|[()]|[^\s()"]+')
_UNSUPPORTED = {
    re.compile(r".*\w\*"): "words are not completed at *; join all forms with OR",
    re.compile(r".*\["): "square brackets mean nothing here",
    re.compile(r"[A-Za-z-]{2,}[:=]\w"): "titles and abstracts are searched, there are no fields",
    re.compile(r"(?:NEAR|ADJ)/?\d*$|(?:W|N|PRE)/\d+$|XOR$"): "the operators are AND, OR and NOT",
    re.compile(r".*\||[+!]|-\w"): "the operators are AND, OR and NOT",
    re.compile(r"(?:and|or|not)$", re.IGNORECASE): "operators are written in capitals",
}


@dataclass(frozen=True, slots=True)
class BooleanQuery:
    """Words that follow each other (operator ""), or AND, OR, NOT of other such queries.

    start: where it begins in the query as it was written.
    """

    operator: str
    start: int
    parts: tuple[BooleanQuery, ...] = ()
    words: tuple[str, ...] = ()

    def matches(self, paper: Paper) -> bool:
        """Return whether a paper passes; a phrase is in its title or in its abstract."""
        title, abstract = (" ".join(split_words(text)) for text in (paper.title, paper.abstract))
        return self._matches(f" {title} | {abstract} ")

    def _matches(self, text: str) -> bool:
        if not self.operator:
            return f" {' '.join(self.words)} " in text
        passes = (part._matches(text) for part in self.parts)
        if self.operator == "NOT":
            return not next(passes)
        return all(passes) if self.operator == "AND" else any(passes)

    def find_rows(self, find_word: Callable[[str], Mask], rows: int) -> tuple[Mask, bool]:
        """Mark the rows that may pass, and return whether all of them do: phrases must be looked for in texts.

        find_word: marks the rows that have a word of the index.
        """
        if not self.operator:
            indexed = self.list_ranked_words()
            masks = [np.ones(rows, bool), *map(find_word, indexed)]
            return np.logical_and.reduce(masks), len(self.words) == len(indexed) == 1
        found = [part.find_rows(find_word, rows) for part in self.parts]
        certain = all(is_certain for _, is_certain in found)
        if self.operator == "NOT":
            return (~found[0][0], True) if certain else (np.ones(rows, bool), False)
        combine = np.logical_and if self.operator == "AND" else np.logical_or
        return combine.reduce([mask for mask, _ in found]), certain

    def list_ranked_words(self) -> list[str]:
        """Return the words by which papers are ranked: those of the index that are under no NOT."""
        if not self.operator:
            return tokenize([" ".join(self.words)])[0]
        return [] if self.operator == "NOT" else [word for part in self.parts for word in part.list_ranked_words()]

    def find_unranked(self) -> BooleanQuery | None:
        """Return a part by which papers could pass that have no word of the index; None where there is none."""
        if self.operator == "NOT":
            return self
        if not self.operator:
            return None if self.list_ranked_words() else self
        unranked = [part.find_unranked() for part in self.parts]
        if self.operator == "AND" and None in unranked:
            return None
        return next((part for part in unranked if part is not None), None)


def parse_query(query: str) -> BooleanQuery | None:
    """Parse a query with operators; None for plain words.

    NOT binds strongest, OR weakest; words next to each other are joined by AND. A word with a hyphen is a phrase.
    Common words out of quotes count as little as in plain queries. Raises InputError that says where it is malformed.
    """
    return _Parser(query).parse() if BOOLEAN_SIGNS.search(query) else None


class _Token(NamedTuple):
    text: str
    start: int


class _Parser:
    """Reads the tokens of one query from left to right."""

    def __init__(self, query: str) -> None:
        self._query = query.translate(_PLAIN_SIGNS)
        self._tokens = [_Token(match[0], match.start()) for match in _TOKEN.finditer(self._query)]
        self._tokens.append(_Token("", len(query)))
        self._at = 0

    def parse(self) -> BooleanQuery:
        parsed = self._read_alternatives(0)
        if self._token.text:
            raise self._error("this parenthesis closes none", self._token.start)
        if unranked := parsed.find_unranked():
            why = "says only what papers lack" if unranked.operator else "is too short or common to rank papers"
            raise self._error(f"this {why}; join it by AND with another word", unranked.start)
        return parsed

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _read_alternatives(self, depth: int) -> BooleanQuery:
        parts = [self._read_conjunction(depth)]
        while self._token.text == "OR":
            self._at += 1
            parts.append(self._read_conjunction(depth))
        return parts[0] if len(parts) == 1 else BooleanQuery("OR", parts[0].start, tuple(parts))

    def _read_conjunction(self, depth: int) -> BooleanQuery:
        start, parts = self._token.start, [self._read_operand(depth)]
        while self._token.text not in ("", ")", "OR"):
            self._at += self._token.text == "AND"
            parts.append(self._read_operand(depth))
        joined = tuple(part for part in parts if part is not None)
        if not joined:
            raise self._error("common words and signs alone find nothing; put them in quotes", start)
        return joined[0] if len(joined) == 1 else BooleanQuery("AND", start, joined)

    def _read_operand(self, depth: int) -> BooleanQuery | None:
        """Return a word, a phrase, NOT or what parentheses hold; None for a common word or a sign."""
        token = self._token
        if token.text in ("", "AND", "OR", ")"):
            what = "the end" if not token.text else token.text
            raise self._error(f"a word or phrase is missing before {what}", token.start)
        self._at += 1
        if token.text in ("NOT", "(") and depth == MAX_DEPTH:
            raise self._error(f"more than {MAX_DEPTH} parentheses or NOT are inside each other", token.start)
        if token.text == "NOT":
            excluded = self._read_operand(depth + 1)
            if excluded is None:
                raise self._error("NOT needs a less common word, or quotes", token.start)
            return BooleanQuery("NOT", token.start, (excluded,))
        if token.text != "(":
            return self._read_words(token)
        inner = self._read_alternatives(depth + 1)
        if self._token.text != ")":
            raise self._error("this parenthesis is not closed", token.start)
        self._at += 1
        return inner

    def _read_words(self, token: _Token) -> BooleanQuery | None:
        quoted = token.text.startswith('"')
        if quoted and (len(token.text) == 1 or not token.text.endswith('"')):
            raise self._error("this quotation mark is not closed", token.start)
        for pattern, why in () if quoted else _UNSUPPORTED.items():
            if pattern.match(token.text):
                raise self._error(f"{why}; or put {token.text} in quotes", token.start)
        words = tuple(split_words(token.text))
        if quoted and not words:
            raise self._error("these quotation marks hold no word", token.start)
        if self._query.startswith(('"', "("), token.start + len(token.text)) and not quoted:
            raise self._error("a space is missing after this word, or it names a field; there are none", token.start)
        common = len(words) == 1 and len(words[0]) > 1 and not tokenize(words)[0]
        return BooleanQuery("", token.start, words=words) if words and (quoted or not common) else None

    def _error(self, what: str, start: int) -> InputError:
        if start == len(self._query):
            return InputError(f"{what} of {self._query[-MAX_SHOWN:]!r}")
        return InputError(f"{what}, at character {start + 1}: {self._query[start : start + MAX_SHOWN]!r}")


def select(
    query: BooleanQuery,
    k: int,
    rank: Callable[[int], Sequence[Item]],
    read: Callable[[Sequence[Item]], Sequence[Paper]],
    limit: int | None = None,
) -> list[Item]:
    """Return the k best items that pass. rank: n -> the n best by the words that rank; read: items -> their papers.

    limit: the most that can be ranked. Raises InputError where this hides items that may pass.
    """
    passes: dict[Item, bool] = {}
    depth = max(k, FIRST_DEPTH)
    while True:
        depth = depth if limit is None else min(depth, limit)
        ranked = rank(depth)
        unread = [item for item in ranked if item not in passes]
        passes |= {item: query.matches(paper) for item, paper in zip(unread, read(unread), strict=True)}
        selected = [item for item in ranked if passes[item]][:k]
        if len(selected) == k or len(ranked) < depth:
            return selected
        if depth == limit:
            raise InputError(
                f"of the {depth:,} papers that share most words with the query, the most that are returned, "
                f"{len(selected):,} pass; ask for no more with -k, or search the folder"
            )
        depth *= 4
