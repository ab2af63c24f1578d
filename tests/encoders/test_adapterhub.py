"""AdapterHub folders: the vectors of the library `adapters` itself, and what is refused."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

from adapterhub import FIXTURES, KNOWN
from sciprism import Encoder
from sciprism.errors import InputError

TEXTS = KNOWN["texts"]
CODES = {"classification": "[CLF]", "proximity": "[PRX]", "search": "[QRY]", "regression": "[RGN]"}
SETTING, WEIGHTS = "adapter_config.json", "pytorch_adapter.bin"
pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def copy(tmp_path):
    """A function that copies some of the fixtures and returns where to."""

    def take(*names):
        folder = tmp_path / "model"
        for name in names:
            shutil.copytree(FIXTURES / name, folder / name)
        return folder

    return take


def change(folder, file=SETTING, **settings):
    """Change what a folder's settings say; those of the module where they have such a key."""
    row = json.loads((folder / file).read_text())
    for key, value in settings.items():
        (row["config"] if key in row["config"] else row)[key] = value
    (folder / file).write_text(json.dumps(row))


def reweigh(path, rename=lambda name, tensor: {name: tensor}):
    """Rewrite a weight file with what `rename` returns for each tensor."""
    weights = {}
    for name, tensor in torch.load(path).items():
        weights |= rename(name, tensor)
    torch.save(weights, path)


def max_difference(encoder, kind, format, role="query"):
    """Return the largest difference between the vectors of a route and the library's."""
    return np.abs(encoder.encode(TEXTS, format=format, role=role) - KNOWN[kind][CODES[format]]).max()


# ---- the library's vectors ----


def test_each_adapter_and_each_fusion_gives_the_librarys_vectors(copy):
    folders = {"adapters": (copy("base", "adapters"), "adapters"), "fusions": (FIXTURES, "adapter-fusion")}
    for kind, (folder, method) in folders.items():
        encoder = Encoder.load(folder, device="cpu")
        assert encoder.settings.method == method and encoder.settings.options["reduction"] == 4
        assert all(max_difference(encoder, kind, format) < 1e-5 for format in CODES)


# ---- layouts ----


def test_one_adapter_gives_a_model_of_its_format(copy):
    folder = copy("base", "adapters") / "adapters" / "[RGN]"
    encoder = Encoder.load(folder, device="cpu")
    assert encoder.formats == ("regression",) and max_difference(encoder, "adapters", "regression") < 1e-5
    with pytest.raises(InputError, match="has no format 'proximity'; it has regression"):
        encoder.encode(TEXTS)


def test_names_of_specter2s_archive(copy):
    """There the folders, not the modules, say what they serve."""
    folder = copy("base", "adapters")
    for format, code in CODES.items():
        name = "adhoc_query" if format == "search" else format
        place = (folder / "adapters" / code).rename(folder / "adapters" / name)
        change(place, name="module")
        reweigh(place / WEIGHTS, lambda n, w, code=code: {n.replace(code, "module"): w})
    encoder = Encoder.load(folder, device="cpu")
    assert all(max_difference(encoder, "adapters", format) < 1e-5 for format in CODES)


# ---- what is refused ----


UP = "bert.encoder.layer.1.output.adapters.[PRX].adapter_up.bias"
FUSIONS = [f"{code}_fusion" for code in CODES.values()]


@pytest.mark.parametrize(
    ("place", "file", "key", "value", "reason"),
    [
        ("adapters/[PRX]", SETTING, "non_linearity", "gelu", "'gelu'; only 'relu' is supported"),
        ("adapters/[PRX]", SETTING, "reduction_factor", {"0": 4, "default": 2}, ".*, not one whole number for all"),
        ("[QRY]_fusion", "adapter_fusion_config.json", "temperature", True, "True; only False is supported"),
    ],
)
def test_another_computation_is_refused(place, file, key, value, reason, copy):
    folder = copy("base", "adapters", *FUSIONS)
    change(folder / place, file, **{key: value})
    with pytest.raises(InputError, match=rf"{re.escape(place)}/{file}: {key} is {reason}"):
        Encoder.load(folder)


REFUSED = {
    "a weight is missing": (
        lambda n, w: {} if n == UP else {n: w},
        "1 adapter weights are missing, the first is blocks.1.adapter",
    ),
    "an adapter behind the attention": (
        lambda n, w: {n: w, n.replace("output.", "attention.output."): w},
        "attention.output.adapters.* is unknown here",
    ),
    "a layer too much": (lambda n, w: {n: w, n.replace("layer.1", "layer.2"): w}, "no weight blocks.2"),
    "no weights": (lambda n, w: {}, "weights of one module, found none"),
}


@pytest.mark.parametrize(("rename", "message"), REFUSED.values(), ids=REFUSED)
def test_half_an_adapter_and_more_than_one_are_refused(rename, message, copy, cache):
    folder = copy("base", "adapters")
    reweigh(folder / "adapters" / "[PRX]" / WEIGHTS, rename)
    with pytest.raises(InputError, match=message):
        Encoder.load(folder)
    assert not list((cache / "converted").iterdir()), "nothing half-made stays"


def test_adapters_of_two_libraries_are_refused(copy):
    folder = copy("base", "adapters")
    (folder / "adapters" / "[PRX]" / SETTING).write_text('{"peft_type": "LORA", "r": 8}')
    with pytest.raises(InputError, match="its adapters are of the libraries adapters and peft; keep one's"):
        Encoder.load(folder)


def test_queries_without_the_papers_that_they_find_are_refused(copy):
    folder = copy("base", "adapters")
    shutil.rmtree(folder / "adapters" / "[PRX]")
    for place in (folder, folder / "adapters" / "[QRY]"):
        with pytest.raises(InputError, match=r"but not that of proximity, for papers; put both .*: adapters/\[QRY\], "):
            Encoder.load(place)


def test_a_name_that_says_nothing_or_two_things_is_refused(copy):
    folder = copy("base", "adapters")
    change(folder / "adapters" / "[PRX]", name="[CLF]")
    with pytest.raises(InputError, match=r"called \[PRX\], its module \[CLF\]; name both by what it serves"):
        Encoder.load(folder)
    change((folder / "adapters" / "[PRX]").rename(folder / "adapters" / "mine"), name="module")
    with pytest.raises(InputError, match="called mine, its module module"):
        Encoder.load(folder)


@pytest.mark.parametrize("named", [None, "no-such/base"])
def test_no_base(named, copy):
    folder = copy("adapters")
    for code in CODES.values():
        change(folder / "adapters" / code, model_name=named)
    says = "its adapters name none; put it into" if named is None else "no base model; put it into"
    with pytest.raises(InputError, match=f"{says} .*base"):
        Encoder.load(folder)


def test_fusions_without_their_adapters_are_refused(copy):
    folder = copy("base", "adapters", *FUSIONS)
    shutil.rmtree(folder / "adapters" / "[CLF]")
    with pytest.raises(InputError, match=r"lacks adapters that they fuse; add: adapters/\[CLF"):
        Encoder.load(folder)
    shutil.rmtree(folder / "[CLF]_fusion")
    with pytest.raises(InputError, match=r"fuses \[PRX\],\[CLF\],\[QRY\],\[RGN\]; .* has adapters and fusions of"):
        Encoder.load(folder)
