"""Cases of `deepdive.models.efficient.universal`."""

import torch
from torch import Tensor, nn

from deepdive.core import Context
from deepdive.core.hooks import collect_losses
from deepdive.core.masks import Causal, Padding
from deepdive.layers.universal_stack import UniversalStack, universal_block
from deepdive.models.efficient.universal import tiny
from laws import Case, Fails, case, random_rows

X, ROWS = random_rows(2, 5, 16), torch.zeros(1, 3, 16)


def _coded(x: Tensor, step: int) -> Tensor:
    """x plus sinusoids of the position and of the step, counted from 1, pair by pair."""
    table = torch.zeros(x.shape[1], 16, dtype=torch.float64)
    for position in range(x.shape[1]):
        for i in range(8):
            for at in (position, step):
                angle = torch.tensor(at / 10_000 ** (2 * i / 16), dtype=torch.float64)
                table[position, 2 * i] += angle.sin()
                table[position, 2 * i + 1] += angle.cos()
    return x + table


@case("universal", UniversalStack)
def _() -> Case:
    def one_step() -> tuple[Tensor, Tensor]:
        """A halting probability of 1 at once: one plain block, and N + R = 2."""
        stack = tiny().double()
        assert stack.halt is not None
        nn.init.constant_(stack.halt.bias, 100.0)
        with collect_losses(stack) as losses:
            output = stack(X)
        cost = torch.as_tensor(losses.total()) / stack.ponder_weight * torch.ones(2, 5, 1)
        plain = stack.blocks[0](_coded(X, 1))
        return torch.cat((output, cost), -1), torch.cat(
            (plain, torch.full((2, 5, 1), 2.0).double()), -1
        )

    def fixed() -> tuple[Tensor, Tensor]:
        """Without a halting unit: the same block three times, positions and step added to each."""
        stack = UniversalStack(universal_block(16, 4, 32), 16, 3, halting=False).double()
        x = X
        for step in (1, 2, 3):
            x = stack.blocks[0](_coded(x, step), mask=Causal())
        return stack(X, mask=Causal()), x

    def all_steps() -> tuple[Tensor, Tensor]:
        """A halting probability of almost 0: every step runs, and the last has all the weight."""
        stack = tiny().double()
        assert stack.halt is not None
        nn.init.constant_(stack.halt.bias, -100.0)
        fixed = UniversalStack(stack.blocks[0], 16, 4, halting=False).double()
        return stack(X), fixed(X)

    def padding_is_free() -> tuple[Tensor, Tensor]:
        """The ponder cost of a padded sequence is that of the sequence alone."""
        stack, costs = tiny().double(), []
        keys = torch.tensor([[1, 1, 1, 0, 0]]).bool()
        for x, mask in ((X[:1], Padding(keys)), (X[:1, :3], None)):
            with collect_losses(stack) as losses:
                stack(x, mask=mask)
            costs.append(losses.total())
        return torch.as_tensor(costs[0]), torch.as_tensor(costs[1])

    return Case(
        place="stack",
        parity="the equations of both papers, written out as loops over positions and steps",
        limits={
            "halting probability 1: one block, N + R = 2": one_step,
            "no halting unit: one block three times": fixed,
            "halting probability 0: all steps, the last state": all_steps,
            "padding adds no ponder cost": padding_is_free,
        },
        refusals={
            "no steps": lambda: UniversalStack(universal_block(16, 4, 32), 16, 0),
            "epsilon above 1": lambda: UniversalStack(universal_block(16, 4, 32), 16, 2, True, 1.5),
            "pondering without a halting unit": lambda: UniversalStack(
                universal_block(16, 4, 32), 16, 2, halting=False
            ).pondered(ROWS, Context()),
            "a memory without cross-attention": lambda: tiny()(ROWS, memory=ROWS),
        },
        laws={"order": Fails("sinusoids of the position are added before every step")},
    )
