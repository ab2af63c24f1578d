"""SciRepEval: random partitions of the sources."""

from collections import Counter
from pathlib import Path

from sciprism.formats import FORMATS
from sciprism.training.recipe_file import read_recipe
from scirepeval import PARTITIONS, partition

ROOT = Path(__file__).parents[2]


def read_sources(changes=()):
    """Return the sources of the recipe of control codes, by name."""
    recipe = read_recipe(ROOT / "recipes" / "laptop" / "scirepeval-ctrl.toml", changes)
    return {source.name: source for source in recipe.stages[0].sources}


def test_a_partition_deals_every_format_out_to_any_source():
    """As many sources of each format as in the recipe; those of search are read with the code of queries."""
    plain = {name: source.format for name, source in read_sources().items()}
    dealt = [read_sources(partition(number)) for number in range(PARTITIONS)]
    for sources in dealt:
        formats = {name: source.format for name, source in sources.items()}
        assert Counter(formats.values()) == Counter(plain.values()) and formats != plain
        assert set(formats.values()) == set(FORMATS)
        assert {s.query for s in sources.values() if s.format == "search"} == {"query"}
        assert {s.query for s in sources.values() if s.format != "search"} == {"paper"}
    of_search = {name for sources in dealt for name, source in sources.items() if source.format == "search"}
    assert len(of_search) > 1 and "arxiv-titles" not in of_search
