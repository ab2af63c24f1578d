"""Which systems stand for which model, noted beside the results."""

import pytest

from sciprism.errors import InputError
from sciprism.reproduce.estimates import read_models, write_models


def test_a_table_of_fewer_seeds_takes_none_away(tmp_path):
    assert read_models(tmp_path) == {}
    write_models(tmp_path / "r", {"vanilla": ["v1"], "bm25": ["bm25"]})
    write_models(tmp_path / "r", {"vanilla": ["v0", "v1", "v2"]})  # all that is known, in an order of its own
    write_models(tmp_path / "r", {"vanilla": ["v2"]})
    assert read_models(tmp_path / "r") == {"bm25": ("bm25",), "vanilla": ("v0", "v1", "v2")}
    write_models(tmp_path / "r", {"vanilla": ["v3", "v0"]})
    assert read_models(tmp_path / "r")["vanilla"] == ("v0", "v1", "v2", "v3")


@pytest.mark.parametrize("text", ["[]", "{", "[1]", '{"a": "b"}'])
def test_a_broken_file_is_named(tmp_path, text):
    (tmp_path / "models.json").write_text(text)
    with pytest.raises(InputError, match="is not a file of models"):
        read_models(tmp_path)
