"""A report as Markdown and as LaTeX."""

from __future__ import annotations

import re

from sciprism.evaluation.report.model import Report
from sciprism.evaluation.report.notes import shorten_remarks
from sciprism.evaluation.report.text_tables import TextTable, build_tables, split_table

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "·": r"\quad",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
} | {mark: f"\\{mark}" for mark in "&%$#_{}"}

PAGE = 100
"""Characters in a line of a printed table."""


def markdown(report: Report) -> str:
    """Return the report as Markdown tables, its notes as a list."""
    parts = [f"### {_md(table.title)}\n\n{_md_table(table)}" for table in build_tables(report)]
    parts += ["\n".join(f"- {_md(note)}" for note in report.notes)]
    if report.remarks:
        parts += ["### Data", "\n".join(f"- {_md(name)}: {_md(remark)}" for name, remark in report.remarks.items())]
    return "\n\n".join(parts) + "\n"


def latex(report: Report) -> str:
    """Return the report as LaTeX tables, which need the package booktabs. All text is escaped."""
    parts = [
        "% needs \\usepackage{booktabs}",
        *(_tex_table(part) for table in build_tables(report) for part in split_table(table, PAGE)),
    ]
    notes = "\n".join(f"  \\item {_tex(note)}" for note in (*report.notes, *shorten_remarks(report.remarks)))
    return "\n\n".join([*parts, f"\\begin{{itemize}}\n{notes}\n\\end{{itemize}}"]) + "\n"


def _md(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))


def _md_table(table: TextTable) -> str:
    lines = [[_md(cell) for cell in row] for row in (table.heads, *table.rows)]
    lines.insert(1, ["---", *("--:" for _ in table.heads[1:])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _tex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _tex_table(table: TextTable) -> str:
    # A row that begins with a bracket or a star would be read as an argument of the \\ before it.
    head, *rows = (
        " & ".join(["{}" + _tex(row[0]), *map(_tex, row[1:])]) + r" \\" for row in (table.heads, *table.rows)
    )
    body = "\n".join([r"\toprule", head, r"\midrule", *rows, r"\bottomrule"])
    columns = "l" + "r" * (len(table.heads) - 1)
    return (
        f"\\begin{{table}}\n\\centering\\small\n\\caption{{{_tex(table.title)}}}\n"
        f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n\\end{{table}}"
    )
