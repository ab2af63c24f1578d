"""Published files in small, as `sciprism prepare scimult` finds them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from build_data import hub, lines, paper, text

TOPICS = [
    {"label": "11", "name": ["computer vision", "cv"], "definition": "field that sees"},
    {"label": "12", "name": ["sparse coding"], "definition": ""},
    {"label": "13", "name": ["compilers"], "definition": "programs on programs"},
]
DESCRIPTORS = """<?xml version="1.0"?>
<DescriptorRecordSet LanguageCode="eng">
{records}
</DescriptorRecordSet>
"""
DESCRIPTOR = """<DescriptorRecord>
  <DescriptorUI>{id}</DescriptorUI><DescriptorName><String>{name}</String></DescriptorName>
  <ConceptList><Concept PreferredConceptYN="Y"><ScopeNote>{note}</ScopeNote>
    <TermList><Term><String>{name}</String></Term><Term><String>{other}</String></Term></TermList>
  </Concept></ConceptList>
</DescriptorRecord>"""


class Raw:
    """A folder of published files that grows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def maple(self, folder: str, papers: Iterable[Mapping[str, Any]], labels: str = "", mesh: str = "") -> Path:
        """Write a folder of MAPLE; papers are filled up with what all of them have."""
        place = self.folder / "maple" / folder
        if labels:
            text(place / "labels.txt", labels)
        if mesh:
            text(place / "labels_mesh.txt", mesh)
        return lines(place / "papers.json", (_maple_paper(**row) for row in papers))

    def topics(self) -> None:
        """Write MICoL's definitions."""
        lines(self.folder / "micol/MAG_label.json", TOPICS)

    def descriptors(self) -> None:
        """Write three descriptors of MeSH: D1 Neoplasms (Tumor), D2 Heart, D3 Eye (Eyes)."""
        records = (("D1", "Neoplasms", "New growth.", "Tumors"), ("D2", "Heart", "It beats.", "Heart"))
        records += (("D3", "Eye", "It sees.", "Eyes"),)
        inside = "\n".join(DESCRIPTOR.format(id=i, name=n, note=d, other=o) for i, n, d, o in records)
        text(self.folder / "mesh/desc2022.xml", DESCRIPTORS.format(records=inside))

    def triplets(self, split: str, rows: Iterable[tuple[str, str, str]], *, parquet: bool = False) -> None:
        """Write citation triplets of SciRepEval by ids."""
        keys = ("query", "pos", "neg")
        records = [{key: paper(name) for key, name in zip(keys, row, strict=True)} for row in rows]
        if parquet:
            hub(self.folder / "scirepeval/cite_prediction", split, records)
        else:
            lines(self.folder / f"scirepeval/cite_prediction/{split}.jsonl", records)

    def searches(self, split: str, rows: Mapping[str, Mapping[str, int]]) -> None:
        """Write search lists of SciRepEval: query -> paper -> score."""
        records = [
            {"query": query, "doc_id": query, "candidates": [paper(i, score=s) for i, s in scores.items()]}
            for query, scores in rows.items()
        ]
        lines(self.folder / f"scirepeval/search/{split}.jsonl", records)

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


def rows_of(path: Path) -> list[Any]:
    """Return the objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _maple_paper(paper: str, label: Iterable[str] = (), **more: Any) -> dict[str, Any]:
    given = {"venue": "", "year": "2014", "title": f"title {paper}", "author": [], "reference": []}
    given |= {"abstract": f"about {paper}", "title_raw": "T.", "abstract_raw": "A."}
    return given | {"paper": paper, "label": list(label)} | more
