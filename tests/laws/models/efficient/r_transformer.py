"""Cases of `deepdive.models.efficient.r_transformer`."""

import torch
from torch import Tensor, nn

from deepdive.core.masks import Window
from deepdive.models.efficient.r_transformer import LocalRNN, r_transformer, tiny
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.recurrent import LSTM, RNN
from laws import Case, Fails, NotApplicable, case, random_rows
from laws.models.transformer.transformer import ROW, step_or_all

ORDER = {"order": Fails("it reads the rows of a window in their order")}
X, ROWS = random_rows(2, 5, 16), torch.zeros(1, 3, 16)


def local(window: int = 3, rnn: type[nn.Module] = RNN) -> LocalRNN:
    return LocalRNN(rnn(16, 16), window)


@case("r_transformer/LocalRNN", LocalRNN)
def _() -> Case:
    def far_enough() -> tuple[Tensor, Tensor]:
        layer = local(5, LSTM).double()
        return layer(X), layer.rnn(X)

    def one_row() -> tuple[Tensor, Tensor]:
        layer = local(1).double()
        return layer(X), torch.tanh(layer.rnn.W(X) + layer.rnn.U.bias)

    return Case(
        place="layer",
        make=local,
        parity="torch.nn.RNN, LSTM and GRU on every window",
        limits={"a window over everything: the network": far_enough, "of one row": one_row},
        refusals={
            "no row": lambda: LocalRNN(RNN(4, 4), 0),
            "another width": lambda: LocalRNN(RNN(4, 8), 2),
            "another mask": lambda: local()(ROWS, mask=Window(1)),
        },
        laws={**ORDER, "hooks": NotApplicable("no weights of attention exist in it")},
    )


@case("r_transformer", DecoderOnly)
def _() -> Case:
    def no_layers() -> tuple[Tensor, Tensor]:
        sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "window": 3, "rnn": RNN}
        model = r_transformer(32, n_layers=0, **sizes).double().eval()
        return model(ROW), model.decoder(ROW) @ model.decoder.embedding.weight.T

    return Case(
        run=step_or_all,
        begin=lambda model: model.begin(),
        parity="the paper's local networks and blocks, by loops",
        limits={"no layers: the embeddings times themselves": no_layers},
        refusals={"a float mask": lambda: tiny()(ROW, torch.ones(1, 3))},
        laws={"order": Fails("local networks and the causal mask tell the tokens apart")},
    )
