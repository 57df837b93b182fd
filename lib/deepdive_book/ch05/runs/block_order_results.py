"""Tables, intervals, and the permutation test of page 5.14, from the saved runs.

runs = load_runs()
order_table(runs.orders)        # published orders among all 20, at equal parameters and compute
search_table(runs)              # DARTS against random search with the same compute
"""

from collections.abc import Mapping, Sequence
from math import comb
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from deepdive.evaluate import Interval, t_interval
from deepdive_book.ch05.runs import block_order
from deepdive_book.ch05.runs.block_order import MACARON, ORDERS, SPACE, TUNING_SEED
from deepdive_book.ch06a.runs import decoder_ablations
from deepdive_book.ch06a.runs.decoder_ablations import Text
from deepdive_book.kit.experiments import load_rows, results_path
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.profile import profile
from deepdive_book.kit.tables import NOT_HERE, table

Rows = Sequence[Mapping[str, Any]]
PUBLISHED = {
    "sfsfsf": "interleaved (Transformer)", "ssfsff": "Sandwich, k = 1",
    "sssfff": "Sandwich, k = 2", MACARON: "Macaron, half steps",
}  # fmt: skip


class Runs(NamedTuple):
    """The saved rows of the five measurements."""

    baseline: list[dict[str, Any]]
    orders: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    space: list[dict[str, Any]]
    searches: list[dict[str, Any]]


def corpus() -> Text:
    """Return tinyshakespeare; in the profile `ci` a repeated line, which is generated data."""
    if profile() == "ci":
        return decoder_ablations.cut("to be or not to be, that is " * 400)
    return decoder_ablations.shakespeare()


def load_runs() -> Runs:
    """Return the saved runs; in the profile `experiment`, measure those that are missing first."""
    names = (
        "bigram", "block_order", "block_order_changed", "architecture_space", "architecture_search",
    )  # fmt: skip
    paths = [results_path("05_efficient", name) for name in names]
    if profile() != "experiment":
        return Runs(*(load_rows(path) for path in paths))
    text = corpus()
    orders = block_order.order_rows(text, paths[1])
    return Runs(
        block_order.baseline_rows(text, paths[0]),
        orders,
        block_order.changed_rows(text, orders, paths[2]),
        block_order.space_rows(text, paths[3]),
        block_order.search_rows(text, paths[4]),
    )


def final_losses(rows: Rows, arm: str, part: str = "test") -> dict[str, list[float]]:
    """Return the losses of each arm by seed, in the order of the seeds, without the tuning seed."""
    found: dict[str, list[float]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        if row["seed"] != TUNING_SEED:
            found.setdefault(row[arm], []).append(row[part])
    return found


def variance_parts(losses: np.ndarray) -> dict[str, float]:
    """Return standard deviations of arms, seeds, and the rest, for losses (arms, seeds), from the
    mean squares of a two-way layout without replication.
    """
    A, S = losses.shape
    grand, arms, seeds = losses.mean(), losses.mean(1), losses.mean(0)
    rest = losses - arms[:, None] - seeds[None] + grand
    residual = (rest**2).sum() / ((A - 1) * (S - 1))
    of_arms = S * ((arms - grand) ** 2).sum() / (A - 1)
    of_seeds = A * ((seeds - grand) ** 2).sum() / (S - 1)
    return {
        "order": max(0.0, (of_arms - residual) / S) ** 0.5,
        "seed": max(0.0, (of_seeds - residual) / A) ** 0.5,
        "rest": residual**0.5,
    }


def permutation_p(losses: np.ndarray, draws: int = 9_999) -> float:
    """Return the p-value of "the order makes no difference": within each seed, losses (arms, seeds)
    are shuffled among the arms, and the variance of the arms' means is compared.
    """
    generator = np.random.default_rng(0)
    seen = losses.mean(1).var()
    larger = sum(generator.permuted(losses, axis=0).mean(1).var() >= seen for _ in range(draws))
    return (1 + larger) / (1 + draws)


def rank_correlation(losses: np.ndarray) -> tuple[float, float, float]:
    """Return mean, lowest, and highest Spearman correlation of the arms' losses (arms, seeds)
    between two single seeds, over all pairs of seeds.
    """
    ranks = losses.argsort(0).argsort(0)
    pairs = np.asarray(np.corrcoef(ranks.T))[np.triu_indices(losses.shape[1], 1)]
    return float(pairs.mean()), float(pairs.min()), float(pairs.max())


def other_initialization(runs: Runs) -> list[dict[str, Any]]:
    """Return the runs of all 20 orders that start from the library's own initial weights."""
    return [row for row in runs.changed if row["initial"] == "library"]


def loss_matrix(rows: Rows) -> np.ndarray:
    """Return the test losses (20 orders, seeds)."""
    losses = final_losses(rows, "order")
    return np.array([losses[order] for order in ORDERS])


def against_median(rows: Rows, arm: str, contrasts: int = len(PUBLISHED)) -> Interval:
    """Return an arm's test loss minus the median of the 20 orders, paired by seed: a t interval,
    Bonferroni-corrected.
    """
    losses = final_losses(rows, "order")
    middle = np.median(loss_matrix(rows), axis=0)
    return t_interval(np.array(losses[arm]) - middle, 1 - 0.05 / contrasts)


def order_plot(runs: Runs) -> Figure:
    """Plot the test losses of the 20 orders, sorted by their mean, one dot per seed."""
    if not runs.orders:
        return with_alt(Figure(), NOT_HERE)
    by_order = final_losses(runs.orders, "order")
    ranked = sorted(ORDERS, key=lambda order: mean(by_order[order]))
    figure = Figure(figsize=(6.4, 3.4))
    axes = figure.subplots()
    for place, order in enumerate(ranked):
        color = ROLES["value" if order[0] == "f" else "query"]
        axes.plot(
            [place] * len(by_order[order]), by_order[order], "o", color=color, ms=3.5, alpha=0.7
        )
        axes.plot(place, mean(by_order[order]), "_", color=color, ms=14, mew=2.5)
    axes.axhline(runs.baseline[0]["test"], color=ROLES["score"], ls="--", lw=1)
    axes.set_xticks(range(20), ranked, rotation=90, family="monospace", fontsize=9)
    axes.set_ylabel("test loss (nats per character)")
    alt = (
        "Test losses of the 20 orders, sorted by their mean. The ten orders that start with a "
        "feed-forward sublayer have the ten lowest means, about 2.26 to 2.28; the orders that "
        "start with attention follow, and the last three start with two or more attention "
        "sublayers."
    )
    return with_alt(figure, alt)


def starting_with(rows: Rows, letter: str) -> np.ndarray:
    """Return the test losses (orders, seeds) of the ten orders that start with this sublayer."""
    return loss_matrix(rows)[[order[0] == letter for order in ORDERS]]


def f_first_minus_s_first(rows: Rows) -> Interval:
    """Return the mean loss of the ten orders that start with a feed-forward sublayer minus that of
    the ten that start with attention, paired by seed: a t interval.
    """
    f, s = (starting_with(rows, letter).mean(0) for letter in "fs")
    return t_interval(f - s)


def order_table(rows: Rows) -> Html:
    """Show the published orders, and the best, median, and worst of the 20."""
    if not rows:
        return table([{"order": NOT_HERE}])
    losses, rates = final_losses(rows, "order"), block_order.best_rates(rows, "order")
    ranked = sorted(ORDERS, key=lambda order: mean(losses[order]))
    shown = dict.fromkeys([ranked[0], *PUBLISHED, ranked[-1]])
    lines = []
    for arm in sorted(shown, key=lambda arm: mean(losses[arm])):
        row = next(r for r in rows if r["order"] == arm)
        line = {
            "order": arm if arm != MACARON else "hsh hsh hsh",
            "name": PUBLISHED.get(arm, "best of 20" if arm == ranked[0] else "worst of 20"),
            "parameters": f"{row['parameters']:,}", "GFLOPs": f"{row['flops'] / 1e9:.1f}",
            "LR": f"{rates[arm]}", "test loss": f"{mean(losses[arm]):.3f}",
            "rank of 20": f"{ranked.index(arm) + 1}" if arm in ranked else "",
        }  # fmt: skip
        difference = against_median(rows, arm)
        line["minus the median"] = interval_text(difference) if arm in PUBLISHED else ""
        lines.append(line)
    seeds = len(losses[ranked[0]])
    return table(lines, caption=f"The test loss is in nats per character, as the mean of {seeds} "
                 "seeds. In an order, s is self-attention, f feed-forward, and h a feed-forward "
                 "half step. GFLOPs are those of one training run. The learning rate (LR) of each "
                 "row was selected on another seed. The last column is the difference from the "
                 "median of the 20 losses of the same seed [95% interval, Bonferroni-corrected "
                 f"for {len(PUBLISHED)} comparisons].")  # fmt: skip


def changed_table(runs: Runs) -> Html:
    """Show three orders after 400 steps, after 1,600, and from other initial weights, each minus
    the interleaved order under the same conditions.
    """
    if not runs.orders or not runs.changed:
        return table([{"order": NOT_HERE}])
    seeds = {row["seed"] for row in runs.changed}
    conditions = {
        "400 steps": [row for row in runs.orders if row["seed"] in seeds],
        "1,600 steps": [row for row in runs.changed if row["initial"] == "GPT-2"],
        "other initialization": other_initialization(runs),
    }
    losses = {name: final_losses(rows, "order") for name, rows in conditions.items()}
    lines = []
    for arm in block_order.REPEATED:
        line = {"order": "hsh hsh hsh" if arm == MACARON else arm}
        for name, found in losses.items():
            line[name] = f"{mean(found[arm]):.3f}"
            if arm != "sfsfsf":
                pairs = zip(found[arm], found["sfsfsf"], strict=True)
                each = t_interval([a - b for a, b in pairs], 1 - 0.05 / 6)
                line[name] += f", {interval_text(each)}"
        lines.append(line)
    return table(lines, caption="Each cell starts with the test loss in nats per character, the "
                 "mean of three seeds. The second number is the difference from sfsfsf under the "
                 "same conditions, paired by seed [95% interval, Bonferroni-corrected for six "
                 "comparisons]. The last column is 400 steps from the "
                 "library's initial weights.")  # fmt: skip


def interval_text(each: Interval) -> str:
    """Return an interval as text, with signs."""
    return f"{each.value:+.3f} [{each.low:+.3f}, {each.high:+.3f}]"


def ranks(rows: Rows) -> dict[str, int]:
    """Return the rank of each architecture of the search space by mean test loss, from 1."""
    losses = final_losses(rows, "candidate")
    return {name: i for i, name in enumerate(sorted(losses, key=lambda n: mean(losses[n])), 1)}


def first_runs(rows: Rows) -> list[Mapping[str, Any]]:
    """Return one run per architecture: on the tuning seed, at the rate that DARTS has as well."""
    rate = block_order.SEARCH_RATES[0]
    return [row for row in rows if (row["seed"], row["rate"]) == (TUNING_SEED, rate)]


def random_search(rows: Rows, n: int) -> dict[str, float]:
    """Return the expected rank and test loss of the best of `n` random architectures.

    Selected by validation loss on the tuning seed, evaluated on the other seeds, exactly over all
    draws without replacement.
    """
    chosen = sorted(first_runs(rows), key=lambda row: row["chosen"])
    losses, place, size = final_losses(rows, "candidate"), ranks(rows), len(chosen)
    weights = [comb(size - i - 1, n - 1) / comb(size, n) for i in range(size)]
    pairs = [(w, row["candidate"]) for w, row in zip(weights, chosen, strict=True)]
    return {
        "rank": sum(w * place[name] for w, name in pairs),
        "test": sum(w * mean(losses[name]) for w, name in pairs),
    }


def affordable(runs: Runs) -> int:
    """Return how many random architectures cost as much to train as DARTS: one search, and one
    training of its choice.
    """
    training = mean(row["flops"] for row in first_runs(runs.space))
    return int(1 + runs.searches[0]["flops"] / training)


def choices(runs: Runs, alpha_rate: float) -> list[str]:
    """Return what DARTS chose with this learning rate of alpha, one string per seed."""
    return [row["choice"] for row in runs.searches if row["alpha_rate"] == alpha_rate]


def darts_minus_random_search(
    runs: Runs, alpha_rate: float, times: int = 1, stacks: int = 0
) -> Interval:
    """Return the test loss of DARTS's choices minus that of random search with `times` the
    compute, or among `stacks`: a t interval over the searches, Bonferroni-corrected for the page's
    four comparisons.
    """
    losses = final_losses(runs.space, "candidate")
    other = random_search(runs.space, stacks or times * affordable(runs))["test"]
    each = [mean(losses[name]) - other for name in choices(runs, alpha_rate)]
    return t_interval(each, 1 - 0.05 / 4)


def search_table(runs: Runs) -> Html:
    """Compare DARTS with random search, a random architecture, and the best and worst of 64."""
    if not runs.space or not runs.searches:
        return table([{"method": NOT_HERE}])
    losses, place = final_losses(runs.space, "candidate"), ranks(runs.space)
    means, n = {name: mean(each) for name, each in losses.items()}, affordable(runs)
    training = mean(row["flops"] for row in first_runs(runs.space))
    first, last = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    budget = f"{(runs.searches[0]['flops'] + training) / 1e9:.1f}"
    lines: list[dict[str, Any]] = [
        {"method": f"best of 64 ({first})", "GFLOPs": f"{64 * training / 1e9:.0f}", "mean rank": 1,
         "test loss": f"{means[first]:.3f}"}
    ]  # fmt: skip
    for tried in (n, 2 * n):
        found = random_search(runs.space, tried)
        lines.append({
            "method": f"random search, best of {tried}",
            "GFLOPs": f"{tried * training / 1e9:.1f}", "mean rank": f"{found['rank']:.1f}",
            "test loss": f"{found['test']:.3f}",
        })  # fmt: skip
    for rate in block_order.ALPHA_RATES:
        picks = choices(runs, rate)
        where = [place[name] for name in picks]
        lines.append({
            "method": f"DARTS, LR of α {rate}", "GFLOPs": budget,
            "mean rank": f"{mean(where):.1f} [{min(where)} to {max(where)}]",
            "test loss": f"{mean(means[name] for name in picks):.3f}",
            f"minus best of {n}": interval_text(darts_minus_random_search(runs, rate)),
        })  # fmt: skip
    lines.append({"method": "one random architecture", "GFLOPs": f"{training / 1e9:.1f}",
                  "mean rank": "32.5", "test loss": f"{mean(means.values()):.3f}"})  # fmt: skip
    cost = next(row["flops"] for row in runs.space if row["candidate"] == last)
    lines.append({"method": f"worst of 64 ({last})", "GFLOPs": f"{cost / 1e9:.1f}",
                  "mean rank": len(SPACE), "test loss": f"{means[last]:.3f}"})  # fmt: skip
    heads = ("method", "GFLOPs", "mean rank", "test loss", f"minus best of {n}")
    lines = [{head: line.get(head, "") for head in heads} for line in lines]
    return table(lines, caption="Each search is among 64 stacks of three sublayers. They are "
                 "ranked by their mean test loss over three seeds, and 1 is the best. For DARTS, "
                 "rank and loss are means over six searches [lowest to highest]. GFLOPs include "
                 "the search and the training of its result, for the best of 64 all 64 trainings. "
                 f"The last column is the difference from random search, best of {n}, with 95% "
                 "intervals over the searches, Bonferroni-corrected for four comparisons: these "
                 "two, and the two printed below.")  # fmt: skip


def middle(rows: Rows) -> float:
    """Return the median of the 20 orders' mean test losses."""
    losses = final_losses(rows, "order")
    return median(mean(losses[order]) for order in ORDERS)
