"""Make a table: check for missing models, score what has no result yet, fill the cells."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from sciprism.arrays import Floats
from sciprism.encoders.checkpoints.names import find_trained
from sciprism.encoders.ensemble import joins
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError
from sciprism.evaluation.report.model import are_apart
from sciprism.evaluation.results import folder_name
from sciprism.evaluation.run import EvaluationOptions, ProgressCallback, SelectedTasks, evaluate
from sciprism.evaluation.systems import DenseSystem, System, display_name
from sciprism.evaluation.systems.loading import SystemOptions, load_system
from sciprism.evaluation.task import Published
from sciprism.formats import Format, Role
from sciprism.reproduce.estimates import (
    Estimate,
    ScoreSample,
    SuiteScores,
    estimate_mean,
    find_untrained_stage,
    read_models,
    to_error,
    write_models,
)
from sciprism.reproduce.papers import (
    AlternativeInstruction,
    GroupedSuite,
    ModelRow,
    PaperTable,
    Reproduction,
    TableColumn,
    TableModel,
    build_columns,
)
from sciprism.text.template import FIELDS, Item


class InstructedEncoder:
    """An encoder with one instruction for every format and role; InputError if it takes none."""

    def __init__(self, encoder: EncoderProtocol, instruction: AlternativeInstruction) -> None:
        if "instruction" not in signature(encoder.encode).parameters:
            raise InputError(f"{encoder.name} takes no instructions; name a model of the method instruction")
        self.encoder: Any = encoder
        self.instruction = instruction
        self.encode([])  # a method without instructions raises InputError here
        self.name = f"{display_name(encoder)} ({instruction.key} instruction)"
        self.distance, self.dim, self.texts = encoder.distance, encoder.dim, encoder.texts
        self.fingerprint = hashlib.sha256(f"{encoder.fingerprint} {instruction.text}".encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return the model's description, with the instruction."""
        return dict(self.encoder.describe()) | {"instruction": self.instruction.text, "fingerprint": self.fingerprint}

    def space(self, format: Format, role: Role) -> str:
        """Return the encoder's space with the instruction appended: other instructions give other spaces."""
        return f"{self.encoder.space(format, role)}|{self.instruction.text}"

    def path(self, format: Format, role: Role) -> str:
        """Return the encoder's path with the instruction appended: one pass serves one instruction."""
        return f"{self.encoder.path(format, role)}|{self.instruction.text}"

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> Floats:
        """Return one row per item, encoded with the instruction."""
        settings: dict[str, Any] = {"format": format, "role": role, "fields": fields}
        vectors: Floats = self.encoder.encode(items, **settings, instruction=self.instruction.text)
        return vectors


ModelNames = Mapping[str, tuple[str, ...]]
"""Key of a model, or `key:task`, -> names of models: one, or the same recipe with several seeds."""
MODEL_FOLDERS = ("model", "best")
"""Folders of a stage's models in a run folder; such models are named after run and stage."""


def read_model_names(words: Iterable[str], models: Mapping[str, TableModel]) -> dict[str, tuple[str, ...]]:
    """Read `KEY=NAME`, repeated for several seeds. Raises InputError for keys that no row has."""
    names_by_key: dict[str, list[str]] = {}
    for word in words:
        key, _, name = word.partition("=")
        if not name:
            raise InputError(f"--models {word!r} is not KEY=NAME")
        if key.partition(":")[0] not in models:
            raise InputError(f"unknown model {key!r}; this table's paper has {', '.join(models)}")
        names_by_key.setdefault(key, []).append(name)
    return {key: tuple(dict.fromkeys(names)) for key, names in names_by_key.items()}


def model_keys(rows: Sequence[ModelRow]) -> tuple[str, ...]:
    """Return the keys of the models of some rows."""
    return tuple(dict.fromkeys(row.model for row in rows if row.model))


def resolve_run(name: str) -> tuple[str, str]:
    """Return the folder of a model and its name in results ("": its own name).

    The folder of a run means the finished model of its last stage, also in an ensemble. Raises InputError for
    an unfinished run.
    """
    join, _, members = name.partition(":")
    if members and join in joins:
        parts = [(member, *resolve_run(member)) for member in members.split("+")]
        whole = "+".join(folder for _, folder, _ in parts)
        return f"{join}:{whole}", f"{join}-" + "+".join(shown or member for member, _, shown in parts)
    folder = Path(name)
    if (model := find_trained(folder)) != folder:
        return str(model), folder.resolve().name
    if folder.name in MODEL_FOLDERS and folder.is_dir():
        *_, run, stage, last = folder.resolve().parts
        return name, f"{run}-{stage}" + ("" if last == MODEL_FOLDERS[0] else f"-{last}")
    return name, ""


def _load_system(name: str, options: SystemOptions, instruction: AlternativeInstruction | None) -> System:
    folder, shown = resolve_run(name)
    system = load_system(folder, options)
    if not isinstance(system, DenseSystem):
        if instruction:
            raise InputError(f"{name} takes no instructions")
        return system
    if shown:
        system.encoder.name = system.name = shown
    if instruction:
        return DenseSystem(InstructedEncoder(system.encoder, instruction))
    return system


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One row at one column: its score, and how far it is above the baseline row.

    above: relative to the baseline in tables of changes. published: the paper's number, and its standard
    deviation or error. gap: why there is none, "unreadable" or "not printed". marked: the two rows differ by
    more than two standard deviations over runs, the larger one's.
    """

    status: str = "published only"
    found: Estimate | None = None
    above: Estimate | None = None
    published: float | None = None
    published_spread: float | None = None
    gap: str = ""
    marked: bool = False
    remark: str = ""


SystemNames = Mapping[str, Sequence[str]]  # task -> the names of a row's systems there, one per seed


@dataclass(frozen=True, slots=True)
class FilledRow:
    """A row with its numbers, one cell for each column.

    models: the names of its systems. untrained: the systems whose model is the start of its training -> the stage.
    """

    row: ModelRow
    models: tuple[str, ...]
    cells: tuple[TableCell, ...]
    untrained: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FilledTable:
    """A table with its numbers."""

    table: PaperTable
    suite: GroupedSuite
    columns: tuple[TableColumn, ...]
    rows: tuple[FilledRow, ...]

    @property
    def failed(self) -> bool:
        """Return whether a task failed."""
        return any(cell.status == "failed" for row in self.rows for cell in row.cells)


def choose_rows(table: PaperTable, suite: GroupedSuite, only: Sequence[str] = ()) -> PaperTable:
    """Return the table with the rows of some models (default: all), their baselines, and rows always shown.

    Rows with published numbers only are dropped on other data, or if models are selected. A baseline row is
    not compared with a row that is dropped. Raises InputError for a model that no row has.
    """
    unknown = sorted(set(only) - set(model_keys(table.rows)))
    if unknown:
        raise InputError(
            f"table {table.name} has no row of the model {unknown[0]!r}; it has {', '.join(model_keys(table.rows))}"
        )

    def is_selected(row: ModelRow) -> bool:
        return row.model in only or row.always_shown if only else suite.original or bool(row.model) > row.own_data

    selected = {name for row in table.rows if is_selected(row) for name in (row.name, row.against)}
    rows = (row for row in table.rows if row.name in selected)
    return replace(table, rows=tuple(row if row.against in selected else replace(row, against="") for row in rows))


@dataclass(slots=True)
class TablePlan:
    """A table to make, with the systems of its rows, each loaded once.

    data: the folder of data. missing: systems that were not found, and how to get them.
    """

    paper: Reproduction
    table: PaperTable
    suite: GroupedSuite
    models: ModelNames
    data: Path | None = None
    precision: str = "float32"
    columns: tuple[TableColumn, ...] = ()
    missing: list[str] = field(default_factory=list)
    _loaded: dict[tuple[str, str, str], System | None] = field(default_factory=dict)
    _by_fingerprint: dict[str, System] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = build_columns(self.table, self.suite)

    def tasks_of(self, row: ModelRow) -> list[str]:
        """Return the names of a row's tasks; none for rows with published numbers only."""
        scores = (score for column in self.columns for score in column.scores if row.model)
        return list(dict.fromkeys(row.task(score.task) for score in scores))

    def systems(self, row: ModelRow) -> dict[str, tuple[System, ...]]:
        """Return task -> the systems of a row."""
        return {task: self.load(row, task) for task in self.tasks_of(row)}

    def names(self, row: ModelRow) -> SystemNames:
        """Return task -> the names of a row's systems."""
        return {task: [system.name for system in found] for task, found in self.systems(row).items()}

    def load(self, row: ModelRow, task: str) -> tuple[System, ...]:
        """Return a row's systems at a task, one per seed; none if one of them is missing."""
        model = self.paper.models[row.model]
        default = model.per_task.get(task, model.default)
        names = self.models.get(f"{row.model}:{task}") or self.models.get(row.model)
        pooling = "" if names else model.pooling
        names = names or ((default,) if default else ())
        if not names:
            self._add_missing(row.model, model, "")
        loaded = [self._load_once(name, row, pooling) for name in names]
        systems = [system for system in loaded if system is not None]
        if len({system.fingerprint for system in systems}) < len(systems):
            raise InputError(f"two of the models of {row.model} are identical: {', '.join(names)}")
        return tuple(systems) if len(systems) == len(loaded) else ()

    def _load_once(self, name: str, row: ModelRow, pooling: str) -> System | None:
        key = name, pooling, row.instruction.key if row.instruction else ""
        if key not in self._loaded:
            options = SystemOptions(pooling=pooling or None, precision=self.precision)
            try:
                system = _load_system(name, options, row.instruction)
                self._loaded[key] = self._by_fingerprint.setdefault(system.fingerprint, system)
            except (InputError, OSError) as error:
                self._loaded[key] = None
                self._add_missing(row.model, self.paper.models[row.model], f"{name}: {error}")
        return self._loaded[key]

    def _add_missing(self, key: str, model: TableModel, reason: str) -> None:
        how = model.obtain or f"name it: --models {key}=NAME"
        line = f"model {key} ({model.title}): " + "; ".join(filter(None, (reason, how)))
        if line not in self.missing:
            self.missing.append(line)


def plan_table(
    paper: Reproduction,
    table: PaperTable,
    suite: GroupedSuite,
    models: ModelNames,
    data: Path | None,
    precision: str = "float32",
) -> TablePlan:
    """Return the plan of a table; InputError lists all models that are missing."""
    plan = TablePlan(paper, table, suite, models, data, precision)
    for row in table.rows:
        plan.systems(row)
    if plan.missing:
        raise InputError(
            f"table {table.name} of {paper.title} cannot be made on {suite.name}; missing:\n"
            + "\n".join(f"- {line}" for line in plan.missing)
            + "\nname models with --models KEY=NAME, or choose rows with --only KEY; nothing was run"
        )
    return plan


def score_table(
    plan: TablePlan,
    output: Path,
    command: str = "",
    progress: ProgressCallback = lambda *_: None,
) -> FilledTable:
    """Score what has no result in a folder yet, then fill the table; a failed task has no score."""
    systems_of: dict[tuple[str, str], dict[str, System]] = {}
    for row in plan.table.rows:
        for task, systems in plan.systems(row).items():
            by_fingerprint = {system.fingerprint: system for system in systems}
            systems_of.setdefault((task, row.encoded_format), {}).update(by_fingerprint)
    batches: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (task, encoded_format), by_fingerprint in systems_of.items():
        key = plan.suite.suite_of(task).name, encoded_format, tuple(by_fingerprint)
        batches.setdefault(key, []).append(task)
    tasks = plan.suite.tasks_by_name()
    for (_, encoded_format, _), names in batches.items():
        batch = list(systems_of[names[0], encoded_format].values())
        selected = SelectedTasks(plan.suite.suite_of(names[0]), tuple(tasks[name] for name in names))
        options = EvaluationOptions(format=encoded_format, command=command)
        evaluate(batch, selected, plan.data, output=output, options=options, progress=progress)
    folders_of: dict[str, dict[str, None]] = {}  # recorded for `read_table` and the claims
    for row in plan.table.rows:
        for listed in plan.names(row).values():
            folders = (folder_name(name, row.encoded_format) for name in listed)
            folders_of.setdefault(row.key, {}).update(dict.fromkeys(folders))
    write_models(output, {key: tuple(listed) for key, listed in folders_of.items()})
    return fill_table(plan, SuiteScores(plan.suite, output), plan.names)


def read_table(paper: Reproduction, name: str, suite: GroupedSuite, only: Sequence[str], folder: Path) -> FilledTable:
    """Fill a table from the results in a folder: no model is loaded, nothing is scored.

    The folder's models.json says which systems are in which row; InputError if it has none of the table.
    """
    recorded = read_models(folder)
    present = [row.model for row in paper.table(name).rows if recorded.get(row.key)]
    if lacking := sorted(set(only) - set(present)) or ["the table"] * (not present):
        raise InputError(
            f"{folder} holds no results of {lacking[0]} (models.json lists the models); --results names another folder"
        )
    plan = TablePlan(paper, choose_rows(paper.table(name), suite, only or present), suite, {})
    tasks, results = suite.tasks_by_name(), SuiteScores(suite, folder)

    def list_systems(row: ModelRow) -> SystemNames:
        folders, systems = recorded.get(row.key, ()), {}
        for task in plan.tasks_of(row):
            scored = [folder for folder in folders if results.run(folder, tasks[task])] or folders
            systems[task] = [folder.removesuffix(f"--as-{row.encoded_format}") for folder in scored]
        return systems

    return fill_table(plan, results, list_systems)


def fill_table(plan: TablePlan, scores: SuiteScores, names: Callable[[ModelRow], SystemNames]) -> FilledTable:
    """Return the table filled from stored results."""
    systems = {row.name: names(row) if row.model else {} for row in plan.table.rows}

    def sample(row: ModelRow, column: TableColumn) -> ScoreSample | str:
        if not row.model:
            return "published only"

        def list_folders(task: str) -> list[str]:
            return [folder_name(name, row.encoded_format) for name in systems[row.name][task]]

        return scores.sample(column.scores, list_folders, row.variant, column.weights)

    samples = {row.name: [sample(row, column) for column in plan.columns] for row in plan.table.rows}
    rows = []
    for row in plan.table.rows:
        bases = samples[row.against] if row.against else [""] * len(plan.columns)
        published = find_published(plan.table, row) if plan.suite.original else None
        cells = tuple(
            _add_published(_build_cell(score, base, plan.table, scores), published, column.published_names)
            for score, base, column in zip(samples[row.name], bases, plan.columns, strict=True)
        )
        models = tuple(dict.fromkeys(chain.from_iterable(systems[row.name].values())))
        stages = {name: find_untrained_stage(scores.folder, folder_name(name, row.encoded_format)) for name in models}
        untrained = {name: stage for name, stage in stages.items() if stage}
        rows.append(FilledRow(row, models, cells, untrained))
    return FilledTable(plan.table, plan.suite, plan.columns, tuple(rows))


def _build_cell(score: ScoreSample | str, base: ScoreSample | str, table: PaperTable, scores: SuiteScores) -> TableCell:
    if isinstance(score, str):
        return TableCell(status=score)
    if isnan(score.value):
        return TableCell(status="undefined")
    cell = TableCell(status="done", found=estimate_mean(score))
    if isinstance(base, str):
        return cell
    sides = (to_error(score), to_error(base)) if table.form == "errors" else (score, base)
    above = scores.contrast(*sides, relative=table.form in ("errors", "relative"))
    said: dict[str, Any] = {"remark": above} if isinstance(above, str) else {"above": above}
    return replace(cell, **said, marked=table.form == "runs" and are_apart(score.seeds, base.seeds))


def find_published(table: PaperTable, row: ModelRow) -> Published | None:
    """Return a row as the paper prints it, None if it does not have the row."""
    names = (*row.published_names, row.name)
    return next((published for published in table.published if published.name in names), None)


def _add_published(cell: TableCell, row: Published | None, names: Sequence[str]) -> TableCell:
    """Return a cell with the paper's number, or why there is none. names: of the column in published rows."""
    if row is None:
        return cell
    for name in names:
        if name in row.scores:
            return replace(cell, published=row.scores[name], published_spread=row.spreads.get(name))
        if name in row.unreadable:
            return replace(cell, gap="unreadable")
    return replace(cell, gap="not printed")
