"""Make SciRepEval's training sources: the published ones of a config, and the same kinds of own papers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.prepare.scirepeval.config import read_config
from sciprism.prepare.scirepeval.corpus import DEV, read_corpus
from sciprism.prepare.scirepeval.kinds import kinds_of
from sciprism.prepare.scirepeval.published import source_of
from sciprism.prepare.scirepeval.source import TrainingSource
from sciprism.prepare.scirepeval.writing import Prepared, Settings, write_sources

_SETTINGS = Settings()
TAKEN = "the config has a source of this name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """One's own papers: files of any format, a folder of tables about them, and how they are divided.

    dev: the share that is held out. year: whose papers' citations are counted, 0 for the one with the most
    cited papers.
    """

    papers: tuple[Path, ...]
    tables: Path | None = None
    dev: float = DEV
    year: int = 0


def prepare_scirepeval(
    out: Path,
    *,
    config: Path | None = None,
    own: Own | None = None,
    data: Path | None = None,
    settings: Settings = _SETTINGS,
) -> Prepared:
    """Write the sources of a config's tasks and of own papers, one of them at least, below `out`.

    Those of own papers have the published names; where a config has one too, that is the one.

    data: where hub data sets and files of the config lie. All is checked before anything is written; a
    second call writes the same bytes. Raises InputError, one line for what is wrong.
    """
    if config is None and own is None:
        raise InputError("nothing to make sources of; name a config file, or papers with --papers")
    home, told = DataRoot(data), dict[str, Any]()
    sources: list[TrainingSource] = []
    left_out: dict[str, str] = {}
    if config is not None:
        sources += [source_of(task, home) for task in read_config(config, data)]
        told["config"] = {"file": config.name, "sha256": sha256(config)}
    if own is not None:
        corpus, read = read_corpus(
            own.papers, home, own.tables, dev=own.dev, seed=settings.seed, year=own.year
        )
        kinds, left_out = kinds_of(corpus)
        names = {source.name for source in sources}
        left_out = {name: reason for name, reason in left_out.items() if name not in names}
        left_out |= {f"{each.name}, of own papers": TAKEN for each in kinds if each.name in names}
        sources += [each for each in kinds if each.name not in names]
        told |= read
    return write_sources(sources, home, out, settings, left_out=left_out, told=told)
