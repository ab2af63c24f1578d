"""Which model stands in a row: what the command says, else the released one; all that lacks is listed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sciprism.encoders.ensemble import joins
from sciprism.errors import InputError
from sciprism.evaluation.systems import System
from sciprism.evaluation.systems.dense import DenseSystem
from sciprism.evaluation.systems.named import SystemOptions, load_system
from sciprism.files import cache_folder
from sciprism.reproduce.tables.declared import Instruction, Model, Reproduction, Row
from sciprism.reproduce.tables.instructed import Instructed

Given = Mapping[str, tuple[str, ...]]
"""Key of a model, or `key:task`, -> names of models: one, or the same recipe with several seeds."""
INSIDE = ("model", "best")
"""A stage's models inside of a run's folder: such names say nothing, so those of run and stage do."""


def read_given(words: Iterable[str], known: Mapping[str, Model]) -> dict[str, tuple[str, ...]]:
    """Read `KEY=NAME` (repeated for several seeds) and TOML files of `key = "name"` or a list of names.

    A folder in a file is found from the file's own folder. Raises InputError for keys that no row has.
    """
    found: dict[str, list[str]] = {}
    for word in words:
        key, _, name = word.partition("=")
        if name:
            found.setdefault(key, []).append(name)
        elif word.endswith(".toml"):
            for key, names in _of_file(Path(word)).items():
                found.setdefault(key, []).extend(names)
        else:
            raise InputError(f"--models {word!r} is neither KEY=NAME nor a .toml file")
    unknown = sorted(key for key in found if key.partition(":")[0] not in known)
    if unknown:
        raise InputError(f"unknown model {unknown[0]!r}; this table's paper has {', '.join(known)}")
    return {key: tuple(dict.fromkeys(names)) for key, names in found.items()}


def _of_file(path: Path) -> dict[str, list[str]]:
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the file of models {path} is not there") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    found = {}
    for key, value in rows.items():
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise InputError(f"{path}, {key}: expected a model's name or a list of them, got {value!r:.60}")
        found[key] = [_placed(name, path.parent) for name in names]
    return found


def _placed(name: str, home: Path) -> str:
    """Return a model's name, from `home` where a folder there has it; of an ensemble, each member's."""
    join, _, members = name.partition(":")
    if members and join in joins:
        return f"{join}:" + "+".join(_placed(member, home) for member in members.split("+"))
    return str(home / name) if (home / name).exists() else name


@dataclass(slots=True)
class Cast:
    """The systems of a table's rows, each loaded once; `missing` says what could not be, and what to do."""

    paper: Reproduction
    given: Given
    precision: str = "float32"
    missing: list[str] = field(default_factory=list)
    _loaded: dict[tuple[str, str, str], System | None] = field(default_factory=dict)
    _by_print: dict[str, System] = field(default_factory=dict)

    def systems(self, row: Row, task: str) -> tuple[System, ...]:
        """Return a row's models at a task, one per seed; none where one of them is missing."""
        model = self.paper.models[row.model]
        default = model.per_task.get(task, model.default)
        names = self.given.get(f"{row.model}:{task}") or self.given.get(row.model)
        pooling = "" if names else model.pooling
        names = names or ((default,) if default else ())
        if not names:
            self._miss(row.model, model, "")
        found = [self._load(name, row, pooling) for name in names]
        there = [system for system in found if system is not None]
        if len({system.fingerprint for system in there}) < len(there):
            raise InputError(f"two of the models of {row.model} are one and the same: {', '.join(names)}")
        return tuple(there) if len(there) == len(found) else ()

    def _load(self, name: str, row: Row, pooling: str) -> System | None:
        key = name, pooling, row.instruction.key if row.instruction else ""
        if key not in self._loaded:
            options = SystemOptions(pooling=pooling or None, precision=self.precision)
            try:
                system = _loaded(name, options, row.instruction)
                self._loaded[key] = self._by_print.setdefault(system.fingerprint, system)
            except (InputError, OSError) as error:
                self._loaded[key] = None
                self._miss(row.model, self.paper.models[row.model], f"{name}: {error}")
        return self._loaded[key]

    def _miss(self, key: str, model: Model, reason: str) -> None:
        how = model.obtain or f"say where it is: --models {key}=NAME"
        line = f"model {key} ({model.title}): " + "; ".join(filter(None, (reason, how)))
        if line not in self.missing:
            self.missing.append(line)


def keys_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the keys of the models in some rows."""
    return tuple(dict.fromkeys(row.model for row in rows if row.model))


def trained(name: str) -> tuple[str, str]:
    """Return the folder of a model and its name in results, "" for its own.

    The folder of a run stands for the finished model of its last stage, among the members of an ensemble too.
    Raises InputError for a run that is not finished.
    """
    join, _, members = name.partition(":")
    if members and join in joins:
        parts = [(member, *trained(member)) for member in members.split("+")]
        whole = "+".join(folder for _, folder, _ in parts)
        return f"{join}:{whole}", f"{join}-" + "+".join(shown or member for member, _, shown in parts)
    folder = Path(name)
    recipe = folder / "recipe.json"
    if recipe.is_file():
        try:
            stage = json.loads(recipe.read_text(encoding="utf-8"))["stages"][-1]["name"]
        except (ValueError, KeyError, IndexError, TypeError):
            raise InputError(f"{recipe} is no recipe of a run") from None
        if not (folder / stage / INSIDE[0]).is_dir():
            raise InputError(f"the run {name} is not finished: it has no {stage}/{INSIDE[0]}")
        return str(folder / stage / INSIDE[0]), folder.resolve().name
    if folder.name in INSIDE and folder.is_dir():
        *_, run, stage, last = folder.resolve().parts
        return name, f"{run}-{stage}" + ("" if last == INSIDE[0] else f"-{last}")
    return name, ""


def _loaded(name: str, options: SystemOptions, instruction: Instruction | None) -> System:
    folder, shown = trained(name)
    system = load_system(folder, options)
    if not isinstance(system, DenseSystem):
        if instruction:
            raise InputError(f"{name} takes no instructions")
        return system
    if shown:
        system.encoder.name = system.name = shown
    if instruction:
        return DenseSystem(Instructed(system.encoder, instruction), cache_folder() / "vectors")
    return system
