"""Models side by side on the probes of the open suite, by training papers alone: no test paper is read.

Three folds of each task's training papers; a probe learns from two and is scored on the third, with the
task's own metric: what a choice does to probes, seen before the tests are looked at. Left out are few-shot
and tasks of many small problems (screening), which have too few positives for folds. Of numbers (years,
citation counts) and arXiv's fields a model may have been trained on those very papers. Run from the
repository root:

    python benchmarks/dev_probes.py all-MiniLM-L6-v2 MODEL concat:MODEL+MODEL -o results/small/dev.json
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from rounds import provenance, write
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Labelled
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.probe import Probe
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.systems.named import SystemOptions, load_system
from sciprism.evaluation.task import Task, View

FOLDS = 3


def probes(home: DataRoot, only: list[str]) -> Iterator[tuple[Task, Probe, Labelled]]:
    """Yield the suite's probes whose training papers can be split into folds, with their data."""
    for task in suites["open"].tasks:
        if isinstance(task.protocol, Probe) and (not only or task.name in only):
            data = task.data.read(home)
            if data.groups is None:
                yield task, replace(task.protocol, few_shot=()), data


def folds(data: Labelled) -> Iterator[Labelled]:
    """Yield the data with a third of the training papers in place of the test papers, each third once."""
    rows = np.random.default_rng(0).permutation(data.train)
    for number in range(FOLDS):
        held_out = np.sort(rows[number::FOLDS])
        yield replace(data, train=np.setdiff1d(rows, held_out), test=held_out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", default=os.environ.get("SCIPRISM_DATA"), help="folder with the data sets")
    parser.add_argument("--only", nargs="+", default=[], help="tasks by name")
    parser.add_argument("--run", default="probes", help="the name of this run in the file")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    systems = {each.name: each for each in (load_system(name, SystemOptions()) for name in args.models)}
    if len(systems) < len(args.models):
        parser.error("two models of one name; copy or rename a folder")
    rows = []
    for task, probe, data in probes(DataRoot(args.data), args.only):
        view = View(format=task.format, fields=task.fields)
        for name, system in systems.items():
            found = [
                100 * estimate(probe.evaluate(part, system, view).evidence[probe.metric])
                for part in folds(data)
            ]
            row = {"task": task.name, "metric": probe.metric, "model": name, "papers": len(data.train)}
            rows.append(row | {"mean": round(float(np.mean(found)), 2), "folds": np.round(found, 2).tolist()})
            print(f"{task.name:<20} {name:<40} {rows[-1]['mean']:6.2f}  {rows[-1]['folds']}", flush=True)
    if args.output:
        write(
            args.output,
            provenance(["torch", "tokenizers", "numpy"], precision="float32", rows=rows),
            args.run,
        )


if __name__ == "__main__":
    main()
