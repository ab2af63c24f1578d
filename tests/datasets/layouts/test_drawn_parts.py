"""Parts that a layout draws by a hash: near the share that is asked for, whole groups, whatever the order."""

import json

from build_data import counted, lines, text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.mentions import AuthorMentions, CustomMentions, S2andFolders
from sciprism.datasets.layouts.texts import DocumentQuestions, DrugPairs, LabelledTexts, PartFiles
from sciprism.datasets.layouts.words import WordTags

FILES = PartFiles(folders=("set",))


def parts(data):
    """Return the ids of the train, dev and test rows."""
    return [{data.ids[row] for row in rows} for rows in (data.train, data.dev, data.test)]


def test_dev_of_texts_is_drawn_whatever_the_order(tmp_path):
    rows = [{"id": n, "text": f"t{n}", "label": n % 2} for n in range(200)]
    drawn = []
    for ordered in (rows, rows[::-1]):
        for part in ("train", "test"):
            lines(tmp_path / f"LinkBERT/data/seqcls/set/{part}.json", ordered)
        drawn.append(parts(LabelledTexts(files=FILES, dev_share=0.2).read(DataRoot(tmp_path))))
    (train, dev, test), other = drawn
    assert other == [train, dev, test] and 20 < len(dev) < 60 and len(train | dev) == len(test) == 200


def test_dev_of_sentences_is_cut_from_train_where_there_is_none(tmp_path):
    text(tmp_path / "data/set/train.tsv", "".join(f"word{n}\tB\n\n" for n in range(400)))
    text(tmp_path / "data/set/test.tsv", "The\tO\nTP53\tB\n\n")
    layout = WordTags(files=FILES, dev_share=0.25)
    train, dev, _ = parts(layout.read(DataRoot(tmp_path)))
    assert 60 < len(dev) < 140 and len(train) + len(dev) == 400 and not train & dev
    assert parts(layout.read(DataRoot(tmp_path)))[1] == dev
    text(tmp_path / "data/set/dev.tsv", "own\tB\n")
    data = layout.read(DataRoot(tmp_path))
    assert (len(data.train), len(data.dev)) == (400, 1)


def test_pairs_of_a_document_are_in_one_part(tmp_path):
    drugs = [{"id": f"e{n}", "offset": offset, "type": "drug"} for n, offset in enumerate(("0-6", "12-18"))]
    rows = [
        {"text": "Aspirin and lithium.", "entities": drugs, "pairs": [{"e1": "e0", "e2": "e1", "label": label}] * 2}
        for label in ("effect", "false")
    ]
    for part in ("train", "test"):
        documents = ({"id": f"d{n}", "sentences": [rows[n % 2]]} for n in range(100))
        lines(tmp_path / f"set/{part}.jsonl", documents)
    data = DrugPairs(files=FILES, dev_share=0.13).read(DataRoot(tmp_path))
    train, dev, test = ({name.split(".")[0].split("/")[1] for name in part} for part in parts(data))
    assert not train & dev and 4 < len(dev) < 30 and train | dev == test
    assert len(data.train) + len(data.dev) == 200 == len(data.test)


def test_questions_about_documents_are_split_by_document(tmp_path):
    documents = [{"id": n, "context": f"\n Article {n} tells."} for n in range(80)]
    asked = [
        {"id": f"{n}.{i}", "question": "?", "answers": [{"text": "Article", "answer_start": 2}], "document_id": str(n)}
        for n in [*range(80), 999]
        for i in range(2)
    ]
    lines(tmp_path / "qa_covidqa/documents.jsonl", documents)
    lines(tmp_path / "qa_covidqa/questions.jsonl", asked)
    data = DocumentQuestions(folder="qa_covidqa").read(DataRoot(tmp_path))
    train, dev, test = ({data.contexts[row] for row in rows} for rows in (data.train, data.dev, data.test))
    assert len(train) + len(dev) + len(test) == len({id(context) for context in data.contexts}) == 80
    assert len(train | dev | test) == 80 and len(train) > 40 and 2 < len(dev) < 20 and 10 < len(test) < 32
    assert counted(data) == {"question without a context, dropped": 2}


def test_blocks_of_mentions_are_drawn(tmp_path):
    (tmp_path / "papers.csv").write_text("id,title\np,T\n")
    rows = [{"signature_id": n, "paper_id": "p", "name": f"A Name{n % 20}", "author_id": n} for n in range(60)]
    lines(tmp_path / "signatures.jsonl", rows)
    found = CustomMentions(data=str(tmp_path)).read(DataRoot())
    assert [len(part) for part in (found.train, found.dev, found.test)] == [10, 4, 6]
    assert len(found.train | found.dev | found.test) == 20
    assert sum("sampled" in reason for reason in found.dropped.to_json()) == 3


def test_blocks_of_a_source_without_a_division_are_divided_by_the_seed(tmp_path):
    author = {"first": "Ann", "last": "Lee", "position": 0}
    signatures = {
        str(i): {"signature_id": str(i), "paper_id": 42, "author_info": author | {"block": f"b{i:02}"}}
        for i in range(20)
    }
    papers = {"42": {"paper_id": 42, "title": "T"}}
    clusters = {"p": {"signature_ids": list(signatures)}}
    for kind, content in {"signatures": signatures, "papers": papers, "clusters": clusters}.items():
        text(tmp_path / f"s2and/kisti/kisti_{kind}.json", json.dumps(content))
    layout = S2andFolders(path="s2and", sources=("kisti",))
    data = layout.read(DataRoot(tmp_path))
    assert [len(part) for part in (data.train, data.dev, data.test)] == [16, 2, 2]
    assert data.dropped.count("source without a split of blocks, split by the seed") == 1
    assert layout.read(DataRoot(tmp_path)).test == data.test


def test_whole_blocks_are_drawn_up_to_a_number_of_papers(tmp_path):
    names = [(block, f"p{block}{i}") for block in range(10) for i in range(3)]
    facts = {"position": 0, "name": "Ann Lee", "author_id": "ieee:Ann Lee", "split": "test"}
    rows = ({"signature_id": f"{paper}#0", "paper_id": paper, "block": f"block{b}"} | facts for b, paper in names)
    lines(tmp_path / "m/signatures.jsonl", rows)
    lines(tmp_path / "p/papers.jsonl", ({"id": paper, "title": "T"} for _, paper in names))
    layouts = [AuthorMentions(signatures="m", papers="p", max_test=10, seed=seed) for seed in (0, 0, 1, 2, 3, 4)]
    first, again, *others = (layout.read(DataRoot(tmp_path)) for layout in layouts)
    assert len(first.test) == 3 and len(first.papers) == len(first.signatures) == 9
    assert first.dropped.count("test block beyond 10 papers") == 7
    assert again.test == first.test and any(other.test != first.test for other in others)
