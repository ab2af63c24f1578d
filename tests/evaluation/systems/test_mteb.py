"""The face that mteb asks for: formats and roles by the type of a task, and mteb's own mock tasks."""

from types import SimpleNamespace

import numpy as np
import pytest

from build_methods import build_encoder, perturb_weights
from sciprism import Paper
from sciprism.encoders.ensemble import Ensemble
from sciprism.encoders.export import export
from sciprism.errors import InputError, MissingExtraError
from sciprism.evaluation.systems.mteb import FORMATS_OF, MtebEncoder

ABSENT = "mteb is not installed: pip install 'sciprism[mteb]'"


@pytest.fixture
def adapters(tiny_model):
    return perturb_weights(build_encoder(tiny_model, "adapters"))


def task(kind, name="a task"):
    return SimpleNamespace(type=kind, name=name)


def batches(*rows, **columns):
    """As a data loader gives them: columns in batches of two."""
    columns = {"text": list(rows)} | columns if rows else columns
    count = len(next(iter(columns.values())))
    return [{key: values[i : i + 2] for key, values in columns.items()} for i in range(0, count, 2)]


@pytest.mark.parametrize("kind", sorted(FORMATS_OF))
def test_each_type_has_its_format_and_only_a_search_has_queries(kind, adapters):
    rows = MtebEncoder(adapters).encode(
        batches("dark matter", "", "light"), task_metadata=task(kind), prompt_type="query", hf_split="test"
    )
    format = FORMATS_OF[kind]
    role = "query" if format == "search" else "paper"
    expected = adapters.encode(["dark matter", "", "light"], format=format, role=role)
    assert np.abs(rows - expected).max() < 1e-5


def test_a_document_with_a_title_is_a_paper(adapters):
    found = MtebEncoder(adapters).encode(
        batches(text=["a b", "c", "d"], title=["a", None, "d"], body=["b", "c", ""]),
        task_metadata=task("Retrieval"),
        prompt_type=SimpleNamespace(value="document"),
    )
    papers = [Paper(id="", title="a", abstract="b"), Paper(id="", abstract="c"), Paper(id="", title="d")]
    assert np.abs(found - adapters.encode(papers, format="search")).max() < 1e-5


def test_formats_that_are_stated_go_before(adapters):
    encoder = MtebEncoder(adapters, formats={"SciDocsRR": "proximity", "Clustering": "classification"})
    for kind, name, format in (
        ("Reranking", "SciDocsRR", "proximity"),
        ("Clustering", "ArxivClustering", "classification"),
    ):
        rows = encoder.encode(batches("light"), task_metadata=task(kind, name), prompt_type="query")
        assert np.abs(rows - adapters.encode(["light"], format=format)).max() < 1e-5
    with pytest.raises(InputError, match="no format is known for a task, a task of type Juggling; known: Clas"):
        encoder.encode(batches("light"), task_metadata=task("Juggling"))


def test_similarities_by_hand(tiny_model):
    a, b = np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[4.0, 3.0], [3.0, 4.0]])
    by_hand = {"dot": [[24, 25], [0, 0]], "cosine": [[24 / 25, 1], [0, 0]], "euclidean": [[-(2**0.5), 0], [-5, -5]]}
    for distance, expected in by_hand.items():
        encoder = MtebEncoder(build_encoder(tiny_model, "single", distance=distance))
        assert np.allclose(encoder.similarity(a, b), expected, atol=1e-6)
        assert np.allclose(encoder.similarity_pairwise(a, b), np.diag(expected), atol=1e-6)
        assert np.allclose(encoder.similarity(a[0], b[0]), expected[0][0], atol=1e-6)


def test_without_mteb_the_extra_is_named(adapters, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mteb.models.model_meta", None)
    with pytest.raises(MissingExtraError, match=r'needs the "mteb" extra: pip install "sciprism\[mteb\]"'):
        _ = MtebEncoder(adapters).mteb_model_meta


def check_mock_tasks(model):
    """All of mteb's mock tasks over text run to the end."""
    import mteb
    from mteb.mocks import ALL_MOCK_TASK_TEST_GRID
    from mteb.results import TaskResult

    results = mteb.mock_run(model)
    done = {name for name, status in results.items() if isinstance(status, TaskResult)}
    text = {task.metadata.name for task in ALL_MOCK_TASK_TEST_GRID if task.metadata.modalities == ["text"]}
    assert len(text) > 20 and done == text, results.to_markdown()


@pytest.mark.slow
def test_mtebs_mock_tasks_run_with_an_ensemble(tiny_model, adapters):
    """Its members route formats and roles as any model does."""
    pytest.importorskip("mteb", reason=ABSENT)
    from mteb.models import EncoderProtocol

    both = MtebEncoder(Ensemble([adapters, perturb_weights(build_encoder(tiny_model, "pals"))], join="concat"))
    assert isinstance(both, EncoderProtocol)
    check_mock_tasks(both)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "format"), [("attention-experts", "search"), ("adapters", "search")])
def test_mteb_scores_an_exported_folder_as_the_encoder(method, format, tiny_model, tmp_path):
    """A plain one and a module, through mteb's own wrapper, on its mock retrieval."""
    mteb = pytest.importorskip("mteb", reason=ABSENT)
    from mteb.models import SentenceTransformerEncoderWrapper
    from sentence_transformers import SentenceTransformer

    encoder = perturb_weights(build_encoder(tiny_model, method, template={"separator": " "}))
    export(encoder, tmp_path / "out", format=format)
    theirs = SentenceTransformer(str(tmp_path / "out"), device="cpu", trust_remote_code=True)
    wrapped = SentenceTransformerEncoderWrapper(theirs)
    search = [t for t in mteb.mocks.MOCK_TASK_TEST_GRID if t.metadata.name == "MockRetrievalTask"]
    scores = [
        mteb.evaluate(model, search, cache=None, show_progress_bar=False).task_results[0].get_score()
        for model in (wrapped, MtebEncoder(encoder))
    ]
    assert len(search) == 1 and abs(scores[0] - scores[1]) < 1e-6
