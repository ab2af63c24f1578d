"""The keys of custom tasks: a task file of version 0.1 keeps its results while these stay."""

import pytest

from sciprism.evaluation.task_files import CUSTOM_LAYOUTS, read_suite

SETTINGS = {
    "probe": ("classification", "f1_macro", 'data = "ozone/papers.csv"\ndraw_seed = 1\n', "1254e8cb66364640"),
    "rerank": ("search", "ndcg", 'data = "ozone"\n', "e05f7dd6087526af"),
    "retrieve": ("search", "ndcg@10", 'data = "ozone"\nwithout_itself = true\n', "560c441c06889c1a"),
    "label": ("classification", "recall@5", 'data = "ozone"\n', "cd1c429ff57ecf3f"),
    "nearest-label": ("classification", "f1_macro", 'data = "ozone"\n', "59bc34c43b921c3c"),
    "match": (
        "proximity",
        "good p@5",
        'data = "ozone"\nlevels = [["good", 2.5]]\n',
        "4f7ec92f898ed1bb",
    ),
    "cluster": ("proximity", "b3", 'data = "ozone"\n', "568d647750206f13"),
    "tag": ("classification", "entity_f1", 'data = "ozone"\nmerged = true\n', "80f9f9a69d27cb1f"),
    "pair": ("classification", "pearson", 'data = "ozone"\n', "33b306dfd9b7ce73"),
    "span": ("classification", "f1", 'data = "ozone"\n', "91474fa541b242dc"),
}
"""Protocol -> format, metric, further settings, key in version 0.1."""


@pytest.mark.parametrize("protocol", CUSTOM_LAYOUTS)
def test_names_of_layouts_do_not_change_the_keys_of_custom_tasks(tmp_path, protocol):
    format, metric, settings, key = SETTINGS[protocol]
    (tmp_path / "ozone").mkdir()
    (tmp_path / "ozone" / "papers.csv").write_text("id,title\n1,A\n")
    head = f'[[task]]\nname = "t"\nprotocol = "{protocol}"\nformat = "{format}"\nmetric = "{metric}"\n'
    (tmp_path / "mine.toml").write_text(head + settings)
    assert read_suite(tmp_path / "mine.toml").tasks[0].key == key
