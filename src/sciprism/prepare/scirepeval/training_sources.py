"""Write SciRepEval's training sources: the published ones of a config, the same kinds of user papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import Part
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.prepare.example_folder import PARTS, ExampleFolder, SourceReport, TrainingSource
from sciprism.prepare.preparation import CountTable, Preparation, check_workers
from sciprism.prepare.samplers.answers import SEED
from sciprism.prepare.samplers.sampling import Sampling
from sciprism.prepare.samplers.scored_lists import count_lists
from sciprism.prepare.scirepeval.config import read_config
from sciprism.prepare.scirepeval.published import build_published_source
from sciprism.prepare.scirepeval.user import build_user_sources
from sciprism.prepare.sources.user_corpus import UserPapers, read_corpus

MAX_EXAMPLES, MAX_DEV_EXAMPLES = 600_000, 40_000
"""Examples of a train and of a dev file, as published."""
IN_CONFIG = "the config has a source of this name"
WORDS, COUNTS = ("source", "type", "format", "query"), ("train", "dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """Sizes of files, 0 for all; the seed of samples; the number of processes."""

    max_examples: int = MAX_EXAMPLES
    max_dev_examples: int = MAX_DEV_EXAMPLES
    seed: int = SEED
    workers: int = 1

    def __post_init__(self) -> None:
        counts = {"max_examples": self.max_examples, "max_dev_examples": self.max_dev_examples}
        check_workers(self.workers, **counts, seed=self.seed)

    def samplings(self, source: TrainingSource) -> dict[Part, Sampling]:
        """Return how each part of a source is sampled: at most as many examples as here and in the config."""
        samplings: dict[Part, Sampling] = {}
        for part in source.parts:
            requested = source.max_examples.get(part, 0)
            limits = (self.max_examples if part == "train" else self.max_dev_examples, requested)
            limit, report = min(filter(None, limits), default=0), SourceReport(requested=requested)
            samplings[part] = Sampling(limit=limit, seed=self.seed, workers=self.workers, report=report)
        return samplings


_DEFAULT_SETTINGS = SourceSettings()


def prepare_scirepeval(
    out: Path,
    *,
    config: Path | None = None,
    user_papers: UserPapers | None = None,
    data: Path | None = None,
    settings: SourceSettings = _DEFAULT_SETTINGS,
) -> Preparation:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of a config's tasks, of user papers, or both.

    Sources of user papers have the published names; a source of the config with the same name wins.

    data: the folder of hub data sets and files of the config. All inputs are checked before anything is
    written; a second call writes the same bytes. Raises InputError, also where no source can be written.
    """
    if config is None and user_papers is None:
        raise InputError("no config file and no papers; give one of them (--papers)")
    data_root, facts = DataRoot(data), dict[str, Any]()
    sources: list[TrainingSource] = []
    skipped: dict[str, str] = {}
    if config is not None:
        sources += [build_published_source(task, data_root) for task in read_config(config, data)]
        facts["config"] = {"file": config.name, "sha256": sha256(config)}
    if user_papers is not None:
        corpus, read = read_corpus(user_papers, data_root, settings.seed)
        kinds, skipped = build_user_sources(corpus)
        names = {source.name for source in sources}
        skipped = {name: reason for name, reason in skipped.items() if name not in names}
        skipped |= {f"{source.name}, of your papers": IN_CONFIG for source in kinds if source.name in names}
        sources += [source for source in kinds if source.name not in names]
        facts |= read
    done = Preparation(not_made=skipped)
    _write_sources(done, ExampleFolder(out), sources, data_root, settings, facts)
    return done


def _write_sources(
    done: Preparation,
    folder: ExampleFolder,
    sources: Sequence[TrainingSource],
    data_root: DataRoot,
    settings: SourceSettings,
    facts: Mapping[str, Any],
) -> None:
    """Write the sources and `sources.json`. facts: further keys of it."""
    rows: list[list[str | int]] = []
    records: list[dict[str, Any]] = []
    for source in sources:
        samplings = settings.samplings(source)
        dropped = samplings["train"].report.dropped
        if source.write(folder, samplings):
            sizes = (folder.counts.get(source.file(part), 0) for part in PARTS)
            rows.append([source.name, source.type, source.format, source.query, *sizes])
            records.append(source.to_json(folder, samplings))
            done.dropped[source.name] = dropped
            done.warnings += find_shortages(source, samplings)
        else:
            counts = Counter({reason: dropped.count(reason) for reason in dropped.ids})
            reasons = (f"{reason} {count:,}" for reason, count in counts.most_common(3))
            done.not_made[source.name] = "; ".join(["no example remains", *reasons])
    for name in done.not_made:
        for part in PARTS:
            folder.remove(f"{part}/{name}.jsonl")  # of an earlier run, or a dev file alone
    if not records:
        reasons = (f"{name}: {reason}" for name, reason in done.not_made.items())
        raise InputError(f"no training source can be built. {'; '.join(reasons)}")
    done.files, done.tables = folder.counts, [CountTable(WORDS, COUNTS, rows)]
    max_examples = {"train": settings.max_examples, "dev": settings.max_dev_examples}
    record = {"seed": settings.seed, "max_examples": max_examples, **facts, "sources": records}
    record |= {"skipped": done.not_made, "data": data_root.provenance()}
    done.record = folder.write_manifest("sources.json", record)


def find_shortages(source: TrainingSource, samplings: Mapping[Part, Sampling]) -> list[str]:
    """Return a warning for each part that has fewer records than the config requests."""
    warnings = []
    for part, sampling in samplings.items():
        requested, records = source.max_examples.get(part, 0), sampling.report.records
        if requested and records < (count_lists(sampling.limit) if source.type == "ir" else sampling.limit):
            shortage = f"{source.name}, {part}: {records:,} records, fewer than {requested:,} examples need"
            warnings.append(f"{shortage}: all are used")
    return warnings
