"""Switch Transformer: a T5 with a sparse mixture of experts. Fedus, Zoph and Shazeer 2022, "Switch
Transformers: Scaling to Trillion Parameter Models with Simple and Efficient Sparsity".

System: switch
Parent: t5
What differs:
- in every second layer, say, many experts replace the feed-forward layer, and each token is routed
  to one of them (`sparse`, a `SparseExperts` with a `SwitchRouter`)
- an expert takes up to `capacity` tokens of a text; overflowing tokens skip it through the residual
  connection
- an auxiliary loss balances the load of the experts (`balance_weight`; `collect_losses`)
Source: Fedus et al. 2022, section 2.
Book: 5.4.1
"""

from dataclasses import dataclass
from typing import Any

from torch import nn

from deepdive.layers import SparseExperts, SwitchRouter
from deepdive.models.generative.t5 import T5, TOY, relu_feed_forward, scaled, t5
from deepdive.models.generative.t5_config import T5Config


@dataclass(frozen=True)
class SwitchConfig(T5Config):
    """Config of a Switch Transformer.

    n_sparse_layers, n_decoder_sparse_layers    layers with experts in encoder and decoder: every
                    `n_layers // n_sparse_layers`-th, starting with the second
    capacity        maximum tokens of a text per expert
    jitter          in training the router's input is multiplied by 1 - jitter to 1 + jitter
    balance_weight  of the load balancing loss
    """

    n_experts: int = 8
    capacity: int = 64
    n_sparse_layers: int = 6
    n_decoder_sparse_layers: int = 6
    jitter: float = 0.01
    balance_weight: float = 0.01

    def has_experts(self, layer: int, decodes: bool) -> bool:
        """Return whether this layer of the encoder or decoder has experts."""
        sizes = (self.n_decoder_layers, self.n_decoder_sparse_layers) if decodes else (
            self.n_layers, self.n_sparse_layers)  # fmt: skip
        step = max(sizes[0] // sizes[1], 1)
        return layer % step == 1 or step == 1


def sparse(config: SwitchConfig, layer: int, decodes: bool) -> nn.Module:
    """Return a layer's mixture of experts, or its dense feed-forward layer."""
    if not config.has_experts(layer, decodes):
        return relu_feed_forward(config, layer, decodes)
    router = SwitchRouter(config.d_model, config.n_experts, config.jitter)
    return SparseExperts(
        router, config.d_model, config.d_ff, config.activation, config.dropout,
        capacity=config.capacity, balance_weight=config.balance_weight,
    )  # fmt: skip


BASE = SwitchConfig(  # switch-base-8: 619.3 M parameters
    sparse, scaled, "switch_transformers", d_model=768, n_heads=12, n_layers=12,
    n_decoder_layers=12, d_ff=3072,
)  # fmt: skip
TINY = BASE.but(**TOY, n_experts=3, n_sparse_layers=1, n_decoder_sparse_layers=1)


def switch(config: SwitchConfig = BASE, **changes: Any) -> T5:
    """Build a T5 with experts; defaults are switch-base-8's.

    Raises TypeError for a config that is not a `SwitchConfig` and for an unknown field.
    """
    return t5(SwitchConfig.given(config, changes))
