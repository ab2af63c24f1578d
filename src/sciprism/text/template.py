"""The text of a paper, a label or a query that is encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper

Item = Paper | Label | str

FIELDS = ("title", "abstract")
PAPER_FIELDS = tuple(item.name for item in fields(Paper))


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The text of each item: the prompt of its role, then its parts joined by `separator`.

    separator: " " for sentence-transformers folders, the tokenizer's separator token for the SPECTER family
    (title + sep_token + abstract). A missing part is dropped with its separator. prompts: role -> prefix
    ("query: "). lowercase: before the tokenizer.
    """

    separator: str = " "
    prompts: Mapping[str, str] = field(default_factory=dict)
    lowercase: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.prompts, Mapping):
            raise InputError(f"prompts are {self.prompts!r}, expected role -> text")
        for text in (self.separator, *self.prompts, *self.prompts.values()):
            if not isinstance(text, str):
                raise InputError(f"a template's separator and prompts are texts, got {text!r}")

    def text(self, item: Item, role: str, fields: Sequence[str] = FIELDS) -> str:
        """Return the text that is tokenized for one item."""
        text = self.prompts.get(role, "") + self.separator.join(filter(None, self._parts(item, fields)))
        return text.lower() if self.lowercase else text

    def to_json(self) -> dict[str, Any]:
        """Return the template as JSON values."""
        return asdict(self)

    def _parts(self, item: Item, fields: Sequence[str]) -> list[str]:
        if isinstance(item, str):
            return [item]
        if isinstance(item, Label):
            return [item.name, item.definition]
        if not isinstance(item, Paper):
            raise InputError(f"expected a paper, a label or a text, got {item!r:.80}")
        return [_plain(getattr(item, name)) for name in fields]


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)
