"""One collection by many workers: `sciprism embed --ray`, and `sciprism merge` of what `embed --part` made."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sciprism.cli.options import Model
from sciprism.cli.output import ProgressDisplay, join_counts, print_result, print_skipped
from sciprism.errors import InputError
from sciprism.parallel import DEVICE

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.store import CollectionLayout, StoredCollection
    from sciprism.store.embed_files import EmbedInput
    from sciprism.store.parts import MergeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedParts:
    """What a command line says of parts, of a cluster that embeds them, and of what each takes."""

    part: Annotated[str, "Embed part i/n of the input, such as 2/8, into a folder of its own; `merge` joins all."] = ""
    ray: Annotated[
        str, "Embed in parts on a Ray cluster: auto (RAY_ADDRESS, this machine's), local, HOST:PORT, ray://HOST:PORT."
    ] = ""
    parts: Annotated[int, "With --ray: parts of the input; 0 is two for each that runs at once."] = 0
    gpus_per_part: Annotated[float, "With --ray: a GPU for each part, 1, or a share of one, such as 0.5."] = 0.0
    threads: Annotated[int, "Processor cores to use; 0 is all, and of a --ray part 1."] = 0

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
        report = merge_parts([job.folder], output, partial(_load_encoder, model=""), skip_bad=source.skip_bad)
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
    parts: Annotated[list[Path], "The folders of all parts, or one that holds them."],
    output: Annotated[Path, "The collection: a new folder.", "-o", "--output"],
    skip_bad: Annotated[bool, "Count papers that have the id of another; the first is used."] = False,
    model: Model = "",
) -> None:
    """Make one collection of the parts that `embed --part` made; no vectors are copied, and the parts stay.

    Records of one paper in several parts become one, as those of several files do. Delete the parts afterwards.

    Example: sciprism merge parts/ -o vecs/
    """
    from sciprism.store.parts import merge as merge_parts

    with ProgressDisplay("merge"):
        report = merge_parts(parts, output, partial(_load_encoder, model=model), skip_bad=skip_bad)
    _print_merge(output, report)


def _load_encoder(stored: StoredCollection, model: str) -> Encoder:
    from sciprism.uses.collection import load_encoder

    return load_encoder(stored, model, precision=str(stored.manifest.encoder.options.get("precision", "float32")))


def _print_merge(output: Path, report: MergeReport) -> None:
    print_skipped(report.reasons, len(report.reasons))
    counts = {
        "repeated": report.duplicates,
        "merged into a record of the same paper": report.merged,
        "skipped": report.bad,
        "without abstract": report.missing_abstracts,
    }
    text = f"merged {report.parts:,} parts: {output} holds {report.papers:,} papers of {report.read:,} read\n"
    document = {"collection": str(output), **asdict(report)}
    print_result("sciprism.merge/1", document, text + (join_counts(counts) or "none skipped"))
