"""Token shards: blocks come back as written, and every kind of damage is reported."""

import pickle

import numpy as np
import pytest

from sciprism.errors import InputError
from sciprism.text.token_shards import TokenShards, TokenShardWriter
from sciprism.text.tokenizer import fingerprint_tokenizer
from sciprism.text.vocabulary import learn_vocabulary

TOKENIZER = learn_vocabulary(["the kinase binds the protein"] * 5, vocab_size=280)


def write(folder, blocks, **options):
    with TokenShardWriter(folder, TOKENIZER, length=8, **options) as writer:
        for number, block in enumerate(blocks):
            name = "ab"[number % 2]
            writer.add(np.array(block, np.uint32), name)
            writer.counts(name).tokens += len(block) - 2
            writer.counts(name).documents += 1
    return TokenShards(folder)


BLOCKS = [[0, 5, 6, 2], [0, 7, 2], [0, 8, 9, 10, 2], [0, 11, 2]]


def test_blocks_come_back_with_their_counts(tmp_path):
    shards = write(tmp_path / "s", BLOCKS, shard_tokens=6)
    assert [block.tolist() for block in shards] == BLOCKS and shards[0].dtype == np.int32
    assert shards.lengths.tolist() == [4, 3, 5, 3] and shards.lengths.dtype == np.int32
    assert (len(shards), shards.length, shards.special) == (4, 8, (0, 2))
    assert shards.tokenizer == fingerprint_tokenizer(TOKENIZER)
    assert (shards.sources["a"].blocks, shards.sources["a"].tokens, shards.sources["b"].documents) == (2, 5, 2)
    names = {path.name for path in (tmp_path / "s").iterdir()}
    assert names == {"tokens.json", *(f"{p}-00000{n}.npy" for p in ("tokens", "ends") for n in (0, 1))}
    assert np.load(tmp_path / "s" / "tokens-000000.npy").dtype == np.uint16
    shards.check()
    assert pickle.loads(pickle.dumps(shards))[2].tolist() == BLOCKS[2]
    with pytest.raises(IndexError):
        shards[4]


def test_written_whole_or_not_at_all(tmp_path):
    writer = TokenShardWriter(tmp_path / "s", TOKENIZER, length=8, shard_tokens=1)
    with pytest.raises(KeyboardInterrupt), writer:
        writer.add(np.array([0, 1, 2], np.uint32), "a")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / "s", BLOCKS)
    assert len(write(tmp_path / "s", BLOCKS[:1])) == 1  # older shards are replaced
    (tmp_path / "s" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files than token shards"):
        write(tmp_path / "s", BLOCKS)
    with pytest.raises(ValueError, match="a block of 9 tokens"):
        write(tmp_path / "t", [[1] * 9])


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-2]),
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "garbage": lambda path: path.write_bytes(b"\x93NUMPY garbage"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", ["tokens-000000.npy", "ends-000000.npy"])
def test_a_damaged_shard_is_named_with_the_remedy(tmp_path, damage, name):
    write(tmp_path / "s", BLOCKS)
    damage(tmp_path / "s" / name)
    with pytest.raises(InputError, match=r"00000\.npy.*build the shards again"):
        TokenShards(tmp_path / "s")


def test_a_changed_token_is_found_by_the_checksum(tmp_path):
    shards = write(tmp_path / "s", BLOCKS)
    path = tmp_path / "s" / "tokens-000000.npy"
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    TokenShards(tmp_path / "s")  # the sizes still fit
    with pytest.raises(InputError, match=r"tokens-000000\.npy: changed since it was written"):
        shards.check()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"no tokens\.json"),
        ("{", "cannot be read as JSON"),
        ("[]", "expected a dict"),
        ('{"layout": 2}', "layout 2, expected 1"),
        ('{"layout": 1, "length": 8, "tokenizer": "x", "special": [0, 2], "sources": {}, "shards": [3]}', "damaged"),
    ],
)
def test_a_manifest_that_is_none(tmp_path, content, message):
    if content is not None:
        (tmp_path / "tokens.json").write_text(content)
    with pytest.raises(InputError, match=message):
        TokenShards(tmp_path)
