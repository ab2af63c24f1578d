"""`sciprism tokenizer`: learn a vocabulary from texts, compare tokenizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import OutputFolder, check_output_folder
from sciprism.cli.output import print_result, print_skip_counts, print_table
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.text.vocabulary import TokenizerReport

tokenizer = typer.Typer(name="tokenizer", no_args_is_help=True, help="Learn a vocabulary; compare tokenizers.")


@tokenizer.command("train")
def train(
    files: Annotated[list[Path], "Papers in any format, or .txt, one text a line."],
    out: OutputFolder,
    vocab_size: Annotated[int, "Tokens of the vocabulary."] = 50_265,
) -> None:
    """Learn a byte-level BPE vocabulary from titles and abstracts, with RoBERTa's special tokens (IndusBPE).

    Example: sciprism tokenizer train works.jsonl -o tokenizer --vocab-size 32000
    """
    from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary

    check_output_folder(out, files)
    texts = (text for path in files for text in read_texts(path))
    learned = learn_vocabulary(texts, vocab_size=vocab_size)
    save_vocabulary(learned, out)
    size = learned.get_vocab_size()
    print_result("sciprism.tokenizer-train/1", {"output": str(out), "tokens": size}, f"{out}: {size:,} tokens")


@tokenizer.command("compare")
def compare(
    tokenizers: Annotated[
        list[str],
        "Models (name or folder), or tokenizers (folder or tokenizer.json); the first is the baseline.",
    ],
    texts: Annotated[list[str], "DOMAIN=FILE: papers in any format, or .txt; repeatable.", "--texts"],
) -> None:
    """Compare tokenizers on the same texts: tokens by domain, shared tokens.

    Example: sciprism tokenizer compare all-MiniLM-L6-v2 tokenizer/ --texts physics=arxiv.jsonl
    """
    from sciprism.encoders.checkpoints.names import load_tokenizer
    from sciprism.text.vocabulary import compare_tokenizers

    domains = {}
    for word in texts:
        domain, mark, name = word.partition("=")
        if not mark:
            raise InputError(f"--texts {word}: expected DOMAIN=FILE")
        domains[domain] = read_texts(Path(name))
    short = len({Path(name).name for name in tokenizers}) == len(tokenizers)
    opened = {Path(name).name if short else name: load_tokenizer(name) for name in tokenizers}
    reports = compare_tokenizers(opened, domains)
    document = {"tokenizers": {name: asdict(report) for name, report in reports.items()}}
    print_result("sciprism.tokenizer-compare/1", document, lambda: print_comparison(reports))


def read_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file: lines of .txt, else titles and abstracts of papers."""
    from sciprism.papers.read import ReadReport, read_papers

    if path.suffix != ".txt":
        report = ReadReport()
        for paper in read_papers(path, skip_bad=True, report=report):
            yield " ".join(filter(None, (paper.title, paper.abstract)))
        print_skip_counts(report.files, error=True)
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from (line.strip() for line in file if line.strip())


def print_comparison(reports: Mapping[str, TokenizerReport]) -> None:
    """Print tokens by domain with the change against the first tokenizer, then vocabularies."""
    first = next(iter(reports.values()))
    heads = [part for domain in first.domains for part in (domain, "%", "per word")]
    print_table(("tokens",), heads, ([name, *_row(report, first)] for name, report in reports.items()))
    counts = ((name, report.size, *report.shared_tokens.values()) for name, report in reports.items())
    print_table(("vocabulary",), ["size", *reports], ([str(name), *(f"{n:,}" for n in own)] for name, *own in counts))


def _row(report: TokenizerReport, first: TokenizerReport) -> Iterator[str]:
    for domain, counts in report.domains.items():
        base = first.domains[domain]
        change = 100 * (counts.tokens / base.tokens - 1) if base.tokens else 0.0
        yield from (f"{counts.tokens:,}", f"{change:+.1f}", f"{counts.fertility:.2f}")
