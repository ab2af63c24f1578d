"""The claims of all papers, and how our settings differ from theirs, as `claims.toml` declares them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evidence.claim import (
    Claim,
    ContrastSide,
    ScoreContrast,
    printed,
    require_all,
    require_any,
    require_mixed,
    show_only,
)
from sciprism.registry import Registry


def read_contrast(ours: str, other: str, group: str, *rest: Any) -> ScoreContrast:
    """Return the contrast of a row: its figure, if it has one, and what differs from a plain one."""
    options: dict[str, Any] = {key: value for each in rest if isinstance(each, dict) for key, value in each.items()}
    printed_scores = [each if isinstance(each, list) else [each] for each in rest if not isinstance(each, dict)]
    figure = printed(*printed_scores[0]) if printed_scores else None
    direction = options.pop("direction", "below" if figure is not None and figure < 0 else "above")
    name = options.pop("name", f"{ours} {direction} {other}, {group}")
    against = ContrastSide(other, options.pop("other_group", group), options.pop("other_variant", ""))
    metrics = tuple(options.pop("metrics", ()))
    sides = ContrastSide(ours, group), against
    return ScoreContrast(name, *sides, direction=direction, figure=figure, metrics=metrics, **options)


def read_claim(paper: str, id: str, table: Mapping[str, Any]) -> Claim:
    """Return the claim of a table."""
    asked: dict[str, Any] = {"all": (), "any": {}, "mixed": {}, "show": ()} | dict(table)
    kinds = {"any": require_any, "mixed": require_mixed}
    some = (
        kinds[kind](name, *(read_contrast(*row) for row in rows))
        for kind in kinds
        for name, rows in asked[kind].items()
    )
    whole, shown = ([read_contrast(*row) for row in asked[kind]] for kind in ("all", "show"))
    questions = (*require_all(*whole), *(question for each in some for question in each), *show_only(*shown))
    rest = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    facts = {key: value for key, value in rest.items() if key not in ("all", "any", "mixed", "show")}
    return Claim(id=id, paper=paper, questions=questions, **facts)


TABLES = tomllib.loads((Path(__file__).parent / "claims.toml").read_text(encoding="utf-8"))
claims: Registry[Claim] = Registry("claim")
for paper, tables in TABLES.items():
    for id in [key for key in tables if key != "setting"]:
        claims.register(id)(read_claim(paper, id, tables[id]))
settings: dict[str, str] = {paper: tables["setting"] for paper, tables in TABLES.items()}
"""Paper -> how our setting differs from the paper's."""
