"""What a source states of its own, in place of its stage's."""

from collections import defaultdict

import pytest

from build_sources import write_recipe
from sciprism.errors import InputError
from sciprism.training.learners.learner import LearnerContext
from sciprism.training.loop import Hooks, TrainingLoop
from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import read_recipe


def count_hard_negatives(recipe, changes, folder):
    """Return the numbers of hard negatives per example in the batches of all steps, by source."""
    plan = plan_training(read_recipe(recipe, changes), folder, device="cpu")
    (stage,) = plan.stages
    stage.folder.recover()
    loop = TrainingLoop(stage, LearnerContext(encoder=plan.encoders["contrast"], processes=plan.processes), Hooks())
    found = defaultdict(set)
    for number in range(loop.steps):
        for source, batch in loop.batches(number):
            _, _, (negatives, _) = loop.learners[source].select_texts(batch)
            found[stage.sources[source].name].add(len(negatives) / len(batch))
    return dict(found)


def test_hard_negatives_of_one_source(tmp_path, tiny_model):
    """The source's own number stands over that of the stage's objective; the other source keeps the stage's."""
    recipe = write_recipe(tmp_path, tiny_model)
    of_topics = "stages.contrast.sources.topics.hard_negatives={}"
    cases = {
        (): {"search": {1.0}, "topics": {1.0}},
        (of_topics.format(0),): {"search": {1.0}, "topics": {0.0}},
        ("stages.contrast.objective.hard_negatives=0", of_topics.format(1)): {"search": {0.0}, "topics": {1.0}},
    }
    for number, (changes, expected) in enumerate(cases.items()):
        assert count_hard_negatives(recipe, changes, tmp_path / str(number)) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["hard_negatives=-1"], "sources.1.hard_negatives: .*greater than or equal to 0, got -1"),
        (
            ["hard_negatives=0", "objective={name = 'triplet'}"],
            "source topics, objective: hard_negatives: .*equal to 1",
        ),
        (
            ["hard_negatives=0", "objective={name = 'label-ranking'}"],
            "source topics, objective: hard_negatives: unknown",
        ),
    ],
)
def test_hard_negatives_that_an_objective_cannot_have(changes, message, tmp_path, tiny_model):
    recipe = write_recipe(tmp_path, tiny_model)
    with pytest.raises(InputError, match=message):
        read_recipe(recipe, [f"stages.contrast.sources.topics.{change}" for change in changes])
