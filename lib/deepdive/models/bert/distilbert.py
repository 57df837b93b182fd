"""DistilBERT: a BERT with half the layers, distilled from BERT. Sanh et al. 2019, "DistilBERT, a
distilled version of BERT: smaller, faster, cheaper and lighter".

The model is `deepdive.models.bert.bert.Bert` with other sizes; what makes it DistilBERT is its
training (`deepdive.training.objectives`: soft targets, masked language modeling, and the cosine
between the hidden states of student and teacher).

System: distilbert
Parent: bert
What differs:
- half as many layers (`n_layers`), initialized from every second layer of the teacher (`student`)
- no segment embeddings (`n_segments` = 0) and no second text: next sentence prediction and its
  pooler are left out
- it also learns from a teacher's logits and hidden states (`deepdive.training.objectives`)
Source: Sanh et al. 2019, sections 2 and 3.
Book: 3.2
"""

import copy
from typing import Any

import torch

from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.positions import LearnedPosition

BASE = EncoderConfig(n_layers=6, n_segments=0, family="distilbert")
TINY = BASE.but(**TOY | {"n_layers": 1})


def distilbert(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the published size."""
    return bert(config, **changes)


def student(teacher: Bert) -> Bert:
    """Return a copy of the teacher with every second of its layers: 0, 2, 4 and so on.

    The embedding of segment 0, to which every token of a single text belongs, is added to the
    position embeddings, so no part of the teacher's input is lost; the paper leaves it out.
    Source: Sanh et al. 2019, section 2, "student initialization".
    """
    model = copy.deepcopy(teacher)
    model.stack.blocks = model.stack.blocks[::2]
    embeddings, n_layers = model.embeddings, len(model.stack.blocks)
    model.config = teacher.config.but(n_layers=n_layers, n_segments=0, family=BASE.family)
    if embeddings.segments is not None and isinstance(embeddings.position, LearnedPosition):
        with torch.no_grad():
            embeddings.position.table.weight += embeddings.segments.weight[0]
        embeddings.segments, embeddings.n_segments = None, 0
    return model
