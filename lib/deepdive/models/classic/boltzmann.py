"""Restricted Boltzmann machine (RBM) and deep belief net (DBN): greedy layer-wise unsupervised
pretraining, then fine-tuning. Hinton 2002; Hinton, Osindero and Teh 2006.

Not as in the papers: the fine-tuning is by labels and back-propagation, as in Bengio et al. 2006;
the wake-sleep algorithm of Hinton et al. 2006 is left out. A layer above the first is trained on
probabilities, not on sampled states.

Long because an RBM's energy, its exact partition function and its learning rule are not in its
parent, and a DBN is several RBMs with their own training procedure.

System: dbn
Parent: hopfield
What differs:
- stochastic units, 1 with probability sigmoid(field), where Hopfield's take the sign (`RBM.gibbs`)
- visible and hidden units form a bipartite graph, so each layer is sampled at once (`RBM`)
- weights are learned from many examples, not summed up once (`contrastive_divergence`)
- RBMs are stacked, each trained on the hidden probabilities of the one below (`pretrain`)
- a feed-forward network initialized with their weights is fine-tuned on labels (`classifier`)
Source: Hinton 2002, sections 3 and 5; Hinton, Osindero and Teh 2006, section 4
Book: 1.1
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive, width

MAX_SUMMED_UNITS = 20  # of the smaller layer: a million states


class RBM(nn.Module):
    """Binary RBM with visible units v (..., n_visible) and hidden units h (..., n_hidden).

        energy(v, h)   = -v . b - h . c - h . W v
        p(v, h)        = exp(-energy(v, h)) / Z
        p(h_j = 1 | v) = sigmoid(c_j + W_j . v)                       # `hidden`
        p(v_i = 1 | h) = sigmoid(b_i + h . W_i)                       # `visible`
        free_energy(v) = -v . b - sum_j softplus(c_j + W_j . v)       # p(v) = exp(-free_energy) / Z

    W (n_hidden, n_visible) is initialized small and random, both biases to 0. Values of v between 0
    and 1 are treated as probabilities.
    Source: Hinton 2002, section 5; the free energy: Hinton 2010, section 16.
    """

    def __init__(self, n_visible: int, n_hidden: int) -> None:
        super().__init__()
        positive(n_visible=n_visible, n_hidden=n_hidden)
        self.W = nn.Parameter(0.01 * torch.randn(n_hidden, n_visible))
        self.b = nn.Parameter(torch.zeros(n_visible))
        self.c = nn.Parameter(torch.zeros(n_hidden))

    def energy(self, v: Tensor, h: Tensor) -> Tensor:
        """Return the energy (...) of joint visible and hidden states."""
        return -v @ self.b - h @ self.c - (h * F.linear(v, self.W)).sum(-1)

    def hidden(self, v: Tensor) -> Tensor:
        """Return p(h = 1 | v), (..., n_hidden)."""
        return self._field(v).sigmoid()

    def visible(self, h: Tensor) -> Tensor:
        """Return p(v = 1 | h), (..., n_visible)."""
        return (h @ self.W + self.b).sigmoid()

    def free_energy(self, v: Tensor) -> Tensor:
        """Return -log sum_h exp(-energy(v, h)), (...)."""
        return -v @ self.b - F.softplus(self._field(v)).sum(-1)

    def forward(self, v: Tensor) -> Tensor:
        """Return p(h = 1 | v), the next layer's input."""
        return self.hidden(v)

    def gibbs(self, v: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Sample h from p(h | v), then v from p(v | h); return v (..., n_visible)."""
        h = torch.bernoulli(self.hidden(v), generator=generator)
        return torch.bernoulli(self.visible(h), generator=generator)

    def log_partition(self) -> Tensor:
        """Return log Z, summed over all states of the smaller layer, of 20 units or fewer."""
        n_hidden, n_visible = self.W.shape
        if (smaller := min(n_hidden, n_visible)) > MAX_SUMMED_UNITS:
            raise ValueError(
                f"the smaller layer has {smaller} units, expected at most {MAX_SUMMED_UNITS}: the "
                f"sum is over 2^{smaller} states"
            )
        if n_visible <= n_hidden:
            return (-self.free_energy(all_states(n_visible).to(self.b))).logsumexp(0)
        h = all_states(n_hidden).to(self.c)
        return (h @ self.c + F.softplus(h @ self.W + self.b).sum(-1)).logsumexp(0)

    def log_likelihood(self, v: Tensor) -> Tensor:
        """Return log p(v) in nats, (...)."""
        return -self.free_energy(v) - self.log_partition()

    def _field(self, v: Tensor) -> Tensor:
        width("v", v, len(self.b))
        return F.linear(v, self.W, self.c)


def all_states(n: int) -> Tensor:
    """Return all states of n units, (2^n, n) of 0 and 1, as float64."""
    return (torch.arange(2**n).unsqueeze(1) >> torch.arange(n - 1, -1, -1) & 1).double()


def contrastive_divergence(
    rbm: RBM, v: Tensor, k: int = 1, generator: torch.Generator | None = None
) -> Tensor:
    """Return a surrogate loss whose gradient is that of CD-k for examples v (B, n_visible).

        v_k  = k Gibbs steps from v                     (no gradient)
        loss = mean free_energy(v) - mean free_energy(v_k)

    Only the gradient is meaningful. Its first part is that of -log p(v); the second approximates
    the one of log Z, which k = infinity would give. Source: Hinton 2002, section 3.
    """
    positive(k=k)
    samples = v
    with torch.no_grad():
        for _ in range(k):
            samples = rbm.gibbs(samples, generator)
    return rbm.free_energy(v).mean() - rbm.free_energy(samples).mean()


def train_rbm(
    rbm: RBM, v: Tensor, *, epochs: int, lr: float = 0.1, generator: torch.Generator | None = None
) -> None:
    """Train on examples v (B, n_visible) by CD-1, momentum 0.5, in shuffled batches of 20."""
    optimizer = torch.optim.SGD(rbm.parameters(), lr=lr, momentum=0.5)
    for _ in range(epochs):
        for batch in v[torch.randperm(len(v), generator=generator)].split(20):
            optimizer.zero_grad()
            contrastive_divergence(rbm, batch, generator=generator).backward()
            optimizer.step()


class DBN(nn.Module):
    """Deep belief net: stacked RBMs; layer i has sizes[i] visible and sizes[i + 1] hidden units.

        x = sigmoid(c_i + W_i . x)        for each layer            # (..., sizes[-1])

    A second layer that is the first one inverted (W transposed, b and c swapped) leaves p(v)
    unchanged; training it raises a lower bound of the likelihood.
    Source: Hinton, Osindero and Teh 2006, sections 3 and 4.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        if len(sizes) < 2 or min(sizes) < 1:
            raise ValueError(f"sizes={list(sizes)}: give two or more, each >= 1: (64, 100, 100)")
        self.layers = nn.Sequential(*(RBM(below, above) for below, above in pairwise(sizes)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the top layer's probabilities (..., sizes[-1]) for x (..., sizes[0])."""
        return self.layers(x)


def pretrain(
    dbn: DBN, x: Tensor, *, epochs: int, lr: float = 0.1, generator: torch.Generator | None = None
) -> None:
    """Pretrain the layers greedily, bottom up, each on the output of those below: x (B, sizes[0]).

    No labels are used. Source: Hinton, Osindero and Teh 2006, section 4.
    """
    for layer in dbn.layers:
        assert isinstance(layer, RBM)
        train_rbm(layer, x, epochs=epochs, lr=lr, generator=generator)
        with torch.no_grad():
            x = layer(x)


def classifier(dbn: DBN, n_classes: int) -> nn.Sequential:
    """Return a feed-forward classifier initialized from `dbn`, its output layer 0: logits (..., n).

    Linear, sigmoid, ..., linear; its weights are copies. Train it on labels (fine-tuning).
    """
    positive(n_classes=n_classes)
    parts: list[nn.Module] = []
    for layer in dbn.layers:
        assert isinstance(layer, RBM)
        linear = nn.Linear(len(layer.b), len(layer.c)).to(layer.W)
        linear.load_state_dict({"weight": layer.W.detach(), "bias": layer.c.detach()})
        parts += [linear, nn.Sigmoid()]
    output = nn.Linear(linear.out_features, n_classes).to(linear.weight)
    nn.init.zeros_(output.weight)
    nn.init.zeros_(output.bias)
    return nn.Sequential(*parts, output)
