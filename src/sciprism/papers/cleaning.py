"""Clean texts of any origin: no markup, LaTeX, entities or invisible characters, single spaces; fold them."""

from __future__ import annotations

import html
import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, partial
from hashlib import sha1
from importlib.resources import files
from itertools import groupby, islice
from typing import Literal
from urllib.parse import unquote

from sciprism.papers.records import Label, Paper

_WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in tomllib.loads((files(__package__) / "markup.toml").read_text(encoding="utf-8")).items()
}
# Any name in the namespaces of JATS and MathML is a tag; without a namespace only known names are, so that
# `a <b and c> d` stays. Attributes must look like attributes for the same reason.
_TAG = re.compile(
    r"</?(?:(?P<space>jats|mml|m|xhtml|html|ns\d):)?(?P<name>[a-z][a-z0-9-]*)"
    r"(?:\s+[\w:-]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'|[^\s\"'<>]+))*\s*/?>",
    re.IGNORECASE,
)
_CLOSING = re.compile("</[A-Za-z]")
# Formulas often come twice, once as TeX or annotation. No match extends past the next opening tag of these,
# so that thousands of unclosed ones cost little.
_HIDDEN_TAG = r"(?:\w{1,32}:)?(?:annotation|tex-math|script|style)\b"
_HIDDEN = re.compile(
    rf"<(?P<tag>{_HIDDEN_TAG})[^<>]*>(?:(?!<{_HIDDEN_TAG}).)*?</(?P=tag)\s*>"
    r"|<!--(?:(?!<!--).)*?-->|<!\[CDATA\[|\]\]>",
    re.IGNORECASE | re.DOTALL,
)
# 10<sup>6</sup> without its tags would be the number 106.
_POWER = re.compile(r"(?<=\d)<(?:jats:)?sup>\s*([+\u2212\u2013-]?\d{1,3})\s*</(?:jats:)?sup>", re.IGNORECASE)
_RAISED = str.maketrans(
    "0123456789+-\u2212\u2013", "\u2070\xb9\xb2\xb3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207b\u207b"
)
_CATALOGUED = re.compile(
    r" \[(?:electronic resource|microform|videorecording|sound recording|computer file|manuscript)\]| /$", re.IGNORECASE
)
_MATHML = re.compile(r"math|m(?:row|i|n|o|text|frac|s?sub|sup|subsup|sqrt|over|under|fenced|stack|style|space)")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Control characters (not white space), soft hyphens, zero-width spaces, lone surrogates.
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u2060\ufeff\ufffe\uffff\ud800-\udfff]")
_UNSEEN = ("Cc", "Cf", "Cs", "Mn")  # a mark that combines with nothing is not a text
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and braille without ink
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_MAX_MARKS = 30  # on one letter: Unicode's limit of text that is safe to process, as sorting marks takes quadratic time
_MARK_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{_MAX_MARKS + 1},}}")
# Left out of words: soft hyphens, joiners, direction marks, variation selectors, signs that Unicode spells as letters.
_NOT_IN_WORDS = re.compile(
    "[\xad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff\u2120\u2122]"
)
_FRACTIONS = re.compile("[\xbc-\xbe\u2150-\u215f\u2189]")  # 10½ is not 101
# Letters that Unicode does not decompose into a base letter and a mark.
_BASE_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ŋ": "ng"}
)
_HEADING_TAG = re.compile(r"^\s*<((?:jats:)?title)>\s*(?:abstract|summary)\s*</\1>", re.IGNORECASE)
# "Abstract interpretation of programs" is not a heading: without punctuation, a usual first word must follow.
_HEADING = re.compile(
    r"^(?:(?:ABSTRACT|Abstract)(?:\s*[:.]\s*|\s+[-–—]+\s*|—\s*)|ABSTRACT\s+|Abstract\s+"
    r"(?=(?:We|The|This|These|In|An?|Our|Here|It|To|There|Recent|Background|Objectives?|Purpose|Aims?"
    r"|Introduction|Motivation|Context|Methods|Summary)\b))(?=\S)"
)
# Scopus and others:
_NO_ABSTRACT = re.compile(r"\[?(?:there is )?no abstract(?: is)?(?: available)?[.\]]*", re.IGNORECASE)
_PASSES = 4  # for markup inside entities inside markup

_MISSING = r"NA N/A n/a #N/A <NA> nan NaN NaT \N (null) #REF! #VALUE! #NAME? #DIV/0! #NULL! #NUM!"
MISSING_VALUES = frozenset(_MISSING.split())
"""What R, pandas, databases and Excel write for a missing value: as spelled here no title, and no name of a person."""
_MISSING_TEXTS = MISSING_VALUES | {"None", "none", "null", "NULL", "nil", "na", "n.a.", "N.A."}
_PLACEHOLDERS = _WORDS["missing"] | {""}  # compared without case, spaces and punctuation
_FLOAT = re.compile(r"(\d+)\.0+")  # pandas, of numbers in a column where some are missing
_ARXIV_FLOAT = re.compile(r"(\d{3,4})\.(\d{1,5})")  # 704.0001 and 1512.0338 were 0704.0001 and 1512.03380
_ROUNDED = re.compile(r"\d[.,]?\d{0,20}e\+?\d", re.IGNORECASE)  # Excel: 3.1E+07
_TEMPLATE_DOI = re.compile(r"10\.[\d.]+/[xn0.*-]{4,}")  # as in 10.1145/nnnnnnn.nnnnnnn

_DOI = re.compile(r"10\.\d{3,9}(?:\.\d{1,9}){0,4}/[^\s?]{1,2000}")  # of any length it would take quadratic time
_OTHER_DOI = re.compile(r"10(?:\.\d+)?/[^\s?]+")  # a short one such as 10/abc, or of an unusual registrant
_NUMBERED = frozenset(["doi", "pmid", "pmcid", "arxiv", "openalex", "isbn", "mag"])
_DIGIT, _NOT_ZERO = re.compile("[1-9]"), re.compile(r"[^\W0_]")
_OPENALEX = re.compile(r"(?:.*openalex\.org/(?:works/)?)?(W\d+)/?", re.IGNORECASE)
_ARXIV = re.compile(
    r"(?:.*arxiv\.org/(?:abs|pdf|html)/|\s*arxiv:\s*|\s*)(?P<id>\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})"
    r"(?:v\d+)?(?:\.pdf)?(?:\s|$)",
    re.IGNORECASE,
)

_MARKS = "\u0300\u0301\u0302\u0303\u0308\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a\u0323\u0331\u030f\u0361"
_COMBINING = dict(zip("`'^~\"=.uvHckrdbGt", _MARKS, strict=True))
_ACCENT = re.compile(
    r"\\(?P<mark>[`'^~\"=.]\s*|[uvHckrdbGt](?![A-Za-z])\s*)"
    r"(?:\{\s*\\?(?P<braced>[^\W\d_])(?P<rest>[^\W\d_]?)\s*\}"
    r"|\\(?P<dotless>[ij])(?![A-Za-z])\s*(?:\{\})?|(?P<bare>[^\W\d_]))"
)
_ESCAPED = re.compile(r"\\([&%$#_{}])")
# Private characters protect literal braces and dollars while the others are removed.
_PROTECTED = {"{": "\ue000", "}": "\ue001", "$": "\ue002", "~": "\ue003"}
_RESTORED = {ord(private): character for character, private in _PROTECTED.items()}
_LINE_BREAK = re.compile(r"\\\\\*?(?:\[[^\[\]]*\])?|\\(?=\s)|\\[,;:>]")
_NO_WIDTH = re.compile(r"\\[-/!@]")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SECOND_ARGUMENT = re.compile(r"\\(?:href|textcolor|colorbox)\s*\{[^{}]*\}")
_NOT_TEXT = re.compile(
    r"\\(?:cite[a-z]*|ref|eqref|label|includegraphics|[hv]space|color|noopsort|begin|end|usepackage|vskip)\*?"
    r"\s*(?:\[[^\[\]]*\]\s*)*\{[^{}]*\}"
)
# As in pandoc: a dollar sign before or after a space is money.
_MATHS = re.compile(r"\$\$?(?=\S)([^$]*[^$\s])\$\$?(?!\d)|\\[()\[\]]")
_SUBSCRIPT = re.compile(r"_(?:\{(\d+)\}|(\d))")
_COMMAND = re.compile(r"\\(?P<name>[A-Za-z]+)\*?(?P<space>\s*)(?P<argument>(?:\{\}|(?=\{))?)")
_PUNCTUATION = re.compile(r"---?|``|''")
_TYPESET = {"---": "—", "--": "–", "``": "“", "''": "”"}
_MARKUP = re.compile(r"[\\{}~$]|--|``|''")


def clean_text(text: str) -> str:
    """Return `text` without tags, entities, invisible characters and extra space, in NFC; powers stay raised."""
    for _ in range(_PASSES):
        before = text
        if "<" in text:
            closed = frozenset(_CLOSING.findall(text := raise_powers(_HIDDEN.sub("", text))))
            text = _TAG.sub(partial(_replace_tag, closed=closed), text)
        if "&" in text:
            text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
        if text == before:
            break
    return clean_name(text)


def raise_powers(text: str) -> str:
    """Return `text` with 10<sup>6</sup> as 10⁶."""
    return _POWER.sub(lambda power: power[1].translate(_RAISED), text)


def clean_name(text: str) -> str:
    """Return `text` without invisible characters and extra space; markup stays."""
    if not text.isprintable():
        text = _INVISIBLE.sub("", text)
    if not text.isascii():
        text = normalize_unicode("NFC", text)
    return "" if is_blank(text) else " ".join(text.split())


def normalize_unicode(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in a normal form of Unicode; of more than 30 marks on one letter the first 30 stay."""
    return unicodedata.normalize(form, _MARK_RUN.sub(_limit_marks, text))


def _limit_marks(run: re.Match[str]) -> str:
    groups = groupby(run[0], key=lambda character: unicodedata.combining(character) > 0)
    return "".join("".join(islice(group, _MAX_MARKS if marks else None)) for marks, group in groups)


def is_blank(text: str) -> bool:
    """Return whether nothing of a text can be seen: spaces, joiners, direction marks, fillers alone."""
    if text.isascii():
        return not text.strip()
    return all(c.isspace() or c in _FILLERS or unicodedata.category(c) in _UNSEEN for c in text)


def fold_text(text: str) -> str:
    """Return a text as words are compared: lower case, no accents, CO₂ as co2, ligatures and wide letters as plain.

    Letters of scripts without an ASCII form stay. Two texts that look alike are equal.
    """
    return (text if text.isascii() else _NOT_ASCII.sub(_fold_characters, text)).lower()


def _fold_characters(characters: re.Match[str]) -> str:
    plain = _FRACTIONS.sub(" ", _NOT_IN_WORDS.sub("", characters[0]))
    letters = "".join(c for c in normalize_unicode("NFKD", plain) if not unicodedata.combining(c))
    return letters.casefold().translate(_BASE_LETTERS)


def is_placeholder(text: str) -> bool:
    """Return whether an identifier says only that there is none: `NA`, `n/a`, `None`, `-`, `unknown`, `doi:` ..."""
    return text in MISSING_VALUES or "".join(filter(str.isalnum, text.casefold())) in _PLACEHOLDERS


def is_missing(cell: str, *, title: bool = False) -> bool:
    """Return whether a cell of a table says that it has no value; a title may be "None", a surname "Null"."""
    return cell in MISSING_VALUES if title else cell in _MISSING_TEXTS or not cell.strip("-–—?/*")


def clean_id(text: str) -> str:
    """Clean an identifier; a placeholder becomes empty, and the number 12.0 becomes 12."""
    text = clean_name(text)
    if text[-1:] in "123456789":  # as in most of millions of references; no placeholder has a digit
        return text
    if number := _FLOAT.fullmatch(text):
        return number[1]
    return "" if is_placeholder(text) else text


def clean_abstract(text: str) -> str:
    """Clean an abstract and remove its heading "Abstract"; a note that there is none becomes empty."""
    text = _HEADING.sub("", clean_text(_HEADING_TAG.sub("", text))).removeprefix("<正>")  # CNKI's, of main texts
    return "" if text in _MISSING_TEXTS or _NO_ABSTRACT.fullmatch(text) else text


def normalize_doi(text: str) -> str:
    """Return the lower-case DOI in a link, after `doi:` or in a note; empty if there is none."""
    match = _DOI.search(html.unescape(unquote(text)) if "%" in text or "&" in text else text)
    if match is None:
        return ""
    doi = match[0].lower().rstrip(".,;:\"'>]}")
    while doi.endswith(")") and doi.count(")") > doi.count("("):
        doi = doi[:-1].rstrip(".,;:")
    return "" if _TEMPLATE_DOI.fullmatch(doi) else doi


def normalize_arxiv(text: str) -> str:
    """Return the arXiv identifier without its version; empty if there is none."""
    match = _ARXIV.match(text)
    return match["id"].lower() if match else ""


_HOMONYM = re.compile(r"(?<=\w) 0\d{3}$")  # DBLP numbers persons of one name


def clean_paper(paper: Paper) -> Paper:
    """Clean every text of a paper, normalize its ids, and derive an id if it has none."""
    given = {system.lower(): clean_id(value) for system, value in paper.ids.items()}
    cleaned = replace(
        paper,
        id=clean_id(paper.id),
        title=clean_title(paper.title),
        abstract=clean_abstract(paper.abstract),
        authors=tuple(_HOMONYM.sub("", name) for name in _clean_all(paper.authors)),
        venue=clean_text(paper.venue),
        fields=_clean_all(paper.fields),
        keywords=_clean_all(paper.keywords),
        references=tuple(filter(None, map(clean_id, paper.references))),
        ids={key: id for key, value in given.items() if (id := _normalize_id(key, value))},
    )
    return cleaned if cleaned.id else replace(cleaned, id=derive_id(cleaned))


def clean_title(text: str) -> str:
    """Clean a title; what catalogues of libraries add goes: `Title [electronic resource] /`."""
    text = clean_text(text)
    return _CATALOGUED.sub("", text) if text.endswith(" /") or " [" in text else text


def clean_label(label: Label) -> Label:
    """Clean every text of a label; one that says that there is no value becomes empty. Ids stay: NA is Namibia."""
    name, definition = clean_text(label.name), clean_text(label.definition)
    return replace(
        label,
        id=clean_name(label.id),
        name="" if is_missing(name) else name,
        synonyms=tuple(text for text in _clean_all(label.synonyms) if not is_missing(text)),
        definition="" if is_missing(definition) else definition,
        broader=tuple(filter(None, map(clean_name, label.broader))),
        codes=tuple(code for code in map(clean_name, label.codes) if not is_missing(code)),
    )


def _replace_tag(tag: re.Match[str], closed: frozenset[str]) -> str:
    """Return a space for a block tag, nothing for an inline tag, and the text itself if it is not a tag."""
    name = tag["name"].lower()
    if len(name) == 1 and not tag["space"] and f"</{tag['name']}" not in closed:
        return tag[0]  # in physics <p> is a mean
    if name in _WORDS["blocks"]:
        return " "
    if tag["space"] or name in _WORDS["inlines"] or _MATHML.fullmatch(name):
        return ""
    return tag[0]


def _clean_all(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(clean_text, texts)))


def _normalize_id(system: str, value: str) -> str:
    """Return the id in a text; empty if there is none. No id is 0, and those of some systems always have digits."""
    if system == "url":
        resolved = re.fullmatch(r"https?://(?:dx\.)?doi\.org/(.*)", value)
        return "" if resolved and is_placeholder(resolved[1]) else value
    if (_DIGIT if system in _NUMBERED else _NOT_ZERO).search(value) is None:
        return ""
    if system == "doi":
        other = None if _DOI.search(value) else _OTHER_DOI.search(value)
        return other[0].lower() if other else normalize_doi(value)
    if system in ("pmid", "pmcid"):
        number = None if _ROUNDED.search(value) else re.search(r"\d+", value)
        digits = number[0].lstrip("0") if number else ""
        return f"PMC{digits}" if digits and system == "pmcid" else digits
    if system == "openalex" and (work := _OPENALEX.fullmatch(value)):
        return work[1].upper()
    if system == "arxiv" and (parts := _ARXIV_FLOAT.fullmatch(value)):
        month = parts[1].zfill(4)
        value = f"{month}.{parts[2].ljust(5 if month > '1412' else 4, '0')}"
    return (system == "arxiv" and normalize_arxiv(value)) or value


def derive_id(paper: Paper) -> str:
    """Return an id for a paper that has none: that of another system, else a hash of its text."""
    for system in ("doi", "pmid", "arxiv"):
        if system in paper.ids:
            return f"{system}:{paper.ids[system]}"
    # A year has many papers titled "Editorial": hash all fields that may distinguish them.
    text = " ".join((paper.title, *paper.authors, paper.venue, paper.abstract))
    words = re.findall(r"\w+", normalize_unicode("NFKC", text).casefold())
    return "sha1:" + sha1(f"{' '.join(words)} {paper.year or ''}".encode()).hexdigest()[:12]


def decode_latex(text: str) -> str:
    """Return `text` with composed accents, symbols for commands, and no grouping braces."""
    if _MARKUP.search(text) is None:
        return text
    text = _LINE_BREAK.sub(" ", text)
    text = _ESCAPED.sub(lambda escape: _PROTECTED.get(escape[1], escape[1]), text)
    text = _MATHS.sub(lambda maths: _SUBSCRIPT.sub(r"\1\2", maths[1] or ""), text)
    if "\\" in text:
        text = _ACCENT.sub(_compose_accent, text)
        text = _FRACTION.sub(r"\1/\2", _NO_WIDTH.sub("", text))
        text = _NOT_TEXT.sub("", _SECOND_ARGUMENT.sub("", text))
        text = _COMMAND.sub(_replace_command, text)
    if "--" in text or "``" in text or "''" in text:
        text = _PUNCTUATION.sub(lambda mark: _TYPESET[mark[0]], text)
    text = text.replace("{", "").replace("}", "").replace("~", " ")
    return text.translate(_RESTORED)


def _compose_accent(accent: re.Match[str]) -> str:
    letter = accent["braced"] or accent["dotless"] or accent["bare"]
    return unicodedata.normalize("NFC", letter + _COMBINING[accent["mark"].strip()] + (accent["rest"] or ""))


def _replace_command(command: re.Match[str]) -> str:
    """Return the symbol of a command, else its name, unless it has an argument or only formats."""
    name = command["name"]
    following = command["space"] and " "
    if name in _WORDS["silent_commands"] or name in _WORDS["space_commands"]:
        return " " if name in _WORDS["space_commands"] else ""
    if (symbol := _symbols().get(name)) is not None:
        return symbol if name in _WORDS["letter_commands"] or command["argument"] else symbol + following
    has_argument = command.string[command.end() : command.end() + 1] == "{"
    return "" if has_argument else name + following


@cache
def _symbols() -> dict[str, str]:
    """Return command -> character."""
    from pylatexenc.latex2text import get_default_latex_context_db

    symbols = {"i": "ı", "j": "ȷ", "ldots": "...", "dots": "...", "times": "×", "sqrt": "√"}
    symbols |= {"textless": "<", "textgreater": ">", "degree": "°", "textasciicircum": "^"}
    symbols["textasciitilde"] = _PROTECTED["~"]
    for spec in get_default_latex_context_db().iter_macro_specs():
        text = spec.simplify_repl
        plain = isinstance(text, str) and "%" not in text and text.strip() and "<" not in text
        if plain and spec.macroname.isalpha():
            symbols.setdefault(spec.macroname, text.strip())
    return symbols


_EAST_ASIAN = re.compile(r"[々\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+")


def join_name(given: str, last: str, *more: str) -> str:
    """Return a name in reading order: `Ann Lee Jr.`; in Chinese, Japanese and Korean script the family's name is first.

    >>> join_name("Ann", "Lee"), join_name("太郎", "山田")
    ('Ann Lee', '山田太郎')
    """
    if given and last and join_east_asian(given + last):
        given, last = last + given, ""
    return " ".join(filter(None, (given, last, *more)))


def join_east_asian(name: str) -> str:
    """Return a name in Chinese, Japanese or Korean script without spaces and commas; "" for other names."""
    joined = re.sub(r"[\s,·・]+", "", name)
    return joined if _EAST_ASIAN.fullmatch(joined) else ""
