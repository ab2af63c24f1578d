"""The models of a table's rows: those that the user names, else the published ones; lists missing ones."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

from sciprism.arrays import Floats
from sciprism.encoders.ensemble import joins
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError
from sciprism.evaluation.systems import DenseSystem, System, display_name
from sciprism.evaluation.systems.loading import SystemOptions, load_system
from sciprism.formats import Format, Role
from sciprism.reproduce.table import AlternativeInstruction, ModelRow, Reproduction, TableModel
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

    @property
    def fingerprint(self) -> str:
        """Return a hash of the model's fingerprint and the instruction."""
        return hashlib.sha256(f"{self.encoder.fingerprint} {self.instruction.text}".encode()).hexdigest()[:16]

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
    """Read `KEY=NAME` (repeated for several seeds) and TOML files of `key = "name"` or a list of names.

    Paths in a file are relative to its folder. Raises InputError for keys that no row has.
    """
    names_by_key: dict[str, list[str]] = {}
    for word in words:
        key, _, name = word.partition("=")
        if name:
            names_by_key.setdefault(key, []).append(name)
        elif word.endswith(".toml"):
            for key, names in _read_model_file(Path(word)).items():
                names_by_key.setdefault(key, []).extend(names)
        else:
            raise InputError(f"--models {word!r} is neither KEY=NAME nor a .toml file")
    unknown = sorted(key for key in names_by_key if key.partition(":")[0] not in models)
    if unknown:
        raise InputError(f"unknown model {unknown[0]!r}; this table's paper has {', '.join(models)}")
    return {key: tuple(dict.fromkeys(names)) for key, names in names_by_key.items()}


def _read_model_file(path: Path) -> dict[str, list[str]]:
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the file of models {path} is missing") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    names_by_key = {}
    for key, value in rows.items():
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise InputError(f"{path}, {key}: expected a model's name or a list of them, got {value!r:.60}")
        names_by_key[key] = [_resolve_path(name, path.parent) for name in names]
    return names_by_key


def _resolve_path(name: str, folder: Path) -> str:
    """Return a model's name, as a path in the folder if it exists there; also each member of an ensemble."""
    join, _, members = name.partition(":")
    if members and join in joins:
        return f"{join}:" + "+".join(_resolve_path(member, folder) for member in members.split("+"))
    return str(folder / name) if (folder / name).exists() else name


@dataclass(slots=True)
class TableSystems:
    """The systems of a table's rows, each loaded once; `missing`: those not found, and how to get them."""

    paper: Reproduction
    models: ModelNames
    precision: str = "float32"
    missing: list[str] = field(default_factory=list)
    _loaded: dict[tuple[str, str, str], System | None] = field(default_factory=dict)
    _by_fingerprint: dict[str, System] = field(default_factory=dict)

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
    recipe = folder / "recipe.json"
    if recipe.is_file():
        try:
            stage = json.loads(recipe.read_text(encoding="utf-8"))["stages"][-1]["name"]
        except (ValueError, KeyError, IndexError, TypeError):
            raise InputError(f"{recipe} is not the recipe of a run") from None
        if not (folder / stage / MODEL_FOLDERS[0]).is_dir():
            raise InputError(f"the run {name} is not finished: it has no {stage}/{MODEL_FOLDERS[0]}")
        return str(folder / stage / MODEL_FOLDERS[0]), folder.resolve().name
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
