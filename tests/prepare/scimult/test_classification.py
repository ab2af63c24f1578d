"""Fine and coarse classification files: hand-counted, and read back through the suite's own layouts."""

import gzip
from pathlib import Path

import pytest

from build_data import text
from sciprism.datasets.layouts.published import MapleLabels
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.prepare.scimult import maple

FINE = {task.name: task.data for task in suites["scimult"].tasks if task.name.startswith("fine-")}


def test_the_topics_of_micol_and_the_papers_of_csrankings(raw, context):
    raw.topics()
    raw.maple(
        "CSRankings",
        [
            {"paper": "1", "title": "computer vision with cv", "abstract": "by compilers", "label": ["12", "99"]},
            {"paper": "2", "title": "", "abstract": "", "label": ["11", "11"]},
            {"paper": "3", "label": ["99"]},  # no topic
            {"paper": "1", "label": ["11"]},  # again
            {"paper": "4", "title": "vision by computer", "abstract": "sparse", "label": ["13"]},
        ],
        labels="11\tcomputer vision\t1\n13\tcompilers\t2\n99\tknitting\t1\n",
    )
    data_set = maple.write_cs_conference(context)
    assert (data_set.queries, data_set.targets) == (3, 3)
    assert {reason: len(names) for reason, names in data_set.dropped.ids.items()} == {
        "paper without a label of the vocabulary, dropped": 1,
        "duplicate paper, the first is used": 1,
        "no text": 1,
    }
    data = FINE["fine-cs-conference"].read(context.written)
    assert data.paper_ids == ["1", "2", "4"]
    assert [label.name for label in data.labels] == ["computer vision", "sparse coding", "compilers"]
    assert data.labels[0].definition == "field that sees" and data.labels[0].synonyms == ("cv",)
    assert [rows.tolist() for rows in data.gold] == [[1], [0], [2]]
    # Names are those of labels.txt: "cv" is MICoL's alone, and the folder does not list 12. Paper 4 has the
    # tokens of "computer vision", but not side by side.
    assert [rows.tolist() for rows in data.matched] == [[0, 2], [], []]


def test_mesh_terms_take_names_from_maple_and_definitions_from_the_descriptors(raw, context):
    raw.descriptors()
    raw.maple(
        "Chemistry_MeSH",
        [
            {"paper": "1", "title": "growth of tumors", "label": ["D1", "D3"]},
            {"paper": "2", "title": "the eyes", "label": ["D2"]},
        ],
        labels="D1\tNeoplasms\n",
        mesh="D1\tneoplasms\ttumors\n",
    )
    raw.maple("Medicine_MeSH", [], mesh="D2\theart muscle\theart\n")
    data_set = maple.write_chemistry_mesh(context)
    assert (data_set.queries, data_set.targets) == (2, 3) and not data_set.missing_inputs
    data = FINE["fine-chemistry-mesh"].read(context.written)
    assert [(label.id, label.name, label.synonyms, label.definition) for label in data.labels] == [
        ("D1", "neoplasms", ("tumors",), "New growth."),
        ("D2", "heart muscle", ("heart",), "It beats."),
        ("D3", "eye", ("eyes",), "It sees."),
    ]
    assert [rows.tolist() for rows in data.gold] == [[0, 2], [1]]
    assert [rows.tolist() for rows in data.matched] == [[0], []], "only what the folder lists is looked for"


def scidocs(raw, test="b,18\n"):
    place = raw.folder / "scidocs"
    for part, rows in {"train": "a,0\n", "val": "a,0\n", "test": test}.items():
        text(place / f"mag/{part}.csv", f"pid,class_label\n{rows}")
    text(place / "paper_metadata_mag_mesh.json", '{"a": {"title": "Paint", "abstract": null}}')


def test_scidocs_classes_are_merged_and_numbered(raw, context):
    scidocs(raw)
    data_set = maple.write_mag_classes(context)
    assert (data_set.queries, data_set.targets) == (3, 19)
    data = MapleLabels(name="MAG", folder=maple.COARSE, numbered=True).read(context.written)
    assert data.labels[0].name == "art" and data.labels[18].name == "sociology"
    assert data.paper_ids == ["a", "a#2", "b"], "a row each, as SciDocs scores them"
    assert [rows.tolist() for rows in data.gold] == [[0], [0], [18]]
    scidocs(raw, test="b,19\n")
    with pytest.raises(InputError, match="paper b: unknown class '19'"):
        maple.write_mag_classes(context)


@pytest.mark.parametrize(
    ("line", "more", "reason"),
    [
        ("{", "", "papers.json, line 3: not valid JSON"),
        ("[]", "", r"papers.json, line 3: \[\] is not an object"),
        ('{"title": "x"}', "", "papers.json, line 3: no `paper`; it has title"),
        ('{"paper": 5, "label": "7"}', "", "papers.json, line 3: label is '7', not a list of ids"),
        ("", "8\n", r"labels.txt, record 2 \(line 2\)"),
    ],
)
def test_a_broken_line_is_named(raw, context, line, more, reason):
    path = raw.maple("Geography", [{"paper": "1", "label": ["7"]}], labels=f"7\tmaps\t2\n{more}")
    path.write_text(path.read_text() + f"\n{line}\n")
    with pytest.raises(InputError, match=reason):
        maple.write_geography(context)
    assert not (context.out / maple.FINE / "Geography_papers_test.json").exists()


def test_gzip_and_half_a_pair_of_surrogates(raw, context):
    path = raw.maple("Geography", [], labels="7\tmaps\t2\n")
    row = b'{"paper": "1", "label": ["7"], "title": "maps \\ud835 \\ud83d\\ude00", "abstract": null}'
    Path(f"{path}.gz").write_bytes(gzip.compress(row))
    path.unlink()
    assert maple.write_geography(context).queries == 1
    assert FINE["fine-geography"].read(context.written).papers[0].title == "maps ? \U0001f600"
