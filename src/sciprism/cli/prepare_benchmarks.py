"""`sciprism prepare`, and its commands scimult, ir, multi-scidocs, s2and-mini (published, test data) and lexical."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import Edges, OutputFolder, ScorePrecision, Seed, check_output_folder, exact_precision
from sciprism.cli.output import echo
from sciprism.cli.prepare_training import (
    Fields,
    Shards,
    citations,
    open_sets,
    pairs,
    patients,
    print_preparation,
    scirepeval,
    text,
)


def scimult(
    raw: Annotated[Path, "The folder with the published data, sub-folders by name."],
    out: OutputFolder,
    seed: Seed = 12345,
    only: Annotated[str | None, "pretrain or test: make these alone."] = None,
) -> None:
    """Make SciMult's pre-training sources and test files.

    Sub-folders of published data, as far as they exist: maple, micol, mesh, scirepeval, scidocs, beir,
    recommendation, PMC-Patients-ReCDS. Prints Tables A1 and A2 next to the published figures, and what is
    missing.

    Example: sciprism prepare scimult raw -o data --only test
    """
    from sciprism.prepare.scimult.data_sets import prepare_scimult

    done = prepare_scimult(raw, out, seed=seed, only=only, on_start=partial(echo, error=True))  # type: ignore[arg-type]
    print_preparation(done)


def ir(
    questions: Annotated[Path, "Rows with paragraph and question (or questions): JSON lines, a table; SQuAD."],
    papers: Annotated[list[Path], "Papers in any format, whose abstracts are the distractors."],
    out: OutputFolder,
    distractors: Annotated[int, "Abstracts next to the annotated paragraphs.", "--distractors"],
    dev: Annotated[float, "Share of dev; the rest is the test."] = 0.2,
    split_by: Annotated[str, "paragraph; or question, as NASA-IR: dev and test then share documents."] = "paragraph",
    seed: Seed = 0,
) -> None:
    """Make a retrieval test set of annotated questions.

    As in NASA-IR, their paragraphs are among random abstracts. Writes BEIR's files (corpus.jsonl,
    queries.jsonl, qrels/dev.tsv, qrels/test.tsv), tasks.toml for `sciprism evaluate --tasks`, and ir.json:
    counts, and what was dropped and why.

    Example: sciprism prepare ir questions.jsonl works.jsonl -o ir --distractors 20000 --seed 1
    """
    from sciprism.prepare.ir import RetrievalSettings, prepare_ir

    check_output_folder(out, [questions, *papers])
    settings = RetrievalSettings(distractors=distractors, dev=dev, split_by=split_by, seed=seed)  # type: ignore[arg-type]
    print_preparation(prepare_ir(questions, papers, out, settings))


FILES = typer.Argument(help="Papers in any format, or folders with S2ORC's metadata/ and pdf_parses/.")
CONSTRUCTION = typer.Option(help="published: the authors' own rules; corrected: without their defects.")
WITHIN = typer.Option("--within-fields", help="Negatives share a field with their query.")
MAX_QUERIES = typer.Option(help="Per field and split; 0: all; else 500 if corrected, all if published.")


def multi_scidocs(
    files: Annotated[list[Path], FILES],
    out: OutputFolder,
    edges: Edges = None,
    construction: Annotated[str, CONSTRUCTION] = "corrected",
    field: Fields = None,
    shard: Shards = None,
    positives: Annotated[int, "Positives of a query, at most."] = 5,
    negatives: Annotated[int, "Negatives of a query, at most."] = 500,
    within_fields: Annotated[bool, WITHIN] = False,
    val: Annotated[float, "Share of each field that is for val."] = 0.4,
    test: Annotated[float, "Share of each field that is for test."] = 0.4,
    max_queries: Annotated[int | None, MAX_QUERIES] = None,
    seed: Seed = 321,
) -> None:
    """Make a Multi-SciDocs benchmark of your papers.

    It scores encoders on citations, co-citations and fields of study. A paper needs title, abstract and field: of
    OpenAlex, Semantic Scholar, arXiv, or a column `fields`. Writes multi-scidocs/ and multi-scidocs.json: counts,
    and what was dropped and why. Then: sciprism evaluate MODEL --suite multi-scidocs --data OUT.

    Example: sciprism prepare multi-scidocs papers.jsonl --edges citations.tsv -o benchmark
    """
    from sciprism.prepare.multi_scidocs import BenchmarkSettings, prepare_multi_scidocs
    from sciprism.prepare.sources.citation_corpus import CitationSources

    sources = CitationSources(files=tuple(files), edges=edges, fields=tuple(field or ()), shards=tuple(shard or ()))
    settings = BenchmarkSettings(
        construction=construction,
        seed=seed,
        positives=positives,
        negatives=negatives,
        within_fields=within_fields,
        val=val,
        test=test,
        max_queries=max_queries,
    )
    print_preparation(prepare_multi_scidocs(out, sources, settings))


def s2and_mini(
    folder: Annotated[Path, "The folder with S2AND's sources, one folder each."],
    out: OutputFolder,
    rule: Annotated[str, "Which blocks are selected: alphabetical (as the public script) or largest."] = "alphabetical",
) -> None:
    """Make S2AND-mini, SciRepEval's blocks of author mentions.

    Of each source it has at most 1,000 blocks of at most 500 mentions. Prints what is selected of each
    source.

    Example: sciprism prepare s2and-mini s2and -o s2and_mini
    """
    from sciprism.prepare.s2and_mini import prepare_s2and_mini

    print_preparation(prepare_s2and_mini(folder, out, rule=rule))  # type: ignore[arg-type]


def lexical(
    model: Annotated[str, "A model of the method single, by name or folder."],
    file: Annotated[Path, "Training examples, as `prepare pairs` writes them."],
    out: OutputFolder,
    width: Annotated[int, "Dimensions of a vector that hold lexical features."] = 128,
    share: Annotated[float, "Norm of the lexical dimensions; the norm of the others is 1."] = 0.5,
    max_examples: Annotated[int, "Examples to read, sampled at random."] = 10_000,
    precision: ScorePrecision = "auto",
) -> None:
    """Make a model whose vectors have lexical features too.

    They take the dimensions in which texts differ least. Rare words then weigh more in retrieval, and vectors
    keep their width. Weights of words are measured on the queries and first candidates of the examples;
    nothing is trained.

    Example: sciprism prepare lexical all-MiniLM-L6-v2 pairs/train/title-abstract.jsonl -o words
    """
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.new_models import add_lexical_features
    from sciprism.prepare.preparation import Preparation
    from sciprism.seeding import sample
    from sciprism.training.examples import read_examples

    encoder = Encoder.load(model, precision=exact_precision(precision))
    examples = sample(read_examples(file, query="query", candidate="paper"), max_examples, "lexical")
    texts = [item for example in examples for item in (example.query, *example.positives[:1])]
    made = add_lexical_features(encoder, texts, width=width, share=share)
    made.save(out, made_from=Path(model).name, texts=len(texts))
    note = f"{out}: {width} of {made.dim} dimensions are lexical, measured on {len(texts):,} texts"
    record = {"lexical_dimensions": width, "dimensions": made.dim, "texts": len(texts)}
    print_preparation(Preparation(record=record, notes=[note]))


prepare = typer.Typer(no_args_is_help=True, help="Make training and test data.")
prepare.command("open")(open_sets)
for command in (citations, pairs, text, patients, scirepeval, scimult, ir, multi_scidocs, s2and_mini, lexical):
    prepare.command(command.__name__.replace("_", "-"))(command)
