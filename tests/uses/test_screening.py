"""Screening: decisions that survive a kill, several screeners, the order of records, the test on recall, replays."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from build_commands import run
from sciprism import InputError, Paper, read_papers
from sciprism.uses.screening import session as screening
from sciprism.uses.screening.asreview import WordsAndVectors
from sciprism.uses.screening.session import Decision, RecordRanker, Screening, append_decision, read_decisions

TOPICS = {1: "Massage of the {0} for chronic pain in {1}", 0: "Sediment of the {0} in rivers near {1}"}
NOUNS = ("knee", "shoulder", "neck", "hip", "wrist", "ankle", "back", "elbow", "jaw", "foot")
PLACES = ("nurses", "miners", "pupils", "sailors")
CRITERIA = "massage for pain"


def build_papers(included: int = 6, excluded: int = 14) -> list[Paper]:
    """Records of two topics, the included ones last."""
    pairs = [(noun, place) for place in PLACES for noun in NOUNS]
    rows = [(0, pair) for pair in pairs[:excluded]] + [(1, pair) for pair in pairs[:included]]
    return [
        Paper(id=f"{'no' if not label else 'yes'}{n}", title=TOPICS[label].format(*pair), year=1980 + n)
        for n, (label, pair) in enumerate(rows)
    ]


def test_the_likeliest_come_first_and_decisions_are_on_the_disk(tmp_path):
    table = tmp_path / "mine.csv"
    session = Screening(build_papers(), [table])
    assert sorted(session.rank()) == list(range(20)) and session.rank() == Screening(build_papers()).rank()
    session.decide("yes14", "include")
    session.decide("no0", "exclude", reason="not about people")
    again = Screening(build_papers(), [table])
    assert {session.paper(row).id[:3] for row in again.rank()[:5]} == {"yes"} and again.rank() == session.rank()
    assert again.undo() == "no0" and again.undo() == "yes14" and again.undo() == ""
    counts = Screening(build_papers(), [table]).report()["counts"]
    assert counts["not screened"] == 20 and counts["included"] == 0
    by_criteria = Screening(build_papers(), criteria=CRITERIA)
    assert {by_criteria.paper(row).id[:3] for row in by_criteria.rank()[:6]} == {"yes"}


def test_killed_at_any_moment_only_the_last_decision_is_lost(tmp_path):
    table = tmp_path / "mine.csv"
    for number, decision in enumerate(("include", "exclude"), 1):
        made = Decision(id=f"r{number}", title="Ö, “q”", decision=decision, screener="anna", time="2026")
        append_decision(table, made)
    data = table.read_bytes()
    last = data.rfind(b"\n", 0, -1) + 1
    whole, _ = read_decisions(table)
    for length in [*range(data.find(b"\n") + 1), *range(last, len(data))]:
        table.write_bytes(data[:length])
        read, notes = read_decisions(table)
        assert all(
            one.id == other.id and one.decision == other.decision for one, other in zip(read, whole, strict=False)
        )
        if length >= last:
            assert len(read) + len(notes) in (1, 2) and read[0] == whole[0]
        append_decision(table, Decision(id="r3", decision="unsure", screener="anna"))
        after, notes = read_decisions(table)
        assert [one.id for one in after] == [*(one.id for one in read), "r3"] and not notes, length


def test_a_table_that_a_person_saved_keeps_its_columns(tmp_path):
    table = tmp_path / "mine.csv"
    table.write_bytes("\ufeffDecision;Id;Comment\r\nmaybe;no0;look again\r\n1;yes14;\r\n;no1;".encode())
    session = Screening(build_papers(), [table])
    assert [session.verdict(row) for row in (0, 14, 1)] == ["unsure", "include", ""]
    session.decide("no2", "exclude")
    assert table.read_text(encoding="utf-8-sig").splitlines()[-2:] == [";no1;", "exclude;no2;"]


def test_two_screeners(tmp_path):
    tables = [tmp_path / "anna.csv", tmp_path / "ben.csv"]
    words = {"anna": ("include", "include", "exclude", "exclude"), "ben": ("include", "exclude", "exclude", "exclude")}
    for table, (name, decisions) in zip(tables, words.items(), strict=True):
        session = Screening(build_papers(), [table])
        for id, decision in zip(("yes14", "yes15", "no0", "no1"), decisions, strict=True):
            session.decide(id, "unsure", screener=name)
            session.decide(id, decision, screener=name)
        table.write_text(table.read_text() + "gone,,include,,anna,\n")
    session = Screening(build_papers(), tables)
    report = session.report()
    # agreed 3 of 4; by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2
    assert report["agreement"] == {"anna and ben": pytest.approx(0.5)}
    assert [(row["id"], row["screener"]) for row in report["conflicts"]] == [("yes15", "anna"), ("yes15", "ben")]
    assert report["counts"]["decisions changed"] == 8 and report["unknown"] == ["gone"]
    assert len(session.rank("carl")) == 16 and len(session.rank("carl", double=True)) == 20
    assert screening.measure_agreement([]) is None and screening.measure_agreement([("include", "include")]) is None


def test_duplicates_are_decided_once_and_ids_of_several_papers_are_numbered():
    papers = build_papers(2, 2)
    copy = Paper(id="copy", title=papers[2].title, year=papers[2].year, abstract="Longer.", ids={"doi": "10.1/a"})
    papers[2] = Paper(id="yes2", title=papers[2].title, year=papers[2].year, ids={"doi": "10.1/a"})
    other = Paper(id="no0", title="A paper of quite another matter and place", year=2001)
    session = Screening([*papers, copy, other])
    session.decide("copy", "include")
    assert session.verdict(2) == "include" and session.paper(2).abstract == "Longer." and session.paper(2).id == "yes2"
    session.decide("no0 (2)", "exclude")
    counts = session.report()["counts"]
    assert counts["duplicates removed"] == 1 and counts["ids of several papers, numbered"] == 1
    assert counts["records screened"] == 2 and session.verdict(0) == ""


@pytest.mark.parametrize(
    ("name", "note", "words"),
    [
        ("refs.csv", "", ("1", "0", "", "1.0")),
        ("refs.ris", 'RAYYAN-INCLUSION: {{"Anna"=>"{}"}}', ("Included", "Excluded", "Maybe", "Included")),
        ("refs.ris", "ASReview_{}", ("relevant", "irrelevant", "not_seen", "relevant")),
    ],
)
def test_labels_of_the_file_are_known_before(tmp_path, name, note, words):
    path, pairs = tmp_path / name, [*zip(build_papers(2, 2), words, strict=True)]
    ris = "TY  - JOUR\nID  - {}\nTI  - {}\nN1  - {}\nER  - \n"
    table = [f"{paper.id},{paper.title},{word}\n" for paper, word in pairs]
    notes = [ris.format(paper.id, paper.title, note.format(word)) for paper, word in pairs]
    path.write_text("".join(notes if note else ["id,title,label_included\n", *table]))
    session = Screening(list(read_papers(path)))
    unsure = "unsure" if "Maybe" in words else ""
    assert [session.verdict(row) for row in range(4)] == ["include", "exclude", unsure, "include"]
    if not note:
        path.write_text("id,title,label_included\na,A title of a paper,2\n")
        with pytest.raises(InputError, match=r"line 2, column 'label_included' .*: '2' is not a decision"):
            Screening(list(read_papers(path)))


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)])
def test_of_duplicates_included_outweighs_excluded(tmp_path, order):
    title = "A trial of massage of the painful knee of nurses at night"
    rows = [
        f"{title},10.1/a,2010,1",
        f"{title},10.1/a,2010,0",
        "Massage,,2010,1",  # of such a title nobody can say that it is one paper
        "Massage,,2010,0",
    ]
    path = tmp_path / "refs.csv"
    path.write_text("\n".join(["title,doi,year,included", *(rows[n] for n in order)]) + "\n")
    session = Screening(list(read_papers(path)))
    counts = session.report()["counts"]
    assert (counts["included"], counts["excluded"], counts["duplicates removed"]) == (2, 1, 1)
    assert counts["contradicting labels"] == session.contradictions == 1


def test_what_cannot_be_ranked_by_decisions():
    with pytest.raises(InputError, match="no record to screen"):
        Screening([])
    one = Screening([Paper(id="a", title="Alone")], criteria="alone")
    one.decide("a", "exclude")
    assert one.rank() == [] and one.p_value(0.95) is None
    papers = build_papers(1, 2)
    session = Screening(papers)
    for paper in papers[:2]:
        session.decide(paper.id, "exclude")
    assert session.rank() == [2] and session.p_value(0.95) is None  # all excluded: random order
    with pytest.raises(InputError, match="no record has the id"):
        session.decide("gone", "include")


def test_the_svm_solves_its_objective_on_words_and_vectors():
    generator = np.random.default_rng(0)
    ranker = RecordRanker(["word"] * 30, generator.normal(size=(30, 4)), share=1.0)
    included, excluded = np.arange(10), np.arange(10, 30)
    rows, targets = ranker.features.toarray()[:, 1:], np.repeat([1, -1], [10, 20])
    scores = ranker.score(included, excluded)
    costs = 0.11 * 30 / (10 + 10 / 10) * np.repeat([1, 10 / (10 * 20)], [10, 20])
    slack = 2 * costs * np.maximum(0, 1 - targets * scores) * targets  # the weights of the examples, at the optimum
    assert np.abs(rows @ (rows.T @ slack) + slack.sum() - scores).max() < 1e-3


def test_vectors_count_a_twentieth():
    texts = ["red fox runs", "red fox sleeps", "blue sea"]
    vectors = np.array([[3, 0], [0, 3], [3, 3]], np.float32)  # without their mean: (1, -2), (-2, 1), (1, 1)
    cosines = np.array([[1, -0.8, -(10**-0.5)], [-0.8, 1, -(10**-0.5)], [-(10**-0.5), -(10**-0.5), 1]])
    words, fused = (RecordRanker(texts, *more).features.toarray() for more in ((), (vectors,)))
    assert np.abs(fused @ fused.T - (0.95 * words @ words.T + 0.05 * cosines)).max() < 1e-6
    assert (words @ words.T).round(5)[0].tolist() == [1, pytest.approx(0.44, abs=0.15), 0]
    assert RecordRanker(["one", "two", "three", "four"]).score(np.array([0]), np.array([1])).shape == (4,)


def test_features_for_asreview_are_words_and_vectors():
    pd = pytest.importorskip("pandas")
    titles = ["Massage of the knee", "Massage of the jaw", "Sediment in rivers"]
    records = pd.DataFrame({"title": titles, "abstract": ["for pain", None, "near a city"]})
    features = WordsAndVectors().fit_transform(records).toarray()
    cosines = [part @ part.T for part in (features[:, :-384], features[:, -384:])]
    assert [np.diag(part).round(5).tolist() for part in cosines] == [[0.95] * 3, [0.05] * 3]
    assert cosines[0][0, 1] > cosines[0][0, 2] == 0 and cosines[1][0, 1] > cosines[1][0, 2]
    assert type(WordsAndVectors(**WordsAndVectors().get_params())) is WordsAndVectors


@pytest.mark.parametrize(
    ("found", "records", "target", "known", "p"),
    [
        # 1 included of 10, then 3 excluded; recall below 95 %: one of the other 9 is relevant; C(8,3) / C(9,3)
        ([True, False, False, False], 10, 0.95, 0, 6 / 9),
        ([True] + [False] * 9, 10, 0.95, 0, 0),
        # 2 found of 20, recall below 50 %: 3 or more of the 18 are relevant; none in a sample of 8
        ([True, True] + [False] * 8, 20, 0.5, 0, math.comb(15, 8) / math.comb(18, 8)),
        # two were known before: 4 found, and 4 / 0.5 - 4 + 1 = 5 would be missing
        ([True, True] + [False] * 8, 20, 0.5, 2, math.comb(13, 8) / math.comb(18, 8)),
    ],
)
def test_recall_is_tested_by_the_hypergeometric_distribution(found, records, target, known, p):
    assert screening.recall_p_value(found, records, target, known) == pytest.approx(p, abs=1e-9)


def test_work_by_hand():
    work = screening.measure_work([place in (1, 2, 3, 10) for place in range(1, 21)])
    assert work == {"needed": 10, "last": 10, "wss": pytest.approx(0.95 - 10 / 20), "atd": pytest.approx(4 / 20)}


def test_a_replay_finds_the_included_first():
    papers = build_papers(8, 30)
    texts, labels = [paper.title for paper in papers], [paper.id.startswith("yes") for paper in papers]
    for order in screening.simulate(texts, labels, seeds=2):
        found = [labels[row] for row in order]
        work = screening.measure_work(found)
        assert len(found) == 36 and sum(found) == 7
        assert work["needed"] <= 10 and work["wss"] > 0.6 and screening.find_stop(found)["recall at stop"] == 1
    with pytest.raises(InputError, match="1 of 3 labelled records are included"):
        screening.simulate(texts[-3:], [True, False, False])


def read_table(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """A folder with records, labelled and not, and a way to run the command in it with keys."""
    monkeypatch.chdir(tmp_path)
    for name, heads in {"refs.csv": "id,title", "labelled.csv": "id,title,included"}.items():
        lines = [f"{p.id},{p.title}" + f",{int(p.id[0] == 'y')}" * (name[0] == "l") for p in build_papers()]
        Path(name).write_text("\n".join([heads, *lines]) + "\n")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def screen(*words, keys="", terminal=False):
        monkeypatch.setattr("sys.stdin", (Terminal if terminal else io.StringIO)(keys))
        return run(monkeypatch, capsys, "screen", *words)

    return screen


def test_the_desk_takes_keys(command):
    status, out, err = command("refs.csv", "--criteria", CRITERIA, keys="i\ni\nx\nexclude\ne wrong place\nu\nz\nq\n")
    assert status == 0 and "2 included, 18 not screened" in out and "undone: " in out, err
    assert "'exclude' is not a key: i include" in out
    assert "excluded: wrong place" in out and "stopping: go on; a recall of 95% is not established" in out
    rows = read_table("refs.decisions.csv")
    assert [row["decision"] for row in rows] == ["include", "include", "exclude", "unsure", "undo"]
    status, out, _ = command("refs.csv", keys="i\n" * 30)
    assert status == 0 and "no record is left to decide" in out and "you may consider to stop" in out


@pytest.mark.parametrize(
    ("end", "status", "last"), [(EOFError, 0, "excluded: wrong place"), (KeyboardInterrupt, 130, "every decision is")]
)
def test_the_desk_at_a_terminal(command, monkeypatch, end, status, last):
    keys = iter("iR")

    def press():
        if key := next(keys, ""):
            return key
        raise end

    monkeypatch.setattr("typer.getchar", press)
    result, out, err = command("refs.csv", keys="wrong place\n", terminal=True)
    assert result == status and last in out + err
    assert [row["reason"] for row in read_table("refs.decisions.csv")] == ["", "wrong place"]


def test_the_first_record_is_shown_before_there_are_vectors(command, monkeypatch):
    shown, blocks, keys = Event(), [], iter("ieeq")

    def encode(_, papers, **settings):
        assert settings["role"] == "paper" and shown.wait(60)
        blocks.append(len(papers))
        return np.zeros((len(papers), 4), np.float32)

    def press():
        shown.set()
        return next(keys)

    monkeypatch.setattr("sciprism.cli.screen.BLOCK", 8)
    monkeypatch.setattr("sciprism.encoders.cached_encoder.CachedEncoder.encode", encode)
    monkeypatch.setattr("typer.getchar", press)
    status, out, err = command("refs.csv", "--criteria", CRITERIA, terminal=True)
    assert status == 0 and "1 included, 17 not screened" in out, err
    assert blocks[:3] == [8, 8, 5][: len(blocks)]  # stored one by one, until the desk is closed


def test_words_rank_until_there_are_vectors():
    papers, made, asked = build_papers(), [None, None, np.eye(20, 4, dtype=np.float32)], []

    def encode(records):
        asked.append(len(records))
        return made[len(asked) - 1]

    session, words = Screening(papers, encode=encode), Screening(papers)
    vectors = Screening(papers, encode=lambda _: made[-1])
    for each in (session, words, vectors):
        each.decide("yes14", "include")
        each.decide("no0", "exclude")
    assert [session.rank() for _ in range(4)] == [words.rank()] * 2 + [vectors.rank()] * 2 and asked == [20] * 3
    assert words.rank() != vectors.rank()


def test_without_a_desk(command):
    assert command("refs.csv", "--next", "4", "-o", "batch.csv", "--criteria", CRITERIA)[0] == 0
    rows = read_table("batch.csv")
    assert len(rows) == 4 and {row["id"][:3] for row in rows} == {"yes"}
    lines = Path("batch.csv").read_text().splitlines()
    lines[1:3] = [line.replace(",,,", ",include,,", 1) for line in lines[1:3]]
    Path("batch.csv").write_text("\n".join(lines))
    words = ("refs.csv", "--decisions", "log.csv", "--decisions", "batch.csv")
    status, out, _ = command(*words, "--json")
    assert status == 0 and json.loads(out)["counts"]["included"] == 2
    assert command(*words, "-o", "in.ris", "--only", "included")[0] == 0
    assert Path("in.ris").read_text().count("N1  - ASReview_relevant; include") == 2
    assert command(*words, "-o", "all.csv")[0] == 0
    rows = read_table("all.csv")
    assert len(rows) == 20 and [row["included"] for row in rows].count("1") == 2


def test_simulate_prints(command):
    status, out, err = command("simulate", "labelled.csv", "--seeds", "2")
    assert status == 0 and "included              6" in out and "mean" in out, err
    status, out, _ = command("simulate", "labelled.csv", "--seeds", "2", "--model", "words", "--json")
    assert status == 0 and json.loads(out)["mean"]["wss"] > 0.5
    assert command("simulate", "labelled.csv", "--seeds", "2", "--model", "words", "-o", "order.csv")[0] == 0
    rows, scores = read_table("order.csv"), json.loads(out)["starts"]
    assert [row["start"] for row in rows] == ["0"] * 18 + ["1"] * 18 and len({row["id"] for row in rows[:18]}) == 18
    lasts = [max(n for n, row in enumerate(rows[at : at + 18], 1) if row["included"] == "1") for at in (0, 18)]
    assert lasts == [score["last"] for score in scores]
    pytest.importorskip("matplotlib")
    assert command("simulate", "labelled.csv", "--seeds", "2", "--model", "words", "-o", "recall.svg")[0] == 0
    assert Path("recall.svg").read_text().startswith("<?xml")
