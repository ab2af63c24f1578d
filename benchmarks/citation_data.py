"""Papers of the open data with their citations, as several benchmarks read them."""

from __future__ import annotations

from pathlib import Path

from measurement import read_json_lines
from sciprism import Paper

CACM = "cacm"


def read_cited_papers(data: Path, name: str) -> list[Paper]:
    """Return papers with references, of "vis", "acl" or "cacm", whose links have no direction and are given once."""
    if name != CACM:
        return [Paper.from_json(row) for row in read_json_lines(data / f"citegraph_{name}" / "papers.jsonl.gz")]
    linked: dict[str, list[str]] = {}
    for line in (data / "ir_cacm" / "citation_links.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        one, other = line.split("\t")[:2]
        linked.setdefault(one, []).append(other)
    return [
        Paper(
            id=row["_id"],
            title=row["title"] or "",
            abstract=row["text"] or "",
            year=row["metadata"].get("year"),
            references=tuple(linked.get(row["_id"], ())),
        )
        for row in read_json_lines(data / "ir_cacm" / "corpus.jsonl.gz")
    ]


def list_citations(papers: list[Paper]) -> list[tuple[int, int]]:
    """Return the rows of citing and cited paper of each citation among papers."""
    place = {paper.id: row for row, paper in enumerate(papers)}
    found = ((row, place.get(id)) for row, paper in enumerate(papers) for id in dict.fromkeys(paper.references))
    return [(row, cited) for row, cited in found if cited is not None and cited != row]
