"""Case of `deepdive.models.bert.mpnet`."""

from typing import Any

import torch
from torch import Tensor

from deepdive.core.masks import Dense
from deepdive.models.bert.bert import bert
from deepdive.models.bert.mpnet import TINY, MPNet, mpnet
from deepdive.models.bert.roberta import RobertaEmbeddings
from deepdive.training.objectives import two_streams
from laws import case
from laws.models.bert.bert import FIVE, ROW, SMALL, encoder

MASK = 3  # any token: the mask's id here


@case("mpnet", MPNet)
def _() -> Any:
    def no_bias() -> tuple[Tensor, Tensor]:
        """A table of zeros: BERT without segments."""
        model = mpnet(TINY).double().eval()
        with torch.no_grad():
            model.stack.blocks[0].attn.position.table.weight.zero_()
        changes: dict[str, Any] = {"embeddings": RobertaEmbeddings, "unused_positions": 2}
        plain = bert(**SMALL, **changes, n_segments=0, eps=1e-5).double().eval()
        state = model.state_dict().items()
        plain.load_state_dict({n: t for n, t in state if "attn.position" not in n})
        return model(ROW), plain(ROW)

    def both(guessed: list[int]) -> tuple[Any, Tensor, Tensor]:
        """The model, its states of FIVE permuted, and those of FIVE with the guessed masked."""
        model: Any = mpnet(TINY).double().eval()
        order = [t for t in range(5) if t not in guessed] + guessed * 3
        tokens = FIVE[:, order].clone()
        tokens[:, 5:] = MASK
        seen = Dense(two_streams(5, len(guessed)))
        states = model.permuted(tokens, torch.tensor([order]), seen)
        hidden = FIVE.clone()
        hidden[:, guessed] = MASK
        return model, states, model(hidden)

    def one_guess() -> tuple[Tensor, Tensor]:
        """Nothing is guessed before it, so it sees what the masked model sees."""
        _, states, masked = both([1])
        return states[:, -1], masked[:, 1]

    def known() -> tuple[Tensor, Tensor]:
        """Known tokens and masks never see a guess, however many there are."""
        _, states, masked = both([4, 0, 2])
        return states[:, [0, 1, 5, 6, 7]], masked[:, [1, 3, 4, 0, 2]]

    return encoder(
        "mpnet",
        "MPNetModel",
        {
            "a bias of zero: BERT": no_bias,
            "one guess: the masked model": one_guess,
            "what is not guessed: the masked model": known,
        },
        {
            "segments": lambda: mpnet(TINY)(ROW, None, torch.zeros_like(ROW)),
            "a float mask": lambda: mpnet(TINY)(ROW, torch.ones(1, 3)),
        },
    )
