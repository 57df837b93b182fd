"""Masked language modelling: what is chosen, what it becomes, and transformers' collator beside
it; next-sentence and sentence-order pairs; the loss of BERT's pre-training."""

import math
from collections import Counter

import pytest
import torch

from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import (
    cross_entropy,
    mask_id,
    mask_tokens,
    next_sentence_pairs,
    sentence_order_pairs,
    special_ids,
    word_ids,
)
from deepdive.training.objectives.pairs import IN_ORDER, IS_NEXT, NOT_NEXT, SWAPPED

PIECES = [
    *("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),  # not in the order of specials
    *(f"w{i}" for i in range(20)),
    *(f"##p{i}" for i in range(14)),
]
TOKENIZER = WordPieceTokenizer(PIECES, specials=BERT_SPECIALS)
SPECIAL = [0, 2, 3, 4, 5]
ORDINARY = [i for i in range(len(PIECES)) if i not in SPECIAL]


def within(count: int, n: int, p: float, sigmas: float = 4.5) -> bool:
    """A binomial count lies within so many standard deviations of its mean."""
    return abs(count - n * p) <= sigmas * math.sqrt(n * p * (1 - p))


def texts(B: int = 400, T: int = 64, seed: int = 0) -> torch.Tensor:
    """[CLS] words [SEP] words [SEP] padding, with an unknown and a mask that stood in the text."""
    g = torch.Generator().manual_seed(seed)
    tokens = torch.tensor(ORDINARY)[torch.randint(len(ORDINARY), (B, T), generator=g)]
    tokens[:, 0], tokens[:, T // 2] = 3, 4
    tokens[:, 5], tokens[:, 9] = 2, 5
    ends = torch.randint(T // 2 + 2, T, (B,), generator=g)
    tokens[torch.arange(B), ends] = 4
    return tokens.masked_fill(torch.arange(T) > ends[:, None], 0)


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


RATES = [(0.15, 0.8, 0.1), (0.15, 1.0, 0.0), (0.4, 0.0, 0.8), (0.3, 0.8, 0.0), (1.0, 0.5, 0.25)]


@pytest.mark.parametrize(("rate", "mask", "random"), RATES)
def test_the_shares_are_those_that_were_asked_for(rate, mask, random):
    tokens = texts()
    inputs, _, chosen = mask_tokens(
        tokens, TOKENIZER, rate, mask=mask, random=random, generator=seeded()
    )
    can = ~torch.isin(tokens, torch.tensor(SPECIAL))
    n, k = int(can.sum()), int(chosen.sum())
    assert within(k, n, rate)
    became_mask = int((inputs[chosen] == 5).sum())
    same = int((inputs[chosen] == tokens[chosen]).sum())
    by_chance = random / len(ORDINARY)  # a random token may be the one that stood there
    assert within(became_mask, k, mask)
    assert within(same, k, 1 - mask - random + by_chance)
    assert within(k - became_mask - same, k, random - by_chance)


@pytest.mark.parametrize("rate", [0.15, 1.0])
def test_no_special_is_chosen_and_none_is_drawn(rate):
    tokens = texts()
    inputs, targets, chosen = mask_tokens(
        tokens, TOKENIZER, rate, mask=0.0, random=1.0, generator=seeded()
    )
    special = torch.isin(tokens, torch.tensor(SPECIAL))
    assert not chosen[special].any()
    assert torch.equal(inputs[special], tokens[special])
    assert not torch.isin(inputs[chosen], torch.tensor(SPECIAL)).any()
    assert (targets[~chosen] == TOKENIZER.pad).all()
    assert torch.equal(targets[chosen], tokens[chosen])
    assert torch.equal(inputs[~chosen], tokens[~chosen])


def test_random_tokens_are_even_over_the_vocabulary():
    tokens = texts(800)
    inputs, _, chosen = mask_tokens(tokens, TOKENIZER, 1.0, mask=0.0, random=1.0)
    counts = Counter(inputs[chosen].tolist())
    n = int(chosen.sum())
    assert set(counts) == set(ORDINARY)
    assert all(within(count, n, 1 / len(ORDINARY)) for count in counts.values())


def test_places_are_drawn_apart():
    """Two neighbours are chosen together no more often than chance has it."""
    tokens = torch.full((3000, 12), 7)
    _, _, chosen = mask_tokens(tokens, TOKENIZER, 0.3, generator=seeded())
    both = (chosen[:, 1:] & chosen[:, :-1])[:, ::2]
    assert within(int(both.sum()), both.numel(), 0.09)


def test_static_is_one_call_and_dynamic_one_a_visit():
    tokens = texts(50)
    kept = mask_tokens(tokens, TOKENIZER, generator=seeded(3))
    again = mask_tokens(tokens, TOKENIZER, generator=seeded(3))
    assert all(torch.equal(a, b) for a, b in zip(kept, again, strict=True))
    running = seeded(3)
    visits = [mask_tokens(tokens, TOKENIZER, generator=running)[2] for _ in range(40)]
    assert torch.equal(visits[0], kept[2])
    assert not torch.equal(visits[0], visits[1])
    ever = torch.stack(visits).any(0)[~torch.isin(tokens, torch.tensor(SPECIAL))]
    assert within(int(ever.sum()), len(ever), 1 - 0.85**40)  # 99.8 % in 40 visits, 15 % in one


def test_the_global_generator_is_used_where_none_is_given():
    tokens = texts(20)
    torch.manual_seed(5)
    first = mask_tokens(tokens, TOKENIZER)
    torch.manual_seed(5)
    second = mask_tokens(tokens, TOKENIZER)
    assert torch.equal(first[0], second[0])


def test_words_are_chosen_whole():
    tokens = texts()
    words = word_ids(tokens, TOKENIZER)
    _, _, chosen = mask_tokens(tokens, TOKENIZER, words=words, generator=seeded())
    can = ~torch.isin(tokens, torch.tensor(SPECIAL))
    inside = torch.tensor([piece.startswith("##") for piece in PIECES])[tokens]
    after_a_piece = inside[:, 1:] & can[:, :-1]
    assert torch.equal(chosen[:, 1:][after_a_piece], chosen[:, :-1][after_a_piece])
    begins = can & ~inside
    assert within(int((chosen & begins).sum()), int(begins.sum()), 0.15)
    assert not chosen[~can].any()


def test_word_numbers_by_hand():
    pieces = ["[CLS]", "w1", "##p1", "##p2", "w3", "[SEP]", "w1", "##p0", "[PAD]"]
    tokens = torch.tensor([[PIECES.index(piece) for piece in pieces]])
    assert word_ids(tokens, TOKENIZER).tolist() == [[0, 1, 1, 1, 2, 3, 4, 4, 5]]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.filterwarnings("ignore:Random token replacement")
def test_equals_transformers_collator_in_distribution(whole, tmp_path):
    """Both are counted on the same texts: how often each kind of place is chosen and what it
    becomes. (Theirs may draw a special token as the random one.)"""
    import transformers

    file = tmp_path / "vocab.txt"
    file.write_text("\n".join(PIECES) + "\n")
    theirs = transformers.BertTokenizer(str(file))
    assert set(theirs.all_special_ids) == set(special_ids(TOKENIZER).tolist())
    collator = transformers.DataCollatorForLanguageModeling(
        theirs, mlm_probability=0.2, seed=0, whole_word_mask=whole
    )
    tokens = texts(1500)
    rows = [{"input_ids": row.tolist()} for row in tokens]
    if whole:  # theirs finds words by their places in the text
        for row, each in zip(rows, tokens, strict=True):
            row["offset_mapping"] = offsets(each)
    batch = collator(rows)
    reference = Counter(kinds(tokens, batch["input_ids"], batch["labels"] != -100))
    words = word_ids(tokens, TOKENIZER) if whole else None
    shares = {"mask": 1.0, "random": 0.0} if whole else {}  # theirs knows no others for words
    inputs, _, chosen = mask_tokens(
        tokens, TOKENIZER, 0.2, words=words, generator=seeded(), **shares
    )
    ours = Counter(kinds(tokens, inputs, chosen))
    n = tokens.numel()
    for kind in ours | reference:
        p = (ours[kind] + reference[kind]) / (2 * n)
        slack = 2.0 if whole else 1.0  # the tokens of a word are not independent
        bound = 4.5 * slack * math.sqrt(2 * n * p * (1 - p))
        assert abs(ours[kind] - reference[kind]) <= bound, (kind, ours[kind], reference[kind])


def kinds(tokens, inputs, chosen):
    """A word for what befell each token."""
    for before, after, hit in zip(
        tokens.flatten().tolist(), inputs.flatten().tolist(), chosen.flatten().tolist(), strict=True
    ):
        what = "special" if before in SPECIAL else "inside" if before >= 26 else "word"
        became = "mask" if after == 5 else "same" if after == before else "other"
        yield f"{what}, {became}" if hit else f"{what}, left"


def offsets(row):
    """Places in a text: what begins with ## touches the token before it."""
    end, found = 0, []
    for token in row.tolist():
        start = 0 if token in SPECIAL else end if PIECES[token].startswith("##") else end + 1
        end = end if token in SPECIAL else start + 2
        found.append((start, 0 if token in SPECIAL else end))
    return found


def test_the_loss_of_pre_training_equals_transformers_with_gradients():
    """Masked + next-sentence loss on the logits of BertForPreTraining, whose labels say -100 where
    ours say padding."""
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    model = transformers.BertForPreTraining(config).double().eval()
    tokens = texts(3, 17)
    inputs, targets, chosen = mask_tokens(tokens, TOKENIZER, 0.3, generator=seeded())
    follows = torch.tensor([0, 1, 1])
    out = model(
        inputs,
        attention_mask=(tokens != 0).long(),
        labels=tokens.masked_fill(~chosen, -100),
        next_sentence_label=follows,
    )
    logits, answers = out.prediction_logits, out.seq_relationship_logits
    ours = cross_entropy(logits, targets, TOKENIZER.pad) + cross_entropy(answers, follows, pad=None)
    torch.testing.assert_close(ours, out.loss, rtol=1e-12, atol=1e-12)
    few = cross_entropy(logits[chosen], targets[chosen], pad=None)
    torch.testing.assert_close(few, cross_entropy(logits, targets, TOKENIZER.pad))
    mine = torch.autograd.grad(ours, [logits, answers], retain_graph=True)
    other = torch.autograd.grad(out.loss, [logits, answers])
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: mask_tokens(t.float(), TOKENIZER), TypeError, "tokens: .*float32.*int64"),
        (lambda t: mask_tokens(t[:0], TOKENIZER), TypeError, "tokens: .*at least one"),
        (lambda t: mask_tokens(t, TOKENIZER, 1.5), ValueError, "rate: got 1.5"),
        (lambda t: mask_tokens(t, TOKENIZER, math.nan), ValueError, "rate: got nan"),
        (lambda t: mask_tokens(t, TOKENIZER, random=0.3), ValueError, "mask, random: .*0.8 and"),
        (lambda t: mask_tokens(t, TOKENIZER, mask=-0.1), ValueError, "mask, random"),
        (lambda t: mask_tokens(t, TOKENIZER, words=t[:, 1:]), ValueError, "words: .*word_ids"),
        (lambda t: mask_id(WordPieceTokenizer(PIECES, BERT_SPECIALS[:4])), ValueError, "specials"),
        (lambda t: word_ids(t, object()), TypeError, "tokenizer: got object"),
    ],
)
def test_bad_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(texts(2, 16))


# -- pairs

DOCUMENTS = [[(d, i) for i in range(n)] for d, n in enumerate([40, 1, 0, 75, 60, 2, 130])]


def test_half_are_next_and_half_are_from_another_document():
    pairs = [pair for seed in range(20) for pair in next_sentence_pairs(DOCUMENTS, seed)]
    assert len(pairs) == 20 * (39 + 0 + 74 + 59 + 1 + 129)
    for (a, i), (b, j), label in pairs:
        assert label in (IS_NEXT, NOT_NEXT)
        assert ((a, i + 1) == (b, j)) if label == IS_NEXT else (a != b)
    assert within(sum(label == IS_NEXT for *_, label in pairs), len(pairs), 0.5)


def test_every_other_document_is_as_likely():
    pairs = [pair for seed in range(60) for pair in next_sentence_pairs(DOCUMENTS, seed)]
    others = Counter(b[0] for a, b, label in pairs if label == NOT_NEXT and a[0] == 3)
    assert set(others) == {0, 1, 4, 5, 6}
    assert all(within(count, others.total(), 0.2) for count in others.values())


def test_pairs_are_the_same_for_the_same_seed():
    assert next_sentence_pairs(DOCUMENTS, 4) == next_sentence_pairs(DOCUMENTS, 4)
    assert next_sentence_pairs(DOCUMENTS, 4) != next_sentence_pairs(DOCUMENTS, 5)
    assert sentence_order_pairs(DOCUMENTS, 4) == sentence_order_pairs(DOCUMENTS, 4)


def test_half_stand_in_order_and_half_are_exchanged():
    pairs = [pair for seed in range(20) for pair in sentence_order_pairs(DOCUMENTS, seed)]
    for (a, i), (b, j), label in pairs:
        assert label in (IN_ORDER, SWAPPED)
        assert a == b
        assert j - i == (1 if label == IN_ORDER else -1)
    assert within(sum(label == IN_ORDER for *_, label in pairs), len(pairs), 0.5)


def test_the_share_of_true_pairs_is_an_argument():
    assert {label for *_, label in next_sentence_pairs(DOCUMENTS, true_share=1.0)} == {IS_NEXT}
    assert {label for *_, label in sentence_order_pairs(DOCUMENTS, true_share=0.0)} == {SWAPPED}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: next_sentence_pairs([["a", "b"]]), ValueError, "documents: 1 of 1 .*two or more"),
        (lambda: next_sentence_pairs([["a"], []]), ValueError, "documents: 1 of 2"),
        (lambda: next_sentence_pairs(["one", "two"]), TypeError, "documents: got texts"),
        (lambda: sentence_order_pairs([[1]], true_share=2), ValueError, "true_share: got 2"),
    ],
)
def test_bad_documents_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
