"""Compare models on the probes of the open suite with training papers alone: no test paper is read.

Three folds of each task's training papers; a probe learns from two and is scored on the third, with the
task's own metric. Few-shot tasks and tasks of many small problems (screening) are excluded: they have too few
positives for folds. Of numbers (years,
citation counts) and arXiv's fields a model may have been trained on those very papers. Run from the
repository root:

    python benchmarks/dev_probes.py all-MiniLM-L6-v2 MODEL concat:MODEL+MODEL -o results/small/dev.json
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from measurement import build_parser, provenance, write_result
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import ProbeInput
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.protocols.probe import ProbeProtocol
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems.loading import SystemOptions, load_system
from sciprism.evaluation.task import EvaluationContext, Task

FOLDS = 3


def read_probes(data_root: DataRoot, only: list[str]) -> Iterator[tuple[Task, ProbeProtocol, ProbeInput]]:
    """Yield the suite's probes whose training papers can be split into folds, with their data."""
    for task in suites["open"].tasks:
        if isinstance(task.protocol, ProbeProtocol) and (not only or task.name in only):
            data = task.data.read(data_root)
            if data.groups is None:
                yield task, replace(task.protocol, few_shot=()), data


def split_folds(data: ProbeInput) -> Iterator[ProbeInput]:
    """Yield the data with a third of the training papers in place of the test papers, each third once."""
    rows = np.random.default_rng(0).permutation(data.train)
    for number in range(FOLDS):
        held_out = np.sort(rows[number::FOLDS])
        yield replace(data, train=np.setdiff1d(rows, held_out), test=held_out)


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", default=os.environ.get("SCIPRISM_DATA"), help="folder with the data sets")
    parser.add_argument("--only", nargs="+", default=[], help="tasks by name")
    parser.add_argument("--run", default="probes", help="the name of this run in the file")
    args = parser.parse_args()
    systems = {each.name: each for each in (load_system(name, SystemOptions()) for name in args.models)}
    if len(systems) < len(args.models):
        parser.error("two models of one name; copy or rename a folder")
    rows = []
    for task, probe, data in read_probes(DataRoot(args.data), args.only):
        view = EvaluationContext(format=task.format, fields=task.fields)
        for name, system in systems.items():
            found = [
                100 * estimate(probe.evaluate(part, system, view).item_scores[probe.metric])
                for part in split_folds(data)
            ]
            row = {"task": task.name, "metric": probe.metric, "model": name, "papers": len(data.train)}
            rows.append(row | {"mean": round(float(np.mean(found)), 2), "folds": np.round(found, 2).tolist()})
            print(f"{task.name:<20} {name:<40} {rows[-1]['mean']:6.2f}  {rows[-1]['folds']}", flush=True)
    write_result(args.output, provenance(["torch", "tokenizers", "numpy"], precision="float32", rows=rows), args.run)


if __name__ == "__main__":
    main()
