"""`sciprism prepare text`: what goes in, what stays out, in which shares, and the same bytes again."""

import gzip
import json

from tokenizers import Tokenizer

from build_commands import run
from sciprism.text.token_shards import TokenShards
from sciprism.text.tokenizer import fingerprint_tokenizer, open_tokenizer

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def sentence(n):
    """A sentence of its own for each number, of words enough to be compared with others."""
    return " ".join(f"w{n}x{m}" for m in range(40)) + f" is {NUMBERS[n % 12]}."


def papers(path, numbers, **more):
    rows = [
        {"id": f"{path.stem}{n}", "title": f"Title {n} of {path.stem} which is long enough", "abstract": sentence(n)}
        | more
        for n in numbers
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def prepare(monkeypatch, capsys, out, *words, vocabulary=300):
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)
    options = ("--vocab-size", vocabulary, "--length", 64) if vocabulary else ("--length", 64)
    return run(monkeypatch, capsys, "prepare", "text", *options, *words, "-o", out)


def facts(out):
    return json.loads((out / "mixture.json").read_text())["sources"]


def decoded(out, part="train"):
    tokenizer = Tokenizer.from_file(str(out / "tokenizer" / "tokenizer.json"))
    return [tokenizer.decode(block.tolist()) for block in TokenShards(out / part)]


def test_a_text_of_indus_stands_next_to_its_size(tmp_path, monkeypatch, capsys):
    path = papers(tmp_path / "one.jsonl", range(20))
    status, printed, _ = prepare(monkeypatch, capsys, tmp_path / "out", f"ads={path}", "--dev", 0)
    (ads,) = (line.split() for line in printed.splitlines() if line.startswith("ads "))
    assert status == 0 and "INDUS," in printed and ads[1] == "20" and ads[-1] == "32.70"
    assert facts(tmp_path / "out")["ads"]["published"] == {"tokens (billion)": 32.7, "%": 49}


def test_shards_a_tokenizer_and_the_table(tmp_path, monkeypatch, capsys):
    one, two = papers(tmp_path / "one.jsonl", range(100)), papers(tmp_path / "two.jsonl", range(100, 140))
    out = tmp_path / "out"
    status, printed, _ = prepare(monkeypatch, capsys, out, f"a={one}", f"b={two}", "--dev", 0.2)
    assert status == 0
    lines = [line.split() for line in printed.splitlines() if line]
    assert lines[0] == ["source", "read", "retained", "documents", "blocks", "tokens", "%", "dev", "tokens"]
    assert lines[1][:3] == ["a", "100", "100"] and lines[3][:3] == ["all", "140", "140"]
    train, record = TokenShards(out / "train"), facts(out)
    train.check()
    assert train.tokenizer == fingerprint_tokenizer(open_tokenizer(out / "tokenizer"))
    assert max(train.lengths) <= train.length == 64
    for name in "ab":
        dev = TokenShards(out / "dev" / name)
        assert record[name]["train"]["documents"] + dev.sources[name].documents == record[name]["retained"]
        assert record[name]["train"]["blocks"] == train.sources[name].blocks
    dev, texts = " ".join(decoded(out, "dev/a")), " ".join(decoded(out))
    for n in range(100):
        assert (f"w{n}x7 " in dev) != (f"w{n}x7 " in texts)
    assert lines[1][6] == f"{100 * record['a']['share']:.1f}"
    assert {path.name for path in out.iterdir()} == {"train", "dev", "tokenizer", "mixture.json", ".lock"}


def test_weights_and_an_even_mixture(tmp_path, monkeypatch, capsys):
    """a goes through 40 documents three times, b through about half of 200 once."""
    one, two = papers(tmp_path / "one.jsonl", range(40)), papers(tmp_path / "two.jsonl", range(100, 300))
    words = (f"a={one}", f"b={two}", "--weight", "a=3", "--weight", "b=0.5", "--dev", 0)
    assert prepare(monkeypatch, capsys, tmp_path / "out", *words)[0] == 0
    record = facts(tmp_path / "out")
    assert record["a"]["train"]["documents"] == 120 and 75 < record["b"]["train"]["documents"] < 125
    texts = decoded(tmp_path / "out")
    half = len(texts) // 2
    mine = [sum("title" in text and "of one" in text for text in part) for part in (texts[:half], texts[half:])]
    assert abs(mine[0] - mine[1]) <= 0.15 * sum(mine)


def test_what_is_left_out_is_counted_by_reason(tmp_path, monkeypatch, capsys):
    german = "Die Galaxie ist sehr weit und wird von der Erde aus mit dem Fernrohr gesehen, das wir bauen."
    rows = [
        {"text": sentence(1), "license": "CC BY 4.0"},
        {"text": sentence(1).upper(), "license": "CC BY 4.0"},  # the same but for its case
        {"text": sentence(1).replace("is two", "was two"), "license": "CC BY 4.0"},  # nearly the same
        {"text": sentence(2), "license": "CC BY-NC 4.0"},
        {"text": sentence(3)},
        {"text": german, "license": "CC0"},
        {"text": sentence(4), "license": "CC0", "language": "fr"},
        {"id": "x9", "text": sentence(5), "license": "CC0"},
        {"text": "It has the ids 10.1/test in it. " + sentence(6), "doi": "10.1/test", "license": "CC0"},
        {"text": "", "license": "CC0"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    tests = papers(tmp_path / "test.jsonl", [99], ids={"doi": "10.1/test"})
    (tmp_path / "ids.txt").write_text("x9\n")
    (tmp_path / "empty.txt").write_text("")
    words = (f"r={path}", f"r={tmp_path / 'empty.txt'}", "--languages", "en", "--licences", "CC BY,CC0")
    words += ("--exclude", tests, "--exclude", tmp_path / "ids.txt", "--dev", 0)
    status, printed, _ = prepare(monkeypatch, capsys, tmp_path / "out", *words)
    assert status == 0
    dropped = {reason: row["count"] for reason, row in facts(tmp_path / "out")["r"]["dropped"].items()}
    assert dropped == {
        "duplicate text": 1,
        "near-duplicate text": 1,
        "other licence": 1,
        "no licence stated": 1,
        "other language": 2,
        "test paper": 2,
        "no text": 1,
        "empty file": 1,
    }
    assert "r: dropped:" in printed and "other language 2" in printed


def test_files_that_break_others(tmp_path, monkeypatch, capsys):
    """A text of a million characters is packed; empty, foreign and damaged files are counted."""
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("kinase " * 142_858)
    (folder / "b.txt").write_text("")
    (folder / "c.txt").write_bytes("Caf\xe9 society meets.".encode("latin-1"))
    (folder / "d.txt.gz").write_bytes(gzip.compress(b"A whole text.\n\n" * 9)[:-9])
    status, printed, _ = prepare(monkeypatch, capsys, tmp_path / "out", f"t={folder}", "--dev", 0)
    assert status == 0 and "empty file 1" in printed and "not valid UTF-8, still read 1" in printed
    assert "damaged or truncated 1" in printed
    record = facts(tmp_path / "out")["t"]["train"]
    assert record["tokens"] > 142_858 and sum("café" in text for text in decoded(tmp_path / "out")) == 1


def test_papers_of_the_one_split_s_tests_stay_out(tmp_path, monkeypatch, capsys):
    data = tmp_path / "data" / "ir_scifact"
    data.mkdir(parents=True)
    row = {"_id": "7", "title": "Title 3 of one which is long enough", "text": sentence(3)}
    (data / "corpus.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    one = papers(tmp_path / "one.jsonl", range(10))
    words = (f"a={one}", "--data", tmp_path / "data", "--dev", 0)
    assert prepare(monkeypatch, capsys, tmp_path / "out", *words)[0] == 0
    assert facts(tmp_path / "out")["a"]["dropped"] == {"test paper": {"count": 1, "first": ["one3"]}}


def test_a_tokenizer_that_is_given_and_one_document_a_block(tmp_path, monkeypatch, capsys, wordpiece_folder):
    one = papers(tmp_path / "one.jsonl", range(10))
    words = (f"a={one}", "--tokenizer", wordpiece_folder, "--no-across-documents", "--dev", 0)
    assert prepare(monkeypatch, capsys, tmp_path / "out", *words, vocabulary=None)[0] == 0
    shards = TokenShards(tmp_path / "out" / "train")
    assert shards.tokenizer == fingerprint_tokenizer(open_tokenizer(wordpiece_folder))
    assert all((block[1:-1] != block[-1]).all() for block in shards)  # no separator inside
