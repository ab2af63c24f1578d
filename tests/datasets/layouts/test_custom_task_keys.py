"""The keys of custom tasks: a task file keeps its results while these stay."""

import pytest

from sciprism.evaluation.task_files import CUSTOM_LAYOUTS, read_suite

SETTINGS = {
    "probe": ("classification", "f1_macro", 'data = "ozone/papers.csv"\n', "33ed17ce0a3a2d3c"),
    "rerank": ("search", "ndcg", 'data = "ozone"\n', "8303d55276c6b45d"),
    "retrieve": ("search", "ndcg@10", 'data = "ozone"\nwithout_itself = true\n', "6959e29451a1ad98"),
    "label": ("classification", "recall@5", 'data = "ozone"\n', "e4841ae6a6cd5eca"),
    "nearest-label": ("classification", "f1_macro", 'data = "ozone"\n', "a9e56af14852c1ed"),
    "match": ("proximity", "good p@5", 'data = "ozone"\nlevels = [["good", 2.5]]\n', "4b7b762156d2e89c"),
    "cluster": ("proximity", "b3", 'data = "ozone"\n', "4aaf39b4738b75fb"),
    "tag": ("classification", "entity_f1", 'data = "ozone"\nmerged = true\n', "2413f6a632b1c931"),
    "pair": ("classification", "pearson", 'data = "ozone"\n', "6dded08babe24efc"),
    "span": ("classification", "f1", 'data = "ozone"\n', "66d1a7456c696633"),
}
"""Protocol -> format, metric, further settings, key."""


@pytest.mark.parametrize("protocol", CUSTOM_LAYOUTS)
def test_names_of_layouts_do_not_change_the_keys_of_custom_tasks(tmp_path, protocol):
    format, metric, settings, key = SETTINGS[protocol]
    (tmp_path / "ozone").mkdir()
    (tmp_path / "ozone" / "papers.csv").write_text("id,title\n1,A\n")
    head = f'[[task]]\nname = "t"\nprotocol = "{protocol}"\nformat = "{format}"\nmetric = "{metric}"\n'
    (tmp_path / "mine.toml").write_text(head + settings)
    assert read_suite(tmp_path / "mine.toml").tasks[0].key == key
