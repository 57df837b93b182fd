"""Write what transformers 4.57.6 says for ERNIE-M, which later versions do not have.

In an environment of its own, with torch and numpy of any recent version:

    pip install --no-deps --target site transformers==4.57.6 tokenizers==0.22.2 \
        huggingface_hub==0.36.2
    PYTHONPATH=site python make_ernie_m.py ernie_m.safetensors

Nothing of theirs is mended. All numbers are float64, the weights drawn anew: none is 0 or 1.
"""

import sys

import torch
from safetensors.torch import save_file
from transformers import __version__
from transformers.models.deprecated.ernie_m.configuration_ernie_m import ErnieMConfig
from transformers.models.deprecated.ernie_m.modeling_ernie_m import ErnieMModel

VOCAB, PADDING, LENGTH = 20, 1, 7


def main(target: str) -> None:
    assert __version__ == "4.57.6", __version__
    torch.set_default_dtype(torch.float64)
    config = ErnieMConfig(
        vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=24, max_position_embeddings=12, attn_implementation="eager",
    )  # fmt: skip
    model = ErnieMModel(config, add_pooling_layer=False).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(drawn * 0.4 + (parameter.ndim == 1) * 0.3)
    tokens = torch.randint(4, VOCAB, (3, LENGTH), generator=generator)
    real = torch.arange(LENGTH) < torch.tensor([LENGTH, 5, 3])[:, None]
    real[2] = real[2].flip(0)  # padding in front: their places are counted over all tokens
    tokens[~real] = PADDING
    states = model(input_ids=tokens, attention_mask=real.long()).last_hidden_state
    direction = torch.randn(states[real].shape, generator=generator, dtype=torch.float64)
    (states[real] * direction).sum().backward()
    found = {"tokens": tokens, "real": real, "states": states[real], "direction": direction}
    for name, parameter in model.named_parameters():
        found[f"weight.{name}"], found[f"gradient.{name}"] = parameter, parameter.grad
    save_file({name: each.detach().contiguous().clone() for name, each in found.items()}, target)


if __name__ == "__main__":
    main(sys.argv[1])
