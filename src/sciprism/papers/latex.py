"""Turn the LaTeX of titles, names and abstracts into plain text."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_COMBINING_MARKS = (
    "\u0300\u0301\u0302\u0303\u0308\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a\u0323\u0331\u030f\u0361"
)
_COMBINING = dict(zip("`'^~\"=.uvHckrdbGt", _COMBINING_MARKS, strict=True))
_ACCENT = re.compile(
    r"\\(?P<mark>[`'^~\"=.]\s*|[uvHckrdbGt](?![A-Za-z])\s*)"
    r"(?:\{\s*\\?(?P<braced>[^\W\d_])(?P<rest>[^\W\d_]?)\s*\}"
    r"|\\(?P<dotless>[ij])(?![A-Za-z])\s*(?:\{\})?|(?P<bare>[^\W\d_]))"
)
_ESCAPED = re.compile(r"\\([&%$#_{}])")
# Private characters protect literal braces and dollars while the others are removed.
_PROTECTED = {"{": "\ue000", "}": "\ue001", "$": "\ue002", "~": "\ue003"}
_RESTORED = {ord(private): character for character, private in _PROTECTED.items()}
_LINE_BREAK = re.compile(r"\\\\\*?(?:\[[^\]]*\])?|\\(?=\s)|\\[,;:>]")
_NO_WIDTH = re.compile(r"\\[-/!@]")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SECOND_ARGUMENT = re.compile(r"\\(?:href|textcolor|colorbox)\s*\{[^{}]*\}")
_NOT_TEXT = re.compile(
    r"\\(?:cite[a-z]*|ref|eqref|label|includegraphics|[hv]space|color|noopsort|begin|end|usepackage|vskip)\*?"
    r"\s*(?:\[[^\]]*\]\s*)*\{[^{}]*\}"
)
# As in pandoc: a dollar sign before or after a space is money.
_MATHS = re.compile(r"\$\$?(?=\S)([^$]*[^$\s])\$\$?(?!\d)|\\[()\[\]]")
_SUBSCRIPT = re.compile(r"_(?:\{(\d+)\}|(\d))")
_COMMAND = re.compile(r"\\(?P<name>[A-Za-z]+)\*?(?P<space>\s*)(?P<argument>(?:\{\}|(?=\{))?)")
_PUNCTUATION = re.compile(r"---?|``|''")
_TYPESET = {"---": "—", "--": "–", "``": "“", "''": "”"}
_SETTING = """
em bf it tt sc rm sf sl bfseries itshape scshape ttfamily rmfamily sffamily upshape mdseries slshape
emph textit textbf texttt textrm textsc textsf text mathrm mathbf mathit mathcal mathbb
displaystyle textstyle limits nolimits left right big Big bigg Bigg bigl bigr Bigl Bigr
tiny scriptsize footnotesize small normalsize large Large boldmath unboldmath
noindent centering protect relax today
"""
_SPACING = "par item quad qquad xspace newline linebreak"
_LETTERS = "o O l L i j ss ae AE oe OE aa AA dh DH th TH dj DJ ng NG"
_SILENT = frozenset(_SETTING.split())
_SPACES = frozenset(_SPACING.split())
_IN_WORDS = frozenset(_LETTERS.split())
_MARKUP = re.compile(r"[\\{}~$]|--|``|''")


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
    if name in _SILENT or name in _SPACES:
        return " " if name in _SPACES else ""
    if (symbol := _symbols().get(name)) is not None:
        return symbol if name in _IN_WORDS or command["argument"] else symbol + following
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
