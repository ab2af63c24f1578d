"""The data sets of the tagging benchmark: papers, vocabulary, right tags, splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from measurement import read_json_lines
from sciprism.arrays import Rows
from sciprism.papers.read import read_labels, read_papers
from sciprism.papers.records import Label, Paper
from sciprism.uses.tagging.evidence import Tags, build_tags
from sciprism.uses.tagging.suggestions import resolve_tags
from sciprism.uses.tagging.vocabulary import Vocabulary


@dataclass(frozen=True)
class TaggingData:
    """One set: papers, the vocabulary, the right tags and the split of each paper."""

    name: str
    papers: Sequence[Paper]
    vocabulary: Vocabulary
    tags: Tags
    splits: Sequence[str]
    unknown: int

    def rows(self, *names: str) -> Rows:
        """Return the rows of the papers of some splits that have a tag."""
        tagged = np.diff(self.tags.indptr) > 0
        return np.flatnonzero(np.isin(self.splits, names) & tagged)


def build(
    name: str, papers: Sequence[Paper], labels: Sequence[Label], named: list[list[str]], splits: list[str]
) -> TaggingData:
    """Build a set from papers and the names or ids of their tags."""
    vocabulary = Vocabulary(labels)
    rows, report = resolve_tags(named, vocabulary)
    tags = build_tags(rows, len(vocabulary))
    return TaggingData(name, papers, vocabulary, tags, splits, report.unknown.total() + report.ambiguous.total())


def read_mesh(data: Path) -> TaggingData:
    """Read PubMed papers with MeSH headings, and the descriptors."""
    path = data / "xmc_pubmed_mesh" / "papers.jsonl.gz"
    rows = read_json_lines(path)
    labels = list(read_labels(data / "labels_mesh" / "descriptors.jsonl.gz"))
    return build("mesh", list(read_papers(path)), labels, [r["mesh"] for r in rows], [r["split"] for r in rows])


def read_biomimicry(data: Path) -> TaggingData:
    """Read biology papers with functions of the biomimicry taxonomy; its labels are their names, on three levels."""
    path = data / "cls_biomimicry" / "papers.jsonl.gz"
    rows = read_json_lines(path)
    named = [[name for level in (1, 2, 3) for name in r[f"labels_level{level}"]] for r in rows]
    names = sorted({name for each in named for name in each})
    labels = [Label(id=name, name=name) for name in names]
    return build("biomimicry", list(read_papers(path)), labels, named, [r["split"] for r in rows])


def read_arxiv(data: Path, counts: dict[str, int]) -> TaggingData:
    """Read a sample of arXiv papers with categories. counts: papers of each split."""
    paths = sorted((data / "arxiv_multidomain").glob("papers-*.jsonl.gz"))
    rows = [row for path in paths for row in read_json_lines(path)]
    rng = np.random.default_rng(0)
    splits = np.array([row["split"] for row in rows])
    chosen = np.sort(
        np.concatenate([rng.permutation(np.flatnonzero(splits == name))[:count] for name, count in counts.items()])
    )
    papers = [Paper(id=rows[i]["id"], title=rows[i]["title"], abstract=rows[i]["abstract"]) for i in chosen]
    labels = list(read_labels(data / "labels_arxiv" / "categories.jsonl.gz"))
    named = [list(rows[i]["categories"]) for i in chosen]
    return build("arxiv", papers, labels, named, [str(splits[i]) for i in chosen])
