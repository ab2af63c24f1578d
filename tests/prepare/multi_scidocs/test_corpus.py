"""What comes in: dirty papers and edges, S2ORC's shards; and that the files are always the same."""

import gzip
import json
from pathlib import Path

import pytest

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.published import SciDocsPools
from sciprism.errors import InputError
from sciprism.prepare.multi_scidocs import BenchmarkSettings, prepare_multi_scidocs
from sciprism.prepare.sources.citation_corpus import CitationSources

ALL = {"val": 0.0, "test": 1.0}
CITE = SciDocsPools(relation="cite", folder="multi-scidocs", metadata="data_final.json")


def counts(dropped):
    return {reason: each["count"] for reason, each in dropped.to_json().items()}


def test_dirty_papers_and_references_are_counted(benchmark):
    benchmark.paper("a", "a", "b", "elsewhere", "bare", "nowhere")
    benchmark.paper("b", "a", "c")
    benchmark.paper("c", "d")
    benchmark.paper("d", "b")  # b -> c -> d -> b
    benchmark.paper("bare", "a", abstract="")
    benchmark.paper("mute", "a", title="")
    benchmark.paper("nowhere", "a", fields=[])
    benchmark.paper("two words", "a")
    benchmark.paper("a", "d", title="Again")
    benchmark.paper("empty", title="", abstract="")
    benchmark.paper("u")
    benchmark.prepare(**ALL)
    assert counts(benchmark.prepared.dropped["papers and citations"]) == {
        "paper without abstract": 1,
        "paper without title": 1,
        "paper without field": 1,
        "id with white space": 1,
        "duplicate id": 1,
        "record that cannot be used": 1,
        "citation of or by an unknown paper": 3,
        "self-citation": 1,
        "two papers that cite each other (retained)": 1,
    }
    assert (benchmark.prepared.record["papers"], benchmark.prepared.record["citations"]) == (5, 5)
    data = CITE.read(DataRoot(benchmark.out))
    assert data.query_ids == [*"abcd"] and not data.dropped.to_json()
    records = benchmark.json("multi-scidocs/data_final.json")
    texts = {"paper_id": "b", "title": "Title b", "abstract": "About b."}
    assert records["b"] == texts | {"cites": ["a", "c"], "cited_by": ["a", "d"]}
    assert "cites" not in records["u"] and benchmark.json("multi-scidocs/paper_ids.json") == list(records) == [*"abcdu"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edges.csv", "citing,cited\na,b\nb,gone\na,b\n"),
        ("edges.tsv", "cited\tciting\tyear\nb\ta\t1999\ngone\tb\t\nb\ta\t\n"),
        ("edges.jsonl", '{"citing": "a", "cited": "b"}\n' * 2 + '{"citing": "b", "cited": "gone"}'),
    ],
)
def test_a_table_of_edges_takes_the_place_of_references(benchmark, name, text):
    for paper in "abu":
        benchmark.paper(paper, "u")
    edges = benchmark.folder / name
    edges.write_text(text)
    assert benchmark.prepare(edges=edges, **ALL).pools("cite") == {"a": (["b"], ["u"])}
    assert counts(benchmark.prepared.dropped["papers and citations"]) == {
        "citation of or by an unknown paper": 1,
        "duplicate citation": 1,
    }
    assert benchmark.json("multi-scidocs.json")["edges"].keys() == {str(edges)}
    edges.with_name("edges.csv").write_text("from,to\na,b\n")
    with pytest.raises(InputError, match=r"edges\.csv, line 2: no field .citing.; it has from, to"):
        benchmark.prepare(edges=edges.with_name("edges.csv"))


def cite_others(shard, n):
    return [f"0{n:02}", f"11{n:02}", "999"] if shard == 7 else None


def s2orc(folder: Path, cite=cite_others) -> Path:
    """Three shards; by default the papers of shard 7 cite those of the others."""
    for shard in (0, 7, 11):
        names = [f"{shard}{n:02}" for n in range(20)]
        papers = [
            {
                "paper_id": name,
                "title": f"Title {name}",
                "mag_field_of_study": ["Art" if n % 2 else "Physics"],
                "has_pdf_parse": n != 3,
                "outbound_citations": cite(shard, n),
            }
            for n, name in enumerate(names)
        ]
        parses = [{"paper_id": name, "abstract": [{"text": f"About {name}."}]} for name in reversed(names)]
        for part, rows in (("metadata", papers), ("pdf_parses", parses)):
            path = folder / part / f"{part}_{shard}.jsonl.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return folder


def test_queries_of_one_shard_have_candidates_of_all(tmp_path):
    inputs = CitationSources(files=(s2orc(tmp_path / "s2orc"),), shards=(7,))
    done = prepare_multi_scidocs(tmp_path / "out", inputs, BenchmarkSettings())
    assert done.record["papers"] == 57 and counts(done.dropped["papers and citations"])["no PDF parse"] == 3
    pools = CITE.read(DataRoot(tmp_path / "out"))
    assert {name[0] for name in pools.query_ids} == {"7"} and len(pools.query_ids) == 3 + 4
    for name, pool, grades in zip(pools.query_ids, pools.pools, pools.grades, strict=True):
        cited = {pools.candidate_ids[row] for row, grade in zip(pool, grades, strict=True) if grade}
        assert cited == {f"0{name[1:]}", f"11{name[1:]}"} and len(pool) == 56
    record = json.loads((tmp_path / "out" / "multi-scidocs.json").read_text())
    assert [(part["file"], part["format"], part["papers"]) for part in record["read"]] == [
        ("s2orc, shard 0 (candidates only)", "s2orc", 19),
        ("s2orc, shard 7", "s2orc", 19),
        ("s2orc, shard 11 (candidates only)", "s2orc", 19),
    ]
    assert sum(counted["unique"] for name, counted in record["counts"].items() if "mag" in name) == 19
    with pytest.raises(InputError, match="no shard 8; there are 0, 7, 11"):
        missing = CitationSources(files=inputs.files, shards=(8,))
        prepare_multi_scidocs(tmp_path / "out", missing, BenchmarkSettings())


def test_as_published_only_queries_tell_what_is_cited_together(tmp_path):
    """The authors' files hold the citations of queries alone: those of shard 11 count for nothing."""

    def cite(shard, n):
        far, near = [f"7{n:02}", f"7{(n + 9) % 20:02}"], [f"7{(n + step) % 20:02}" for step in (1, 2)]
        return {0: None, 7: [f"0{n:02}", *near], 11: far}[shard]

    inputs = CitationSources(files=(s2orc(tmp_path / "s2orc", cite),), shards=(7,))
    settings = BenchmarkSettings(construction="published", val=0.0, test=1.0)
    prepare_multi_scidocs(tmp_path / "out", inputs, settings)
    shards = {"cite": {"0", "7"}, "cocite": {"0", "7", "1"}}  # the citing papers of shard 11 are linked to queries
    for relation, first in shards.items():
        lines = (tmp_path / f"out/multi-scidocs/{relation}/test.qrel").read_text().splitlines()
        rows = [line.split() for line in lines]
        assert {name[0] for _, _, name, _ in rows} == first
        together = {(int(name[1:]) - int(query[1:])) % 20 for query, _, name, grade in rows if grade == "1"}
        assert 9 not in together and 11 not in together
