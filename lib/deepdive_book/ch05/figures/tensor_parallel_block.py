"""A block of a decoder cut between machines: what the first of them holds, and where all add up.

    tensor_parallel_block(d_model=3072, n_heads=32, d_ff=12_288, ways=(1, 2, 4, 8))

The reader chooses how many machines there are. A matrix is drawn as wide and as high as it is; what
the first machine holds of it is full, what others hold is pale.
"""

from collections.abc import Sequence

from deepdive.core.checks import divides
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.panels import panels

SIDE = 44.0  # of a square matrix
WIDE, HIGH = 400.0, 506.0


def weights(d_model: int, d_ff: int) -> int:
    """How many weights the matrices of a block have."""
    return 4 * d_model**2 + 2 * d_model * d_ff


def alt_text(d_model: int, n_heads: int, d_ff: int, ways: int) -> str:
    """What a machine holds and says, in words."""
    whole = weights(d_model, d_ff)
    if ways == 1:
        return f"One machine holds all {whole / 1e6:.1f} million weights, and says nothing."
    return (
        f"Each of {ways} machines holds {n_heads // ways} of {n_heads} heads and {d_ff // ways:,} "
        f"of {d_ff:,} units: {whole / ways / 1e6:.1f} of {whole / 1e6:.1f} million weights. For "
        f"each token it takes part in two sums of {d_model:,} numbers."
    )


def tensor_parallel_block(d_model: int, n_heads: int, d_ff: int, ways: Sequence[int]) -> Html:
    """Return the picture. Raises ValueError where a number of machines does not divide the heads or
    the units.
    """
    for each in ways:
        divides(ways=each, n_heads=n_heads)
        divides(ways=each, d_ff=d_ff)

    def draw(chosen: str) -> tuple[str, str]:
        return _drawing(d_ff / d_model, int(chosen)), alt_text(d_model, n_heads, d_ff, int(chosen))

    return panels("A block cut between machines", {"machines": [str(w) for w in ways]}, draw)


def _drawing(times: float, ways: int) -> str:
    long = SIDE * times
    body = [text(200, 12, "x, on every machine", 15), arrow(200, 24, 200, 40)]
    for i, (name, role) in enumerate((("query", "query"), ("key", "key"), ("value", "value"))):
        x = 200 + (i - 1) * 78 - SIDE / 2
        body += [text(x + SIDE / 2, 52, name, 14, role)]
        body += _cut(x, 62, SIDE, SIDE, ways, role, columns=True)
    body += [text(200, 122, "each head whole on one machine", 14), arrow(200, 132, 200, 148)]
    body += [text(290, 172, "output", 14, "output")]
    body += _cut(200 - SIDE / 2, 150, SIDE, SIDE, ways, "output", columns=False)
    body += _sum(212, ways)
    body += _cut(200 - long / 2, 246, long, SIDE, ways, "weight", columns=True)
    body += [text(200, 304, "each unit whole on one machine", 14)]
    body += _cut(200 - SIDE / 2, 316, SIDE, min(long, 120), ways, "weight", columns=False)
    body += [text(290, 376, "and back", 14, "weight"), text(330, 236, "to the units", 14, "weight")]
    body += _sum(454, ways)
    body += [text(200, 496, "x, on every machine", 15)]
    return svg(WIDE, HIGH, body)


def _cut(
    x: float, y: float, wide: float, high: float, ways: int, role: str, *, columns: bool
) -> list[str]:
    """A matrix, cut: the first piece full, the others pale."""
    body = []
    for i in range(ways):
        across, down = (wide / ways, high) if columns else (wide, high / ways)
        left, top = (x + i * across, y) if columns else (x, y + i * down)
        body.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{across:.1f}" height="{down:.1f}" '
            f'fill="{ROLES[role]}" fill-opacity="{0.15 if i else 0.85}" stroke="{ROLES[role]}"/>'
        )
    return body


def _sum(y: float, ways: int) -> list[str]:
    """Where the machines add up, between what comes in and what goes on."""
    words = "all add up" if ways > 1 else "nothing to add"
    return [
        arrow(200, y - 14, 200, y - 4) if y < 300 else arrow(200, y - 16, 200, y - 6),
        text(200, y + 8, words, 15, bold=ways > 1), arrow(200, y + 18, 200, y + 32),
    ]  # fmt: skip
