"""Attention flow: the maximum flow from an input token to a hidden state, with attention weights as
the capacities of edges.

    with record(model, "*.weights") as seen:
        model(tokens)
    flow(seen)                              # (T, T)
    flow(seen, [0])                         # (1, T): from each token to the first state

System: attention_flow
Parent: attention_rollout
What differs:
- the layers' matrices (`mixing`) are edge capacities in a graph with a node for each state, not
  factors to multiply: a path's flow is limited by its smallest capacity (`flow`)
- the maximum flow from input to state equals the minimum cut between them
Source: Abnar and Zuidema 2020, section 3, "attention flow"; Ford and Fulkerson 1956.
Book: 7.5.1, 7.5.3
"""

from collections.abc import Mapping, Sequence
from types import ModuleType

import torch
from torch import Tensor

from deepdive.explain.rollout import mixing, one_call


def flow(
    weights: Mapping[str, Sequence[Tensor]] | Sequence[Tensor], states: Sequence[int] | None = None
) -> Tensor:
    """Return F (N, T) for the layers' weights (1, H, T, T) of one text, in layer order:

        F[n, s] = the maximum flow from input s to state states[n] of the last layer, where the edge
                  from token j to token i of the next layer has capacity A[i, j] # A: `mixing`

    `states` defaults to all T; for an earlier layer, pass only the `weights` up to it. Each number
    is a separate problem, so rows do not sum to 1: inputs do not compete for capacity. `weights` is
    what `record(model, "*.weights")` yields for one call, or a list. One state of 32 tokens and 6
    layers takes half a second, all 32 some ten.
    Raises ValueError for no weights, several texts, and where `mixing` does; ImportError without
    networkx.
    Source: Abnar and Zuidema 2020, section 3.
    """
    layers = one_call(weights) if isinstance(weights, Mapping) else list(weights)
    if not layers or any(len(layer) != 1 for layer in layers):
        raise ValueError(
            f"weights: got batches of {[len(layer) for layer in layers]}, expected one or more "
            "layers of one text: (1, H, T, T)"
        )
    capacities = torch.stack([mixing(layer.detach())[0] for layer in layers]).double().cpu()
    depth, size = len(capacities), capacities.shape[-1]
    wanted = range(size) if states is None else states
    graph, networkx = _graph(capacities), _networkx()
    # One residual graph is reused: each search resets it.
    residual = networkx.algorithms.flow.build_residual_network(graph, "capacity")
    found = [
        [
            networkx.maximum_flow_value(
                graph, (0, s), (depth, range(size)[t]), residual=residual,
                flow_func=networkx.algorithms.flow.preflow_push,
            )
            for s in range(size)
        ]
        for t in wanted
    ]  # fmt: skip
    return torch.tensor(found).to(layers[0])


def _graph(capacities: Tensor) -> object:
    """Nodes (layer, token), and an edge (l, j) -> (l + 1, i) for each positive pipes[l, i, j]."""
    graph, (depth, size, _) = _networkx().DiGraph(), capacities.shape
    graph.add_nodes_from((layer, row) for layer in range(depth + 1) for row in range(size))
    for layer, i, j in capacities.nonzero().tolist():
        graph.add_edge((layer, j), (layer + 1, i), capacity=float(capacities[layer, i, j]))
    return graph


def _networkx() -> ModuleType:
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{error}: pip install 'deepdive[casestudies]', or networkx alone"
        ) from error
    return networkx
