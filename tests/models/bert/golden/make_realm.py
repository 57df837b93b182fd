"""Write what transformers 4.57.6 computes for REALM, which later versions do not have.

In an environment of its own, with torch and numpy of any recent version:

    pip install --no-deps --target site transformers==4.57.6 tokenizers==0.22.2 \
        huggingface_hub==0.36.2
    PYTHONPATH=site python make_realm.py realm.safetensors

All numbers are float64; `Tensor.type` would make the mask of masked tokens float32 and is replaced
while it runs. The scorer has an embedder for queries and one for candidates. The loss is that of
the knowledge-augmented encoder, with the scorer's relevance scores: its gradients reach both
embedders through it.
"""

import sys

import torch
from safetensors.torch import save_file
from transformers import __version__
from transformers.models.deprecated.realm.configuration_realm import RealmConfig
from transformers.models.deprecated.realm.modeling_realm import (
    RealmEmbedder,
    RealmKnowledgeAugEncoder,
    RealmScorer,
)

VOCAB, K, B, T = 20, 3, 2, 7


def as_double(self: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return self.to(torch.float64 if dtype == torch.float32 else dtype)


def perturbed(model: torch.nn.Module, generator: torch.Generator) -> torch.nn.Module:
    model = model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(drawn * 0.4 + (parameter.ndim == 1) * 0.3)
    return model


def main(target: str) -> None:
    assert __version__ == "4.57.6", __version__
    torch.set_default_dtype(torch.float64)
    torch.Tensor.type = as_double
    config = RealmConfig(
        vocab_size=VOCAB, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=12, max_position_embeddings=12, retriever_proj_size=5, num_candidates=K,
        pad_token_id=0,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    scorer = perturbed(RealmScorer(config, RealmEmbedder(config)), generator)
    encoder = perturbed(RealmKnowledgeAugEncoder(config), generator)
    tokens = {
        "query": torch.randint(4, VOCAB, (B, 5), generator=generator),
        "candidates": torch.randint(4, VOCAB, (B, K, 4), generator=generator),
        "joint": torch.randint(4, VOCAB, (B, K, T), generator=generator),
        "labels": torch.randint(4, VOCAB, (B, T), generator=generator),
        "masked": torch.tensor([[0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0]]),
    }
    segments = (torch.arange(T) >= 4).long().expand(B, K, T)
    lengths = torch.tensor([[4, 2, 3], [3, 4, 4]])
    real = (torch.arange(4) < lengths[..., None]).long()
    joint_real = (torch.arange(T) < 3 + lengths[..., None]).long()
    scored = scorer(
        input_ids=tokens["query"], attention_mask=torch.ones_like(tokens["query"]),
        candidate_input_ids=tokens["candidates"], candidate_attention_mask=real,
        candidate_token_type_ids=torch.zeros_like(real),
    )  # fmt: skip
    scored.relevance_score.retain_grad()
    output = encoder(
        input_ids=tokens["joint"], attention_mask=joint_real, token_type_ids=segments,
        relevance_score=scored.relevance_score, labels=tokens["labels"], mlm_mask=tokens["masked"],
    )  # fmt: skip
    output.loss.backward()
    found = tokens | {
        "candidates_real": real, "joint_real": joint_real, "segments": segments,
        "query_vectors": scored.query_score, "relevance": scored.relevance_score,
        "relevance_gradient": scored.relevance_score.grad, "logits": output.logits,
        "loss": output.loss.view(1),
    }  # fmt: skip
    models = {"scorer": scorer, "encoder": encoder}
    for name, model in models.items():
        for parameter, values in model.named_parameters():
            if values.grad is None:  # the prediction head that their projection never uses
                continue
            found[f"weight.{name}.{parameter}"] = values
            found[f"gradient.{name}.{parameter}"] = values.grad
    save_file({name: each.detach().contiguous().clone() for name, each in found.items()}, target)


if __name__ == "__main__":
    main(sys.argv[1])
