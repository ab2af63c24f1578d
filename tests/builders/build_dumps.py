"""Data sets with corrections and deletions as their publishers write them: a base, then one update a month."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

Step = Sequence[tuple[int, str]]
"""Records in their order: a paper's number, and its title; "" deletes it."""

PUBMED_ARTICLE = (
    '<PubmedArticle><MedlineCitation><PMID Version="{version}">{pmid}</PMID><Article><ArticleTitle>{title}'
    "</ArticleTitle><Abstract><AbstractText>{abstract}</AbstractText></Abstract></Article></MedlineCitation>"
    "</PubmedArticle>"
)


def write_pubmed(path: Path, step: Step) -> None:
    """Write a file of PubMed: its deletions come last, so one before a paper of its number does not count."""
    articles = [pubmed_article(number, title) for number, title in step if title]
    last = dict(step)
    gone = "".join(f'<PMID Version="1">{number}</PMID>' for number, title in last.items() if not title)
    write_packed(path, pubmed_file(articles, gone))


def pubmed_article(number: int, title: str, version: int | str = 1) -> str:
    return PUBMED_ARTICLE.format(pmid=number, version=version, title=title, abstract=f"On {title}.")


def pubmed_file(articles: Sequence[str], deleted: str = "") -> str:
    deletions = f"<DeleteCitation>{deleted}</DeleteCitation>" if deleted else ""
    return f"<?xml version='1.0'?>\n<PubmedArticleSet>{''.join(articles)}{deletions}</PubmedArticleSet>"


def write_packed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def write_lines(path: Path, rows: Sequence[object]) -> None:
    write_packed(path, "".join(json.dumps(row) + "\n" for row in rows))


def pubmed(folder: Path, steps: Sequence[Step]) -> list[str]:
    paths = [folder / f"pubmed26n{number:04d}.xml.gz" for number in range(1, len(steps) + 1)]
    for path, step in zip(paths, steps, strict=True):
        write_pubmed(path, step)
    return [*map(str, paths)]


def semantic_scholar(folder: Path, steps: Sequence[Step]) -> list[str]:
    """Write a release, and each update as a saved difference that names its files by the addresses of the API."""
    paths = []
    for month, step in enumerate(steps):
        last = dict(step)
        names = [f"release-{month}/{kind}_0.gz" for kind in ("updates", "deletes")]
        papers = [{"corpusid": n, "title": title, "abstract": f"On {title}."} for n, title in step if title]
        write_lines(folder / names[0], papers)
        if month == 0:
            paths.append(str(folder / names[0]))
            continue
        write_lines(folder / names[1], [{"corpusid": number} for number, title in last.items() if not title])
        update, delete = (f"https://host/staging/{name}?Signature=x" for name in names)
        releases = {"from_release": f"{month - 1}", "to_release": f"{month}"}
        diff = {"dataset": "papers", "start_release": f"{month - 1}", "end_release": f"{month}"}
        diff["diffs"] = [releases | {"update_files": [update], "delete_files": [delete]}]
        paths.append(str(folder / f"diff-{month}.json"))
        Path(paths[-1]).write_text(json.dumps(diff))
    return paths


def openalex(folder: Path, steps: Sequence[Step]) -> list[str]:
    """Write works by the day of their update, and the ids that were merged; return a pattern for each month."""
    patterns = []
    for month, step in enumerate(steps, 1):
        data, day, last = folder / f"{month}", f"2024-{month:02d}-01", dict(step)
        if works := [openalex_work(number, title) for number, title in step if title]:
            write_lines(data / "works" / f"updated_date={day}" / "part_000.gz", works)
        merged = [f"{day},W{number},W1000" for number, title in last.items() if not title]
        for kind, rows in (("works", merged), ("authors", ["1,A1,A2"])):
            text = "\n".join(["merge_date,id,merge_into_id", *rows, ""])
            write_packed(data / "merged_ids" / kind / f"{day}.csv.gz", text)
        patterns.append(f"{data}/*/*/*.gz")
    return patterns


def openalex_work(number: int, title: str) -> dict[str, object]:
    words = f"On {title}.".split()
    index = {word: [n for n, each in enumerate(words) if each == word] for word in words}
    return {"id": f"https://openalex.org/W{number}", "title": title, "abstract_inverted_index": index}


def arxiv(folder: Path, steps: Sequence[Step]) -> list[str]:
    """Write one dump a month; a deletion is a withdrawn paper without abstract."""
    paths = [folder / f"arxiv-{month}.jsonl.gz" for month in range(len(steps))]
    for path, step in zip(paths, steps, strict=True):
        rows = [arxiv_record(number, title, f"On {title}." if title else "") for number, title in step]
        write_lines(path, rows)
    return [*map(str, paths)]


def arxiv_record(number: int, title: str, abstract: str, comments: str = "") -> dict[str, object]:
    gone = "" if abstract else "This paper has been withdrawn by the author"
    return {
        "id": f"2401.{number:05d}",
        "title": title or "Withdrawn",
        "abstract": abstract,
        "comments": comments or gone,
        "authors_parsed": [["Doe", "J.", ""]],
        "update_date": "2024-01-01",
    }


DUMPS: dict[str, tuple[Callable[[Path, Sequence[Step]], list[str]], str]] = {
    "pubmed_xml": (pubmed, "{}"),
    "semantic_scholar": (semantic_scholar, "{}"),
    "openalex": (openalex, "W{}"),
    "arxiv": (arxiv, "2401.{:05d}"),
}
"""Reader -> what writes the files of each step and returns what names them, and how it writes a number as an id."""


def final_state(steps: Sequence[Step], id_form: str) -> dict[str, tuple[str, str]]:
    """Return id -> title and abstract of the papers that remain after all steps."""
    state: dict[int, str] = {}
    for step in steps:
        for number, title in step:
            state.pop(number, None)
            if title:
                state[number] = title
    return {id_form.format(number): (title, f"On {title}.") for number, title in state.items()}
