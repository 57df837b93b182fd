"""Tasks as texts that GPT reads: the inputs, the state that answers, the loss of tuning."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import OpenAIGPTConfig, OpenAIGPTForSequenceClassification

from deepdive.models.generative.gpt import TINY, gpt
from deepdive.models.generative.gpt_tasks import Answerer, Marks
from deepdive.training.objectives.generative import next_token_loss, tuning_loss

MARKS = Marks(start=29, delimiter=30, extract=31)
A, B, C = [4, 5], [6, 7, 8], [9]


def answerer(n_classes: int) -> Answerer:
    torch.manual_seed(0)
    return Answerer(gpt(TINY), n_classes).double().eval()


def padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return tokens, torch.tensor([[i < len(row) for i in range(longest)] for row in rows])


def test_inputs_are_those_of_the_paper() -> None:
    assert MARKS.one(A) == [29, 4, 5, 31]
    assert MARKS.pair(A, B) == [29, 4, 5, 30, 6, 7, 8, 31]
    assert MARKS.both_orders(A, C) == [[29, 4, 5, 30, 9, 31], [29, 9, 30, 4, 5, 31]]
    assert MARKS.choices(A, [B, C]) == [[29, 4, 5, 30, 6, 7, 8, 31], [29, 4, 5, 30, 9, 31]]


def test_the_last_real_token_answers_whatever_stands_behind() -> None:
    model, rows = answerer(3), [MARKS.one(A), MARKS.pair(A, B)]
    together = model(*padded(rows))
    for row, found in zip(rows, together, strict=True):
        state = model.model.decoder(torch.tensor([row]))[0, -1]
        assert torch.allclose(found, state @ model.out.weight.T + model.out.bias)
        assert torch.allclose(found, model(torch.tensor([row]))[0])


def test_similarity_has_no_order_and_a_choice_scores_each_answer_alone() -> None:
    model = answerer(2)
    tokens, mask = padded([*MARKS.both_orders(A, B), *MARKS.both_orders(B, A)])
    one, other = model.similar(tokens.unflatten(0, (2, 2)), mask.unflatten(0, (2, 2)))
    assert torch.allclose(one, other)
    chooser = answerer(1)
    tokens, mask = padded(MARKS.choices(A, [B, C, A]))
    scores = chooser.choose(tokens[None], mask[None])
    assert scores.shape == (1, 3)
    assert torch.allclose(scores[0], chooser(tokens, mask)[:, 0])


def test_a_choice_without_its_axis_is_refused() -> None:
    with pytest.raises(ValueError, match="C texts each"):
        answerer(1).choose(torch.tensor([MARKS.one(A)]))


@torch.no_grad()
def test_the_losses_are_their_equations() -> None:
    model = answerer(2)
    tokens, mask = padded([MARKS.pair(A, B), MARKS.one(A)])
    logits = model.model(tokens, mask)
    shares = logits.log_softmax(-1)
    by_hand = [
        -shares[b, t, tokens[b, t + 1]]
        for b in range(2)
        for t in range(tokens.shape[1] - 1)
        if mask[b, t + 1]
    ]
    mean = float(sum(by_hand) / len(by_hand))
    assert next_token_loss(logits, tokens, mask) == pytest.approx(mean)
    whole = next_token_loss(logits[:1], tokens[:1])
    assert whole == pytest.approx(float(next_token_loss(logits[:1], tokens[:1], mask[:1])))
    task = torch.tensor(0.7)
    assert tuning_loss(task, whole) == pytest.approx(0.7 + 0.5 * float(whole))


def test_it_answers_as_transformers_does() -> None:
    """Theirs reads the last token that is not padding's, by one matrix without a bias."""
    torch.manual_seed(1)
    sizes = {"vocab_size": 32, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4}
    theirs = OpenAIGPTForSequenceClassification(
        OpenAIGPTConfig(**sizes, num_labels=3, pad_token_id=0)
    )
    theirs = theirs.double().eval()
    ours = Answerer(gpt(TINY, d_ff=128), 3).double().eval()
    from deepdive.published import family
    from deepdive.published.weights import adopt

    named = {n: t for n, t in theirs.state_dict().items() if n.startswith("transformer.")}
    named["lm_head.weight"] = named["transformer.tokens_embed.weight"]
    adopt(ours.model, named, [*family("openai-gpt").older, family("openai-gpt").table()])
    ours.out.weight.data.copy_(theirs.score.weight)
    ours.out.bias.data.zero_()
    tokens, mask = padded([MARKS.pair(A, B), MARKS.one(A)])
    expected = theirs(tokens, attention_mask=mask.double()).logits
    assert torch.allclose(ours(tokens, mask), expected, atol=1e-9)
