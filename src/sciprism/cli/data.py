"""`sciprism data`: get the data sets of a suite from where their owners publish them; which are here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.options import OutputFolder, data_folder
from sciprism.cli.output import ProgressDisplay, join_counts, print_entries, print_result
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.datasets.data_root import PublishedData
    from sciprism.datasets.fetching import FetchOutcome

data = typer.Typer(name="data", no_args_is_help=True, help="Get the data sets of the suites; list them.")
MEGABYTE = 1e6


@data.command("fetch")
def fetch(
    names: Annotated[list[str], "Suites (open, beir ...) or data sets (ir_cranfield ...)."],
    output: OutputFolder,
    *,
    dry_run: Annotated[bool, "Print what would be fetched, and stop."] = False,
) -> None:
    """Download data sets from their owners, check them, and convert them to the layout of the suites.

    The same command resumes. Without a published checksum, the first one seen is recorded in FOLDER/fetched.json and
    compared later. What cannot be fetched is named with its reason, and makes the exit status 1.

    Example: sciprism data fetch open -o data
    """
    from sciprism.datasets.data_root import select_data
    from sciprism.datasets.fetching import MISSING, fetch_data

    chosen = select_data(names)
    if dry_run:
        outcomes = fetch_data(chosen, output, dry_run=True)
    else:
        with ProgressDisplay("data fetch") as shown:
            outcomes = fetch_data(chosen, output, progress=shown)
    missing = [outcome for outcome in outcomes if outcome.status in MISSING]
    facts = {"folder": str(output), "missing": len(missing), "data": [outcome.to_json() for outcome in outcomes]}
    print_result("sciprism.data-fetch/1", facts, lambda: _print_outcomes(outcomes, output))
    if missing and not dry_run:
        raise typer.Exit(1)


def _print_outcomes(outcomes: list[FetchOutcome], output: Path) -> None:
    end = f"\n{output}: {join_counts(Counter(one.status for one in outcomes))}"
    if trusted := sum(len(one.trusted) for one in outcomes):
        end = f"\n{trusted:,} files have no stated checksum: theirs is recorded, and compared from now on\n{end}"
    print_entries({f"{one.data.name}: {one.status}": _describe_outcome(one) for one in outcomes}, end)


def _describe_outcome(outcome: FetchOutcome) -> Iterator[str]:
    yield ", ".join(f"{name} {count:,}" for name, count in outcome.rows.items())
    yield outcome.detail
    if outcome.status == "would fetch":
        files = [file.url for file in outcome.data.files] or [f"https://huggingface.co/datasets/{outcome.data.name}"]
        yield f"{_describe_size(outcome.data.size)}, licence: {outcome.data.licence}"
        yield from files


def _describe_size(size: int | None) -> str:
    return "size unknown" if size is None else f"{size / MEGABYTE:,.1f} MB"


@data.command("list")
def list_data(
    suite: Annotated[str, typer.Argument(help="Only the data sets of a suite.", show_default=False)] = "",
) -> None:
    """List the data sets: origin, licence, the tasks that read them, and which are here.

    Here: in the folder of --data or SCIPRISM_DATA, or in the hub's cache.

    Example: sciprism data list open --data data
    """
    from sciprism.datasets.data_root import read_manifest, select_data
    from sciprism.datasets.fetching import describe_here

    folder = data_folder()
    chosen = select_data([suite]) if suite else list(read_manifest().values())
    tasks = _find_tasks(suite.partition("/")[0])
    states = {one.name: describe_here(one, folder) for one in chosen}
    rows = [_to_json(one, states[one.name], tasks[one.name]) for one in chosen]
    entries = {}
    for one in chosen:
        state = {"complete": "here, fetched", "here": "here, not fetched or changed"}.get(states[one.name] or "")
        entries[f"{one.name}: {state or 'not here'}"] = _describe_data(one, tasks[one.name], here=bool(state))
    found = sum(state is not None for state in states.values())
    where = f"in {folder}" if folder else "in no folder: pass --data or set SCIPRISM_DATA"
    end = f"\n{found} of {len(chosen)} data sets are {where}"
    print_result(
        "sciprism.data-list/1", {"folder": str(folder or ""), "data": rows}, lambda: print_entries(entries, end)
    )


def _find_tasks(only: str) -> Mapping[str, Mapping[str, list[str]]]:
    """Return data set -> suite -> the tasks that read it; only: a suite, "" for all."""
    from sciprism.datasets.data_root import list_needed_data
    from sciprism.evaluation.suites import suites

    tasks: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    if only and only not in suites:
        raise InputError(f"unknown suite {only!r}; known: {', '.join(suites)}")
    for suite in [suites[only]] if only else suites.values():
        for task in suite.tasks:
            for name in list_needed_data(task.data):
                tasks[name][suite.name].append(task.name)
    return tasks


def _describe_data(one: PublishedData, tasks: Mapping[str, list[str]], *, here: bool) -> Iterator[str]:
    yield one.what
    yield f"from {one.owner}, {one.home}; licence: {one.licence}"
    yield from (f"{suite}: {', '.join(dict.fromkeys(names))}" for suite, names in tasks.items())
    if not tasks:
        yield f"{', '.join(one.suites)}: read with other data sets, or for the one split"
    if not here:
        yield one.obtain
        yield one.note


FACTS = ("name", "what", "owner", "home", "licence", "suites", "needs", "converter", "note", "by_hand")


def _to_json(one: PublishedData, state: str | None, tasks: Mapping[str, list[str]]) -> dict[str, Any]:
    files = [{"url": file.url, "checksum": file.checksum or None, "size": file.size} for file in one.files]
    return {name: getattr(one, name) for name in FACTS} | {"here": state, "tasks": dict(tasks), "files": files}
