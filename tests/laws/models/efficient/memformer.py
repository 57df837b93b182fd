"""Cases of `deepdive.models.efficient.memformer`."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.masks import Causal, Padding
from deepdive.layers.slot_writer import SlotWriter
from deepdive.models.efficient.memformer import (
    Memformer,
    MemformerEncoder,
    memformer,
    tiny,
)
from laws import (
    ONE_ROW,
    ORDERED,
    TWO_SIDED,
    Case,
    NotApplicable,
    case,
    padding_of,
    random_rows,
    set_weights,
)
from laws.models.seq2seq.seq2seq import SOURCE, pair_case

LOOPS = "the paper's equations, written out as loops"


@case("memformer/SlotWriter", SlotWriter)
def _() -> Case:
    slots, x = F.normalize(random_rows(2, 3, 16), dim=-1), random_rows(2, 6, 16, seed=6)

    def make() -> SlotWriter:
        return SlotWriter(16, 4, 3)

    def run(writer: SlotWriter, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return writer(writer.initial(len(x)), x, mask)

    def no_content() -> tuple[Tensor, Tensor]:
        """Keys and values of zeros: a slot's share of itself is 1 of 1 + T, and stays its own."""
        writer = set_weights(make(), k__weight=0.0, v__weight=0.0, bias=0.0)
        return writer(slots, x), slots

    def only_padding() -> tuple[Tensor, Tensor]:
        """Every state is padding: a slot attends to itself."""
        writer = set_weights(make(), bias=0.0)
        return writer(slots, x, Padding(torch.zeros(2, 6).bool())), slots

    def initial() -> tuple[Tensor, Tensor]:
        writer = set_weights(make())
        return writer.initial(2)[1], F.normalize(writer.bias, dim=-1)

    return Case(
        make=make,
        run=run,
        parity=LOOPS,
        limits={
            "no content: the slot stays": no_content,
            "only padding: the slot stays": only_padding,
            "before the first segment: normalized biases": initial,
        },
        refusals={
            "heads that do not divide the width": lambda: SlotWriter(16, 3, 2),
            "no slot": lambda: SlotWriter(16, 4, 0),
            "a causal mask": lambda: make()(slots.float(), x.float(), Causal()),  # type: ignore[arg-type]
            "a temperature of 0": lambda: SlotWriter(16, 4, 2, temperature=0.0),
        },
        laws={**ONE_ROW, "hooks": NotApplicable("a slot's weights are no mechanism's")},
    )


@case("memformer/MemformerEncoder", MemformerEncoder)
def _() -> Case:
    def run(encoder: MemformerEncoder, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        slots = torch.linspace(-1, 1, 48, dtype=encoder.embedding.weight.dtype).view(1, 3, 16)
        slots = slots.to(encoder.embedding.weight.device).expand(len(x), -1, -1)
        return encoder(x, padding_of(mask), slots)

    def no_slots() -> tuple[Tensor, Tensor]:
        """Cross-attention that returns 0: the Transformer's encoder, pre-norm."""
        model = tiny().double()
        plain = memformer(32, d_model=16, n_heads=4, n_layers=2, d_ff=32, n_slots=0).double().eval()
        plain.encoder.load_state_dict(model.encoder.state_dict(), strict=False)
        encoder = model.encoder
        for i in range(2):
            set_weights(encoder.stack.blocks[i].cross.out, weight=0.0, bias=0.0)
        return run(encoder, SOURCE), plain.encoder(SOURCE)

    return Case(
        make=lambda: tiny().encoder,
        run=run,
        vocab=32,
        parity=LOOPS,
        limits={"slots that nothing is read from: an encoder": no_slots},
        refusals={
            "no slots": lambda: tiny().encoder(SOURCE),
            "slots of another width": lambda: tiny().encoder(SOURCE, None, torch.zeros(3, 3, 8)),
        },
        laws={**TWO_SIDED, "order": ORDERED},
    )


def _slots() -> dict[str, Any]:
    def zero_slots() -> tuple[Tensor, Tensor]:
        """No slots: encoder and decoder of the Transformer, and no writer."""
        sizes = {"d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 32}
        model = memformer(32, n_slots=0, dropout=0.0, **sizes).double()
        target = SOURCE + 1
        hidden = model.decoder(target, memory=model.encoder(SOURCE))
        return model(SOURCE, target), hidden @ model.encoder.embedding.weight.T

    def unit_slots() -> tuple[Tensor, Tensor]:
        """After any segment the slots keep their shape, and a length of 1."""
        state = tiny().double().begin(SOURCE)
        state = tiny().double().begin(SOURCE, slots=state.slots)
        assert state.slots is not None
        return state.slots.norm(dim=-1), torch.ones(3, 3, dtype=torch.float64)

    return {"no slots: encoder and decoder": zero_slots, "slots keep length 1": unit_slots}


@case("memformer", Memformer)
def _() -> Case:
    def given_slots() -> object:
        model = memformer(32, d_model=16, n_heads=4, n_layers=1, d_ff=32, n_slots=0)
        return model.begin(SOURCE, slots=torch.zeros(3, 3, 16))

    return pair_case(
        tiny, LOOPS, _slots(),
        refusals={"slots for a model without": given_slots},
        silent={"writer.q": "no later segment reads what the only one wrote",
                "writer.k": "the same", "writer.v": "the same"},
        laws={"order": ORDERED},
    )  # fmt: skip
