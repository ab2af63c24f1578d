"""Make tests/encoders/adapterhub.zip with the library `adapters`, which sciprism does without.

Run it in an environment of its own, with the pins that the library asks for:

    python -m venv old && old/bin/pip install "adapters==0.2.2" torch && old/bin/python make_adapterhub.py

It writes what SciRepEval's training and SPECTER2's archive hold: `base/`, `adapters/[CLF]/` and so on, and
`[CLF]_fusion/` and so on; and `vectors.json`, what the library computes with them.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import torch
from adapters import AutoAdapterModel, SeqBnConfig
from adapters.composition import Fuse
from transformers import AutoTokenizer, BertConfig, BertModel

PACKED = Path(__file__).resolve().parents[1] / "encoders" / "adapterhub.zip"
CODES = ["[CLF]", "[PRX]", "[QRY]", "[RGN]"]
WORDS = "a of the in and dark matter light black hole gene brain cell ice field ##s ##ed quantum theory , ."
TEXTS = [
    "dark matter [SEP] the light of a black hole , and the field of dark matter .",
    "gene [SEP] genes and cells in the brain . ice iced the quantum field theory",
    "ice",
    "quantum theory",
    "unheard words of a title [SEP] " + "the black holes and the dark matter . " * 9,
]
LONGEST = 48


def randomized(model, seed, names=("",)):
    """Draw anew every parameter whose name holds one of the names, so that each one matters."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if any(part in name for part in names):
                middle = 1.0 if name.endswith("LayerNorm.weight") else 0.0
                weight.copy_(middle + 0.3 * torch.randn(weight.shape, generator=generator))
    return model


def write_base():
    """Write a BERT of two layers with a vocabulary of its own."""
    Path("base").mkdir(exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
    Path("base/vocab.txt").write_text("\n".join(words) + "\n")
    Path("base/tokenizer_config.json").write_text('{"do_lower_case": true, "tokenizer_class": "BertTokenizer"}\n')
    shape = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = BertConfig(vocab_size=len(words), max_position_embeddings=LONGEST, **shape)
    randomized(BertModel(config, add_pooling_layer=False), 0).save_pretrained("base")


def vectors(model, tokenizer, setup):
    """Return the states at CLS of all texts, in one padded batch, with these adapters active."""
    model.set_active_adapters(setup)
    batch = tokenizer(
        TEXTS, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt", return_token_type_ids=False
    )
    with torch.no_grad():
        states = model(**batch).last_hidden_state
    return [[round(number, 8) for number in row] for row in states[:, 0].tolist()]


def main():
    """Write everything into a new folder, and pack it."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    write_base()
    tokenizer = AutoTokenizer.from_pretrained("base")
    model = AutoAdapterModel.from_pretrained("base")
    for code in CODES:
        model.add_adapter(code, config=SeqBnConfig(reduction_factor=4))
    setups = {code: Fuse(code, *(other for other in CODES if other != code)) for code in CODES}
    for setup in setups.values():
        model.add_adapter_fusion(setup)
    randomized(model, 1, (".adapters.", "adapter_fusion_layer")).eval()
    known = {"texts": TEXTS, "base": vectors(model, tokenizer, None), "adapters": {}, "fusions": {}}
    for code, setup in setups.items():
        known["adapters"][code] = vectors(model, tokenizer, code)
        known["fusions"][code] = vectors(model, tokenizer, setup)
        Path("adapters").mkdir(exist_ok=True)
        model.save_adapter(f"adapters/{code}", code)
        model.save_adapter_fusion(f"{code}_fusion", setup)
    Path("vectors.json").write_text(json.dumps(known) + "\n")
    shutil.make_archive(str(PACKED.with_suffix("")), "zip", folder)


if __name__ == "__main__":
    main()
