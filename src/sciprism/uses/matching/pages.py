"""Pages of a finished assignment, without external resources: an index, one of each submission and reviewer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import escape
from importlib.resources import files
from operator import methodcaller
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_atomically
from sciprism.uses.matching.explanation import ExplainedPair, ExplainedSubmission, FinishedAssignment
from sciprism.uses.matching.result import describe_unchecked, list_companions

Cell = tuple[str, str]
"""A cell of a table as HTML, and its class: "number" or none."""
ROW = ' scope="row"'
MAX_NAME = 80  # characters of a file's name


def write_pages(finished: FinishedAssignment, folder: Path) -> None:
    """Write the pages into a folder; InputError for one that holds something.

    `index.html` and the pages in `submissions` are for chairs. A page in `reviewers` names the reviewer's submissions,
    and nothing of their authors, conflicts and other reviewers: it can be sent to the reviewer.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not an empty folder; name a new one")
    pages = {"submissions": _name_files(finished.submissions), "reviewers": _name_files(finished.reviewers)}
    for name in pages:
        (folder / name).mkdir(parents=True, exist_ok=True)
    means = []
    for row, name in enumerate(pages["submissions"]):
        explained = finished.explain(row)
        means.append(explained.mean)
        _write(folder / "submissions" / name, _render_submission(finished, explained, pages["reviewers"]))
    for number, name in enumerate(pages["reviewers"]):
        _write(folder / "reviewers" / name, _render_reviewer(finished, number))
    _write(folder / "index.html", _render_index(finished, means, pages["submissions"], pages["reviewers"]))


def _name_files(ids: Sequence[str]) -> list[str]:
    """Return a file's name for each id, distinct also where case does not matter."""
    names: list[str] = []
    used: set[str] = set()
    for id in ids:
        stem = re.sub(r"[^\w.-]+", "_", id)[:MAX_NAME].strip("._") or "page"
        name, number = stem, 1
        while name.casefold() in used:
            number += 1
            name = f"{stem}-{number}"
        used.add(name.casefold())
        names.append(f"{name}.html")
    return names


def _write(path: Path, page: str) -> None:
    write_atomically(path, methodcaller("write", page.encode("utf-8", "replace")))


def _render_page(title: str, parts: Iterable[str], *, script: bool = False) -> str:
    package = files(__package__)
    style, code = ((package / name).read_text(encoding="utf-8") for name in ("pages.css", "pages.js"))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{style}</style></head>\n'
        f"<body>\n{body}\n{f'<script>{code}</script>' if script else ''}</body></html>\n"
    )


def _render_table(
    caption: str, heads: Sequence[Cell], rows: Iterable[Sequence[Cell]], *, sortable: bool = False
) -> str:
    """Return a table; the first cell of each row is its head."""
    titles = [(f"<button>{text}</button>" if sortable else text, kind) for text, kind in heads]
    head = "".join(_render_cell("th", cell, ' scope="col"') for cell in titles)
    body = "\n".join(
        f"<tr>{_render_cell('th', first, ROW)}{''.join(_render_cell('td', cell) for cell in others)}</tr>"
        for first, *others in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption, quote=True)}"><table>'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _render_cell(tag: str, cell: Cell, more: str = "") -> str:
    text, kind = cell
    return f"<{tag}{more}" + (f' class="{kind}"' if kind else "") + f">{text}</{tag}>"


def _number(value: float | None) -> Cell:
    return ("" if value is None else f"{value:.4f}", "number")


def _link(folder: str, name: str, text: str) -> str:
    return f'<a href="{folder}{name}">{escape(text)}</a>'


def _render_submission(finished: FinishedAssignment, explained: ExplainedSubmission, names: Sequence[str]) -> str:
    numbers = [(name, "number") for name in ("score", "bid", "rank", "load")]
    heads = [("reviewer", ""), *numbers, ("why", "")]

    def rows(pairs: Iterable[ExplainedPair]) -> Iterator[list[Cell]]:
        for pair in pairs:
            link = _link("../reviewers/", names[finished.find_reviewer(pair.reviewer)], pair.reviewer)
            link += f" {escape(pair.name)}" if pair.name not in ("", pair.reviewer) else ""
            why = "<br>".join(escape(text) for text in (pair.reason, pair.absence) if text)
            score, bid = (pair.pair.score, pair.pair.bid) if pair.pair else (None, 0.0)
            rank = f"{pair.rank} of {pair.considered}" if pair.rank else ""
            counts = (f"{bid:g}" if bid else "", rank, f"{pair.load} of {pair.most}")
            yield [(link, ""), _number(score), *((count, "number") for count in counts), (why, "")]

    parts = [
        '<nav><a href="../index.html">All submissions and reviewers</a></nav>',
        f"<main><h1>{escape(explained.id)}: {escape(explained.title)}</h1>",
        f"<p>Mean of score and bid: {explained.mean:.4f}</p>",
        _render_table("Reviewers", heads, rows(explained.assigned)),
        _render_table("Next candidates", heads, rows(explained.following)),
    ]
    if explained.forbidden:
        forbidden = ([(escape(name), ""), (escape(reason), "")] for name, reason in explained.forbidden.items())
        parts.append(_render_table("May not review it", [("reviewer", ""), ("reason", "")], forbidden))
    return _render_page(explained.id, [*parts, "</main>"])


def _render_reviewer(finished: FinishedAssignment, number: int) -> str:
    person, rows = finished.people[number], []
    for row in finished.loads[number]:
        pair = finished.explain_pair(row, number)
        cells = [(escape(finished.submissions[row]), ""), (escape(finished.title(row)), "")]
        rows.append([*cells, _number(pair.pair.score if pair.pair else None), (escape(pair.reason), "")])
    name = person["name"] or person["id"]
    heads = [("submission", ""), ("title", ""), ("score", "number"), ("why you", "")]
    parts = [
        f"<main><h1>{escape(name)}</h1>",
        f"<p>{len(rows)} of at most {person['most']} submissions"
        + (f", after {person['earlier']} in earlier rounds" if person["earlier"] else "")
        + "</p>",
        _render_table("Your submissions", heads, rows) if rows else "<p>No submission is assigned to you.</p>",
        "</main>",
    ]
    return _render_page(name, parts)


def _render_index(
    finished: FinishedAssignment, means: Sequence[float], submissions: Sequence[str], reviewers: Sequence[str]
) -> str:
    parts = ["<main><h1>Assignment of reviewers</h1>", *_describe_audit(finished)]
    parts.append(
        '<p class="search"><label for="search">Search </label><input id="search" type="search"> '
        '<span id="said" role="status" class="soft"></span></p>'
    )
    of_papers = [("submission", ""), ("title", ""), ("mean", "number"), ("reviewers", "")]
    rows: list[list[Cell]] = []
    for row, name in enumerate(submissions):
        people = (_link("reviewers/", reviewers[n], finished.reviewers[n]) for n in finished.assigned[row])
        link, title = _link("submissions/", name, finished.submissions[row]), escape(finished.title(row))
        rows.append([(link, ""), (title, ""), _number(means[row]), (", ".join(people), "")])
    parts.append(_render_table("Submissions", of_papers, rows, sortable=True))
    of_people = [("reviewer", ""), ("name", ""), ("load", "number"), ("most", "number"), ("papers", "number")]
    rows = []
    for number, name in enumerate(reviewers):
        person = finished.people[number]
        counts = (len(finished.loads[number]) + person["earlier"], person["most"] + person["earlier"], person["papers"])
        link = _link("reviewers/", name, person["id"])
        rows.append([(link, ""), (escape(person["name"]), ""), *((str(count), "number") for count in counts)])
    parts.append(_render_table("Reviewers", of_people, rows, sortable=True))
    return _render_page("Assignment of reviewers", [*parts, "</main>"], script=True)


def _describe_audit(finished: FinishedAssignment) -> Iterator[str]:
    """Yield what was not checked, what conflicts there are and whether pairs were changed since."""
    audit: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # the audit may be filed elsewhere
        audit = json.loads(list_companions(finished.path)[2].read_text(encoding="utf-8"))
    for kind, why in describe_unchecked(audit).items():
        mark = ' class="warning"' if kind == "author" else ""
        yield f"<p{mark}>{escape(f'{kind} conflicts: {why}')}</p>"
    counts = ", ".join(f"{kind} {number:,}" for kind, number in audit.get("conflicts", {}).items())
    yield f"<p>{escape(f'conflicts: {counts}')}</p>" if counts else ""
    if finished.changed:
        yield f"<p>{finished.changed:,} pairs were changed after the assignment was made.</p>"
