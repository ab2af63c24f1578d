"""Write the training sets of the open data, with a record of retained and dropped examples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import Part
from sciprism.datasets.split import SplitTable
from sciprism.errors import InputError
from sciprism.prepare.example_folder import MIN_DEV_EXAMPLES, PARTS, ExampleFolder
from sciprism.prepare.open.builders import OpenPrepareContext
from sciprism.prepare.open.training_sets import TRAINING_SETS, UNAVAILABLE_SETS, TrainingSet
from sciprism.prepare.preparation import CountTable, Preparation, check_workers
from sciprism.prepare.samplers.sampling import SampleReport

MAX_QUERIES = 20_000
"""Queries of a train file, so that no source dominates and a laptop can train on them."""
MAX_DEV_QUERIES = 1_000
WORDS = ("source", "format", "query", "candidate")
COUNTS = ("queries", "pairs", "hard", "dev")
"""Queries, positive pairs, those with a hard negative; queries of the dev file."""


def prepare_open(
    data_root: DataRoot, out: Path, *, seed: int = 0, max_queries: int = MAX_QUERIES, workers: int = 1
) -> Preparation:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of every set whose data exist, and `sources.json`.

    max_queries: of a train file, 0 for all. Runs with the same settings write the same bytes. Raises
    InputError where no set can be written.
    """
    check_workers(workers, seed=seed, max_queries=max_queries)
    context, folder = OpenPrepareContext(data_root, seed, max_queries, workers), ExampleFolder(out)
    done = Preparation(files=folder.counts, not_made=dict(UNAVAILABLE_SETS))
    rows: list[list[str | int]] = []
    sources: list[dict[str, Any]] = []
    for each in TRAINING_SETS:
        obstacle = each.find_obstacle(data_root)
        reports = {} if obstacle else _write_set(context, each, folder)
        folder.remove_unwritten(*map(each.file, PARTS))
        if each.file("train") in folder.counts:
            train, dev = reports["train"], reports["dev"].queries if each.file("dev") in folder.counts else 0
            rows.append([*each.roles.values(), train.queries, train.pairs, train.hard, dev])
            parts = {part: folder.describe(each.file(part)) | report.to_json() for part, report in reports.items()}
            sources.append({**each.roles, "data": each.builder.data, "parts": parts})
            done.dropped[each.name] = train.dropped
        else:
            done.not_made[each.name] = obstacle or "no example remains"
    if not sources:
        where = f"in {data_root.folder}" if data_root.folder else "here"
        wanted = ", ".join(dict.fromkeys(each.builder.data for each in TRAINING_SETS))
        raise InputError(
            f"no training set can be built: none of the data sets {wanted} is {where} "
            "with a train paper; set their folder with --data or SCIPRISM_DATA"
        )
    missing = SplitTable.load(data_root).missing
    done.warnings = [f"{data} is missing: these sources may hold papers of its test" for data in missing]
    done.tables = [CountTable(WORDS, COUNTS, rows)]
    record: dict[str, Any] = {"seed": seed, "max_queries": max_queries, "sources": sources}
    record |= {"skipped": done.not_made, "not_in_split": missing, "data": data_root.provenance()}
    done.record = folder.write_manifest("sources.json", record)
    return done


def _write_set(context: OpenPrepareContext, each: TrainingSet, folder: ExampleFolder) -> dict[Part, SampleReport]:
    """Write train and dev of a set; a file with too few queries is not retained."""
    reports: dict[Part, SampleReport] = {"train": SampleReport(), "dev": SampleReport()}
    sizes: dict[Part, tuple[int, int]] = {
        "train": (context.max_queries, 1),
        "dev": (MAX_DEV_QUERIES, MIN_DEV_EXAMPLES),
    }
    for part, (max_queries, min_queries) in sizes.items():
        examples = each.builder.examples(replace(context, max_queries=max_queries), part, reports[part])
        folder.write(each.file(part), examples, min_examples=min_queries)
    return reports
