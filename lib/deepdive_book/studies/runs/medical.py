"""Case study 7: continue MiniLM's pretraining on medical or other text, then fine-tune it.

    parts = folds(labels)                                  # five times (train, valid, test)
    sequences = packed(medquad_answers(), tokenizer)       # (N, 128) tokens
    model = with_head(minilm(), sequences, tokenizer, 200) # a masked-LM head, encoder frozen
    folder = saved(continue_pretraining(model, sequences, tokenizer, 842).bert, ...)
    model, history = fine_tune(begin(folder, 5), ids, labels, parts[0])

Two arms differ only in the text of the continued pretraining. The masked-LM head was trained first
on both texts with a frozen encoder; the number of tokens, steps, and the fine-tuning are the same.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.data import read_labeled
from deepdive.data.reviews import Labeled
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive.published.folders import load, save
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive.published.weights import from_hub
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training import History, Keep, Validation, fit
from deepdive.training.objectives import cross_entropy, mask_tokens
from deepdive.training.optim import adam, linear
from deepdive_book.data.medical import abstracts
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.kit.profile import pick, profile
from deepdive_book.tasks.classification import Ids, batches, predict

LENGTH, EPOCHS = 128, 3.0
TEXTS = 7  # in a batch, padded to the longest
RATE = 1e-4  # chosen on the validation parts of two folds
MLM_RATE, HEAD_RATE = 1e-4, 1e-3


def chosen_texts(file: str, text: str, label: str) -> Labeled:
    """The rows of a reader's table, or PubMed abstracts; generated reviews in the profile `ci`.

    The environment variable DEEPDIVE_MEDICAL names a table as `file` does, and wins over it.
    """
    if file := os.environ.get("DEEPDIVE_MEDICAL", file):
        return read_labeled(file, text, label)
    return generated_reviews(300, classes=3) if profile() == "ci" else abstracts()


def chosen_encoder(name: str) -> tuple[str, Path, WordPieceTokenizer]:
    """The encoder's name, folder, and tokenizer: a folder or a name on the hub, else MiniLM.

    DEEPDIVE_ENCODER wins over `name`; the default of the profile `gpu` is Bio_ClinicalBERT.
    """
    name = os.environ.get("DEEPDIVE_ENCODER", name)
    name = name or pick(ci="", laptop="", gpu="emilyalsentzer/Bio_ClinicalBERT")
    if not name:
        return "", minilm(), minilm_tokenizer()
    folder = Path(name) if Path(name).is_dir() else from_hub(name)
    words = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return name, folder, WordPieceTokenizer(words, BERT_SPECIALS)


class Parts(NamedTuple):
    """Indices of the training, validation, and test texts."""

    train: list[int]
    valid: list[int]
    test: list[int]


def folds(labels: Sequence[int], k: int = 5, seed: int = 0) -> list[Parts]:
    """k stratified splits: each text is tested once; a tenth of the others is for validation."""
    from sklearn.model_selection import StratifiedKFold

    found, y = [], np.asarray(labels)
    for rest, test in StratifiedKFold(k, shuffle=True, random_state=seed).split(y, y):
        tenths = StratifiedKFold(10, shuffle=True, random_state=seed).split(rest, y[rest])
        train, valid = next(iter(tenths))
        found.append(Parts(rest[train].tolist(), rest[valid].tolist(), test.tolist()))
    return found


def weights_of(labels: Sequence[int], n_classes: int) -> Tensor:
    """n / (k n[c]), (k,): with these weights every class counts equally in the loss."""
    counts = torch.bincount(torch.tensor(labels), minlength=n_classes)
    return len(labels) / (n_classes * counts.clamp_min(1))


def weighted_loss(weights: Tensor | None, model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    """The cross-entropy of the labels, each text with its class's weight."""
    labels, tokens = batch
    weights = None if weights is None else weights.to(tokens.device)
    return F.cross_entropy(model(tokens, tokens != 0), labels[:, 0], weights)


def fine_tune(
    model: nn.Module,
    ids: Ids,
    labels: Sequence[int],
    parts: Parts,
    *,
    rate: float = RATE,
    epochs: float = EPOCHS,
    weights: Tensor | None = None,
    seed: int = 0,
    folder: Keep | None = None,
    progress: bool = True,
) -> tuple[nn.Module, History]:
    """Fine-tune a classifier on `parts.train`; of four checkpoints the best on `parts.valid` stays.

    The learning rate warms up over the first tenth of the steps, then decays linearly. `weights`
    (k,) are class weights, in the training and in the validation loss.
    """
    train, targets = [ids[i] for i in parts.train], [labels[i] for i in parts.train]
    groups = batches(train, targets, max_tokens=TEXTS * max(map(len, train)), seed=seed)
    steps = max(1, round(epochs * len(groups)))
    checks, truth = [ids[i] for i in parts.valid], torch.tensor([labels[i] for i in parts.valid])

    def validation_loss(model: nn.Module) -> float:
        logits = predict(model, checks, progress=False)
        return float(F.cross_entropy(logits, truth, weights))

    with redirect_stdout(StringIO()):  # no line about checkpoints in a page's output
        history = fit(
            model, groups, partial(weighted_loss, weights), steps=steps, seed=seed, folder=folder,
            optimizer=adam(model, lr=rate, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01),
            schedule=linear(rate, warmup=max(1, steps // 10), total=steps + 1),
            validate=Validation(validation_loss, every=max(1, steps // 4)), progress=progress,
        )  # fmt: skip
    return model.eval(), history


def packed(texts: Iterable[str], tokenizer: WordPieceTokenizer, length: int = LENGTH) -> Tensor:
    """[CLS] tokens [SEP], (N, length): the texts concatenated and cut into sequences."""
    flow = [token for text in texts for token in tokenizer.encode(text)]
    room = length - 2
    rows = [flow[i : i + room] for i in range(0, len(flow) - room + 1, room)]
    return torch.tensor([[tokenizer.bos, *row, tokenizer.eos] for row in rows])


def masked_loss(
    tokenizer: Any, model: BertForMaskedLM, batch: tuple[Tensor], **masking: Any
) -> Tensor:
    """The cross-entropy of masked tokens, sampled again for each batch, in nats."""
    inputs, targets, chosen = mask_tokens(batch[0], tokenizer, **masking)
    states = model.bert(inputs, batch[0] != tokenizer.pad)
    return cross_entropy(model.masked_logits(states[chosen]), targets[chosen], pad=None)


def with_head(
    folder: str | Path, rows: Tensor, tokenizer: Any, steps: int, device: str = "cpu"
) -> BertForMaskedLM:
    """The encoder of a folder with a masked-LM head trained on `rows` while it was frozen."""
    torch.manual_seed(0)
    model = for_masked_lm(load(folder)).to(device)
    model.bert.requires_grad_(False)
    return _masked_lm(model, rows, tokenizer, steps, HEAD_RATE)


def continue_pretraining(
    model: BertForMaskedLM, rows: Tensor, tokenizer: Any, steps: int, *, progress: bool = True
) -> BertForMaskedLM:
    """Train the full model on masked language modeling for `steps` steps, in place."""
    model.requires_grad_(True)
    return _masked_lm(model, rows, tokenizer, steps, MLM_RATE, progress)


def _masked_lm(
    model: Any, rows: Tensor, tokenizer: Any, steps: int, rate: float, progress: bool = True
) -> BertForMaskedLM:
    order = torch.Generator().manual_seed(0)
    groups = [
        (rows[some],)
        for _ in range(1 + steps * 32 // len(rows))
        for some in torch.randperm(len(rows), generator=order).split(32)
    ][:steps]
    trained = [p for p in model.parameters() if p.requires_grad]
    assert trained
    fit(
        model, groups, partial(masked_loss, tokenizer), steps=steps, progress=progress,
        optimizer=adam(model, lr=rate, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.01),
        schedule=linear(rate, warmup=max(1, steps // 10), total=steps + 1),
    )  # fmt: skip
    return model.eval()


@torch.no_grad()
def masked_losses(model: BertForMaskedLM, rows: Sequence[Sequence[int]], tokenizer: Any) -> Tensor:
    """The mean loss of the masked tokens of each text, (N,): the same tokens for every model."""
    device, found = next(model.parameters()).device, []
    for k, row in enumerate(rows):
        draw = torch.Generator().manual_seed(k)
        inputs, targets, chosen = mask_tokens(
            torch.tensor([row]), tokenizer, mask=1.0, random=0.0, generator=draw
        )
        if chosen.any():
            states = model.bert(inputs.to(device)).cpu()[chosen].to(device)
            logits = model.masked_logits(states).cpu()
            found.append(F.cross_entropy(logits, targets[chosen]))
    return torch.stack(found)


def saved(encoder: nn.Module, folder: Path, like: str | Path) -> Path:
    """Write an encoder, with the pooler of `like`, as a folder for `published.classifier.begin`."""
    from deepdive.published.weights import read
    from deepdive.training.checkpoint import write_tensors

    save(encoder, folder)
    mine, theirs = read(folder), read(like)
    pooler = {name: x for name, x in theirs.items() if "pooler" in name}
    write_tensors({**mine, **pooler}, folder / "model.safetensors")
    return folder
