"""Write what transformers 4.57.6 says for Speech2Text2, which later versions do not have.

In an environment of its own, with torch and numpy of any recent version:

    pip install --no-deps --target site transformers==4.57.6 tokenizers==0.22.2 \
        huggingface_hub==0.36.2
    PYTHONPATH=site python make_speech2text2.py speech2text2.safetensors

The class is broken there in two places, and both are mended here: its `_init_weights` reads a table
of waves that does not exist (`module.weight`), and its `__init__` never makes the table. All
numbers are float64, the weights drawn anew: none is 0 or 1. The waves are computed in float64.
"""

import math
import sys

import torch
from safetensors.torch import save_file
from transformers import __version__
from transformers.models.deprecated.speech_to_text_2 import modeling_speech_to_text_2 as theirs
from transformers.models.deprecated.speech_to_text_2.configuration_speech_to_text_2 import (
    Speech2Text2Config,
)

VOCAB, WIDTH, PADDING = 12, 8, 1


def waves(rows: int) -> torch.Tensor:
    half = WIDTH // 2
    rates = torch.exp(torch.arange(half).double() * -(math.log(10_000) / (half - 1)))
    angles = torch.arange(rows).double()[:, None] * rates
    table = torch.cat((angles.sin(), angles.cos()), 1)
    table[PADDING] = 0.0
    return table


def main(target: str) -> None:
    assert __version__ == "4.57.6", __version__
    torch.set_default_dtype(torch.float64)  # its masks are of this type
    theirs.Speech2Text2PreTrainedModel._init_weights = lambda self, module: None  # first mend
    config = Speech2Text2Config(
        vocab_size=VOCAB, d_model=WIDTH, decoder_layers=2, decoder_attention_heads=2,
        decoder_ffn_dim=12, max_target_positions=16, use_cache=False, attn_implementation="eager",
    )  # fmt: skip
    model = theirs.Speech2Text2ForCausalLM(config).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(drawn * 0.4 + (parameter.ndim == 1) * 0.3)
    model.lm_head.weight = model.model.decoder.embed_tokens.weight
    position = model.model.decoder.embed_positions
    position.make_weights(18, WIDTH, PADDING)  # second mend
    assert (position.weights.double() - waves(18)).abs().max() < 1e-6
    position.weights.data = waves(18)
    tokens = torch.randint(4, VOCAB, (3, 6), generator=generator)
    real = torch.arange(6) < torch.tensor([6, 4, 2])[:, None]
    tokens[~real] = PADDING
    memory = torch.randn(3, 7, WIDTH, generator=generator, dtype=torch.float64).requires_grad_()
    heard = torch.arange(7) < torch.tensor([7, 3, 5])[:, None]
    logits = model(
        input_ids=tokens, attention_mask=real.long(), encoder_hidden_states=memory,
        encoder_attention_mask=heard.long(),
    ).logits  # fmt: skip
    direction = torch.randn(logits[real].shape, generator=generator, dtype=torch.float64)
    (logits[real] * direction).sum().backward()
    found = {
        "tokens": tokens, "real": real, "memory": memory, "heard": heard, "logits": logits[real],
        "direction": direction, "gradient.memory": memory.grad,
    }  # fmt: skip
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            found[f"weight.{name}"], found[f"gradient.{name}"] = parameter, parameter.grad
    save_file({name: each.detach().contiguous().clone() for name, each in found.items()}, target)


if __name__ == "__main__":
    main(sys.argv[1])
