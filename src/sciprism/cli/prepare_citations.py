"""`sciprism prepare citations`: triplets out of papers and citations, and a table of the fields."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.options import Edges, OutputFolder, Seed, Workers
from sciprism.cli.printing import print_dropped, print_skip_counts, print_table

if TYPE_CHECKING:
    from sciprism.prepare.citations.prepare import PreparedCitations
    from sciprism.prepare.citations.sources import CitationSources
    from sciprism.prepare.samplers.domains import DomainTable

COUNTS = ("queries", "triplets", "%", "papers")


Files = Annotated[list[Path], typer.Argument(help="Papers: files of any format, folders, S2ORC, objects keyed by id.")]
LinkStrengths = Annotated[
    Path | None,
    typer.Option(help="Strengths of links between papers, such as SPECTER's data.json of co-views."),
]
Triplets = Annotated[
    Path | None, typer.Option(help="Triplets to use as they are: a table such as SciNCL's train_triples.csv.")
]
Fields = Annotated[list[str] | None, typer.Option(help="A field whose papers are queries; repeatable; else all.")]
Shards = Annotated[
    list[int] | None, typer.Option(help="Of S2ORC: a shard whose papers are queries; repeatable; else all.")
]
SamplerOptions = Annotated[
    list[str] | None, typer.Option("--set", help="An option of the sampler, KEY=VALUE; repeatable.")
]
SamplingExponent = Annotated[
    float, typer.Option(help="A field's weight is its share to this power; 0: all fields alike.")
]
MaxPerField = Annotated[int, typer.Option(help="Queries of a field at most; 0: no limit.")]
MinMultiField = Annotated[float, typer.Option(help="Minimum share of queries with several fields.")]
DevShare = Annotated[float, typer.Option("--dev", help="Share of papers that are held out.")]
HoldOutRule = Annotated[
    str,
    typer.Option(help="papers: no train triplet has a paper that is a dev query; queries: none as its query."),
]
Exclude = Annotated[
    list[Path] | None,
    typer.Option(help="Papers of a test, or a folder multi-scidocs/: its queries are dropped; repeatable."),
]
RequireAbstract = Annotated[bool, typer.Option(help="Drop papers without an abstract.")]


def citations(
    files: Files,
    out: OutputFolder,
    edges: Edges = None,
    link_strengths: LinkStrengths = None,
    triplets: Triplets = None,
    field: Fields = None,
    shard: Shards = None,
    sampler: Annotated[str, typer.Option(help="specter or scincl.")] = "specter",
    option: SamplerOptions = None,
    sampling_exponent: SamplingExponent = 1.0,
    max_per_field: MaxPerField = 0,
    min_multi_field: MinMultiField = 0.0,
    dev: DevShare = 0.05,
    hold_out: HoldOutRule = "papers",
    exclude: Exclude = None,
    require_abstract: RequireAbstract = False,
    seed: Seed = 0,
    workers: Workers = 1,
) -> None:
    """Make training triplets out of papers and their citations, as SPECTER or SciNCL samples them.

    Writes train.jsonl and dev.jsonl (triplets of ids), papers.jsonl (their texts) and citations.json: counts,
    and what was dropped and why. A recipe names train.jsonl as a source.

    Example: sciprism prepare citations works.jsonl -o triplets --sampling-exponent 0.7 --seed 1783
    """
    from sciprism.prepare.citations.prepare import CitationSettings, HoldOut, prepare_citations
    from sciprism.prepare.citations.samplers import GIVEN, parse_options
    from sciprism.prepare.samplers.domains import FieldBalance

    sources = _citation_sources(files, edges, link_strengths, triplets, field, shard, exclude)
    sampler = GIVEN if triplets else sampler
    options = parse_options(sampler, option or ())
    balance = FieldBalance(sampling_exponent, max_per_field, min_multi_field, seed)
    held = cast("HoldOut", hold_out)
    settings = CitationSettings(sampler, options, balance, dev, held, require_abstract, seed, workers)
    print_triplets(prepare_citations(out, sources, settings), sources)


def _citation_sources(
    files: Files,
    edges: Edges,
    link_strengths: LinkStrengths,
    triplets: Triplets,
    field: Fields,
    shard: Shards,
    exclude: Exclude,
) -> CitationSources:
    from sciprism.prepare.citations.sources import CitationSources

    return CitationSources(
        files=tuple(files),
        edges=edges,
        link_strengths=link_strengths,
        triplets=triplets,
        fields=tuple(field or ()),
        shards=tuple(shard or ()),
        exclude=tuple(exclude or ()),
    )


def print_triplets(prepared: PreparedCitations, sources: CitationSources) -> None:
    """Print train and dev by field, what was dropped, and the speed."""
    for name, part in prepared.parts.items():
        print_table((name,), COUNTS, field_rows(part.table))
    print_dropped("papers and citations", prepared.dropped)
    for name, part in prepared.parts.items():
        print_dropped(name, part.report.dropped)
    print_dropped("papers of tests", sources.excluded.dropped)
    print_skip_counts([*sources.reader.report.files, *sources.excluded.report.files])
    done = f"{prepared.papers:,} papers and {prepared.citations:,} citations in {prepared.seconds:,.0f} s"
    print(f"{done}, {prepared.papers / prepared.seconds:,.0f} papers/s")


def field_rows(table: DomainTable) -> list[list[str]]:
    """Return the rows of a sample by fields, then the triplets across fields, then all."""
    found = []
    for field, row in table.rows().items():
        share = f"{100 * row.triplets / max(1, table.triplets):.1f}"
        found.append([field, f"{row.queries:,}", f"{row.triplets:,}", share, f"{row.papers:,}"])
    across = f"{100 * table.across_fields / max(1, table.triplets):.1f}"
    found.append(["across fields", "", f"{table.across_fields:,}", across, ""])
    return [*found, ["all", f"{table.queries:,}", f"{table.triplets:,}", "100.0", ""]]
