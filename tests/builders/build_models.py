"""Random models in the public layouts, made by the reference library, and what it computes with them."""

import shutil

import torch
import transformers
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel, RobertaConfig, RobertaModel

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

SHAPE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def reference(family="bert", *, vocabulary=500, seed=0, **changes):
    """A BERT, RoBERTa or MPNet of the reference library whose every weight matters, norms and biases included."""
    shape = SHAPE | {"vocab_size": vocabulary} | changes
    if family == "bert":
        model = BertModel(BertConfig(**shape))
    elif family == "mpnet":
        model = MPNetModel(MPNetConfig(**{"max_position_embeddings": 514, "pad_token_id": 1} | shape))
    else:
        model = RobertaModel(RobertaConfig(**{"max_position_embeddings": 514} | shape))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            middle = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            weight.copy_(middle + 0.3 * torch.randn(weight.shape, generator=generator))
    return model.eval()


def write(folder, model, tokenizer_files=None):
    """Write the model as its own library does, with copies of a folder's tokenizer files."""
    model.save_pretrained(folder)
    if tokenizer_files is not None:
        shutil.copytree(tokenizer_files, folder, dirs_exist_ok=True)
    return folder


def expected_states(model, sequences, types=None):
    """The reference's last hidden states, text by text, computed in padded batches with a mask."""
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    states = [None] * len(sequences)
    for start in range(0, len(order), 32):
        chosen = order[start : start + 32]
        longest = len(sequences[chosen[-1]])
        shape = (len(chosen), longest)
        ids = torch.full(shape, model.config.pad_token_id)
        mask, segments = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
        for row, i in enumerate(chosen):
            ids[row, : len(sequences[i])] = torch.tensor(sequences[i])
            mask[row, : len(sequences[i])] = 1
            if types is not None:
                segments[row, : len(sequences[i])] = torch.tensor(types[i])
        out = model(input_ids=ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        for row, i in enumerate(chosen):
            states[i] = out[row, : len(sequences[i])]
    return states


def draw(lengths, *, vocabulary=500, seed=1):
    """Token ids of texts of these lengths; none is a padding id."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(5, vocabulary, (n,), generator=generator).tolist() for n in lengths]
