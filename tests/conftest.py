"""What every test may ask for: a tiny model, vocabularies of both kinds, texts that are hard to tokenize."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["HF_HUB_OFFLINE"] = "1"  # before the hub's client is imported: it reads this once
os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers that share cores wait long for each other's threads

import hypothesis
import pytest

if TYPE_CHECKING:
    from torch import Tensor

    from sciprism.encoders.encoder import Encoder

hypothesis.settings.register_profile("unhurried", deadline=None, max_examples=40)  # slowness is no failure
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def torch_threads() -> Iterator[None]:
    """Leave the number of torch's threads as it was: with another one, sums differ in their last bits."""
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SCIENCE = """
a an and as at by for from in into is it of on or that the this to with we our are be new two
paper study method model data result theory law effect test evidence analysis measure learning network
deep neural language image text word protein gene cell dna brain memory mouse virus vaccine trial
cancer drug patient health blood heart light wave particle quantum energy field gravity black hole
star galaxy planet universe dark matter relativity electron atom nuclear radiation laser crystal
carbon oxygen water acid reaction catalyst polymer metal surface climate ocean ice rock earth
quake species evolution selection forest insect plant bird fish game market price risk trade
labour growth choice proof number prime graph group algebra geometry chance code machine computer
program search engine steel bridge flight control signal noise information entropy
"""
WORDS = SCIENCE.split()
CHARACTERS = string.ascii_lowercase + string.digits + "éüßøçñаиноπσβ中文科学论注意力العربية"
MARKS = string.punctuation + "“”‘’–—…°±×≤"

NASTY = (
    "",
    " ",
    "\n\t  \r\n",
    "word",
    "Attention Is All You Need",
    "  leading and trailing spaces   ",
    "don't stop—'quotes' “curly” … e.g. 3.14×10⁻⁵",
    "Café naïve Ångström Zürich façade piñata",
    "e\u0301cole combining: a\u0308 o\u0302 n\u0303 \u0915\u094d\u0937",
    "中文论文：注意力机制 科学 mixed with English",
    "اللغة العربية في العلوم",
    "Русский текст о науке; ελληνικά σ ς Σ",
    "日本語のテキスト 한국어 텍스트",
    "emoji 👩‍🔬🧪🚀 and flags 🇩🇪",
    "[CLS] injected [SEP] special [MASK] tokens [PAD] [UNK]",
    "<s> injected </s> special <mask> tokens <unk>",
    "tab\tnew\nline\x00null\x07bell\u200bzero\ufeffwidth\xa0space\u2028",
    "x" * 99,
    "y" * 101,
    "z" * 1000,
    "$\\alpha_{i}^{2}$ <sub>2</sub> &amp; 100% #tag @user C++ a_b-c/d",
    "İstanbul ǅ ﬁ ﬂ ½ ² ™ Ⅷ",
    "\u202eright to left override\u202c",
    "\U0001f9ec\U00020000\U0010ffff",
    "gene " * 700,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the real data sets where nothing says where they are."""
    if "SCIPRISM_DATA" not in os.environ:
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(pytest.mark.skip(reason="SCIPRISM_DATA is not set"))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what the package caches out of the user's own cache folder."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPRISM_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def nasty_texts() -> tuple[str, ...]:
    """Texts on which tokenizers disagree when one of their settings differs."""
    return NASTY


@pytest.fixture(scope="session")
def wordpiece_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the `vocab.txt` of an uncased WordPiece vocabulary."""
    folder = tmp_path_factory.mktemp("wordpiece")
    characters = dict.fromkeys(CHARACTERS)
    words = [word for word in dict.fromkeys(WORDS) if word not in characters and word not in MARKS]
    vocabulary = [*SPECIAL, *words, *characters, *(f"##{c}" for c in characters), *MARKS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def byte_level_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the `vocab.json` and `merges.txt` of a byte-level BPE vocabulary."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    folder = tmp_path_factory.mktemp("byte-level")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(WORDS), " ".join(reversed(WORDS)), *NASTY], trainer)
    tokenizer.model.save(str(folder))
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory, wordpiece_folder: Path) -> Path:
    """The folder of a BERT with 2 layers, 32 wide, and fixed weights; it does not state a pooling.

    `Encoder.load(tiny_model, pooling="mean")`. Word embeddings outweigh all else, so texts that share
    words are close.
    """
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("tiny-model")
    vocabulary = (wordpiece_folder / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_text(vocabulary, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}), encoding="utf-8")
    config = {
        "model_type": "bert",
        "vocab_size": len(vocabulary.splitlines()),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 512,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(_tiny_weights(config["vocab_size"]), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tiny_model: Path) -> Encoder:
    """The tiny model, loaded with mean pooling."""
    from sciprism import Encoder

    return Encoder.load(tiny_model, pooling="mean", device="cpu")


def _tiny_weights(vocabulary: int) -> dict[str, Tensor]:
    import torch

    generator = torch.Generator().manual_seed(7)

    def drawn(*shape: int, std: float) -> Tensor:
        return torch.randn(*shape, generator=generator) * std

    weights = {
        "embeddings.word_embeddings.weight": drawn(vocabulary, 32, std=1.0),
        "embeddings.position_embeddings.weight": drawn(512, 32, std=0.1),
        "embeddings.token_type_embeddings.weight": drawn(2, 32, std=0.1),
    }
    norms = ["embeddings.LayerNorm"]
    maps: dict[str, tuple[int, int]] = {}
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        names = ("self.query", "self.key", "self.value", "output.dense")
        maps.update({f"{layer}.attention.{name}": (32, 32) for name in names})
        maps.update({f"{layer}.intermediate.dense": (64, 32), f"{layer}.output.dense": (32, 64)})
    for name, (outputs, inputs) in maps.items():
        weights[f"{name}.weight"] = drawn(outputs, inputs, std=0.1)
        weights[f"{name}.bias"] = drawn(outputs, std=0.1)
    for name in norms:
        weights[f"{name}.weight"] = 1 + drawn(32, std=0.1)
        weights[f"{name}.bias"] = drawn(32, std=0.1)
    return weights


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what lets two processes share, from its call on, all work that is divided, however little it is."""
    from sciprism import parallel

    def start() -> None:
        monkeypatch.setattr(parallel, "PROCESSES", 2)
        monkeypatch.setattr(parallel, "PATIENCE", -1.0)

    return start
