"""`sciprism embed`: papers from files into a collection that can be searched, by many workers too; `sciprism merge`."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from sciprism.cli.options import IdentifiedReading, PaperFiles, open_abstracts, split_names
from sciprism.cli.output import ProgressDisplay, echo, join_counts, print_abstracts, print_result, print_skipped
from sciprism.drop_report import CONTAINERS, count_noun
from sciprism.errors import InputError, InterruptedRunError
from sciprism.parallel import DEVICE, Progress

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.papers import Paper, ReadReport
    from sciprism.store import CollectionLayout, EmbedReport
    from sciprism.store.collection import EncoderRecord
    from sciprism.store.embed import EmbedInput, FilesReport
    from sciprism.store.parts import MergeReport
    from sciprism.store.shard_files import Dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedParts:
    """What a command line says of parts, of a cluster that embeds them, and of what each takes."""

    part: Annotated[str, "Embed only part i/n of the input, such as 2/8; see `merge`."] = ""
    ray: Annotated[
        str, "Embed on a Ray cluster: auto (RAY_ADDRESS or this machine's), local, HOST:PORT, ray://HOST:PORT."
    ] = ""
    parts: Annotated[int, "With --ray: number of parts; 0: two per concurrent task."] = 0
    gpus_per_part: Annotated[float, "With --ray: GPUs per part, such as 1 or 0.5."] = 0.0
    threads: Annotated[int, "CPU cores; 0: all, or 1 per --ray part."] = 0

    def check(self) -> None:
        """Raise InputError for options that exclude each other."""
        if self.ray and self.part:
            raise InputError("--ray runs all parts, --part one of them; leave one of the two out")
        if self.ray and DEVICE.get():
            raise InputError("--device is of this machine; parts of --ray run where --gpus-per-part says")
        if (self.parts or self.gpus_per_part) and not self.ray:
            raise InputError("--parts and --gpus-per-part are for a run on a Ray cluster; name one with --ray")


def name_parts_folder(output: Path) -> Path:
    """Return where the parts of a run on a cluster are until they are merged."""
    return output.with_name(f"{output.name}-parts")


def embed_on_cluster(
    source: EmbedInput,
    output: Path,
    wanted: WantedParts,
    load: Callable[[str], Encoder],
    choose_layout: Callable[[Encoder], CollectionLayout],
) -> None:
    """Embed all parts of an input on a Ray cluster, merge them, and print the counts."""
    from sciprism.store.parts import merge as merge_parts
    from sciprism.store.ray_parts import RayJob, embed_with_ray
    from sciprism.uses.collection import index_words, load_encoder

    if output.exists():
        raise InputError(f"{output} exists; parts make a new collection: name a new folder, or add to it without --ray")
    job = RayJob(
        source=source,
        load=load,
        folder=name_parts_folder(output),
        choose_layout=choose_layout,
        parts=wanted.parts,
        cores=wanted.threads or 1,
        gpus=wanted.gpus_per_part,
    )
    with interrupted_by_termination(), ProgressDisplay("embedding", "parts") as display:
        embed_with_ray(job, wanted.ray, display)
        display("merge")
        report = merge_parts([job.folder], output, load_encoder, skip_bad=source.skip_bad)
        index_words(output, display)
    shutil.rmtree(job.folder)
    _print_merge(output, report)


@contextmanager
def interrupted_by_termination() -> Iterator[None]:
    """Let a signal that ends the job (SLURM, Kubernetes) save what is computed, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def merge(
    parts: Annotated[list[Path], "The folders of all parts, or their parent."],
    output: Annotated[Path, "The collection: a new folder.", "-o", "--output"],
    skip_bad: Annotated[bool, "Skip and count papers that repeat another paper's id."] = False,
) -> None:
    """Make one collection of the parts that `embed --part` made, without copying vectors.

    Records of the same paper in several parts become one. You may then delete the parts.

    Example: sciprism merge parts/ -o vecs/
    """
    from sciprism.store.parts import merge as merge_parts
    from sciprism.uses.collection import index_words, load_encoder

    with ProgressDisplay("merge") as display:
        report = merge_parts(parts, output, load_encoder, skip_bad=skip_bad)
        index_words(output, display)
    _print_merge(output, report)


def _print_merge(output: Path, report: MergeReport) -> None:
    print_skipped(report.reasons, len(report.reasons))
    counts = {
        "repeated": report.duplicates,
        "merged into a record of the same paper": report.merged,
        "skipped": report.bad,
        "without abstract": report.missing_abstracts,
    }
    text = f"{output} holds {count_noun(report.papers, 'paper')} of {report.read:,} read in {report.parts:,} parts\n"
    document = {"collection": str(output), **asdict(report)}
    print_result("sciprism.merge/1", document, text + (join_counts(counts) or "none skipped"))


@dataclass(frozen=True, kw_only=True)
class EmbedReading(IdentifiedReading):
    """How `embed` reads files of papers."""

    missing_abstract: Annotated[
        str, "Without abstract: use the title, skip the paper, or fail (title, skip, fail)."
    ] = "title"

    def describe(self, files: list[str]) -> EmbedInput:
        """Return the files with how they are read."""
        from sciprism.store.embed import EmbedInput

        return EmbedInput(
            paths=tuple(files),
            reader=self.reader,
            options=self.build(),
            abstracts=self.abstracts,
            missing_abstract=self.missing_abstract,
            skip_bad=self.skip_bad,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRules:
    """What becomes of papers that a collection has already."""

    replace: Annotated[bool, "Replace stored papers of the same id, even where they differ."] = False
    prune: Annotated[bool, "Delete stored papers that the input lacks.", "--prune", "--update"] = False
    corrections: Annotated[bool, "Use the last of several records of a paper; apply deletions."] = False
    merge_duplicates: Annotated[bool, "Merge duplicates in the input, as `sciprism dedupe` does."] = False

    def refuse_for_parts(self) -> None:
        """Raise InputError where a rule is given: parts make a new collection."""
        if self.merge_duplicates:
            raise InputError("--merge-duplicates compares all papers, and a part has some; run `sciprism dedupe` first")
        for name, given in asdict(self).items():
            if given:
                raise InputError(
                    f"--{name} is for a collection that has papers; parts make a new one: merge them first"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedModel:
    """What a command line says of the model and of what is stored."""

    model: Annotated[str, "A model: folder, packaged name or hub id."] = ""
    pooling: Annotated[str, "cls or mean, for a model that does not state it."] = ""
    precision: Annotated[str, "float32, bfloat16 or float16; auto: bfloat16 if the hardware supports it."] = "auto"
    formats: Annotated[str | None, "Formats, such as proximity,search; or all."] = None
    dtype: Annotated[str, "Store float32, float16 or int8."] = ""
    dimensions: Annotated[int, "Truncate vectors to this length, for Matryoshka models; 0: full length."] = 0

    def load(self, output: Path) -> Encoder:
        """Load the named model, else the one of the collection, else the default."""
        from sciprism.store.collection import is_collection, read_manifest

        return self._load(output, read_manifest(output).encoder if is_collection(output) else None)

    def load_in(self, precision: str) -> Encoder:
        """Load the named model, else the default, in a precision; "" is the one that was asked for."""
        return replace(self, precision=precision or self.precision)._load(Path(), None)

    def _load(self, output: Path, stored: EncoderRecord | None) -> Encoder:
        from sciprism.encoders.encoder import Encoder

        model, precision = self.model, self.precision
        options: dict[str, Any] = {"pooling": self.pooling or None, "truncate_dim": self.dimensions or None}
        if stored:
            used = str(stored.options.get("precision", "float32"))
            if precision not in ("auto", used):
                raise InputError(f"{output} was made in {used}, not {precision}; remove --precision to continue it")
            precision = used
            if not model:
                model, options = stored.name, stored.options | {key: value for key, value in options.items() if value}
        if model and Path(model).expanduser().is_dir():
            # the manifest has the name: a search may start elsewhere
            model = str(Path(model).expanduser().resolve())
        return Encoder.load(model or None, **options | {"precision": precision})

    def choose_layout(self, encoder: Encoder) -> CollectionLayout:
        """Return the formats and the precision of what is stored."""
        from sciprism.store import CollectionLayout

        names = None if self.formats is None else split_names(self.formats)
        chosen = tuple(encoder.formats) if names == ("all",) else names
        return CollectionLayout(formats=chosen, dtype=cast("Dtype | None", self.dtype or None))


def embed(
    files: PaperFiles,
    output: Annotated[Path, "The collection: a new folder, or one to add to.", "-o", "--output"],
    wanted: WantedModel,
    reading: EmbedReading,
    rules: MergeRules,
    workers: WantedParts,
) -> None:
    """Encode papers into a collection; run again to resume, or to encode new and changed papers.

    Example: sciprism embed refs.bib more.ris -o vecs/
    """
    from sciprism.papers.input_paths import InputPart

    if output.suffix in (".parquet", ".npy", ".csv") and not output.is_dir():
        raise InputError(f"{output}: embed makes a folder; name one, then: sciprism export FOLDER -o {output}")
    workers.check()
    if workers.threads < 0:
        raise InputError(f"--threads {workers.threads} is not a number of processor cores")
    if workers.threads and not workers.ray:
        import torch

        torch.set_num_threads(workers.threads)
    source = reading.describe(files)
    if workers.ray or workers.part:
        rules.refuse_for_parts()
    with explain_interruption(output):
        if workers.ray:
            return embed_on_cluster(source, output, workers, wanted.load_in, wanted.choose_layout)
        if workers.part:
            source = replace(source, part=InputPart.parse(workers.part))
        with interrupted_by_termination():
            return _embed_all(source, output, wanted, rules)


def _embed_all(source: EmbedInput, output: Path, wanted: WantedModel, rules: MergeRules) -> None:
    from sciprism.store.embed import check_input, embed_files
    from sciprism.store.parts import begin_part
    from sciprism.uses.collection import index_words

    check_input(source, output, corrections=rules.corrections)
    if rules.corrections and rules.merge_duplicates:
        raise InputError("--corrections and --merge-duplicates exclude each other: the last record counts, or all do")
    encoder = wanted.load(output)
    layout = wanted.choose_layout(encoder)
    if source.part:
        begin_part(source, output)
    with open_abstracts(source.abstracts, source.missing_abstract) as completion:
        given = asdict(rules)
        with ProgressDisplay("reading", "papers") as display:
            merge = partial(_merge_duplicates, display) if given.pop("merge_duplicates") else None
            report = embed_files(
                source, encoder, output, completion, layout=layout, **given, deduplicate=merge, progress=display
            )
            if not (source.part or report.explain_nothing()):
                index_words(output, display)
        _report(source, output, report)


def _merge_duplicates(progress: Progress, papers: list[Paper]) -> list[Paper]:
    from sciprism.uses.deduplication import dedupe

    return [paper for paper, _ in dedupe(papers, progress=progress).papers()]


@contextmanager
def explain_interruption(output: Path) -> Iterator[None]:
    """Say of an interruption whether something is stored, in a collection or its parts."""
    from sciprism.store.collection import is_collection, read_manifest
    from sciprism.store.writing import count_unfinished

    try:
        yield
    except KeyboardInterrupt:
        folders = [output, *name_parts_folder(output).glob("*-of-*")]
        stored = sum(read_manifest(folder).rows for folder in folders if is_collection(folder))
        saved = sum(map(count_unfinished, folders))
        if not stored + saved:
            raise InterruptedRunError("nothing was stored yet; the same command starts again") from None
        what = join_counts({"papers are stored": stored, "vectors of the next ones are saved": saved})
        raise InterruptedRunError(f"{what}; the same command continues where this one stopped") from None


def _report(source: EmbedInput, output: Path, report: FilesReport) -> None:
    """Print what became of the records. Raises InputError where none could be used; a part may have none."""
    read, stored, abstracts = report.read, report.stored, report.completion.report
    reasons = [*map(str, read.skipped), *stored.reasons]
    notes = [f"{file.path}: {file.note}" for file in read.files if file.note]
    print_skipped(reasons, read.skipped_count + stored.bad)
    if (nothing := report.explain_nothing()) and not source.part:
        print_abstracts(report.completion)
        raise InputError(nothing)
    for note in notes:
        echo(note, error=True)
    print_abstracts(report.completion)
    document = asdict(stored) | {"unreadable": read.skipped_count, "reasons": reasons}
    document |= {"duplicates_merged": report.duplicates, "ignored_files": read.ignored, "outdated": report.outdated}
    document |= {"notes": notes, "merged": [asdict(paper) for paper in report.merged], "containers": report.containers}
    counts = _count_records(read, stored) | {"without abstract and skipped": abstracts.skipped}
    merged = sum(len(paper.records) - 1 for paper in report.merged)
    counts |= {"merged into a record of the same paper": merged, "duplicates merged": report.duplicates}
    counts |= {CONTAINERS: report.containers, "outdated by later ones": report.outdated}
    counts["other files ignored"] = read.ignored
    held = {"papers": stored.papers, "without abstract": stored.missing_abstracts, "rows superseded": stored.superseded}
    deletions = stored.deleted + stored.unknown_deletions
    total = (
        stored.read + merged + report.duplicates + read.skipped_count + abstracts.skipped + report.outdated + deletions
    )
    noun = "record" if report.outdated + deletions else "paper"
    text = f"read {count_noun(total, noun)}: {join_counts(counts) or 'none'}\n{output} holds "
    text += join_counts(held) or "no papers"
    if part := source.part:
        text += f"\npart {part} is done; after all {part.count:,}: sciprism merge {output.parent} -o OUT"
    print_result("sciprism.embed/1", document | {"abstracts": abstracts.to_json()}, text)


def _count_records(read: ReadReport, report: EmbedReport) -> dict[str, int]:
    return {
        "new": report.new,
        "with a changed text": report.changed,
        "with changed details": report.updated,
        "of these, in place of another paper": report.replaced,
        "unchanged": report.unchanged,
        "repeated": report.duplicates,
        "skipped": report.bad + read.skipped_count,
        "deleted": report.deleted,
        "deletions of papers not stored": report.unknown_deletions,
        "gone from the input and deleted": report.pruned,
    }
