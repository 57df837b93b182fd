"""Bounds on a probability, of which only the share in some tries is known."""

from math import log


def bounds(share: float, count: int, level: float) -> tuple[float, float]:
    """Return the least and the largest q with  count KL(share || q) <= level, by bisection:

        KL(p || q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q))

    They hold the true probability but for a chance of about exp(-level) on either side.
    Source: Kaufmann and Kalyanakrishnan 2013.
    """

    def edge(outside: float) -> float:
        inside = share
        for _ in range(40):
            middle = (inside + outside) / 2
            if count * _divergence(share, middle) <= level:
                inside = middle
            else:
                outside = middle
        return inside

    return (edge(0.0), edge(1.0)) if count else (0.0, 1.0)


def _divergence(p: float, q: float) -> float:
    """KL(p || q) of two coins, infinite where q rules out what p has."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            if b <= 0:
                return float("inf")
            total += a * log(a / b)
    return total
