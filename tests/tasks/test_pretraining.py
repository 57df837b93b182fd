"""Documents, batches of pairs, and the two losses of BERT's pre-training."""

import pytest
import torch
from parity_registry import perturb

from deepdive.data.documents import TOPICS, generated_documents, web_documents
from deepdive.models.bert.bert import bert
from deepdive.models.bert.pretraining import for_pretraining
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import cross_entropy, mask_tokens, next_sentence_pairs
from deepdive_book.tasks.pretraining import pair_batches, pretraining_losses, pretraining_scores

DOCUMENTS = generated_documents(12, seed=1)
TOKENIZER = WordPieceTokenizer.train(
    (text for document in DOCUMENTS for text in document), 120, specials=BERT_SPECIALS
)
PAIRS = next_sentence_pairs(DOCUMENTS)


def model():
    encoder = bert(
        vocab_size=len(TOKENIZER), d_model=16, n_heads=2, n_layers=1, d_ff=32, dropout=0.0
    )
    return perturb(for_pretraining(encoder).double())


def test_a_generated_document_keeps_to_its_topic_and_its_number():
    for document in DOCUMENTS:
        assert len(document) == 8
        topics = []
        for sentence in document:
            _, _, who, does, _, _, where, _ = sentence.split()
            for topic, (actors, deeds, places) in TOPICS.items():
                many = [who == pair[1] for pair in actors if who in pair]
                if where in places and many:
                    assert [does == pair[1] for pair in deeds if does in pair] == many
                    topics.append(topic)
        assert len(topics) == 8
        assert len(set(topics)) == 1


@pytest.mark.data("ud_english_ewt")
def test_web_documents_are_the_sentences_of_the_treebank():
    documents = web_documents()
    assert (len(documents), sum(map(len, documents))) == (540, 12544)
    as_filed = web_documents(seed=None)
    assert as_filed[0][0].startswith("Al-Zaman : American forces killed")
    assert documents != as_filed, "drawn, so that a slice is a sample"
    assert sorted(documents) == sorted(as_filed), "each document whole, in its own order"
    assert sum(map(len, web_documents("dev"))) == 2001


def test_an_unknown_part_is_named():
    with pytest.raises(ValueError, match="part: got 'valid'"):
        web_documents("valid")


def test_batches_hold_every_pair_once_and_are_cut_to_length():
    batches = pair_batches(PAIRS, TOKENIZER, size=7, max_length=20)
    assert len(batches) == len(PAIRS) // 7
    rows = set()
    for tokens, mask, segments, labels in batches:
        assert tokens.shape == mask.shape == segments.shape
        assert len(labels) == 7
        assert tokens.shape[1] <= 20
        assert ((tokens == TOKENIZER.eos).sum(1) == 2).all()
        assert torch.equal(mask, tokens != TOKENIZER.pad)
        rows |= {tuple(row) for row in tokens[:, : int(mask.sum(1).min())].tolist()}
    assert len(rows) > len(batches)
    again = pair_batches(PAIRS, TOKENIZER, size=7, max_length=20)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(batches, again, strict=True))
    (only,) = pair_batches(PAIRS[:3], TOKENIZER, size=7)
    assert len(only[0]) == 3


def test_losses_are_those_of_all_logits():
    """Logits at the chosen places alone give the loss that all logits give."""
    net, batch = model(), pair_batches(PAIRS, TOKENIZER, size=8)[0]
    tokens, mask, segments, labels = batch
    masked, following = pretraining_losses(
        net, batch, TOKENIZER, generator=torch.Generator().manual_seed(2)
    )
    inputs, targets, _ = mask_tokens(tokens, TOKENIZER, generator=torch.Generator().manual_seed(2))
    logits = net(inputs, mask, segments)
    torch.testing.assert_close(masked, cross_entropy(logits, targets, TOKENIZER.pad))
    states = net.bert(inputs, mask, segments)
    torch.testing.assert_close(following, cross_entropy(net.next_logits(states), labels, pad=None))
    assert not torch.isclose(masked, pretraining_losses(net, batch, TOKENIZER)[0])  # other masks


def test_scores_are_means_over_tokens_and_pairs():
    net, batches = model().train(), pair_batches(PAIRS, TOKENIZER, size=8)[:3]
    scores = pretraining_scores(net, batches, TOKENIZER, rate=0.5)
    assert net.training
    assert scores == pretraining_scores(net, batches, TOKENIZER, rate=0.5)
    draw, losses, counts = torch.Generator().manual_seed(0), [], []
    for batch in batches:
        chosen = mask_tokens(
            batch[0], TOKENIZER, 0.5, generator=torch.Generator().set_state(draw.get_state())
        )[2]
        masked, following = pretraining_losses(net, batch, TOKENIZER, rate=0.5, generator=draw)
        losses.append((masked.item(), following.item()))
        counts.append(int(chosen.sum()))
    mean = sum(n * loss for n, (loss, _) in zip(counts, losses, strict=True)) / sum(counts)
    assert scores["masked_loss"] == pytest.approx(mean)
    assert scores["next_loss"] == pytest.approx(sum(loss for _, loss in losses) / 3)
    assert 0 <= scores["masked_accuracy"] <= 1
    assert (24 * scores["next_accuracy"]) == pytest.approx(round(24 * scores["next_accuracy"]))
