"""Published files in small, as `sciprism prepare scimult` finds them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from build_data import lines, paper, text

TOPICS = [
    {"label": "11", "name": ["computer vision", "cv"], "definition": "field that sees"},
    {"label": "12", "name": ["sparse coding"], "definition": ""},
    {"label": "13", "name": ["compilers"], "definition": "programs on programs"},
]


class Raw:
    """A folder of published files that grows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def maple(self, folder: str, papers: Iterable[Mapping[str, Any]], labels: str = "") -> Path:
        """Write a folder of MAPLE; papers are filled up with what all of them have."""
        place = self.folder / "maple" / folder
        if labels:
            text(place / "labels.txt", labels)
        return lines(place / "papers.json", (_maple_paper(**row) for row in papers))

    def topics(self) -> None:
        """Write MICoL's definitions."""
        lines(self.folder / "micol/MAG_label.json", TOPICS)

    def triplets(self, split: str, rows: Iterable[tuple[str, str, str]]) -> None:
        """Write citation triplets of SciRepEval by ids."""
        keys = ("query", "pos", "neg")
        records = [{key: paper(name) for key, name in zip(keys, row, strict=True)} for row in rows]
        lines(self.folder / f"scirepeval/cite_prediction/{split}.jsonl", records)

    def beir(self, name: str, corpus: Iterable[str], queries: Iterable[str], qrels: Mapping[str, str]) -> None:
        """Write a set of BEIR; qrels: split -> "query document grade" divided by commas."""
        place = self.folder / "beir" / name
        lines(place / "corpus.jsonl", ({"_id": i, "title": f"T {i}", "text": f"about {i}"} for i in corpus))
        lines(place / "queries.jsonl", ({"_id": i, "text": f"ask {i}"} for i in queries))
        for split, rows in qrels.items():
            text(place / f"qrels/{split}.tsv", judgements(rows))


def judgements(rows: str) -> str:
    """Return a table of judgements of "query document grade" divided by commas."""
    return "query-id\tcorpus-id\tscore\n" + "".join("\t".join(row.split()) + "\n" for row in rows.split(","))


def _maple_paper(paper: str, label: Iterable[str] = (), **more: Any) -> dict[str, Any]:
    given = {"venue": "", "year": "2014", "title": f"title {paper}", "author": [], "reference": []}
    given |= {"abstract": f"about {paper}", "title_raw": "T.", "abstract_raw": "A."}
    return given | {"paper": paper, "label": list(label)} | more
