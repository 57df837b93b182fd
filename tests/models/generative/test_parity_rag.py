"""RAG against transformers, in float64: logits under each document, both losses, and gradients of
logits and document scores; a folder in the published form; and the likelihoods' identities.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import SIZES as BERT_SIZES
from parity_bert import double_precision, saved_and_loaded
from parity_proofs import real, rows, tokens
from parity_registry import differs, equal, parity, perturb
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    DPRConfig,
    DPRQuestionEncoder,
    RagConfig,
    RagSequenceForGeneration,
    RagTokenForGeneration,
)

from deepdive.decoding import beam, greedy
from deepdive.models.generative import rag
from deepdive.models.generative.rag import Rag
from deepdive.published import rag as published
from deepdive.training.objectives import marginal_likelihood
from deepdive.training.objectives.marginal_likelihood import (
    document_posterior,
    sequence_marginal,
    token_log_probs,
    token_marginal,
)

B, K, S = 2, 3, 6
BART_SIZES: dict[str, Any] = {
    "vocab_size": 28, "d_model": 16, "encoder_layers": 2, "decoder_layers": 1,
    "encoder_attention_heads": 4, "decoder_attention_heads": 2, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20, "max_position_embeddings": 12, "pad_token_id": 1, "bos_token_id": 0,
    "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
QUESTIONS, MASK = tokens(B, 5, vocab=28), real([5, 3], 5)
SRC, SRC_MASK = tokens(B * K, S, vocab=28, seed=1), real([6, 4, 5, 3, 6, 6], S)
SRC = SRC.masked_fill(~SRC_MASK, 1).view(B, K, S)
SRC_MASK = SRC_MASK.view(B, K, S)
TGT = tokens(B, 5, vocab=28, seed=2)  # the start token, then what is predicted
TGT[:, 0], TGT[0, -1], TGT[1, 3:] = 2, 2, 1
KINDS: dict[Any, Callable[..., Tensor]] = {
    RagSequenceForGeneration: sequence_marginal, RagTokenForGeneration: token_marginal,
}  # fmt: skip


def made(kind: Any) -> Any:
    torch.manual_seed(0)
    sizes = BERT_SIZES | {"projection_dim": 0}
    question, generator = DPRConfig(**sizes), BartConfig(**BART_SIZES)
    config = RagConfig.from_question_encoder_generator_configs(question, generator, n_docs=K)
    parts = DPRQuestionEncoder(question), BartForConditionalGeneration(generator)
    return perturb(kind(config, *parts).double().eval())


def of_theirs(theirs: Any, scores: Tensor) -> Any:
    return theirs(
        context_input_ids=SRC.flatten(0, 1), context_attention_mask=SRC_MASK.flatten(0, 1).long(),
        doc_scores=scores, labels=TGT, exclude_bos_score=False, n_docs=K,
        decoder_attention_mask=(TGT != 1).long(), use_cache=False,
    )  # fmt: skip


@parity("rag", Rag)
def rag_agrees() -> None:
    for kind, marginal in KINDS.items():
        theirs = made(kind)
        ours: Any = saved_and_loaded(theirs, published.load)
        vectors = rows(B, K, 16, seed=3)
        scores = ours.scores(QUESTIONS, vectors, MASK)
        asked = theirs.rag.question_encoder(QUESTIONS, MASK.long()).pooler_output
        expected_scores = torch.bmm(vectors, asked[..., None]).squeeze(-1)
        equal(scores, expected_scores)
        theirs_scores, ours_scores = (scores.detach().requires_grad_() for _ in range(2))
        found = of_theirs(theirs, theirs_scores)
        logits = ours(SRC, TGT, SRC_MASK, TGT != 1)
        keep = (TGT != 1)[:, None].expand(B, K, -1)
        equal(logits[keep], found.logits.view(B, K, 5, -1)[keep])
        log_p = token_log_probs(logits[:, :, :-1], TGT[:, 1:])
        losses = -marginal(log_p, ours_scores, TGT[:, 1:] != 1)
        equal(losses, found.loss)
        inputs: list[Any] = [logits, ours_scores]
        other: list[Any] = [found.logits, theirs_scores]
        mine = torch.autograd.grad(losses.sum(), inputs)
        wanted = torch.autograd.grad(found.loss.sum(), other)
        assert differs(mine[0][keep], wanted[0].view(B, K, 5, -1)[keep]) < 1e-8
        assert differs(mine[1], wanted[1]) < 1e-8
        assert wanted[1].abs().max() > 1e-3


def one_prior(log_p: Tensor, scores: Tensor, real: Tensor | None = None) -> Tensor:
    """A uniform prior: the retriever's scores don't matter."""
    return marginal_likelihood.token_marginal(log_p, scores * 0, real)


def ungated(log_p: Tensor, scores: Tensor, real: Tensor | None = None) -> Tensor:
    """Padding counts."""
    return marginal_likelihood.sequence_marginal(log_p, scores)


@pytest.mark.parametrize(("kind", "wrong"), [
    (RagTokenForGeneration, one_prior), (RagSequenceForGeneration, ungated),
    (RagSequenceForGeneration, token_marginal),
])  # fmt: skip
def test_a_mutation_is_seen(kind: Any, wrong: Callable[..., Tensor]) -> None:
    rag_agrees()
    with mock.patch.dict(KINDS, {kind: wrong}), pytest.raises(AssertionError):
        rag_agrees()


def test_a_saved_folder_is_theirs(tmp_path: Path) -> None:
    theirs = made(RagTokenForGeneration)
    ours: Any = saved_and_loaded(theirs, published.load)
    published.save(ours, tmp_path, "RagTokenForGeneration")
    with double_precision():
        again = RagTokenForGeneration.from_pretrained(tmp_path).double().eval()
    for name, tensor in theirs.state_dict().items():
        if ".pooler." not in name:
            assert torch.equal(again.state_dict()[name], tensor), name


def test_transformers_drops_the_prior_of_a_target_of_one_token() -> None:
    """Their RAG-Sequence adds log p(z | x) to the second target position, since the first is bos;
    where that is padding, the scores of the documents no longer matter.
    """
    theirs = made(RagSequenceForGeneration)
    short = torch.tensor([[2, 9, 1, 1, 1]]).expand(B, -1)
    with mock.patch.dict(globals(), TGT=short):
        first, second = (of_theirs(theirs, rows(B, K, seed=s) * 3).loss for s in (4, 5))
    assert torch.equal(first, second)


LOG_P = -rows(4, 3, 5, seed=6).abs()
SCORES = rows(4, 3, seed=7)
REAL = real([5, 3, 1, 4], 5)


def test_one_document_is_the_generator_alone() -> None:
    expected = LOG_P[:, 0].masked_fill(~REAL, 0.0).sum(-1)
    for marginal in (sequence_marginal, token_marginal):
        equal(marginal(LOG_P[:, :1], SCORES[:, :1], REAL), expected)
    model = rag.tiny().double().eval()
    src, tgt = tokens(2, 1, 4, vocab=32), tokens(2, 3, vocab=32)
    equal(model(src, tgt)[:, 0], model.generator(src[:, 0], tgt))


def test_with_one_token_both_likelihoods_are_equal() -> None:
    equal(sequence_marginal(LOG_P[..., :1], SCORES), token_marginal(LOG_P[..., :1], SCORES))


def test_the_order_of_documents_and_documents_of_probability_0_do_not_matter() -> None:
    order = torch.tensor([2, 0, 1])
    more = torch.cat((LOG_P, LOG_P[:, :1] * 3), 1)
    none = torch.cat((SCORES, torch.full((4, 1), -torch.inf)), 1)
    for marginal in (sequence_marginal, token_marginal):
        expected = marginal(LOG_P, SCORES, REAL)
        equal(marginal(LOG_P[:, order], SCORES[:, order], REAL), expected)
        equal(marginal(more, none, REAL), expected)
        equal(marginal(LOG_P, SCORES + 5.0, REAL), expected)


def test_the_sequence_likelihood_is_between_its_bounds() -> None:
    """It is at least each document's joint probability, and at most the best likelihood."""
    each = LOG_P.masked_fill(~REAL[:, None], 0.0).sum(-1)
    found = sequence_marginal(LOG_P, SCORES, REAL)
    assert (found >= (each + SCORES.log_softmax(-1)).amax(1)).all()
    assert (found <= each.amax(1)).all()
    assert (found >= (SCORES.softmax(-1) * each).sum(1)).all()  # Jensen's inequality


def test_the_gradient_of_the_scores_is_posterior_minus_prior() -> None:
    (found,) = torch.autograd.grad(sequence_marginal(LOG_P, SCORES, REAL).sum(), SCORES)
    posterior = document_posterior(LOG_P, SCORES, REAL)
    equal(found, posterior - SCORES.softmax(-1))
    equal(posterior.sum(1), torch.ones(4).double())
    each = LOG_P.transpose(1, 2).reshape(20, 3, 1)  # every token as a target of its own
    per_token = document_posterior(each, SCORES.repeat_interleave(5, 0))
    (found,) = torch.autograd.grad(token_marginal(LOG_P, SCORES).sum(), SCORES)
    equal(found, (per_token.view(4, 5, 3) - SCORES.softmax(-1)[:, None]).sum(1))


def test_one_document_trains_no_retriever() -> None:
    (found,) = torch.autograd.grad(sequence_marginal(LOG_P[:, :1], SCORES[:, :1]).sum(), SCORES)
    assert not found.any()


def test_rag_token_decodes_as_any_model_does() -> None:
    model = perturb(rag.tiny()).double().eval()
    src, scores = tokens(2, 3, 4, vocab=32), rows(2, 3, seed=8).detach()
    with torch.no_grad():
        outputs = greedy(model, src, scores, max_length=4, bos=2, eos=None)
        for b, output in enumerate(outputs):
            tgt = torch.tensor([[2, *output]])
            log_p = model(src[b : b + 1], tgt[:, :-1]).log_softmax(-1)
            each = (log_p + scores[b].log_softmax(-1)[None, :, None, None]).logsumexp(1)
            assert each.argmax(-1)[0].tolist() == output
        wide = beam(model, src, scores, max_length=4, bos=2, eos=3)
        assert len(wide) == 2


def test_thorough_decoding_is_the_sequence_likelihood_of_each_output() -> None:
    model = perturb(rag.tiny()).double().eval()
    src, scores = tokens(2, 3, 4, vocab=32), rows(2, 3, seed=8).detach()
    outputs = torch.tensor([[[2, 5, 6], [2, 7, 1]], [[2, 8, 1], [2, 9, 4]]])
    found = model.rank(src, scores, outputs, pad=1)
    log_p = token_log_probs(model(src[:1], outputs[:1, 1, :1]), outputs[:1, 1, 1:2])
    equal(found[:1, 1], sequence_marginal(log_p, scores[:1]))


@pytest.mark.parametrize("changes", [
    {"log_p": LOG_P[0]}, {"scores": SCORES[:, :2]}, {"real": REAL[:2]},
    {"log_p": LOG_P[:, :0], "scores": SCORES[:, :0]},
])  # fmt: skip
def test_shapes_that_do_not_fit_are_refused(changes: dict[str, Tensor]) -> None:
    given = {"log_p": LOG_P, "scores": SCORES, "real": REAL} | changes
    with pytest.raises(ValueError, match="got shape"):
        sequence_marginal(**given)
    with pytest.raises(TypeError, match="bool"):
        token_marginal(LOG_P, SCORES, REAL.long())
    with pytest.raises(ValueError, match="expected"):
        token_log_probs(LOG_P, TGT)
