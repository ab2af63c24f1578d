"""The text of a paper, a label or a query that is encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper

Item = Paper | Label | str

FIELDS = ("title", "abstract")
PAPER_FIELDS = tuple(item.name for item in fields(Paper) if item.compare)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The text of each item: the prompt of its role, then its parts joined by `separator`.

    separator: " " for sentence-transformers folders, the tokenizer's separator token for the SPECTER family
    (title + sep_token + abstract). A missing part is dropped with its separator, but for keep_empty, as in SciMult.
    prompts: role -> prefix ("query: "). lowercase: before the tokenizer.
    """

    separator: str = " "
    prompts: Mapping[str, str] = field(default_factory=dict)
    lowercase: bool = False
    keep_empty: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.prompts, Mapping):
            raise InputError(f"prompts are {self.prompts!r}, expected role -> text")
        for text in (self.separator, *self.prompts, *self.prompts.values()):
            if not isinstance(text, str):
                raise InputError(f"a template's separator and prompts are texts, got {text!r}")

    def text(self, item: Item, role: str, fields: Sequence[str] = FIELDS) -> str:
        """Return the text that is tokenized for one item."""
        if isinstance(item, str):
            parts = [item]
        elif isinstance(item, Label):
            parts = [item.name, item.definition]
        elif isinstance(item, Paper):
            values = [getattr(item, name) for name in fields]
            parts = [", ".join(v) if isinstance(v, tuple) else str(v) for v in values if v is not None]
        else:
            raise InputError(f"expected a paper, a label or a text, got {item!r:.80}")
        text = self.prompts.get(role, "") + self.separator.join(parts if self.keep_empty else filter(None, parts))
        return text.lower() if self.lowercase else text

    def to_json(self) -> dict[str, Any]:
        """Return the template as JSON values, keep_empty only where it is set."""
        return {key: value for key, value in asdict(self).items() if key != "keep_empty" or value}
