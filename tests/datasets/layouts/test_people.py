import pytest

from build_data import lines
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.mentions import AuthorMentions
from sciprism.errors import InputError

ALL = {"max_train": 0, "max_dev": 0, "max_test": 0}


def mention(paper, position, name, block, split, **more):
    return {
        "signature_id": f"{paper}#{position}",
        "paper_id": paper,
        "position": position,
        "name": name,
        "author_id": f"ieee:{name}",
        "block": block,
        "split": split,
    } | more


@pytest.fixture
def home(tmp_path):
    papers = [
        {"id": f"p{i}", "title": f"T{i}", "authors": ["Ann Lee", "Bo Kim"], "year": 2000, "affiliations": places}
        for i, places in enumerate([["X", "Y"], ["X"], [], ["X", "Y", "Z"]])
    ]
    lines(tmp_path / "papers/papers-0.jsonl", papers[:2])
    lines(tmp_path / "papers/papers-1.jsonl", papers[2:])
    rows = [
        mention("p0", 1, "Bo Kim", "b kim", "train"),
        mention("p1", 0, "Ann Lee", "a lee", "test"),
        mention("p3", 0, "Ann Lee", "a lee", "test"),
        mention("p2", 1, "Bo Kim", "b kin", "dev"),
        mention("gone", 0, "Al Roe", "a roe", "test"),
        mention("p0", 0, "Cy Poe", "c poe", ""),
    ]
    lines(tmp_path / "mentions/signatures.jsonl", rows)
    return DataRoot(tmp_path)


def test_mentions_with_their_papers(home):
    data = AuthorMentions(signatures="mentions", papers="papers", **ALL).read(home)
    assert [mention.id for mention in data.signatures] == ["p0#1", "p2#1", "p1#0", "p3#0"]
    own = data.signatures[0]
    assert (own.name, own.author, own.block, own.position) == ("Bo Kim", "ieee:Bo Kim", "b kim", 1)
    assert own.coauthors == ("Ann Lee",) and own.affiliations == ("Y",)  # as many places as authors: his own
    assert [mention.affiliations for mention in data.signatures[1:]] == [(), ("X",), ("X", "Y", "Z")]
    assert data.papers[own.paper].title == "T0"
    assert (data.train, data.dev) == ({"b kim"}, {"b kin"}) and data.test == {"a lee", "a roe"}
    assert data.dropped.to_json() == {
        "mention in no part": {"count": 1, "first": ["p0#0"]},
        "mention of an unknown paper": {"count": 1, "first": ["gone#0"]},
    }


def test_whole_blocks_are_drawn_up_to_a_number_of_papers(tmp_path):
    rows = [mention(f"p{b}{i}", 0, "Ann Lee", f"block{b}", "test") for b in range(10) for i in range(3)]
    lines(tmp_path / "m/signatures.jsonl", rows)
    lines(tmp_path / "p/papers.jsonl", [{"id": row["paper_id"], "title": "T"} for row in rows])
    layout = AuthorMentions(signatures="m", papers="p", max_test=10)
    data = layout.read(DataRoot(tmp_path))
    assert len(data.test) == 3 and len(data.papers) == len(data.signatures) == 9
    assert data.dropped.count("test block beyond 10 papers") == 7
    assert layout.read(DataRoot(tmp_path)).test == data.test
    layouts = (AuthorMentions(signatures="m", papers="p", max_test=10, seed=seed) for seed in range(5))
    drawn = {layout.read(DataRoot(tmp_path)).test for layout in layouts}
    assert len(drawn) > 1


def test_what_is_wrong_is_told(home, tmp_path):
    lines(tmp_path / "mentions/signatures.jsonl", [mention("p0", 0, "", "a lee", "train")])
    with pytest.raises(InputError, match="line 1: no name"):
        AuthorMentions(signatures="mentions", papers="papers").read(home)
    both = [mention("p0", 0, "A", "a lee", "train"), mention("p1", 0, "A", "a lee", "test")]
    lines(tmp_path / "mentions/signatures.jsonl", both)
    with pytest.raises(InputError, match="'a lee' is in both train and test"):
        AuthorMentions(signatures="mentions", papers="papers").read(home)
    lines(tmp_path / "mentions/signatures.jsonl", both[:1])
    with pytest.raises(InputError, match=r"has no papers\*"):
        AuthorMentions(signatures="mentions", papers="mentions").read(home)
