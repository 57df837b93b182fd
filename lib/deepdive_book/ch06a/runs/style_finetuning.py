"""One wish for the toy that writes Shakespeare letter by letter: thou, and never you.

    wish = StyleTask(train, chosen, test, toy.letters)              # three texts
    model, moved, steps = tuned(toy.model, wish, "answers", rank=4, rate=3e-3, seed=0)
    evaluate(model, wish)                        # {"share": 0.95, "rest": 1.6, ...}

It is taught at places where the printed text says " you ": by the answer that is wanted, alone or
beside ordinary stretches of the text, by all letters up to it, or by both answers and which is
preferred; all weights move, or a `LoRA`.
"""

import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.layers.lora import adapt, merge
from deepdive.models.generative.gpt import GPT
from deepdive.training.objectives.preference_losses import answer_loss, dpo_loss, log_probability
from deepdive.training.optim import adam
from deepdive_book.tasks.stream import sequential_windows

WANTED, REFUSED = " thou ", " you "
BEFORE, LENGTH = 40, 64  # letters before the answer; of a stretch that is judged
STEPS, ROWS, BETA = 80, 16, 0.1
HEARD, CHECKED = 0.95, 20  # at so many places the wanted answer has this share, on average
WAYS = ("answers", "answers and plays", "all letters", "preferences")
NAMES = ("attn.q", "attn.kv")  # what a LoRA stands beside


class Places(NamedTuple):
    """Places where something was said: with the wanted answer and the refused one, (n, 46), and
    which letters are the answer's. The refused one is shorter; what stands behind it is no answer.
    """

    wanted: Tensor
    refused: Tensor
    is_wanted: Tensor
    is_refused: Tensor

    def take(self, index: Tensor) -> "Places":
        return Places(*(part[index] for part in self))

    def first(self, n: int) -> "Places":
        return Places(*(part[:n] for part in self))


class StyleTask:
    """The places to learn from, to choose by and to judge by, and stretches without the two words.

    Raises ValueError where one of the texts has no such place.
    """

    def __init__(self, train: str, chosen: str, test: str, letters: str) -> None:
        self.letters = letters
        self.numbers = {letter: i for i, letter in enumerate(letters)}
        self.learned, self.chosen, self.asked = (
            self.places(part) for part in (train, chosen, test)
        )
        self.plays, self.others = self.stretches(train), self.stretches(test)

    def encode(self, text: str) -> Tensor:
        return torch.tensor([self.numbers[letter] for letter in text])

    def places(self, text: str) -> Places:
        """Return the places of a text in which the refused answer stands."""
        found = [text.find(REFUSED, BEFORE)]
        while found[-1] >= 0:
            found.append(text.find(REFUSED, found[-1] + 1))
        prompts = [text[at - BEFORE : at] for at in found[:-1]]
        if not prompts:
            raise ValueError(f"text: {REFUSED!r} stands nowhere in {len(text)} letters")
        size = BEFORE + len(WANTED)
        wanted = torch.stack([self.encode(prompt + WANTED) for prompt in prompts])
        refused = torch.stack([self.encode((prompt + REFUSED).ljust(size)) for prompt in prompts])
        place = torch.arange(size).expand_as(wanted)
        is_refused = (place >= BEFORE) & (place < BEFORE + len(REFUSED))
        return Places(wanted, refused, place >= BEFORE, is_refused)

    def stretches(self, text: str, most: int = 300) -> Tensor:
        """Return stretches (n, 65) that have neither of the two words."""
        rows = sequential_windows(self.encode(text), LENGTH)
        said = [text[i * LENGTH : (i + 1) * LENGTH + 1].lower() for i in range(len(rows))]
        words = WANTED.strip(), REFUSED.strip()
        free = [i for i, each in enumerate(said) if not any(word in each for word in words)]
        return rows[free[:most]]


def pronoun_odds(model: nn.Module, places: Places) -> tuple[Tensor, Tensor]:
    """Return log p of the wanted and of the refused answer at each place."""
    return (
        log_probability(model(places.wanted), places.wanted, places.is_wanted),
        log_probability(model(places.refused), places.refused, places.is_refused),
    )


@torch.no_grad()
def share(model: nn.Module, places: Places) -> Tensor:
    """Return p(wanted) / (p(wanted) + p(refused)) at each place."""
    wanted, refused = pronoun_odds(model, places)
    return torch.sigmoid(wanted - refused)


def _lost(model: nn.Module, stretches: Tensor) -> Tensor:
    logits = model(stretches[:, :-1]).flatten(0, 1)
    return nn.functional.cross_entropy(logits, stretches[:, 1:].flatten())


@torch.no_grad()
def rest(model: nn.Module, stretches: Tensor) -> float:
    """Return the mean of -log p, in nats a letter, where the wish says nothing."""
    return float(_lost(model, stretches))


@torch.no_grad()
def evaluate(model: nn.Module, wish: StyleTask) -> dict[str, float]:
    """Return how probable the two answers are where one of them was printed, the wanted one's share
    of both, and the loss where the wish says nothing.
    """
    wanted, refused = (each.exp().mean() for each in pronoun_odds(model, wish.asked))
    found = {"share": share(model, wish.asked).mean(), "wanted": wanted, "refused": refused}
    return {name: round(float(each), 4) for name, each in found.items()} | {
        "rest": round(rest(model, wish.others), 4)
    }


class Tuned(NamedTuple):
    """A tuned model, its LoRA merged; how many weights were moved; after how many steps the wish
    was heard, or none if it never was.
    """

    model: GPT
    moved: int
    steps: int | None


def tuned(copied: GPT, wish: StyleTask, way: str, *, rank: int, rate: float, seed: int) -> Tuned:
    """Tune a copy of the model until the wanted answer has 95 of 100 at places to choose by, or for
    80 steps; rank 0 moves all weights. Raises ValueError for a way that is not of `WAYS`.
    """
    if way not in WAYS:
        raise ValueError(f"way={way!r}: expected one of {', '.join(WAYS)}")
    torch.manual_seed(seed)
    model = copy.deepcopy(copied).train()
    moved = sum(p.numel() for p in model.parameters())
    if rank:
        moved = adapt(model, rank, NAMES)
    moves, heard = adam(model, lr=rate), None
    draws = torch.Generator().manual_seed(seed)
    for step in range(STEPS):
        drawn = torch.randint(len(wish.learned.wanted), (ROWS,), generator=draws)
        loss = _loss(model, copied, wish.learned.take(drawn), way)
        if way == "answers and plays":
            drawn = torch.randint(len(wish.plays), (ROWS,), generator=draws)
            loss = loss + _lost(model, wish.plays[drawn])
        moves.zero_grad()
        loss.backward()
        moves.step()
        if share(model, wish.chosen.first(CHECKED)).mean() >= HEARD:
            heard = step + 1
            break
    merge(model)
    return Tuned(model.eval(), moved, heard)


def _loss(model: GPT, copied: GPT, places: Places, way: str) -> Tensor:
    if way == "preferences":
        with torch.no_grad():
            before = pronoun_odds(copied, places)
        return dpo_loss(*pronoun_odds(model, places), *before, BETA)
    answer = torch.ones_like(places.is_wanted) if way == "all letters" else places.is_wanted
    answer = answer.index_fill(1, torch.tensor([0]), value=False)
    return answer_loss(model(places.wanted), places.wanted, answer)
