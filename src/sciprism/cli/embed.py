"""`sciprism embed`: papers from files into a collection that can be searched."""

from __future__ import annotations

import sys
import threading
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sciprism.cli.abstracts import AbstractFiles, MissingAbstract, open_abstracts, print_abstracts
from sciprism.cli.corrections import Corrections, Read, find_last_records, refuse_deletions
from sciprism.cli.options import (
    AsJson,
    Columns,
    Encoding,
    IdPrefix,
    IdsPerFile,
    PaperFiles,
    Pooling,
    Precision,
    Reader,
    SkipBad,
    build_read_options,
)
from sciprism.cli.output import ProgressDisplay, join_counts, print_json, print_skipped
from sciprism.cli.parts import Part, embed_one_part
from sciprism.cli.ray_parts import GpusPerPart, NoMerge, PartCount, RayAddress, WantedCluster, embed_on_cluster
from sciprism.cli.wanted_model import WantedModel, explain_interruption
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.papers import ReadReport
    from sciprism.papers.abstracts import AbstractCompletion
    from sciprism.papers.input_file import ReadOptions
    from sciprism.papers.last_records import LastRecords
    from sciprism.store import EmbedReport
    from sciprism.store.parts.plan import PartInput

Replace = Annotated[
    bool, typer.Option("--replace", help="A paper replaces a stored one of its id, even where they differ.")
]
Prune = Annotated[
    bool,
    typer.Option("--prune", "--update", help="The collection becomes the input: papers that it has no more leave."),
]


def embed(
    files: PaperFiles,
    output: Annotated[Path, typer.Option("-o", "--output", help="The collection: a new folder, or one to add to.")],
    model: Annotated[str, typer.Option(help="A model: folder, packaged name or hub id.")] = "",
    pooling: Pooling = "",
    precision: Precision = "auto",
    formats: Annotated[str | None, typer.Option(help="Formats such as proximity,search; or all.")] = None,
    dtype: Annotated[str, typer.Option(help="Store float32, float16 or int8.")] = "",
    reader: Reader = "",
    columns: Columns = None,
    encoding: Encoding = "",
    id_prefix: IdPrefix = "",
    ids_per_file: IdsPerFile = False,
    abstracts: AbstractFiles = None,
    missing_abstract: MissingAbstract = "title",
    replace: Replace = False,
    skip_bad: SkipBad = False,
    prune: Prune = False,
    corrections: Corrections = False,
    part: Part = "",
    ray: RayAddress = "",
    parts: PartCount = 0,
    gpus_per_part: GpusPerPart = 0.0,
    no_merge: NoMerge = False,
    threads: Annotated[int, typer.Option(help="Processor cores to use; 0 is all, and of a --ray part 1.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Encode papers into a collection; the same command continues, and encodes what is new or changed.

    Example: sciprism embed refs.bib more.ris -o vecs/
    """
    _use_threads(0 if ray else threads)
    options = build_read_options(columns, encoding, id_prefix, ids_per_file)
    source = _describe_input(files, reader, options, skip_bad, (abstracts, missing_abstract))
    wanted, rules = WantedModel(model, pooling, precision, formats, dtype), _name_rules(replace, prune, corrections)
    if (cluster := WantedCluster(ray, parts, threads, gpus_per_part, no_merge)).is_asked(part):
        return embed_on_cluster(source, output, wanted, cluster, rules, as_json)
    if part:
        return embed_one_part(source, output, part, wanted, rules, as_json)
    return _embed_all(source, output, wanted, rules, as_json)


def _name_rules(replace: bool, prune: bool, corrections: bool) -> dict[str, bool]:
    return {"replace": replace, "prune": prune, "corrections": corrections}


def _describe_input(
    files: list[str], reader: str, options: ReadOptions, skip_bad: bool, abstracts: tuple[list[str] | None, str]
) -> PartInput:
    from sciprism.store.parts.plan import PartInput

    more: dict[str, Any] = {"abstracts": tuple(abstracts[0] or ()), "missing_abstract": abstracts[1]}
    return PartInput(paths=tuple(files), reader=reader, options=options, skip_bad=skip_bad, **more)


def _embed_all(source: PartInput, output: Path, wanted: WantedModel, rules: dict[str, Any], as_json: bool) -> None:
    from sciprism.papers import read_changes
    from sciprism.store import embed as store
    from sciprism.store.layout import check_folder

    skip_bad = source.skip_bad
    read = partial(read_changes, source.paths, reader=source.reader, options=source.options, skip_bad=skip_bad)
    check_folder(output)
    if rules["corrections"] and source.options.ids_per_file:
        raise InputError(
            "--ids-per-file: each file has ids of its own, and corrects no other; omit --corrections or it"
        )
    read()  # opens nothing, and names a missing file
    encoder = wanted.load(output)
    layout = wanted.choose_layout(encoder)
    write = partial(store, encoder=encoder, folder=output, layout=layout, skip_bad=skip_bad, **rules)
    piped = any(name == "-" or Path(name).is_fifo() for name in cast("tuple[str, ...]", source.paths))  # read once
    with open_abstracts([*source.abstracts], source.missing_abstract) as completion, explain_interruption(output):
        _report(output, *_read_and_write(read, write, piped, completion), completion, as_json)


def _read_and_write(
    read: Read, write: partial[EmbedReport], piped: bool, completion: AbstractCompletion
) -> tuple[ReadReport, EmbedReport, int]:
    """Store the papers with a display of progress, and count outdated records; InputError where none can be used.

    They are read before the work, unless they can be read once: a bad record is found now, not after an hour
    of encoding.
    """
    from sciprism.papers import ReadReport
    from sciprism.store import EmbedReport
    from sciprism.store.manifest import is_collection

    found, report, rules = ReadReport(), EmbedReport(), write.keywords
    last = find_last_records(read, found, piped) if rules["corrections"] else None
    selected: Read = (lambda report: last.select(read(report=report))) if last else read
    total = _count(selected, found, piped, completion, last)
    if rules["prune"] and (piped or found.skipped_count):
        why = f"{found.skipped_count:,} records cannot be read" if not piped else "a pipe can be read only once"
        raise InputError(f"--prune: {why}, so papers could leave that are there; nothing was changed")
    deletions = last.deletions if last else 0
    if total != 0 or (deletions and is_collection(rules["folder"])):
        found = ReadReport()
        with ProgressDisplay("embedding", "papers", total) as display:
            shown = _EncodedPapers(display, rules["encoder"], rules["folder"])
            rules["encoder"].on_batch = shown.add_texts
            report = write(completion.complete(selected(report=found)), progress=shown.update)
    if report.read == report.bad and not report.deleted + report.unknown_deletions:
        skipped = found.skipped_count + report.bad
        print_skipped([*map(str, found.skipped), *report.reasons], skipped)
        print_abstracts(completion)
        only = f", and {deletions:,} deletions are of no collection" if deletions else ""
        raise InputError(
            f"no paper of the input can be used: {skipped + completion.report.skipped:,} skipped{only}; "
            "`sciprism inspect` says what files hold"
        )
    return found, report, last.outdated if last else 0


def _count(
    read: Read, found: ReadReport, piped: bool, completion: AbstractCompletion, last: LastRecords | None
) -> int | None:
    """Count the papers that will be stored, None of a pipe; InputError for what would be one later."""
    from sciprism.papers import Paper, ReadReport

    if last and not completion.fails:
        return last.papers
    if piped:
        return None
    with ProgressDisplay("reading", "papers") as display:
        records = completion.complete(read(report=ReadReport() if last else found))
        total = sum(1 for _ in display.count(each for each in records if isinstance(each, Paper)))
    if last is None:
        refuse_deletions(found)
    return total


class _EncodedPapers:
    """Shows the papers that are done, and moves with every batch of the encoder."""

    def __init__(self, display: ProgressDisplay, encoder: Encoder, folder: Path) -> None:
        self._display, self._encoder, self._folder = display, encoder, folder
        self._lock = threading.Lock()
        self._report: EmbedReport | None = None
        self._texts = 0

    def update(self, report: EmbedReport) -> None:
        """Show the counts of a run."""
        self._report = report
        self._show(report.encoded)

    def add_texts(self, count: int) -> None:
        """Count the texts of a batch; called from several threads."""
        with self._lock:
            self._texts += count
            self._show(self._texts // self._passes)

    @cached_property
    def _passes(self) -> int:
        """Return how often the model reads a paper: once for each path of the collection's spaces, or once for all."""
        from sciprism.store.manifest import read_manifest

        if self._encoder.method.one_pass:
            return 1
        return len({space.path for space in read_manifest(self._folder).spaces.values()})

    def _show(self, encoded: int) -> None:
        if self._report is not None:
            encoded = max(encoded, self._report.encoded)
            self._display.update(self._report.done - self._report.encoded + encoded, rated=encoded)


def _use_threads(threads: int) -> None:
    if threads < 0:
        raise InputError(f"--threads {threads} is not a number of processor cores")
    if threads:
        import torch

        torch.set_num_threads(threads)


def _report(
    output: Path, read: ReadReport, report: EmbedReport, outdated: int, completion: AbstractCompletion, as_json: bool
) -> None:
    reasons = [*map(str, read.skipped), *report.reasons]
    print_skipped(reasons, read.skipped_count + report.bad)
    for file in read.files:
        if file.note:
            print(f"{file.path}: {file.note}", file=sys.stderr)
    print_abstracts(completion)
    missing = completion.report
    if as_json:
        more = {"unreadable": read.skipped_count, "reasons": reasons, "ignored_files": read.ignored}
        more |= {"outdated": outdated, "notes": [f"{file.path}: {file.note}" for file in read.files if file.note]}
        print_json("sciprism.embed/1", asdict(report) | more | {"abstracts": missing.to_json()})
        return
    counts = _count_records(read, report) | {"without abstract and skipped": missing.skipped}
    counts |= {"outdated by later ones": outdated, "other files ignored": read.ignored}
    stored = {
        "papers": report.papers,
        "without abstract": report.missing_abstracts,
        "superseded rows": report.superseded,
    }
    deletions = report.deleted + report.unknown_deletions
    total = report.read + read.skipped_count + missing.skipped + outdated + deletions
    print(
        f"read {total:,} {'records' if outdated + deletions else 'papers'}: {join_counts(counts) or 'none'}\n"
        f"{output} holds {join_counts(stored) or 'no papers'}"
    )


def _count_records(read: ReadReport, report: EmbedReport) -> dict[str, int]:
    """Return what became of the records, as it is printed."""
    return {
        "new": report.new,
        "with a changed text": report.changed,
        "with changed details": report.updated,
        "of these in the place of another paper": report.replaced,
        "unchanged": report.unchanged,
        "repeated": report.duplicates,
        "skipped": report.bad + read.skipped_count,
        "deleted": report.deleted,
        "deletions of papers not stored": report.unknown_deletions,
        "gone from the input and deleted": report.pruned,
    }
