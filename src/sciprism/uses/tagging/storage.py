"""A tagger as a folder: written whole or not at all, compared with its checksums when it is read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from sciprism.arrays import Floats
from sciprism.checksums import check_folder, write_checksums
from sciprism.errors import InputError
from sciprism.files import create_draft, explain_write_errors, recover_folder, replace_folder, write_json, write_lines
from sciprism.papers.records import Label, Paper
from sciprism.uses.tagging.paper_space import PaperSpace, Terms
from sciprism.uses.tagging.ranker import Weighing
from sciprism.uses.tagging.tagged_papers import NearestPapers, Sources, TaggedPapers, TagMatrix
from sciprism.uses.tagging.tagger import Tagger
from sciprism.uses.tagging.vocabulary import Vocabulary

FORMAT = "sciprism.tagger/1"
FACTS_FILE = "tagger.json"
_REMEDY = "train it again with `sciprism tag train`"


def is_tagger(folder: Path) -> bool:
    """Tell whether a folder holds a tagger."""
    return (folder / FACTS_FILE).is_file()


def check_output(folder: Path) -> None:
    """Raise InputError where a tagger cannot be written: the path is a file, or a folder of something else."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not is_tagger(folder)):
        raise InputError(f"{folder} exists and is no tagger; name another folder")


def save_tagger(tagger: Tagger, folder: Path) -> None:
    """Write a trained tagger with the papers it was trained on, in place of one that was there."""
    space, sources, data = tagger.space, tagger.sources, tagger.training
    if space is None or sources is None or data is None:
        raise InputError("only a trained tagger is stored; a vocabulary alone needs no training")
    check_output(folder)
    with explain_write_errors(folder):
        recover_folder(folder)
        draft = create_draft(folder)
        write_lines(draft / "vocabulary.jsonl", _json_lines(tagger.vocabulary.labels), errors="replace")
        write_lines(draft / "papers.jsonl", _json_lines(data.papers), errors="replace")
        write_json(draft / "terms.json", list(space.terms.columns), indent=None)
        np.savez(draft / "arrays.npz", **_collect_arrays(tagger, space, sources, data))
        facts = {"format": FORMAT, "encoder": tagger.encoder, "facts": tagger.facts}
        facts["judged"] = {str(paper): sorted(labels) for paper, labels in data.judged.items()}
        write_json(draft / FACTS_FILE, facts | {"weighing": tagger.weighing.to_json()})
        write_checksums(draft)
        replace_folder(folder, draft)


def read_facts(folder: Path) -> dict[str, Any]:
    """Return what a tagger's folder states of it. Raises InputError where the folder is none."""
    if not is_tagger(folder):
        raise InputError(f"{folder} is no tagger: it has no {FACTS_FILE}; make one with `sciprism tag train`")
    facts: dict[str, Any] = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))
    return facts


def load_tagger(folder: Path) -> Tagger:
    """Read a tagger. Raises InputError where the folder is none, DamagedFileError where a file is damaged."""
    recover_folder(folder)
    if is_tagger(folder):
        check_folder(folder)
    facts = read_facts(folder)
    if facts.get("format") != FORMAT:
        raise InputError(f"{folder} is a tagger of format {facts.get('format')!r}, not {FORMAT}; {_REMEDY}")
    try:
        vocabulary = Vocabulary(map(Label.from_json, _read_lines(folder / "vocabulary.jsonl")))
        papers = [Paper.from_json(row) for row in _read_lines(folder / "papers.jsonl")]
        terms = json.loads((folder / "terms.json").read_text(encoding="utf-8"))
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            values = {name: arrays[name] for name in arrays.files}
        weighing = Weighing.from_json(facts["weighing"])
    except (OSError, KeyError, ValueError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise InputError(f"{folder} is incomplete or damaged ({error}); {_REMEDY}") from error
    judged = {int(paper): frozenset(labels) for paper, labels in facts["judged"].items()}
    tags = TagMatrix(values["tag_starts"], values["tag_rows"], len(vocabulary))
    data = TaggedPapers(papers, _full(values["vectors"]), tags, judged)
    learned_terms = Terms({term: number for number, term in enumerate(terms)}, values["idf"])
    space = PaperSpace(learned_terms, _full(values["directions"]), values["centre"])
    near, counts = NearestPapers(space.locate(papers, data.vectors), tags), tags.counts()
    linear, compatibility = _full(values["linear"]), _full(values["compatibility"])
    sources = Sources(np.flatnonzero(counts), counts, linear, compatibility, near, values["name_rate"])
    return Tagger(
        vocabulary,
        _full(values["label_vectors"]),
        weighing,
        near=near,
        space=space,
        sources=sources,
        encoder=facts["encoder"],
        facts=facts["facts"],
        training=data,
    )


def _collect_arrays(tagger: Tagger, space: PaperSpace, sources: Sources, data: TaggedPapers) -> dict[str, Any]:
    return {
        "label_vectors": tagger.label_vectors.astype(np.float16),
        "vectors": data.vectors.astype(np.float16),
        "tag_starts": data.tags.starts,
        "tag_rows": data.tags.rows,
        "idf": space.terms.idf,
        "directions": space.directions.astype(np.float16),
        "centre": space.centre,
        "linear": sources.linear.astype(np.float16),
        "compatibility": sources.compatibility.astype(np.float16),
        "name_rate": sources.name_rate,
    }


def _full(values: Any) -> Floats:
    return np.asarray(values, np.float32)


def _json_lines(records: Iterable[Label | Paper]) -> Iterable[str]:
    return (json.dumps(record.to_json(), ensure_ascii=False) for record in records)


def _read_lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
