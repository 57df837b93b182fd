"""Questions side by side after one prompt: each label has the score that it has alone, uncached."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
from torch import nn

from deepdive.core.masks import Causal, Mask, Prefix
from deepdive.decoding import Prompted, greedy, shared_prefix, split_prefix
from deepdive.models.generative import gpt2, llama
from deepdive.models.transformer.decoder_only import DecoderOnly

BUILT: list[Callable[[], DecoderOnly]] = [
    lambda: llama.llama(llama.TINY),
    lambda: gpt2.gpt2(gpt2.TINY),
]
PROMPT = [3, 9, 4, 17, 9, 11]
QUESTIONS = [[5, 6], [7], [5, 6, 8, 2, 30], [21, 7, 7]]
LABELS = [[1], [12, 13], [14, 13, 2], [14]]


@pytest.fixture(params=BUILT, ids=["llama", "gpt2"])
def model(request: pytest.FixtureRequest) -> DecoderOnly:
    built: DecoderOnly = request.param().double().eval()
    with torch.no_grad():
        for p in built.parameters():
            p.copy_(0.3 * torch.randn_like(p))
    return built


@torch.no_grad()
def alone(model: nn.Module, question: list[int], label: list[int], prompt: list[int]) -> float:
    """log p of a label: the whole text is read, with no cache and no neighbour."""
    logs = model(torch.tensor([[*prompt, *question, *label]]))[0].log_softmax(-1)
    first = len(prompt) + len(question) - 1
    return sum(float(logs[first + i, token]) for i, token in enumerate(label))


def apart(model: DecoderOnly, prompt: list[int] = PROMPT) -> float:
    found = Prompted(model, prompt).labels(QUESTIONS, LABELS)
    expected = [[alone(model, q, label, prompt) for label in LABELS] for q in QUESTIONS]
    return float((found.double() - torch.tensor(expected, dtype=torch.float64)).abs().max())


@pytest.mark.parametrize("together", [1, 6, 512])
def test_each_score_is_that_of_the_text_alone(model: DecoderOnly, together: int) -> None:
    with mock.patch.object(shared_prefix, "TOGETHER", together):
        assert apart(model) < 2e-6  # scores are float32
        assert apart(model, prompt=[]) < 2e-6


def test_what_is_forgotten_leaves_the_scores_of_the_shorter_prompt(model: DecoderOnly) -> None:
    prompt = Prompted(model, PROMPT)
    prompt.labels(QUESTIONS, LABELS)
    prompt.crop(2)
    shorter = Prompted(model, PROMPT[:2])
    assert torch.allclose(prompt.labels(QUESTIONS, LABELS), shorter.labels(QUESTIONS, LABELS))
    prompt.read(PROMPT[2:])
    assert prompt.length == len(PROMPT)
    again = Prompted(model, PROMPT).labels(QUESTIONS, LABELS)
    assert torch.allclose(prompt.labels(QUESTIONS, LABELS), again)


def test_what_is_written_side_by_side_is_what_each_gets_alone(model: DecoderOnly) -> None:
    stop = 7
    found = Prompted(model, PROMPT).write(QUESTIONS, max_length=9, stop=[stop])
    for question, said in zip(QUESTIONS, found, strict=True):
        [expected] = greedy(model, prompt=[[*PROMPT, *question]], eos=stop, max_length=9)
        assert said == expected


MUTATIONS: dict[str, tuple[str, Callable[..., Mask]]] = {
    "a question sees its neighbours": ("Segments", lambda _owner: Causal()),
    "a question does not see the prompt": ("Prefix", lambda _length: Prefix(0)),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_fault_in_the_mask_is_seen(model: DecoderOnly, name: str) -> None:
    part, fault = MUTATIONS[name]
    with mock.patch.object(shared_prefix, part, fault):
        assert apart(model) > 1e-2


def test_places_that_go_on_behind_a_neighbour_are_seen(model: DecoderOnly) -> None:
    class Shifted(shared_prefix.SideBySide):
        def __init__(self, model: nn.Module, cache: shared_prefix.KVCache) -> None:
            super().__init__(model, cache)
            self.read.default_factory = lambda: 3 * len(self.read)

    with mock.patch.object(shared_prefix, "SideBySide", Shifted):
        assert apart(model) > 1e-2


def test_what_is_empty_or_no_decoder_is_refused(model: DecoderOnly) -> None:
    prompt = Prompted(model, PROMPT)
    with pytest.raises(ValueError, match="labels: got none, or an empty one"):
        prompt.labels(QUESTIONS, [[1], []])
    with pytest.raises(ValueError, match="questions: got none"):
        prompt.write([])
    with pytest.raises(TypeError, match="Linear has no decoder"):
        Prompted(nn.Linear(2, 2))


def test_a_replaced_prompt_keeps_the_common_prefix(model: DecoderOnly) -> None:
    prompt = Prompted(model, PROMPT)
    for tokens in ([*PROMPT[:3], 8, 8], PROMPT[:2], [7, *PROMPT], []):
        with mock.patch.object(shared_prefix.SideBySide, "step", autospec=True,
                               side_effect=shared_prefix.SideBySide.step) as step:  # fmt: skip
            kept = shared_prefix.common_prefix([prompt.tokens, tokens])
            prompt.replace(tokens)
        processed = [token for call in step.call_args_list for token in call.args[1][0]]
        assert processed == tokens[kept:]
        assert prompt.tokens == tokens
        assert prompt.length == len(tokens)
        fresh = Prompted(model, tokens).labels(QUESTIONS, LABELS)
        assert torch.allclose(prompt.labels(QUESTIONS, LABELS), fresh)


def test_a_prefix_leaves_each_sequence_a_token() -> None:
    assert split_prefix([[1, 2, 3, 4], [1, 2, 5]]) == ([1, 2], [[3, 4], [5]])
    assert split_prefix([[1, 2], [1, 2, 3]]) == ([1], [[2], [2, 3]])
    assert split_prefix([[4, 4]]) == ([4], [[4]])
    with pytest.raises(ValueError, match="sequences: got none"):
        split_prefix([])
