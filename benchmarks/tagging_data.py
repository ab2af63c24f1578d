"""The data sets of the tagging benchmark: papers, vocabulary, right tags, splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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


LISTS = {
    "arXiv fields": ("arxiv_multidomain/papers-*", "field", ("dev", "test")),
    "disease classes": ("cls_ohsumed/test", "label_name", ()),
    "hallmarks of cancer": ("cls_hallmarks_of_cancer/*", "labels", ()),
    "fields of all sciences": ("cls_s2orc_fields/papers", "fields", ()),
    "fields of titles": ("cls_mag_titles/test", "label", ()),
    "visualization keywords": ("citegraph_vis/papers", "keywords", ()),
    "tags of users": ("rec_user_libraries/papers", "tags", ()),
    "conference keywords": ("conference_papers/papers-*", "keywords", ()),
}
"""Lists that are the tags of papers alone: files, field, splits."""
FEWEST = 5
"""A keyword or tag of fewer papers is not a label."""
SAMPLE = 500
"""Papers of each vocabulary."""


def read_list(data: Path, name: str) -> TaggingData:
    """Read papers whose tags are the vocabulary; keywords and tags in lower case, without signs that join words."""
    files, field, splits = LISTS[name]
    rows = [row for path in sorted(data.glob(f"{files}.jsonl.gz")) for row in read_json_lines(path)]
    rows = [row for row in rows if row.get(field) and (not splits or row["split"] in splits)]
    named = [[row[field]] if isinstance(row[field], str) else list(dict.fromkeys(row[field])) for row in rows]
    if is_free := field in ("keywords", "tags"):
        named = [[tag.replace("_", " ").replace("-", " ").lower() for tag in tags] for tags in named]
    counts = Counter(tag for tags in named for tag in set(tags))
    names = sorted(tag for tag, count in counts.items() if count >= FEWEST or not is_free)
    papers = []
    for number, row in enumerate(rows):
        texts = (row["text"], "") if field == "label" else (row.get("title", ""), row.get("abstract") or row["text"])
        papers.append(Paper(id=str(row.get("id", number)), title=texts[0], abstract=texts[1]))
    labels = set(names)
    known = [[tag for tag in dict.fromkeys(tags) if tag in labels] for tags in named]
    return build(name, papers, [Label(id=tag, name=tag) for tag in names], known, ["test"] * len(rows))


def sample_vocabularies(data: Path, seed: int) -> Iterator[tuple[str, list[Paper], Vocabulary, Tags]]:
    """Yield name, papers, vocabulary and tags of each set of the untrained tagger, a sample of its papers."""
    rng = np.random.default_rng(seed)
    readers = {name: partial(read_list, name=name) for name in LISTS}
    readers |= {"arXiv categories": partial(read_arxiv, counts={"dev": 2 * SAMPLE})}
    readers |= {"biomimicry": read_biomimicry, "MeSH": read_mesh}
    for name, read in readers.items():
        found = read(data)
        rows = found.rows(*({"dev"} if name == "MeSH" else set(found.splits)))
        rows = np.sort(rng.permutation(rows)[:SAMPLE])
        yield name, [found.papers[i] for i in rows], found.vocabulary, found.tags[rows]
