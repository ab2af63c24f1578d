"""What `--json` prints: one object per command, whose first key `schema` names its shape and version."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

SCHEMAS: dict[str, tuple[str, str]] = {
    "sciprism.inspect/1": ("inspect", "files, and counts of papers or labels: missing, years, languages, duplicates"),
    "sciprism.embed/1": ("embed", "counts of papers read and stored, reasons of those skipped, abstracts"),
    "sciprism.embed-part/1": ("embed --part", "part, parts, output, counts, reasons of those skipped, papers"),
    "sciprism.embed-ray/1": ("embed --ray", "collection, parts, done_before, counts, reasons, failed; merge or null"),
    "sciprism.merge/1": ("merge", "collection, parts, papers, counts of records read, repeated and bad"),
    "sciprism.status/1": ("status", "collection, stage, papers, parts: of each stage, papers, rate; summary"),
    "sciprism.index/1": ("index", "collection, built, papers"),
    "sciprism.search/1": ("search", "collection, mode, rankings: of each query its hits"),
    "sciprism.similar/1": ("similar", "collection, mode, rankings: one of each paper, with its hits"),
    "sciprism.push/1": ("push", "collection, address, papers, lexical, shortened; spaces: of each counts and check"),
    "sciprism.recommend/1": ("recommend", "inputs, output, model, counts, interests, hits with reasons, skipped"),
    "sciprism.match/1": (
        "match",
        "output, audit_file, conflicts_file, assignments: of each pair score, bid, reason; audit",
    ),
    "sciprism.delete/1": ("delete", "collection, deleted, unknown ids, papers left"),
    "sciprism.describe/1": ("describe", "what a model is: method, formats, spaces, pooling, template, fingerprint"),
    "sciprism.models/1": ("models", "models: of each name, method, formats, size, whether it is here"),
    "sciprism.export/1": ("export", "output, kind"),
    "sciprism.verify/1": ("verify", "path, kind, files: of each its state"),
    "sciprism.tag/1": ("tag", "labels, trained, threshold; papers: of each its tags; or output, counts"),
    "sciprism.tag-train/1": ("tag train", "output, counts, threshold, tags: used and unknown; notes"),
    "sciprism.tag-feedback/1": ("tag feedback", "output, papers, accepted, rejected, unknown tags, missing papers"),
    "sciprism.tag-report/1": ("tag report", "scores; labels most often suggested wrongly, most often missed"),
    "sciprism.train/1": ("train", "model: the folder of the last stage's model"),
    "sciprism.plan/1": ("train --plan", "recipe, seed, device, stages: of each steps, tokens, seconds, memory"),
    "sciprism.recipes/1": ("train --list", "recipes: of each path, name, reference, comment"),
    "sciprism.evaluate/1": ("evaluate", "results: as in their files"),
    "sciprism.suites/1": ("evaluate --list", "suites: of each its views, reference, tasks with format and data"),
    "sciprism.compare/1": ("compare", "baseline, systems, rows, published numbers, notes"),
    "sciprism.reproduce/1": ("reproduce", "title, suite, columns, rows; of a sample its counts"),
    "sciprism.tables/1": ("reproduce --list", "paper, tables, models"),
    "sciprism.overlap/1": ("overlap", "papers, training, tasks: of each what was found; unread"),
    "sciprism.prepare/1": ("prepare", "files, record, dropped, not_made, skipped, notes, warnings"),
    "sciprism.tokenizer-train/1": ("tokenizer train", "output, tokens"),
    "sciprism.tokenizer-compare/1": ("tokenizer compare", "tokenizers: of each size, terms, counts by domain, splits"),
    "sciprism.results-pack/1": ("results pack", "packs: of each path, results, systems, size"),
    "sciprism.error/1": ("every command that fails, on standard error", "error, exit"),
}
"""Schema -> the command that prints it, and its keys. A key may be added; a changed or removed one is a new version."""


def print_json(schema: str, document: Mapping[str, Any], *, error: bool = False) -> None:
    """Print one JSON document with its schema; an error as one line, on standard error."""
    assert schema in SCHEMAS, schema
    text = json.dumps({"schema": schema, **document}, indent=None if error else 1, ensure_ascii=False)
    print(text, file=sys.stderr if error else sys.stdout)


def is_json_asked() -> bool:
    """Return whether the command line has --json, before any command has read it."""
    words = sys.argv[1:]
    return "--json" in (words[: words.index("--")] if "--" in words else words)
