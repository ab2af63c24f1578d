"""Random models in the public layouts, made by the reference library, and what it computes with them."""

import shutil

import torch
import transformers

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
    places = {} if family == "bert" else {"max_position_embeddings": 514, "pad_token_id": 1}
    config = transformers.AutoConfig.for_model(family, **places | SHAPE | {"vocab_size": vocabulary} | changes)
    model = transformers.AutoModel.from_config(config)
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


def expected_states(model, sequences):
    """The reference's last hidden states, text by text."""
    return [model(input_ids=torch.tensor([ids])).last_hidden_state[0] for ids in sequences]


def draw(lengths, *, vocabulary=500, seed=1):
    """Token ids of texts of these lengths; none is a padding id."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(5, vocabulary, (n,), generator=generator).tolist() for n in lengths]
