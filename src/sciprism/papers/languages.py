"""Guess the language of a text: by its script, and in Latin script by its most common words."""

from __future__ import annotations

import re
from collections import Counter

# The languages of most abstracts in Latin script. Words of one letter are omitted: they are symbols too.
_COMMON_WORDS = {
    "English": "the of and in to is for with that on by are this was from as we an be which at were has",
    "German": "der die und das den von zu mit ist des im für auf eine ein nicht werden wurde bei sich durch",
    "French": "le la les des et du en une un est dans pour par sur que qui avec sont cette au ces nous",
    "Spanish": "el la los las de en que una un se por para con del es al su como más este fueron",
    "Portuguese": "os as de em que uma um do da dos das para com não no na por é foi foram são",
    "Italian": "il la di che un una in del della dei delle per con sono è nel gli si da al questo",
    "Dutch": "de het een en van in is op te dat voor met zijn niet door werd worden bij deze aan",
    "Polish": "na się do że jest nie oraz przez dla są od po jako które który ich został było może",
    "Turkish": "ve bir bu ile için olarak da de olan çalışmada daha en gibi olduğu ise",
    "Indonesian": "yang dan di dengan untuk dari pada ini dalam adalah tidak oleh penelitian ke",
    "Swedish": "och att det som en är på av för med till den inte har ett om vid",
    "Czech": "je na se že do pro jsou byl byla bylo které při jako nebo pomocí jeho také",
}
_LANGUAGES: dict[str, list[str]] = {}  # of each common word
for _name, _words in _COMMON_WORDS.items():
    for _word in _words.split():
        _LANGUAGES.setdefault(_word, []).append(_name)
_SCRIPTS = {
    "Chinese": "\u3400-\u9fff",
    "Japanese": "\u3040-\u30ff",
    "Korean": "\uac00-\ud7af\u1100-\u11ff",
    "Cyrillic script": "\u0400-\u052f",
    "Arabic script": "\u0600-\u06ff\u0750-\u077f",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Hebrew": "\u0590-\u05ff",
    "Devanagari script": "\u0900-\u097f",
    "Thai": "\u0e00-\u0e7f",
    "Latin script": "a-zà-öø-ɏḀ-ỿ",
}
_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE_CHARS = 600  # more hardly changes a guess
_MIN_COMMON_WORDS = 3


def guess_language(text: str) -> str:
    """Guess the language of a text, or its script where the language is unclear.

    Texts of up to a dozen words are often "Latin script"; a text without letters is "none".
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


def _latin_language(sample: str) -> str:
    words = _WORD.findall(sample)
    if not words:
        return "none"
    counts = Counter(name for word in words for name in _LANGUAGES.get(word, ()))
    (best, most), (_, next_most), *_ = (*counts.most_common(2), ("", 0), ("", 0))
    return best if most >= _MIN_COMMON_WORDS and most > next_most else "Latin script"
