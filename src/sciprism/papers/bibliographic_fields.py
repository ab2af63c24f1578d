"""Parse names, years, lists and printed values as bibliographies of any format write them; normalize names."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sciprism.papers.cleaning import fold_text, join_east_asian, join_name

# Without their last mark too, up to the end: to look for it again and again would take quadratic time.
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?", re.DOTALL)
_PRINTED = re.compile(r"[\[({].*[\])}]|(?:c|list|set|array|Index|Series)\(.*\)|character\(0\)", re.DOTALL)
# Quoted texts, and what is around them:
_ONLY_QUOTED = re.compile(r"(?:[\w.]{1,32}\(|\0|[\s,\[\](){}]|nan\b|None\b|NA\b|\w{1,32}=\w{1,32}|\.\.\.|0)*+")
_ARRAY_TYPE = re.compile(r",\s*(?:dtype|length|name)=[^\[]*\)$")
_NAMES = "display_name name full_name fullname literal author raw_author_name keyword term"
_NAME_KEYS = tuple(_NAMES.split())
_PERSON_KEYS = (("family", "last", "sur"), ("given", "first", "fore"))  # without "name"
_OTHER_KEYS = ("title", "text", "value", "collective_name", "descriptor_name", "id")
_PLAIN = ("title", "abstract", "text", "display_name")  # columns whose texts never hold JSON, though they may begin so
_NAN = re.compile(r"(?<=[\s\[{:,])nan(?=[\s\]},])")


def parse_printed_list(text: str) -> list[str] | None:
    """Return the items of a list that a program printed into one text; None where the text is not such a list.

    Python, pandas and NumPy print `['a', "b's"]`, `('a',)`, `array(['a' 'b'])`, R `c("a", "b")`, others JSON; of an
    object in it, its name is the item.
    """
    text = _ARRAY_TYPE.sub(")", text.strip())
    if not _PRINTED.fullmatch(text):
        return None
    bare = _QUOTED.sub("\0", text)
    # Python would join neighbouring texts into one.
    values = None if re.search("\0\\s*\0", bare) else _parse_literal(text)
    if isinstance(values, str | int | float):
        return None  # it was in brackets
    if values is None:
        values = list(map(_parse_literal, _QUOTED.findall(text)))
        if None in values or not _ONLY_QUOTED.fullmatch(bare):
            return None
    items = [values] if isinstance(values, Mapping) else values
    try:
        return list(dict.fromkeys(filter(None, map(name_item, items))))
    except RecursionError:
        return None


def name_item(item: Any) -> str:
    """Return an item of a list as text: of an object its name, of a person `Family, Given`."""
    if isinstance(item, Mapping):
        return name_item(name_object(item))
    if isinstance(item, Iterable) and not isinstance(item, str):
        return ", ".join(filter(None, map(name_item, item)))
    return "" if item is None or item != item else str(item).strip()


def name_object(item: Mapping[Any, Any]) -> Any:
    """Return what an object is called: the value of its name, else family and given name of a person; None if nothing.

    Keys of persons are read in any case, with and without `_`.
    """
    named = next((item[key] for key in _NAME_KEYS if item.get(key)), None)
    if named is not None:
        return named
    parts = {str(key).casefold().replace("_", "").removesuffix("name"): value for key, value in item.items()}
    person = [next((parts[key] for key in keys if parts.get(key)), None) for keys in _PERSON_KEYS]
    return person if any(person) else next((item[key] for key in _OTHER_KEYS if item.get(key)), None)


def parse_cell(text: str) -> Any:
    """Return the list or object that a cell holds, in JSON or as Python prints it, else its text; None if empty."""
    if text[:1] in ("[", "{"):
        value = _parse_literal(text)
        return (_parse_literal(_NAN.sub("None", text)) or text) if value is None else value
    return text or None


def parse_texts(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with the lists and objects that its texts hold."""
    return {
        name: (value.strip() or None if name in _PLAIN else parse_cell(value.strip()))
        if isinstance(value, str)
        else value
        for name, value in row.items()
    }


def _parse_literal(text: str) -> Any:
    """Return the value that a text has in JSON or in Python; None if it has none."""
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return parse(text)
    return None


def nest_columns(row: Mapping[str, Any], lists: Collection[str] = (), maps: Collection[str] = ()) -> Mapping[str, Any]:
    """Return the object whose members are columns such as `journal.name`, as `pandas.json_normalize` writes them.

    lists: members whose items openalex.org joins by bars in each column. maps: members whose keys may have dots.
    """
    if not any("." in key for key in row):
        return row
    nested: dict[str, Any] = {key: value for key, value in row.items() if "." not in key and value is not None}
    for path, value in row.items():
        root, _, rest = path.partition(".")
        if not rest or value is None:
            continue
        keys = [rest] if root in maps else rest.split(".")
        if root not in lists or not isinstance(value, str):
            _set_member(nested, [root, *keys], value)
            continue
        texts = value.split("|")
        items = nested.setdefault(root, [])
        items += [{} for _ in texts[len(items) :]]
        for item, text in zip(items, texts, strict=False):
            _set_member(item, keys, None if text == "None" else text)
    return nested


def _set_member(target: Any, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        target = target.setdefault(key, {}) if isinstance(target, dict) else None
    if isinstance(target, dict):
        target[keys[-1]] = value


RETRACTED = "retracted paper"  # `Paper.notice`
_YEAR = re.compile(r"(?<!\d)(?:1[4-9]|20)\d\d(?!\d)")
_INITIALS = r"(?:[^\W\d_a-z]\.?-?\s?){1,4}"
_INITIALS_FIRST = re.compile(rf"{_INITIALS}(?<=[\s.])\S*[^\W\d_]{{2}}.*")
_INITIALS_LAST = re.compile(rf"(.*[^\W\d_]{{2}}\.?)\s({_INITIALS})")
# Notes of Zotero hold variables without a field of their own as "PMID: 123".
_NOTED = re.compile(r"^[^\S\n]*(DOI|PMID|PMCID|arXiv|ISBN)\s*:\s*(\S*\d\S*)", re.IGNORECASE | re.MULTILINE)
_BRACKETED = re.compile(r"\[(?=[^,]*,)([^\[\]\"]*)\]|\{(?=[^,]*,)([^{}\"]*)\}")
_AND = re.compile(r",? (?:and|AND|&) ")
_OTHERS = re.compile(r",?\s*(?:\s(?:and others|et al\.?)|…|\.\.\.)$")
_SUFFIX = re.compile(r"(?:[JS]r\.?|I{1,3}|IV)")
# What catalogues of libraries (MARC) put behind a name: "Keller, Ada, 1809-1882, author."
_ADDITIONS = re.compile(
    r"(?:,\s*(?:(?:[a-z]{1,6}\.?\s)?(?:\d{4}\??-(?:\d{4}\??)?|-\d{4})(?:\s[a-z]{1,12})?"
    r"|author|editor|translator|compiler|illustrator|contributor)\.?){1,3}(?=\s*(?:[;|\n]|$))"
)
_STAR = re.compile(r"\A\*(?=[^\W\d_])")
# In lower case as in The Office of ..., and not as in Hans in der Au:
_ORGANIZATION = re.compile(r"\b(?:of|for|the|on|in(?! (?:['’]t|de[nr]?|het)\b))\b")
_ORGANIZATION_NOUN = re.compile(
    r"\b(?:agency|association|cent(?:er|re)|collaboration|commission|committee|consorti(?:a|um)|council|department"
    r"|foundation|group|initiative|institut[a-z]*|investigators|laborator(?:y|ies)|ministry|network|organi[sz]ation"
    r"|society|team|universi[a-z]+)\b",
    re.IGNORECASE,
)


def join_pages(first: str, last: str) -> str:
    """Return pages as `11-19` of the first and the last; either may be all of them."""
    return f"{first}-{last}" if first and last and first != last and "-" not in first else first or last


def is_medline(*names: str) -> bool:
    """Return whether the names of a database say that its accession numbers are PMIDs."""
    return re.search("pubmed|medline|nlm", " ".join(names), re.IGNORECASE) is not None


def find_retraction(*kinds: str) -> str:
    """Return `Paper.notice` of a paper by its kinds of publication, or by whether it is retracted, as a text.

    PubMed, Europe PMC and Web of Science state "Retracted Publication", Scopus "Retracted"; "Retraction of Publication"
    is the notice that says so of another.
    """
    named = {part.strip().casefold() for kind in kinds for part in kind.split(";")}
    return "" if named.isdisjoint(("retracted publication", "retracted", "true")) else RETRACTED


def reorder_name(name: str) -> str:
    """Return `First Last Suffix` of `Last, First, Suffix, years of life`; other names unchanged."""
    last, given, *suffix = (*(part.strip() for part in _ADDITIONS.sub("", name).split(",")), "")
    return join_name(given, last, *suffix)


def choose_title(titles: Iterable[str]) -> str:
    """Return the first title; PubMed's "[Not Available]." of papers without an English one counts if no other does."""
    return min(filter(None, titles), key=lambda title: title.lower().rstrip(".") == "[not available]", default="")


def is_organization(name: str) -> bool:
    """Return whether an author is an organization, as far as its words tell: `World Health Organization`."""
    return _ORGANIZATION.search(name) is not None or _ORGANIZATION_NOUN.search(name) is not None


def split_person(name: str) -> tuple[str, str, str]:
    """Return last name with its particles, given names and suffix of a name; also of `Last, First, Suffix`.

    The last name is the last word, or begins at the first word in lower case after the first one, as in BibTeX; before
    a single letter it is the words up to it ("Smith J").

    >>> split_person("Ludwig van Beethoven"), split_person("John A. Smith Jr.")
    (('van Beethoven', 'Ludwig', ''), ('Smith', 'John A.', 'Jr.'))
    """
    if "," in name:
        last, given, suffix, *_ = (*(part.strip() for part in name.split(",", 2)), "", "")
        return last, given, suffix
    words = name.split()
    suffix = words.pop() if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) and len(words[-1]) > 1 else ""
    if len(words) > 1 and len(words[-1].rstrip(".")) == 1:
        return " ".join(words[:-1]), words[-1], suffix
    start = next((n for n, word in enumerate(words[1:-1], 1) if word.lstrip("'’")[:1].islower()), len(words) - 1)
    return " ".join(words[start:]), " ".join(words[:start]), suffix


def find_year(text: str) -> int | None:
    """Return the first year from 1400 to 2099 in a date of any notation."""
    match = _YEAR.search(text)
    return int(match[0]) if match else None


def find_noted_ids(note: str) -> dict[str, str]:
    """Return the ids in the lines of a note such as "PMID: 123", by system; the first of each."""
    ids: dict[str, str] = {}
    for system, value in _NOTED.findall(note):
        ids.setdefault(system.lower(), value)
    return ids


def _parse_list(text: str) -> list[str] | None:
    return parse_printed_list(text) if text.rstrip().endswith(("]", ")", "}")) else None


def split_list(text: str, separators: str = ";|\n") -> tuple[str, ...]:
    """Return the distinct items of a list in one text, printed by a program or separated, without empty ones."""
    if (printed := _parse_list(text)) is not None:
        return tuple(printed)
    if bracketed := _BRACKETED.fullmatch(text.strip()):
        text, separators = bracketed[1] or bracketed[2], separators + ","
    return _strip_all(re.split(f"[{re.escape(separators)}]", text))


def split_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct keywords of several lists, without the star of PsycInfo's and Ovid's main headings."""
    return tuple(dict.fromkeys(_STAR.sub("", item) for text in texts for item in split_list(text)))


def split_outside_braces(separator: re.Pattern[str], text: str) -> list[str]:
    """Split a text at the matches of a pattern that are not inside braces."""
    if "{" not in text:
        return separator.split(text)
    parts, start, seen, depth = [], 0, 0, 0
    for match in separator.finditer(text):
        depth += text.count("{", seen, match.start()) - text.count("}", seen, match.start())
        seen = match.start()
        if depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def _strip_all(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (item.strip() for item in items))))


def split_keywords(text: str, joined_by: str = "") -> tuple[str, ...]:
    """Split keywords at semicolons, bars and line ends, else at `joined_by`, else at commas."""
    items = split_list(text)
    if len(items) != 1 or _parse_list(text) is not None:
        return items
    return _strip_all(text.split(joined_by)) if joined_by and joined_by in text else split_list(text, ",;|\n")


def split_names(text: str, joined_by: str = "") -> tuple[str, ...]:
    """Return the authors of one text, given names first.

    " and " separates names of persons. A comma separates authors only where each part is a whole name
    (`A Einstein, B Podolsky, N Rosen`) or `joined_by` is one; else it separates the last name from the given ones.
    """
    text = _ADDITIONS.sub("", text)
    printed = _parse_list(text)
    if printed is not None and len(printed) != 1:
        return tuple(map(reorder_name, printed))
    text = printed[0] if printed else text
    bare = text.strip().strip("[]")
    listed = _strip_all(re.split(r"[;|\n]", bare))
    items = _strip_all(_OTHERS.sub("", " ".join(item.split()).removeprefix("and ")) for item in listed)
    split = partial(_split_joined_names, alone=len(items) == 1, at_commas=joined_by == "," or bare != text.strip())
    items = _strip_all(name for item in items for name in split(item))
    if all(_INITIALS_LAST.fullmatch(item) for item in items):
        return tuple(_INITIALS_LAST.sub(r"\2 \1", item) for item in items)
    return tuple(item.strip("{}") if item.startswith("{") else reorder_name(item) for item in items)


def find_name_joint(cells: Sequence[str]) -> str:
    """Return "," where the authors in the cells of a column are whole names between commas, else ""."""
    parts = [[part.strip() for part in cell.split(",")] for cell in cells if "," in cell]
    other = any(re.search(r"[;|\n\[{]| and ", cell) for cell in cells)
    whole = all(" " in part for names in parts for part in names)
    return "," if whole and not other and any(len(names) > 2 for names in parts) else ""


def find_keyword_joint(cells: Sequence[str]) -> str:
    """Return " and " where it joins the keywords in the cells of a column, as in tables of synthesisr, else ""."""
    other = any(re.search(r"[;|\n,]", cell) for cell in cells)
    return " and " if not other and any(cell.count(" and ") > 1 for cell in cells) else ""


def _split_joined_names(text: str, *, alone: bool, at_commas: bool) -> list[str]:
    """Split names that "and" or commas join. alone: whether nothing else separates the names of the list."""
    chunks = list(filter(None, map(str.strip, split_outside_braces(_AND, text))))
    if not alone:
        return chunks if all("," in chunk for chunk in chunks) else [text]
    if len(chunks) > 1 and not any("," in chunk for chunk in chunks):
        return chunks if all(map(_is_person, chunks)) else [text]
    # "Ann Alder, Bo Birch and Cy Cedar": the last one shows that commas separate.
    at_commas = at_commas or (len(chunks) > 1 and "," not in chunks[-1])
    return [name for chunk in chunks for name in _split_at_commas(chunk, at_commas)]


def _split_at_commas(text: str, whole: bool) -> list[str]:
    """Split names at commas, if they separate whole names or pairs of last and given names; else return them as one."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1 or text.startswith("{"):
        return [text]
    if text.count(".") == 1 and all(map(_INITIALS_LAST.fullmatch, parts)):
        parts[-1] = parts[-1].removesuffix(".")  # of the list, in tables of PubMed
    if all(_INITIALS_FIRST.fullmatch(part) or _INITIALS_LAST.fullmatch(part) for part in parts):
        return parts
    if all(" " in part for part in parts) and (whole or len(parts) > 2):
        return parts
    if len(parts) % 2 == 0 and len(parts) > 2 and not any(map(_SUFFIX.fullmatch, parts)):
        return [", ".join(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return [text]


def _is_person(name: str) -> bool:
    """Return whether a name is of a person, as far as can be seen: a ministry of health and welfare is none."""
    return name.startswith("{") or (" " in name and not _ORGANIZATION.search(name))


# ---- names of persons, for comparison ----


APOSTROPHES = re.compile("['’‘`´ʻʼ]")
_OTHER = re.compile(r"[\W\d_]+")
_JOINED_INITIALS = re.compile(r"\b[A-Z]{2,3}\b")


@dataclass(frozen=True, slots=True)
class Name:
    """A normalized name: first name, middle names, surname; each may be empty."""

    first: str
    middles: tuple[str, ...]
    last: str

    @property
    def whole(self) -> str:
        """Return the full name: all parts in reading order."""
        return " ".join(filter(None, (self.first, *self.middles, self.last)))

    @property
    def block(self) -> str:
        """Return first initial and surname."""
        return f"{self.first[:1]} {self.last}".strip()


def normalize(text: str) -> str:
    """Return a text in lower-case ASCII letters and single spaces, apostrophes removed.

    Letters of scripts without an ASCII base stay, or such a name would be empty.
    """
    return _OTHER.sub(" ", fold_text(APOSTROPHES.sub("", text))).strip()


def has_name(person: str, name: str) -> bool:
    """Return whether a person may have a name: all its words, in any order; an initial stands for a word.

    At least one word of two letters is equal: `A. Lee` meets `Lee, Ann` and `Lee AB`, not `A. Ng`. In Chinese, Japanese
    and Korean script spaces and commas count for nothing, and a beginning is enough: the family's name.
    """
    if whole := join_east_asian(name):
        return join_east_asian(person).startswith(whole)
    parts = normalize(_split_initials(name)).split()
    words = normalize(f"{person} {_split_initials(person)}").split()
    if not any(len(part) > 1 and part in words for part in parts):
        return False
    return all(
        part in words or any(min(len(part), len(word)) == 1 and part[0] == word[0] for word in words) for part in parts
    )


def _split_initials(name: str) -> str:
    """Return `Lee AB` as `Lee A B`."""
    return name if name.isupper() else _JOINED_INITIALS.sub(lambda letters: " ".join(letters[0]), name)


def parse_name(name: str) -> Name:
    """Parse a name: `Ann B. Lee`, where the last word is the surname, or `Lee, Ann B.`.

    A name in Chinese, Japanese or Korean script is one word, the family's name first, however it is divided.
    """
    if joined := join_east_asian(name):
        return Name("", (), normalize(joined))
    if "," in name:
        last, _, given = name.partition(",")
    else:
        given, _, last = name.strip().rpartition(" ")
    parts = normalize(given).split()
    return Name(parts[0] if parts else "", tuple(parts[1:]), normalize(last))
