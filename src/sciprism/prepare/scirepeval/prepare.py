"""Write SciRepEval's training sources: the published ones of a config, the same kinds of user papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.prepare.scirepeval.config import read_config
from sciprism.prepare.scirepeval.published_builders import build_published_source
from sciprism.prepare.scirepeval.source import SciRepEvalSource
from sciprism.prepare.scirepeval.user_builders import build_user_sources
from sciprism.prepare.scirepeval.user_corpus import UserPapers, read_corpus
from sciprism.prepare.scirepeval.writing import PreparedSources, SourceSettings, write_sources

_DEFAULT_SETTINGS = SourceSettings()
IN_CONFIG = "the config has a source of this name"


def prepare_scirepeval(
    out: Path,
    *,
    config: Path | None = None,
    user_papers: UserPapers | None = None,
    data: Path | None = None,
    settings: SourceSettings = _DEFAULT_SETTINGS,
) -> PreparedSources:
    """Write the sources of a config's tasks, of user papers, or both, to `out`.

    Sources of user papers have the published names; a source of the config with the same name wins.

    data: the folder of hub data sets and files of the config. All inputs are checked before anything is
    written; a second call writes the same bytes. Raises InputError.
    """
    if config is None and user_papers is None:
        raise InputError("no config file and no papers; give one of them (--papers)")
    data_root, facts = DataRoot(data), dict[str, Any]()
    sources: list[SciRepEvalSource] = []
    skipped: dict[str, str] = {}
    if config is not None:
        sources += [build_published_source(task, data_root) for task in read_config(config, data)]
        facts["config"] = {"file": config.name, "sha256": sha256(config)}
    if user_papers is not None:
        corpus, read = read_corpus(user_papers, data_root, settings.seed)
        kinds, skipped = build_user_sources(corpus)
        names = {source.name for source in sources}
        skipped = {name: reason for name, reason in skipped.items() if name not in names}
        skipped |= {f"{each.name}, of your papers": IN_CONFIG for each in kinds if each.name in names}
        sources += [each for each in kinds if each.name not in names]
        facts |= read
    return write_sources(sources, data_root, out, settings, skipped=skipped, facts=facts)
