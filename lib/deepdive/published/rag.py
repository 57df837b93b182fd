"""Load and save RAG folders: config.json names a question encoder (DPR's) and a generator (BART).

model = load("a/folder")                       # facebook/rag-sequence-nq, say, downloaded
save(model, "another/folder")                  # transformers loads it; so does `load`

The folder has no index: the vectors of the documents are a file of their own.
"""

import json
from pathlib import Path
from typing import Any

from deepdive.models.bert.sbert import SentenceEncoder, cls
from deepdive.models.generative.rag import Rag
from deepdive.published.folders import family, from_config
from deepdive.published.names import Names
from deepdive.published.weights import adopt, read, read_config
from deepdive.training.checkpoint import unshared, write_tensors

QUESTION, GENERATOR = "rag.question_encoder.question_encoder.bert_model.", "rag.generator."


def load(folder: str | Path) -> Rag:
    """Return the model of a folder that transformers' RagSequenceForGeneration or
    RagTokenForGeneration was saved in, in evaluation mode.

    Raises ValueError for another model, for a question encoder with a projection, and for unknown
    or missing tensors.
    """
    config = read_config(folder)
    asked, generator = (config.get(key) for key in ("question_encoder", "generator"))
    if config.get("model_type") != "rag" or not asked or not generator:
        raise ValueError(f"{folder}: config.json is no RAG's, with a question encoder, a generator")
    if asked.get("projection_dim"):
        raise ValueError(f"projection_dim={asked['projection_dim']}: expected 0, as in RAG's paper")
    encoder = SentenceEncoder(from_config(asked | {"model_type": "bert"}), cls)
    model = Rag(encoder, from_config(generator))
    tensors = read(folder)
    pooler = [name for name in tensors if name.startswith(f"{QUESTION}pooler.")]
    adopt(model, tensors, [_names(model)], leave_out=pooler)
    return model.eval()


def save(model: Rag, folder: str | Path, kind: str = "RagSequenceForGeneration") -> Path:
    """Write a RAG as transformers does, and return the folder. `kind`: the class in config.json,
    which decides how a document's choice is summed; the tensors are the same for both.
    """
    asked, generator = (part.config for part in _parts(model))
    settings: dict[str, Any] = {
        "architectures": [kind], "model_type": "rag",
        "question_encoder": family(asked.family).published(asked, None)
        | {"model_type": "dpr", "projection_dim": 0},
        "generator": family(generator.family).published(generator, None),
    }  # fmt: skip
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    tensors = _names(model).theirs(unshared(model.state_dict())[0])
    write_tensors(tensors, target / "model.safetensors")
    (target / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return target


def _parts(model: Rag) -> tuple[Any, Any]:
    if not isinstance(model.encoder, SentenceEncoder) or model.encoder.pooling is not cls:
        raise ValueError("model.encoder: expected a SentenceEncoder(bert, cls), DPR's form")
    return model.encoder.encoder, model.generator


def _names(model: Rag) -> Names:
    """Return the table of both parts' names."""
    parts = _parts(model)
    tables = [family(part.config.family).table(config=part.config) for part in parts]
    first = tables[0].within(QUESTION, "encoder.encoder.")
    return first | tables[1].within(GENERATOR, "generator.")
