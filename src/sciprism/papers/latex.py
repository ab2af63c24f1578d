"""Turn the LaTeX of titles, names and abstracts into plain text that a person would read aloud alike."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_COMBINING = {
    **{"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307"},
    **{"u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323"},
    **{"b": "\u0331", "G": "\u030f", "t": "\u0361"},
}
_ACCENT = re.compile(
    r"\\(?P<mark>[`'^~\"=.]\s*|[uvHckrdbGt](?![A-Za-z])\s*)"
    r"(?:\{\s*\\?(?P<braced>[^\W\d_])(?P<rest>[^\W\d_]?)\s*\}|\\(?P<dotless>[ij])(?![A-Za-z])\s*(?:\{\})?|(?P<bare>[^\W\d_]))"
)
_ESCAPED = re.compile(r"\\([&%$#_{}~^])")
# While braces and dollars are taken out, those that are meant as such stand as private characters.
_KEPT = {"{": "\ue000", "}": "\ue001", "$": "\ue002", "~": "\ue003", "_": "\ue004", "^": "\ue005"}
_RESTORED = {ord(private): character for character, private in _KEPT.items()}
_LINE_BREAK = re.compile(r"\\\\\*?(?:\[[^\]]*\])?|\\(?=\s)|\\[,;:>]")
_NO_WIDTH = re.compile(r"\\[-/!@]")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SECOND_ARGUMENT = re.compile(r"\\(?:href|textcolor|colorbox)\s*\{[^{}]*\}")
_NOT_TEXT = re.compile(
    r"\\(?:cite[a-z]*|ref|eqref|label|includegraphics|[hv]space|color|noopsort|begin|end|usepackage|vskip)\*?"
    r"\s*(?:\[[^\]]*\]\s*)*\{[^{}]*\}"
)
_SUBSCRIPT = re.compile(r"_(?:\{(\d+)\}|(\d))")
_COMMAND = re.compile(r"\\(?P<name>[A-Za-z]+)\*?(?P<space>\s*)(?P<argument>(?:\{\}|(?=\{))?)")
_PUNCTUATION = re.compile(r"---?|``|''")
_TYPESET = {"---": "—", "--": "–", "``": "“", "''": "”"}
_SILENT = frozenset(
    """
    em bf it tt sc rm sf sl bfseries itshape scshape ttfamily rmfamily sffamily upshape mdseries slshape
    displaystyle textstyle limits nolimits left right big Big bigg Bigg bigl bigr Bigl Bigr noindent
    centering protect relax newline linebreak par item quad qquad xspace boldmath unboldmath
    tiny scriptsize footnotesize small normalsize large Large
    """.split()
)
_SPACES = frozenset("par item quad qquad xspace newline linebreak".split())
_IN_WORDS = frozenset("o O l L i j ss ae AE oe OE aa AA dh DH th TH dj DJ ng NG".split())
_MARKUP = re.compile(r"[\\{}~$]|--|``|''")


def decode_latex(text: str) -> str:
    """Return `text` with accents composed, symbols for commands, and grouping braces gone."""
    if _MARKUP.search(text) is None:
        return text
    if "\\" in text:
        text = _decode_commands(text)
    if "$" in text:
        text = text.replace("$", "")
    if "--" in text or "``" in text or "''" in text:
        text = _PUNCTUATION.sub(lambda mark: _TYPESET[mark[0]], text)
    text = text.replace("{", "").replace("}", "").replace("~", " ")
    return text.translate(_RESTORED)


def _decode_commands(text: str) -> str:
    text = _LINE_BREAK.sub(" ", text)
    text = _ACCENT.sub(_accented, text)
    text = _ESCAPED.sub(lambda escape: _KEPT.get(escape[1], escape[1]), text)
    text = _NO_WIDTH.sub("", text)
    text = _FRACTION.sub(r"\1/\2", text)
    text = _SECOND_ARGUMENT.sub("", text)
    text = _NOT_TEXT.sub("", text)
    return _COMMAND.sub(_spoken, text)


def _accented(accent: re.Match[str]) -> str:
    letter = accent["braced"] or accent["dotless"] or accent["bare"]
    return unicodedata.normalize("NFC", letter + _COMBINING[accent["mark"].strip()] + (accent["rest"] or ""))


def _spoken(command: re.Match[str]) -> str:
    """Return the symbol of a command; of others the name, unless it has an argument or only sets type."""
    name = command["name"]
    following = command["space"] and " "
    if name in _SILENT:
        return " " if name in _SPACES else ""
    symbol = _symbols().get(name)
    if symbol is not None:
        return symbol if name in _IN_WORDS or command["argument"] else symbol + following
    has_argument = command.string[command.end() : command.end() + 1] == "{"
    return "" if has_argument else name + following


@cache
def _symbols() -> dict[str, str]:
    """Return the commands that stand for characters, with and without dots and accents."""
    from pylatexenc.latex2text import get_default_latex_context_db

    database = get_default_latex_context_db()
    symbols = {"i": "i", "j": "j", "ldots": "...", "dots": "...", "times": "×", "sqrt": "√"}
    for spec in database.iter_macro_specs():
        text = spec.simplify_repl
        plain = isinstance(text, str) and "%" not in text and text.strip() and "<" not in text
        if plain and spec.macroname.isalpha():
            symbols.setdefault(spec.macroname, text.strip())
    return symbols
