"""`sciprism prepare`: make benchmark data out of what others publish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.prepare_citations import citations
from sciprism.cli.prepare_ir import ir
from sciprism.cli.prepare_lexical import lexical
from sciprism.cli.prepare_multi_scidocs import multi_scidocs
from sciprism.cli.prepare_pairs import pairs
from sciprism.cli.prepare_scirepeval import scirepeval
from sciprism.cli.prepare_text import text

prepare = typer.Typer(no_args_is_help=True, help="Make benchmark data out of published files.")


@prepare.callback()
def _parts() -> None:
    """Make benchmark data out of published files."""


@prepare.command("s2and-mini")
def s2and_mini(
    folder: Annotated[Path, typer.Argument(help="The folder with S2AND's sources, one folder each.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    rule: Annotated[
        str, typer.Option(help="alphabetical (as the public script) or largest: which blocks stay.")
    ] = "alphabetical",
) -> None:
    """Make S2AND-mini: of six sources at most 1,000 blocks of at most 500 author mentions.

    Prints what stays of each source.

    Example: sciprism prepare s2and-mini s2and -o s2and_mini
    """
    from sciprism.prepare.s2and_mini import make_mini, total

    kept = make_mini(folder, out, rule=rule)  # type: ignore[arg-type]
    parts = ("blocks", "signatures", "clusters", "papers")
    print(f"{'source':<12}" + "".join(f"{part:>24}" for part in parts))
    rows = {
        one.source: {key: getattr(one, key) for part in parts for key in (part, f"all_{part}")}
        for one in kept
    }
    for name, row in (rows | {"all": total(kept)}).items():
        cells = (f"{row[part]:,} of {row[f'all_{part}']:,}" for part in parts)
        print(f"{name:<12}" + "".join(f"{cell:>24}" for cell in cells))


@prepare.command("open")
def open_sets(
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    data: Annotated[str, typer.Option(envvar="SCIPRISM_DATA", help="The folder of the open data.")] = "",
    most: Annotated[int, typer.Option(help="Queries of one source; 0: all.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the files are the same for any number.")] = 1,
) -> None:
    """Make training sources out of the open data: papers that no test has, in DPR-style files.

    Writes train/NAME.jsonl, dev/NAME.jsonl (to choose checkpoints) and sources.json: what was kept, dropped
    and why.

    Example: sciprism prepare open -o sources --data data/
    """
    from sciprism.cli.prepare_open import print_sets
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.open.writing import write_sets

    home = DataRoot(Path(data) if data else None)
    print_sets(write_sets(home, out, seed=seed, most=most, workers=workers))


@prepare.command("scimult")
def scimult(
    raw: Annotated[Path, typer.Argument(help="The folder with the published data, sub-folders by name.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    seed: Annotated[int, typer.Option(help="Decides what is drawn: label pairs, negatives, papers.")] = 12345,
    only: Annotated[str | None, typer.Option(help="pretrain or test: make these alone.")] = None,
) -> None:
    """Make SciMult's pre-training sources and test files out of the layouts that others publish.

    Sub-folders, as far as they are there: maple, micol, mesh, scirepeval, scidocs, beir, recommendation,
    PMC-Patients-ReCDS. Prints Tables A1 and A2 beside the published figures, and what is missing.

    Example: sciprism prepare scimult raw -o data --only test
    """
    from sciprism.prepare.scimult.prepare import prepare_scimult
    from sciprism.prepare.scimult.tables import tables

    done = prepare_scimult(raw, out, seed=seed, only=only, tell=_begun)  # type: ignore[arg-type]
    print(tables(done))


prepare.command("scirepeval")(scirepeval)
prepare.command("citations")(citations)
prepare.command("multi-scidocs")(multi_scidocs)
prepare.command("text")(text)
prepare.command("pairs")(pairs)
prepare.command("lexical")(lexical)
prepare.command("ir")(ir)


@prepare.command("patients")
def patients(
    folder: Annotated[Path, typer.Argument(help="The folder of PMC-Patients-ReCDS, or one that holds it.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    task: Annotated[str, typer.Option(help="par: articles for a patient; ppr: similar patients.")] = "ppr",
    negatives: Annotated[
        str, typer.Option(help="bm25: those with the most words in common; or random.")
    ] = "bm25",
    pool: Annotated[
        int, typer.Option(help="Documents that negatives are taken from; 0: all, at 20 kB of memory each.")
    ] = 50_000,
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance.")] = 0,
) -> None:
    """Make examples to fine-tune a search for patients (PMC-Patients), for recipes/patients-TASK.toml.

    Writes train/patients-TASK.jsonl, dev/patients-TASK.jsonl (to choose checkpoints) and
    patients-TASK.json: what was kept, dropped and why.

    Example: sciprism prepare patients PMC-Patients-ReCDS -o sources --task ppr
    """
    from sciprism.prepare.patients.writing import Choices, prepare_patients

    done = prepare_patients(
        folder,
        out,
        Choices(search=task, negatives=negatives, pool=pool, seed=seed),  # type: ignore[arg-type]
    )
    print(f"{done.documents:,} documents; negatives are taken from {done.pool:,}")
    for split, report in done.reports.items():
        counts = f"{report.queries:,} patients, {report.pairs:,} pairs, {report.hard:,} with a hard negative"
        print(f"{done.files[split]}: {counts}")
        for reason in report.dropped.ids:
            print(f"  {report.dropped.count(reason):,} x {reason}")


def _begun(part: str) -> None:
    typer.echo(part, err=True)
