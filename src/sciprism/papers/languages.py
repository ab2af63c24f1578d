"""Guess the language of a text: by its script, and in Latin script by common words, endings and accents."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from importlib.resources import files
from itertools import chain

_KNOWN = tomllib.loads((files(__package__) / "languages.toml").read_text(encoding="utf-8"))
_LANGUAGES: dict[str, list[str]] = {}  # of each common word
for _name, _words in _KNOWN["words"].items():
    for _word in _words.split():
        _LANGUAGES.setdefault(_word, []).append(_name)
LANGUAGES = {code: name for name, codes in _KNOWN["codes"].items() for code in (*codes.split(), name.lower())}
"""Code or lower-case name -> the name of a language or a script as it is guessed."""
_ENGLISH, _IN_ENGLISH = (frozenset(_KNOWN["titles"][key].split()) for key in ("english", "in_english"))
_SIGNS = {
    name: (re.compile(f".{{3,}}(?:{endings})"), re.compile(f".*[{accents}].*"))
    for name, (endings, accents) in _KNOWN["signs"].items()
}
_MIN_TITLE_WORDS, _MIN_EVIDENCE = 3, 1.5
_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in _KNOWN["scripts"].items()}
_WORD, _ASCII_WORD = re.compile(r"[^\W\d_]+"), re.compile("[a-z]+")
_SAMPLE_CHARS = 600  # more hardly changes a guess
_MIN_COMMON_WORDS = 3
ENGLISH_OR_UNCLEAR = ("English", "Latin script", "none")  # the guesses for a text that may be in English


def guess_language(text: str) -> str:
    """Guess the language of a text, or its script where the language is unclear.

    Texts of a few words are often "Latin script"; a text without letters is "none". A title is taken for another
    language only if it has no word such as "of": English ones with names such as "de la" are not.
    """
    sample = text[:_SAMPLE_CHARS].lower()
    if sample.isascii():
        return _latin_language(sample)
    letters = Counter({script: len(pattern.findall(sample)) for script, pattern in _LETTERS.items()})
    if letters["Japanese"] > 0.1 * letters["Chinese"]:  # Japanese mixes kana with Chinese characters
        letters["Japanese"] += letters.pop("Chinese")
    # One such character counts as two letters, as names and formulas are in Latin script.
    for script in ("Chinese", "Japanese", "Korean"):
        letters[script] *= 2
    script, count = letters.most_common(1)[0]
    if not count:
        return "none"
    return _latin_language(sample) if script == "Latin script" else script


def count_other_languages(texts: Iterable[str]) -> Counter[str]:
    """Count the languages of texts that are not in English, as guessed."""
    guesses = Counter(map(guess_language, texts))
    return Counter({name: count for name, count in guesses.items() if name not in ENGLISH_OR_UNCLEAR})


def _latin_language(sample: str) -> str:
    words = (_ASCII_WORD if sample.isascii() else _WORD).findall(sample)
    if not words:
        return "none"
    counts = Counter(chain.from_iterable(filter(None, map(_LANGUAGES.get, words))))
    (best, most), (_, next_most), *_ = (*counts.most_common(2), ("", 0), ("", 0))
    if most >= _MIN_COMMON_WORDS and most > next_most:
        return best
    return _title_language(set(words)) if len(words) >= _MIN_TITLE_WORDS else "Latin script"


def _title_language(words: set[str]) -> str:
    """Return the language of which a title has most evidence, words, endings and accents, if it has no English word."""
    if words & _ENGLISH:
        return "Latin script"
    evidence: defaultdict[str, float] = defaultdict(float)
    for word in words:
        for name in _LANGUAGES.get(word, ()):
            evidence[name] += 0.5 if word in _IN_ENGLISH else 1
    for name, signs in _SIGNS.items():
        if name in evidence:
            evidence[name] += sum(0.5 * min(sum(map(bool, map(sign.fullmatch, words))), 2) for sign in signs)
    best, most = max(evidence.items(), key=lambda item: item[1], default=("", 0))
    return best if most >= _MIN_EVIDENCE else "Latin script"
