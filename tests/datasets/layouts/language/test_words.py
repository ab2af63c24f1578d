"""Tagged words: one word a line, JSON lines, odd tags; sentences come back as they were written."""

import gzip
import json

import pytest

from build_data import counted, lines, text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.texts import PartFiles
from sciprism.datasets.layouts.words import WordTags
from sciprism.errors import InputError

FILES = PartFiles(folders=("BC2GM",))
TEST = "The\tO\nTP53\tB\n\n"


def read(folder, layout=None, **more):
    return (layout or WordTags(files=FILES, **more)).read(DataRoot(folder))


def made(folder, train, test=TEST):
    text(folder / "data/BC2GM/train.tsv", train)
    text(folder / "data/BC2GM/test.tsv", test)
    return folder


def test_document_lines_of_any_width_end_a_sentence(tmp_path):
    climate = "-DOCSTART- -X- O O 0a1b2c\n\nSevere\tO\nwild fire\tB-climate-hazards\n-DOCSTART-\n.\tO\n"
    data = read(made(tmp_path, climate))
    assert data.words[:2] == [("Severe", "wild fire"), (".",)], "a word may hold a space between tabs"
    assert data.tags[0] == ("O", "B-climate-hazards")


def test_columns_between_are_not_read(tmp_path):
    data = read(made(tmp_path, "Aspirin NN I-NP S-Drug\nhelps VBZ I-VP O\nlow JJ x B-Dose\nfat NN x E-Dose\n"))
    assert data.words[0] == ("Aspirin", "helps", "low", "fat")
    assert data.tags[0] == ("B-Drug", "O", "B-Dose", "I-Dose")


def test_what_is_odd_is_counted(tmp_path):
    train = "alone\nx\tI-Gene\ny\tI-Gene\nz\tI-Cell\nq\tI_Gene\n\t\tO\n\nw\tB-Gene\n"
    test = "w\tB-Drug\n"
    data = read(made(tmp_path, train, test))
    assert data.tags[0] == ("O", "I-Gene", "I-Gene", "I-Cell", "O", "O"), "I- that begin stay as they are"
    assert data.words[0][-1] == ""
    assert counted(data) == {
        "word without a tag, read as O": 1,
        "unknown tag, read as O": 1,
        "I- tag that begins an entity": 2,
        "word without characters": 1,
        "type of test entities without a train entity": 1,
    }


def test_json_lines_of_linkbert_and_of_open_copies(tmp_path):
    folder = tmp_path / "linkbert/data/tokcls/BC2GM_hf"
    rows = [
        {"id": "0", "tokens": ["IL-2", "gene"], "ner_tags": ["B", "I"]},
        {"id": "0", "tokens": [], "ner_tags": []},
        {"id": "0", "tokens": ["a", "b"], "ner_tags": ["O"]},
        {"id": "0", "tokens": ["a"], "ner_tags": ["O"]},
    ]
    lines(folder / "train.json", rows)
    lines(folder / "test.json", rows[:1])
    data = read(tmp_path, WordTags(files=PartFiles(folders=("BC2GM", "BC2GM_hf"))))
    assert data.words == [("IL-2", "gene"), ("a",), ("IL-2", "gene")]
    assert data.ids == ["train/0", "train/0#2", "test/0"]
    assert counted(data) == {
        "sentence without words": 1,
        "sentence with unequal numbers of words and tags, dropped": 1,
        "duplicate id in its part": 1,
    }
    open_copy = tmp_path / "ner_bc2gm"
    open_copy.mkdir()
    row = json.dumps({"tokens": ["TP53"], "tags": ["B-GENE"]}).encode()
    for part in ("train", "test"):
        (open_copy / f"{part}.jsonl.gz").write_bytes(gzip.compress(row + b"\n"))
    data = read(tmp_path, WordTags(files=PartFiles(folders=("ner_bc2gm",))))
    assert data.tags == [("B-GENE",)] * 2 and data.ids == ["train/1", "test/1"]


def test_one_type_of_several(tmp_path):
    both = "aspirin\tB-Chemical\nfever\tB-Disease\nacid\tI-Chemical\n"
    data = read(made(tmp_path, both, both), only="Chemical")
    assert data.tags[0] == ("B-Chemical", "O", "I-Chemical")
    with pytest.raises(InputError, match="no entity of type chemical; there are Chemical, Disease"):
        read(tmp_path, only="chemical")


def test_merged_types_stay_apart(tmp_path):
    data = read(made(tmp_path, "a\tB-DNA\nb\tI-DNA\nc\tI-protein\nd\tB-cell_line\n"), merged=True)
    assert data.tags[0] == ("B-entity", "I-entity", "B-entity", "B-entity")


def test_dev_is_cut_from_train_where_there_is_none(tmp_path):
    train = "".join(f"word{n}\tB\n\n" for n in range(400))
    data = read(made(tmp_path, train), dev_share=0.25)
    assert 60 < len(data.dev) < 140 and len(data.train) + len(data.dev) == 400
    assert not {data.words[n] for n in data.dev} & {data.words[n] for n in data.train}
    again = read(made(tmp_path, train), dev_share=0.25)
    assert [again.words[n] for n in again.dev] == [data.words[n] for n in data.dev]
    text(tmp_path / "data/BC2GM/dev.tsv", "own\tB\n")
    data = read(tmp_path, dev_share=0.25)
    assert len(data.dev) == 1 and len(data.train) == 400


def test_what_cannot_be_learnt_or_found_is_said(tmp_path):
    with pytest.raises(InputError, match="the data 'BC2GM' are not in"):
        read(tmp_path)
    with pytest.raises(InputError, match="no train sentence has an entity"):
        read(made(tmp_path, "a\tO\n"))
    with pytest.raises(InputError, match="no train rows"):
        read(made(tmp_path, "\n\n"))
    (tmp_path / "data/BC2GM/test.tsv").unlink()
    with pytest.raises(InputError, match=r"has no test file .*; it contains train.tsv"):
        read(tmp_path)
    lines(tmp_path / "ner/train.json", [{"tokens": ["a"], "ner_tags": [1]}])
    lines(tmp_path / "ner/test.json", [{"tokens": ["a"], "ner_tags": ["B"]}])
    with pytest.raises(InputError, match=r"line 1: the tags are numbers"):
        read(tmp_path, WordTags(files=PartFiles(folders=("ner",))))
