"""Keys of recipes: former ones are read, with one warning each; the recipes of the project use today's."""

import tomllib
import warnings
from pathlib import Path

import pytest

from sciprism.deprecation import RenamedWarning, warn_renamed
from sciprism.errors import InputError
from sciprism.training.learners.registry import learners
from sciprism.training.recipe_file import current_recipe, read_recipe
from sciprism.training.recipe_keys import TABLES, use_current_keys
from sciprism.training.recipe_tables import NamedTable
from sciprism.training.weighting import weightings

RECIPES = sorted((Path(__file__).parents[2] / "recipes").rglob("*.toml"))
OLD_RECIPES = sorted((Path(__file__).parents[1] / "compatibility/version_0_1/recipes").glob("*.toml"))
SOURCE = '[[stages.sources]]\nfile = "search.jsonl"\nformat = "search"\n'
RECIPE = '[model]\nbackbone = "b"\n\n[[stages]]\nname = "one"\nsteps = 3\nbatch_size = 4\n'

ARCHITECTURE = "{ layers = 1, hidden = 8, heads = 1, intermediate = 8 }"
STAGE = {
    "start": ("initialize_from", '"backbone"', "backbone"),
    "done": ("finished_model", '"folder"', Path("folder")),
    "tempering": ("sampling_exponent", "0.5", 0.5),
    "batch": ("batch_size", "6", 6),
    "accumulate": ("gradient_accumulation", "3", 3),
    "tokens": ("chunk_tokens", "99", 99),
    "caching": ("gradient_caching", "true", True),
    "gradient": ("gradient_reduction", '"mean"', "mean"),
    "checkpointing": ("gradient_checkpointing", "true", True),
    "optimiser.lr": ("optimizer.lr", "0.25", 0.25),
    "optimiser.clip": ("optimizer.max_grad_norm", "2.5", 2.5),
    "schedule.start": ("schedule.start_lr", "0.25", 0.25),
    "schedule.floor": ("schedule.min_lr", "0.25", 0.25),
    "schedule.end": ("schedule.end_step", "77", 77),
    "shape.positions": ("architecture.max_positions", "44", 44),
    "shape.types": ("architecture.token_types", "2", 2),
    "shape.copies": ("architecture.copy_from", '"model"', "model"),
    "shape.copied": ("architecture.copied_layers", "[1]", (1,)),
    "sources.search.rate": ("sources.search.repeat", "0.5", 0.5),
}
OBJECTIVES = {
    "facets": {"best": ("best_pair_weight", 0.5), "in_batch": ("in_batch_negatives", True)},
    "four-sum": {"twice": ("count_pair_twice", False)},
    "label-ranking": {"most": ("max_labels", 9)},
    "classification": {"standardise": ("standardize", True), "contrastive": ("contrastive_weight", 0.5)},
    "multi-label": {"standardise": ("standardize", True)},
    "regression": {"standardise": ("standardize", True)},
    "vectors": {"teacher_length": ("teacher_max_length", 9), "cached": ("cache_teacher", False)},
    "similarity": {
        "teacher_length": ("teacher_max_length", 9),
        "cached": ("cache_teacher", False),
        "softness": ("distillation_temperature", 3.0),
        "both_ways": ("symmetric", True),
    },
    "masked-lm": {"share": ("mask_probability", 0.25)},
    "auto-encoding": {
        "share": ("mask_probability", 0.25),
        "decoder_share": ("decoder_mask_probability", 0.25),
        "head": ("head_from", "words"),
    },
    "relations": {
        "heads": ("relation_heads", 3),
        "layer": ("teacher_layer", 2),
        "kinds": ("relation_types", ["key"]),
    },
}
FORMER_OBJECTIVE_KEYS = [(name, key) for name, keys in OBJECTIVES.items() for key in keys]


@pytest.fixture
def recipe(tmp_path):
    """Return a function that writes a recipe with more keys of its stage, and its optimizer and source."""

    def write(keys="", optimizer="optimizer = { lr = 1.0 }\n", architecture=False):
        new = f"architecture = {ARCHITECTURE}\n" if architecture else ""
        path = tmp_path / "recipe.toml"
        path.write_text(f'name = "made"\n{RECIPE}{new}{optimizer}{keys}\n{SOURCE}', encoding="utf-8")
        return path

    return write


def value_at(stage, path):
    """Return the value of a dotted path of a stage whose only source is named search."""
    for key in path.split("."):
        stage = stage[0] if key == "search" else getattr(stage, key)
    return stage


SETTINGS = {
    **TABLES,
    **{f"objective {name}": each.settings for name, each in learners.items()},
    **{f"weighting {name}": each.settings_type for name, each in weightings.items()},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_key_has_a_description(name):
    """`name` of an objective or a weighting needs none: it selects the table."""
    named = issubclass(SETTINGS[name], NamedTable)
    for key, field in SETTINGS[name].model_fields.items():
        if not (named and key == "name"):
            assert field.description and field.description.endswith((".", "...")), key


def test_an_unknown_key_is_explained_by_a_similar_one(recipe):
    with pytest.raises(
        InputError, match=r"stages.0.bacth: unknown key; did you mean 'batch_size' \(Examples of a batch"
    ):
        read_recipe(recipe(), ["stages.0.bacth=3"])
    with pytest.raises(InputError, match=r"objective: temprature: unknown key; did you mean 'temperature' \(Divides"):
        read_recipe(recipe(), ["stages.0.objective.name=contrast", "stages.0.objective.temprature=1"])
    with pytest.raises(InputError, match=r"stages.0.qqq: unknown key; known: name, method"):
        read_recipe(recipe(), ["stages.0.qqq=3"])


def test_every_former_key_is_in_these_tests():
    tables = {old for table in TABLES.values() for old in table.former_keys}
    assert tables == {step for path in STAGE for step in path.split(".")} & tables
    found = {(name, key) for name, each in learners.items() for key in each.settings.former_keys}
    assert found == set(FORMER_OBJECTIVE_KEYS)


@pytest.mark.parametrize("former", STAGE)
def test_a_former_key_is_changed_by_set(former, recipe):
    current, text, value = STAGE[former]
    path = recipe(architecture=former.startswith("shape"))
    with pytest.warns(RenamedWarning, match=r"--set: \w+ key '\w+' is now '\w+'"):
        (stage,) = read_recipe(path, [f"stages.one.{former}={text}"], sources=Path()).stages
    assert value_at(stage, current) == value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (same,) = read_recipe(path, [f"stages.one.{current}={text}"], sources=Path()).stages
    assert same == stage


@pytest.mark.parametrize("former", [key for key in STAGE if not key.startswith("sources")])
def test_a_former_key_in_the_defaults_is_merged_with_todays_keys_of_a_stage(former, recipe):
    table, _, key = former.rpartition(".")
    current, text, value = STAGE[former]
    default = f"{table} = {{ {key} = {text} }}" if table else f"{key} = {text}"
    path = recipe(architecture=table == "shape")
    path.write_text(path.read_text() + f"\n[defaults]\n{default}\n", encoding="utf-8")
    with pytest.warns(RenamedWarning):
        (stage,) = read_recipe(path, sources=Path()).stages
    if former not in ("batch", "optimiser.lr"):  # which the stage states itself
        assert value_at(stage, current) == value


@pytest.mark.parametrize(("name", "former"), FORMER_OBJECTIVE_KEYS)
def test_a_former_key_of_an_objective_is_read(name, former):
    current, value = OBJECTIVES[name][former]
    with pytest.warns(RenamedWarning, match=f"objective key '{former}' is now '{current}'"):
        found = use_current_keys({"name": name, former: value}, "objective", warn=warn_renamed)
    assert found == {"name": name, current: value}
    required = {"teacher": "t"} if "teacher" in learners[name].settings.model_fields else {}
    assert learners[name].settings.model_validate(found | required)
    assert use_current_keys({former: value}, "objective") == {current: value}, "the defaults may have the name"


def test_each_former_key_of_a_file_is_warned_of_once(recipe):
    path = recipe("accumulate = 2\n", "optimiser = { lr = 1.0, clip = 2.0 }\n")
    again = path.read_text().partition("[[stages]]")[2].replace('"one"', '"two"')
    source = 'rate = 2\n\n[[stages.sources]]\nfile = "other.jsonl"\nformat = "search"\nrate = 3\n'
    path.write_text(f"{path.read_text()}{source}\n[[stages]]{again}{source}", encoding="utf-8")
    with pytest.warns(RenamedWarning) as caught:
        read_recipe(path)
    messages = [str(each.message) for each in caught]
    assert sorted(message.split(": ")[1].split(";")[0] for message in messages) == [
        "optimizer key 'clip' is now 'max_grad_norm'",
        "sources key 'rate' is now 'repeat'",
        "stages key 'accumulate' is now 'gradient_accumulation'",
        "stages key 'optimiser' is now 'optimizer'",
    ]
    assert all(str(path) in message for message in messages)


def test_a_key_under_both_names_is_refused(recipe):
    with pytest.raises(InputError, match="'batch' is the former name of 'batch_size', and both are given"):
        read_recipe(recipe("batch = 3\n"))


def test_options_of_methods_keep_their_keys(recipe):
    """`start` is a key of a stage's former table and an option of control codes."""
    path = recipe('method = "control-codes"\noptions = { start = "noise" }\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (stage,) = read_recipe(path, ["stages.one.options.start=cls"]).stages
    assert stage.options == {"start": "cls"}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recipes_of_the_project_have_no_former_key(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RenamedWarning)
        read_recipe(path)


@pytest.mark.parametrize("path", OLD_RECIPES, ids=lambda path: path.stem)
def test_a_runs_own_recipe_is_read_without_a_warning(path):
    """It is compared with today's recipe when the run is resumed."""
    with pytest.warns(RenamedWarning):
        today = read_recipe(path, sources=Path()).model_dump(mode="json")
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = raw.pop("defaults", {})
    raw["stages"] = [defaults | stage for stage in raw["stages"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = current_recipe(raw)
    for stage, wanted in zip(found["stages"], today["stages"], strict=True):
        assert stage.keys() == wanted.keys()
        assert (stage["objective"], stage["batch_size"]) == (wanted["objective"], wanted["batch_size"])
