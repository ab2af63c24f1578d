"""A report as Markdown and as LaTeX."""

from __future__ import annotations

import re

from sciprism.evaluation.report.grid import Block, blocks, narrowed
from sciprism.evaluation.report.model import Report

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
"""Letters in a line of a printed table."""


def markdown(report: Report) -> str:
    """Return the report as Markdown tables, its notes as a list."""
    parts = [f"### {_md(block.title)}\n\n{_md_table(block)}" for block in blocks(report)]
    parts += ["\n".join(f"- {_md(note)}" for note in report.notes)]
    return "\n\n".join(parts) + "\n"


def latex(report: Report) -> str:
    """Return the report as LaTeX tables; they need the package booktabs. Every foreign text is escaped."""
    parts = [
        "% needs \\usepackage{booktabs}",
        *(_tex_table(part) for block in blocks(report) for part in narrowed(block, PAGE)),
    ]
    notes = "\n".join(f"  \\item {_tex(note)}" for note in report.notes)
    return "\n\n".join([*parts, f"\\begin{{itemize}}\n{notes}\n\\end{{itemize}}"]) + "\n"


def _md(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))


def _md_table(block: Block) -> str:
    lines = [[_md(cell) for cell in row] for row in (block.heads, *block.rows)]
    lines.insert(1, ["---", *("--:" for _ in block.heads[1:])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _tex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in " ".join(text.split()))


def _tex_table(block: Block) -> str:
    # A row that begins with a bracket or a star would be read as an argument of the \\ before it.
    head, *rows = (
        " & ".join(["{}" + _tex(row[0]), *map(_tex, row[1:])]) + r" \\" for row in (block.heads, *block.rows)
    )
    body = "\n".join([r"\toprule", head, r"\midrule", *rows, r"\bottomrule"])
    columns = "l" + "r" * (len(block.heads) - 1)
    return (
        f"\\begin{{table}}\n\\centering\\small\n\\caption{{{_tex(block.title)}}}\n"
        f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n\\end{{table}}"
    )
