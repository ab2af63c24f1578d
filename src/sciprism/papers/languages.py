"""Guess the language of a text: by its script, and in Latin script by common words, endings and accents."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain

# The languages of most abstracts in Latin script. Words of one letter are omitted: they are symbols too.
_COMMON_WORDS = {
    "English": "the of and in to is for with that on by are this was from as we an be which at were has",
    "German": "der die und das den von zu mit ist des im für auf eine ein nicht werden wurde bei sich durch "
    "dem zur zum einer eines aus über zwischen nach vom",
    "French": "le la les des de et du en une un est dans pour par sur que qui avec sont cette au ces nous "
    "aux entre chez leur vers sous",
    "Spanish": "el la los las de en que una un se por para con del es al su como más este fueron "
    "entre sobre desde mediante hacia estudio",
    "Portuguese": "os as de em que uma um do da dos das para com não no na por é foi foram são "
    "entre sobre pela pelo ao aos nas nos estudo",
    "Italian": "il la di che un una in del della dei delle per con sono è nel gli si da al questo "
    "degli nella tra sul sulla",
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
# Of a title: words that few English ones are without, words that are in English names and texts too, endings, accents.
_FREQUENT = """
of the and for with by from to using via its their between toward towards through under on based at into how what why
is are can does
"""
_IN_NAMES = "die in ein den bei de la le un et el en van op te as do no per pour si be al são"
_ENGLISH, _IN_ENGLISH = frozenset(_FREQUENT.split()), frozenset(_IN_NAMES.split())
_ENDINGS_AND_ACCENTS = {
    "German": ("ungen|ung|keiten|keit|heiten|heit|schaft|schaften|ität|ischen?|ischer|isches|lichen?|licher", "äöüß"),
    "French": ("iques?|ités?|eux|euse|elles?|ées?|aux|aires?|eurs?|isme|ements?", "àâçèéêëîïôùûœ"),
    "Spanish": ("ción|ciones|sión|dad|dades|mientos?|ic[oa]s?|ador|aje", "áéíóúñü"),
    "Portuguese": ("ção|ções|são|dades?|mentos?|ic[oa]s?|agem|ência|ância", "áàâãçéêíóôõú"),
    "Italian": ("zion[ei]|ità|ment[oi]|ic[oai]|iche|aggio", "àèéìòù"),
}
_SIGNS = {
    name: (re.compile(f".{{3,}}(?:{endings})"), re.compile(f".*[{accents}].*"))
    for name, (endings, accents) in _ENDINGS_AND_ACCENTS.items()
}
_MIN_TITLE_WORDS, _MIN_EVIDENCE = 3, 1.5
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
