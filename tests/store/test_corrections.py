"""Corrections and deletions are applied in the order of the input; whenever it is stopped, the end is the same."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from build_dumps import pubmed
from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from kill_switch import killed_after
from sciprism.errors import InputError
from sciprism.papers.input_paths import InputPart
from sciprism.papers.records import Deletion, Paper
from sciprism.store import CollectionLayout, EmbedReport, StoredCollection, embed
from sciprism.store.embed import EmbedInput, LastRecords
from sciprism.store.parts import embed_part

LAYOUT = CollectionLayout(dtype="int8", shard_size=10)
Records = list[Paper | Deletion]


def apply(records: Records, folder: Path, encoder: FakeEncoder | None = None, **rules: bool) -> EmbedReport:
    last = LastRecords(records)
    return embed(last.select(records), encoder or FakeEncoder(), folder, layout=LAYOUT, corrections=True, **rules)


def contents(folder: Path) -> dict[str, tuple[Paper, list[float]]]:
    """Return id -> paper and vector of all papers."""
    stored = StoredCollection.open(folder)
    stored.verify()
    papers = stored.papers(stored.live)
    vectors = stored.read_rows("near", stored.live).block(0, len(papers)).tolist()
    assert len(papers) == len(stored) == stored.manifest.papers
    assert stored.count_missing_abstracts() == sum(not paper.abstract for paper in papers)
    assert all(stored.paper(paper.id) == paper for paper in papers)
    return {paper.id: (paper, vector) for paper, vector in zip(papers, vectors, strict=True)}


@st.composite
def changes(draw: st.DrawFn) -> list[Records]:
    """Draw inputs of a few ids that add papers, correct them (text, details, another paper) and delete them."""
    base = some_papers(12)
    inputs: list[Records] = []
    for _ in range(draw(st.integers(1, 4))):
        inputs.append([])
        for number, kind in draw(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 4)), min_size=1, max_size=25)):
            paper = base[number]
            texts = {1: {"abstract": ""}, 2: {"year": 1800}, 3: {"title": "Another", "ids": {"doi": "10.9/x"}}}
            inputs[-1].append(Deletion(paper.id) if kind == 4 else replace(paper, **texts.get(kind, {})))
    return inputs


@settings(max_examples=25, deadline=None)
@given(changes())
@example([[Deletion("p0")]])
def test_any_changes_in_any_division_lead_to_the_final_state(inputs: list[Records]) -> None:
    state: dict[str, Paper] = {}
    for record in (record for records in inputs for record in records):
        state.pop(record.id, None)
        if isinstance(record, Paper):
            state[record.id] = record
    with TemporaryDirectory() as folder:
        divided, whole, final = (Path(folder) / name for name in ("divided", "whole", "final"))
        for records in inputs:
            apply(records, divided)
        apply([record for records in inputs for record in records], whole)
        embed(state.values(), FakeEncoder(), final, layout=LAYOUT)
        assert contents(divided) == contents(whole) == contents(final)
        assert StoredCollection.open(whole).rows == len(state), "each paper is embedded once, as the last record has it"


def test_counts_say_what_became_of_every_record(tmp_path: Path) -> None:
    papers = some_papers(25)
    apply([*papers], tmp_path)
    changed, other = replace(papers[0], abstract="New."), replace(papers[1], title="Other", ids={"doi": "10.9/x"})
    records = [changed, other, replace(papers[2], year=1800), papers[3], *some_papers(2, 30)]
    deletions = [Deletion("p4"), Deletion("p24"), Deletion("unknown"), Deletion("half \ud800")]
    encoder = FakeEncoder()
    report = apply([*records, *deletions], tmp_path, encoder)
    assert (report.read, report.new, report.changed, report.updated, report.unchanged) == (6, 2, 2, 1, 1)
    assert (report.deleted, report.unknown_deletions, report.papers, encoder.encoded) == (2, 2, 25, 4)
    again = apply([*records, *deletions], tmp_path, encoder)
    assert (again.unchanged, again.deleted, again.unknown_deletions, encoder.encoded) == (6, 0, 4, 4)
    back = apply([papers[4]], tmp_path)
    assert (back.new, back.papers) == (1, 26)


def test_prune_and_corrections_leave_the_last_records_of_the_input(tmp_path: Path) -> None:
    papers = some_papers(9)
    apply([*papers], tmp_path)
    report = apply([papers[0], papers[1], papers[2], Deletion("p1"), Deletion("p3")], tmp_path, prune=True)
    assert (report.deleted, report.pruned, report.papers) == (2, 5, 2) and set(contents(tmp_path)) == {"p0", "p2"}


def test_a_kill_at_any_change_of_the_disk_is_continued_to_the_same_bytes(tmp_path: Path) -> None:
    papers = some_papers(45)
    updates = [replace(paper, title="Corrected") for paper in papers[:14]]
    records = [*updates[:7], Deletion("p40"), *some_papers(8, 50), *updates]
    records += [Deletion("p2"), papers[40], Deletion("p44")]
    for folder in ("whole", "killed"):
        apply([*papers], tmp_path / folder)
    apply(records, tmp_path / "whole")
    steps = 0
    while True:
        folder = tmp_path / f"killed-{steps}"
        shutil.copytree(tmp_path / "killed", folder)
        with killed_after(steps, folder) as done:
            apply(records, folder)
        if len(done) < steps:
            break
        before = contents(folder)
        assert {"p2", "p44"} <= set(before) or len(before) == len(papers) + 8 - 2, "deletions come in one step"
        apply(records, folder)
        assert snapshot(folder) == snapshot(tmp_path / "whole"), f"killed after {steps} changes"
        steps += 4
    assert steps > 20


def test_deletions_and_later_records_need_the_option(tmp_path: Path) -> None:
    papers = some_papers(3)
    embed(papers, FakeEncoder(), tmp_path)
    before = contents(tmp_path)
    with pytest.raises(InputError, match="the deletion of 'p1': --corrections applies deletions"):
        embed([Deletion("p1")], FakeEncoder(), tmp_path)
    with pytest.raises(InputError, match=r"came before with another text.*keep one, or the last with --corrections"):
        embed([replace(papers[0], title="A"), replace(papers[0], title="B")], FakeEncoder(), tmp_path)
    with pytest.raises(InputError, match="the deletion of 'p0' comes after the paper; give only the last records"):
        embed([papers[0], Deletion("p0")], FakeEncoder(), tmp_path, corrections=True)
    report = embed([Deletion("p0"), papers[0]], FakeEncoder(), tmp_path, corrections=True)
    assert (report.unchanged, report.deleted) == (1, 0) and contents(tmp_path) == before


def test_a_part_with_deletions_is_refused_before_it_is_embedded(tmp_path: Path) -> None:
    steps = [[(number, f"Title {number}") for number in range(30)], [(1, "")]]
    encoder = FakeEncoder()
    with pytest.raises(InputError, match=r"the input deletes 1 papers \(the first in .*pubmed26n0002\.xml\.gz\)"):
        embed_part(EmbedInput(paths=pubmed(tmp_path, steps), part=InputPart(1, 1)), encoder, tmp_path / "c")
    assert encoder.encoded == 0
