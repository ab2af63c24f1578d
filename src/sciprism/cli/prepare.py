"""`sciprism prepare`: training data (open, citations, pairs, text, patients, scirepeval), published and test data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import Edges, Exclude, OutputFolder, check_output_folder, data_folder, split_names
from sciprism.cli.output import (
    ProgressDisplay,
    echo,
    format_cell,
    print_result,
    print_skip_counts,
    print_table,
    table_width,
)
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.drop_report import DropReport
    from sciprism.prepare.preparation import Preparation
    from sciprism.prepare.text import TextSource

DEFAULT_SHAPES = "title-abstract,citing-cited-abstracts,citing-cited-titles"


def open_sets(out: OutputFolder, max_queries: Annotated[int, "Queries of one source; 0: all."] = 20_000) -> None:
    """Make training sources of the open data, without test papers.

    Writes train/NAME.jsonl and dev/NAME.jsonl (DPR style), and sources.json.

    Example: sciprism prepare open -o sources --data data/
    """
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.open import prepare_open

    data_root = DataRoot(data_folder())
    print_preparation(prepare_open(data_root, out, max_queries=max_queries))


def citations(
    files: Annotated[list[Path], "Papers: files of any format, folders, S2ORC, objects keyed by id."],
    out: OutputFolder,
    edges: Edges = None,
    link_strengths: Annotated[Path | None, "Link strengths, such as SPECTER's data.json of co-views."] = None,
    triplets: Annotated[Path | None, "Given triplets: a table such as SciNCL's train_triples.csv."] = None,
    field: Annotated[list[str] | None, "Field of study of the queries; repeatable; else all."] = None,
    shard: Annotated[list[int] | None, "S2ORC shard of the queries; repeatable; else all."] = None,
    sampler: Annotated[str, "Such as specter or scincl; an unknown name lists all."] = "specter",
    option: Annotated[
        list[str] | None, "A setting of the sampler, KEY=VALUE; repeatable; an unknown KEY lists all.", "--set"
    ] = None,
    sampling_exponent: Annotated[float, "Exponent a: fields are sampled by size^a; 0: equally."] = 1.0,
    min_multi_field: Annotated[float, "Minimum share of queries with several fields."] = 0.0,
    dev: Annotated[float, "Share of papers for dev.", "--dev"] = 0.05,
    hold_out: Annotated[str, "papers: no dev paper in train triplets; queries: none as a train query."] = "papers",
    exclude: Exclude = None,
    require_abstract: Annotated[bool, "Drop papers without an abstract."] = False,
    seed: Annotated[int, "Seed of all random choices."] = 0,
) -> None:
    """Make training triplets of papers and their citations, as SPECTER or SciNCL sample them.

    Writes train.jsonl and dev.jsonl (triplets of ids), papers.jsonl (their texts) and citations.json. A recipe names
    train.jsonl.

    Example: sciprism prepare citations works.jsonl -o triplets --sampling-exponent 0.7 --seed 1783
    """
    from sciprism.prepare.citations import CitationSettings, FieldBalance, prepare_citations
    from sciprism.prepare.sources.citation_corpus import CitationSources

    check_output_folder(out, [*files, edges, link_strengths, triplets])
    sources = CitationSources(files=tuple(files), edges=edges, link_strengths=link_strengths, triplets=triplets)
    sources = replace(sources, fields=tuple(field or ()), shards=tuple(shard or ()), exclude=tuple(exclude or ()))
    balance = FieldBalance(sampling_exponent, min_multi_field, seed)  # type: ignore[call-arg]
    name = "given" if triplets else sampler
    settings = CitationSettings(name, option or [], balance, dev, hold_out, require_abstract, seed)  # type: ignore
    print_preparation(prepare_citations(out, sources, settings))


SHAPES = typer.Option(
    help="title-abstract, title-body, neighbour-sentences (of an abstract), citing-cited-abstracts, "
    'citing-cited-titles; or rows: files of ["a", "b"], {"set": []}, {"query", "pos", "neg"}.'
)


def pairs(
    files: Annotated[list[Path], "Papers, full texts, or files of pairs."],
    out: OutputFolder,
    shapes: Annotated[str, SHAPES] = DEFAULT_SHAPES,
    edges: Edges = None,
    exclude: Exclude = None,
    dev: Annotated[float, "Share of papers for dev."] = 0.01,
) -> None:
    """Make pairs of texts to train a retriever on, such as a title and its abstract.

    Writes train/SHAPE.jsonl and dev/SHAPE.jsonl, which a recipe names as sources, and pairs.json. A file of rows gives
    a source with the file's name. Other sources in the folder stay. Dev and test papers of the open data in --data are
    dropped.

    Example: sciprism prepare pairs works.jsonl -o pairs --shapes title-abstract,citing-cited-titles
    """
    from sciprism.prepare.filters import Filters
    from sciprism.prepare.pairs import PairSettings, prepare_pairs

    check_output_folder(out, [*files, edges])
    filters = Filters(exclude=tuple(exclude or ()), data=data_folder())
    names = tuple(dict.fromkeys(split_names(shapes)))
    settings = PairSettings(shapes=names, edges=edges, dev=dev, filters=filters)
    print_preparation(prepare_pairs(out, files, settings))


def text(
    sources: Annotated[list[str], "NAME=PATH, a file or folder; repeat a NAME for further paths."],
    out: OutputFolder,
    tokenizer: Annotated[Path | None, "A model folder or tokenizer.json."] = None,
    vocab_size: Annotated[int | None, "Learn a tokenizer of this many tokens first."] = None,
    length: Annotated[int, "Tokens of a block, with special tokens."] = 512,
    across_documents: Annotated[bool, "Let a block hold several documents."] = True,
    weight: Annotated[list[str] | None, "NAME=2.5: repetitions of a source, else 1; repeatable.", "--weight"] = None,
    kind: Annotated[
        list[str] | None,
        "NAME=KIND, else detected: papers, rows, parquet, jats, wikipedia, ads, cmr; for "
        ".txt: text (split at blank lines), text-line, text-file.",
        "--kind",
    ] = None,
    columns: Annotated[list[str] | None, "NAME=title,body: a table's columns with text.", "--columns"] = None,
    languages: Annotated[str, "Languages to retain, such as en,de; guessed if not stated."] = "",
    licences: Annotated[str, 'Licences to retain, such as "CC0,CC BY"; drops texts without one.'] = "",
    exclude: Exclude = None,
    dev: Annotated[float, "Share of each source's documents for dev."] = 0.01,
) -> None:
    """Make token shards of texts, to pre-train on.

    Texts are filtered and deduplicated (the first stays), and full sentences packed to a length. Writes train/ and
    dev/NAME/ (memory-mapped blocks), tokenizer/ and mixture.json. Dev and test papers of the open data in --data are
    dropped.

    Example: sciprism prepare text ads=ads.jsonl pmc=pmc/ wiki=wiki.xml.bz2 -o corpus --vocab-size 50265
    """
    from sciprism.prepare.filters import Filters
    from sciprism.prepare.text import TextSettings, prepare_text

    settings = TextSettings(tokenizer, vocab_size, length, across_documents, dev=dev)  # type: ignore[call-arg]
    retained = split_names(languages), split_names(licences)
    filters = Filters(*retained, tuple(exclude or ()), data_folder())
    inputs = parse_sources(sources, weight or (), kind or (), columns or ())
    check_output_folder(out, (path for source in inputs for path in source.paths))
    print_preparation(prepare_text(out, inputs, settings, filters))


def parse_sources(
    sources: Sequence[str], weights: Sequence[str], kinds: Sequence[str], columns: Sequence[str]
) -> list[TextSource]:
    """Read NAME=PATH and the options on a NAME. Raises InputError for a NAME that no source has."""
    from sciprism.prepare.text import TextSource

    paths: dict[str, list[Path]] = {}
    for name, value in _parse_pairs("source", sources):
        paths.setdefault(name, []).append(Path(value))
    options: dict[str, dict[str, str]] = {}
    for option, words in (("weight", weights), ("kind", kinds), ("columns", columns)):
        options[option] = dict(_parse_pairs(f"--{option}", words))
        if unknown := [name for name in options[option] if name not in paths]:
            raise InputError(f"--{option} {unknown[0]}: no such source; there are {', '.join(paths)}")
    weight_of = dict.fromkeys(paths, 1.0)
    for name, word in options["weight"].items():
        try:
            weight_of[name] = float(word)
        except ValueError:
            raise InputError(f"--weight {word!r}: expected a number") from None
    return [
        TextSource(
            name=name,
            paths=tuple(files),
            weight=weight_of[name],
            kind=options["kind"].get(name, ""),
            columns=split_names(options["columns"].get(name, "")),
        )
        for name, files in paths.items()
    ]


def _parse_pairs(what: str, words: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for word in words:
        name, mark, value = word.partition("=")
        if not mark or not name or not value:
            raise InputError(f"{what} {word!r}: expected NAME=VALUE")
        pairs.append((name, value))
    return pairs


def patients(
    folder: Annotated[Path, "The folder of PMC-Patients-ReCDS, or its parent."],
    out: OutputFolder,
    task: Annotated[str, "par: articles for a patient; ppr: similar patients."] = "ppr",
) -> None:
    """Make examples to fine-tune patient retrieval (PMC-Patients).

    Writes train/patients-TASK.jsonl, dev/patients-TASK.jsonl and patients-TASK.json, for recipes/patients-TASK.toml.

    Example: sciprism prepare patients PMC-Patients-ReCDS -o sources --task ppr
    """
    from sciprism.prepare.patients import PatientSettings, prepare_patients

    settings = PatientSettings(search=task)  # type: ignore[arg-type]
    print_preparation(prepare_patients(folder, out, settings))


def scirepeval(config: Annotated[Path, "SciRepEval's JSON list of training tasks."], out: OutputFolder) -> None:
    """Make SciRepEval's training sources, from its config and data.

    Writes train/NAME.jsonl, dev/NAME.jsonl and sources.json.

    Example: sciprism prepare scirepeval tasks_config.json -o sources --data scirepeval/
    """
    from sciprism.prepare.scirepeval.training_sources import prepare_scirepeval

    print_preparation(prepare_scirepeval(out, config, data_folder()))


def print_preparation(done: Preparation) -> None:
    """Print the result of a `prepare` command: its tables, what was dropped and not made, and its notes."""
    print_result("sciprism.prepare/1", done.to_json(), lambda: _print(done))


def _print(done: Preparation) -> None:
    for table in done.tables:
        if table.title:
            echo(table.title)
        print_table(table.words, table.counts, (map(format_cell, row) for row in table.rows))
    for name, report in done.dropped.items():
        _print_dropped(name, report)
    for name, reason in done.not_made.items():
        echo(f"{name}: not made: {reason}")
    print_skip_counts(done.read)
    for note in done.notes:
        echo(note)
    for warning in done.warnings:
        echo(warning, error=True)


def _print_dropped(name: str, report: DropReport) -> None:
    reasons = [f"{reason} {report.count(reason):,}" for reason, names in report.ids.items() if names]
    line = f"{name}: dropped: {', '.join(reasons)}"
    if reasons:
        echo(line if len(line) <= table_width() else "\n    ".join((f"{name}: dropped:", *reasons)))


def scimult(raw: Annotated[Path, "The folder of the published data."], out: OutputFolder) -> None:
    """Make SciMult's pre-training sources and test files.

    Reads the sub-folders that exist: maple, micol, mesh, scirepeval, scidocs, beir, recommendation, PMC-Patients-ReCDS.
    Prints Tables A1 and A2 next to the published figures.

    Example: sciprism prepare scimult raw -o data
    """
    from sciprism.prepare.scimult.data_sets import prepare_scimult

    done = prepare_scimult(raw, out, on_start=partial(echo, error=True))
    print_preparation(done)


def ir(
    questions: Annotated[Path, "Rows of paragraph and question(s), as JSON lines or a table; or SQuAD."],
    papers: Annotated[list[Path], "Papers whose abstracts are the distractors."],
    out: OutputFolder,
    distractors: Annotated[int, "Number of distractors.", "--distractors"],
) -> None:
    """Make a retrieval test set of annotated questions, as NASA-IR does.

    Their paragraphs are among random abstracts. Writes BEIR's files (corpus.jsonl, queries.jsonl, qrels/dev.tsv,
    qrels/test.tsv), tasks.toml for `sciprism evaluate --tasks`, and ir.json.

    Example: sciprism prepare ir questions.jsonl works.jsonl -o ir --distractors 20000
    """
    from sciprism.prepare.ir import RetrievalSettings, prepare_ir

    check_output_folder(out, [questions, *papers])
    settings = RetrievalSettings(distractors=distractors)
    print_preparation(prepare_ir(questions, papers, out, settings))


FILES = typer.Argument(help="Papers, or folders with S2ORC's metadata/ and pdf_parses/.")
CONSTRUCTION = typer.Option(help="published: the authors' rules; corrected: without their defects.")
WITHIN = typer.Option("--within-fields", help="Negatives share a field with their query.")
MAX_QUERIES = typer.Option(help="Per field and split; 0: all; else 500 if corrected, all if published.")


def multi_scidocs(
    files: Annotated[list[Path], FILES],
    out: OutputFolder,
    edges: Edges = None,
    construction: Annotated[str, CONSTRUCTION] = "corrected",
    negatives: Annotated[int, "Negatives of a query, at most."] = 500,
    within_fields: Annotated[bool, WITHIN] = False,
    val: Annotated[float, "Share of each field for val."] = 0.4,
    test: Annotated[float, "Share of each field for test."] = 0.4,
    max_queries: Annotated[int | None, MAX_QUERIES] = None,
) -> None:
    """Make a Multi-SciDocs benchmark of your papers: citations, co-citations, fields of study.

    A paper needs title, abstract and field (of OpenAlex, Semantic Scholar, arXiv, or a column `fields`). Writes
    multi-scidocs/ and multi-scidocs.json. Then: sciprism evaluate MODEL --suite multi-scidocs --data OUT.

    Example: sciprism prepare multi-scidocs papers.jsonl --edges citations.tsv -o benchmark
    """
    from sciprism.prepare.multi_scidocs import BenchmarkSettings, prepare_multi_scidocs
    from sciprism.prepare.sources.citation_corpus import CitationSources

    sources = CitationSources(files=tuple(files), edges=edges)
    settings = BenchmarkSettings(
        construction=construction,
        negatives=negatives,
        within_fields=within_fields,
        val=val,
        test=test,
        max_queries=max_queries,
    )
    print_preparation(prepare_multi_scidocs(out, sources, settings))


def s2and_mini(
    folder: Annotated[Path, "The folder of S2AND, with a folder for each source."], out: OutputFolder
) -> None:
    """Make S2AND-mini, SciRepEval's blocks of author mentions.

    Each source has at most 1,000 blocks of at most 500 mentions.

    Example: sciprism prepare s2and-mini s2and -o s2and_mini
    """
    from sciprism.prepare.s2and_mini import prepare_s2and_mini

    print_preparation(prepare_s2and_mini(folder, out))


def lexical(
    model: Annotated[str, "A model of the method single, by name or folder."],
    file: Annotated[Path, "Training examples, as of `prepare pairs`."],
    out: OutputFolder,
    width: Annotated[int, "Dimensions for lexical features."] = 128,
    max_examples: Annotated[int, "Examples to read, sampled at random."] = 10_000,
) -> None:
    """Make a model whose vectors have lexical features too, so that rare words weigh more.

    They replace the dimensions in which texts differ least. Weights of words are measured on the queries and first
    positives of the examples; nothing is trained.

    Example: sciprism prepare lexical all-MiniLM-L6-v2 pairs/train/title-abstract.jsonl -o words
    """
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.new_models import add_lexical_features
    from sciprism.prepare.preparation import Preparation
    from sciprism.seeding import sample
    from sciprism.training.examples import read_examples

    encoder = Encoder.load(model)
    examples = sample(read_examples(file, query="query", candidate="paper"), max_examples, "lexical")
    texts = [item for example in examples for item in (example.query, *example.positives[:1])]
    made = add_lexical_features(encoder, texts, width=width)
    made.save(out, made_from=Path(model).name, texts=len(texts))
    note = f"{out}: {width} of {made.dim} dimensions are lexical, measured on {len(texts):,} texts"
    record = {"lexical_dimensions": width, "dimensions": made.dim, "texts": len(texts)}
    print_preparation(Preparation(record=record, notes=[note]))


def negatives(
    sources: Annotated[list[Path], "Training examples of `prepare pairs`, `open` or `citations`."],
    out: OutputFolder,
    model: Annotated[str, "The teacher: a model as for `sciprism evaluate`, or bm25.", "--model"],
    ranks: Annotated[str, "First and last rank of the candidates."] = "10-1000",
    share: Annotated[float, "Drop candidates above this share of the lowest positive's score."] = 0.95,
    number: Annotated[int, "Negatives of a query, at most, the nearest first."] = 4,
) -> None:
    """Mine hard negatives of training examples with a teacher.

    These are each query's nearest candidates in its file, without known positives and candidates nearly as near as the
    positive (NV-Retriever). Writes train/NAME.jsonl and dev/NAME.jsonl, where they replace the negatives, and
    negatives.json.

    Example: sciprism prepare negatives sources/train/vis-citations.jsonl -o mined --model all-MiniLM-L6-v2
    """
    from sciprism.evaluation.systems.loading import SystemOptions, load_systems
    from sciprism.files import cache_folder
    from sciprism.prepare.negatives import NegativeSettings, prepare_negatives

    check_output_folder(out, sources)
    settings = NegativeSettings(ranks=ranks, share=share, number=number)  # type: ignore[arg-type]
    with ProgressDisplay("reading", "examples") as display:
        ((teacher, _),) = load_systems(model, SystemOptions(), cache_folder() / "vectors", display)
        done = prepare_negatives(out, sources, teacher, settings)
    print_preparation(done)


prepare = typer.Typer(name="prepare", no_args_is_help=True, help="Make training and test data.")
prepare.command("open")(open_sets)
for command in (
    citations,
    pairs,
    negatives,
    text,
    patients,
    scirepeval,
    scimult,
    ir,
    multi_scidocs,
    s2and_mini,
    lexical,
):
    prepare.command(command.__name__.replace("_", "-"))(command)
