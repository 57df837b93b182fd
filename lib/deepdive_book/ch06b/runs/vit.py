"""Vision Transformers on photographs of hands: patch size at unequal and at equal parameters, two
baselines, and the order of the patches. Pages 6b.1 and 6b.1b.

The data are `sign_digits`, photographs of hands that sign the digits 0 to 9, whose training and
test parts share no student (`photographs`). Every run trains one model from scratch (`train`) and
measures its accuracy on the test part (`measure`).

A patch embedding has 3 P^2 d_model weights, so a ViT with larger patches also has more parameters.
In the arm "pooled" each patch is first averaged to a grid of 10 x 10 pixels. Then the embedding has
the same number of weights for every patch size, and larger patches see fewer details.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.data.images import Images, generated_shapes, sign_digits
from deepdive.evaluate import Interval
from deepdive.explain.rollout import rollout
from deepdive.layers.heads import ImageClassifier
from deepdive.layers.patches import patchify, unpatchify
from deepdive.models.vision import vit
from deepdive.models.vision.embeddings import ImageEmbeddings
from deepdive.training.fit import fit
from deepdive.training.optim import adam, linear
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.profile import profile
from deepdive_book.kit.rows import Row, by_seed, interval, paired, select
from deepdive_book.tasks.images import ImageBatches, accuracy, loss, tensors

D_MODEL, N_HEADS, N_LAYERS, D_FF = 64, 4, 2, 128
BATCH = 16
GRID = 10  # pixels per side of a pooled patch
RATE = 1e-3
STEPS, LONG, SEEDS = 1200, 4800, (1, 2, 3)


class Data(NamedTuple):
    """Photographs and their pixels as a model's input, for training and for testing."""

    train: Images
    test: Images
    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor

    @property
    def side(self) -> int:
        """The images' height and width in pixels."""
        return self.x_train.shape[-1]


def photographs(part: str, side: int | None = None) -> Images:
    """Return photographs of hands, or, in the profile `ci`, generated shapes; part is "train" or
    "test", side the height and width in pixels (by default 100, in `ci` 40).
    """
    if profile() != "ci":
        return sign_digits(part, size=side or 100)
    return generated_shapes(400 if part == "train" else 200, side or 40, seed=len(part))


@cache
def load_data() -> Data:
    """Return the training and the test part as images and tensors."""
    train, test = photographs("train"), photographs("test")
    return Data(train, test, *tensors(train, scale=0.25), *tensors(test, scale=0.25))


def shuffled(images: Tensor, patch: int, order: str) -> Tensor:
    """Return images (B, C, H, W) with their patches "in order", in "one shuffle" for all images, or
    in a "new shuffle" for each image.
    """
    if order == "in order":
        return images
    rows = patchify(images, patch)
    one = one_shuffle(rows.shape[1])
    if order == "new shuffle":
        one = torch.rand(rows.shape[:2]).argsort(1)
    at = one.expand(rows.shape[:2])[..., None].expand_as(rows)
    return unpatchify(rows.gather(1, at), patch, *images.shape[2:])


def one_shuffle(n: int) -> Tensor:
    """Return the permutation of n patches that "one shuffle" applies to every image."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(9))


class Classifier(ImageClassifier):
    """A ViT with a linear head on the class token; pools and shuffles its input where an arm does.

    patch   height and width of a patch in pixels of the image
    pool    each square of pool x pool pixels is averaged to one before the patches are cut
    order   of the patches, as `shuffled` takes it
    """

    patch, pool, order = 20, 1, "in order"

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (B, n_classes) for images (B, C, H, W)."""
        images = shuffled(images, self.patch, self.order)
        return super().forward(F.avg_pool2d(images, self.pool) if self.pool > 1 else images)


def build_vit(
    patch: int, side: int, channels: int, n_classes: int, *, pooled: bool = False,
    order: str = "in order", positions: bool = True, glorot: bool = True,
) -> Classifier:  # fmt: skip
    """Return an untrained ViT. Without `positions` its position embeddings are zero and not
    trained; without `glorot` all weights start with a standard deviation of 0.02.
    """
    pool = patch // GRID if pooled else 1
    config = vit.TINY.but(
        image_size=side // pool, patch_size=patch // pool, channels=channels, d_model=D_MODEL,
        n_heads=N_HEADS, n_layers=N_LAYERS, d_ff=D_FF,
    )  # fmt: skip
    model = Classifier(vit.vit(config), D_MODEL, n_classes)
    model.patch, model.pool, model.order = patch, pool, order
    for part in model.modules():
        if glorot and isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
    if not positions:
        table = embeddings(model).positions
        table.data.zero_()
        table.requires_grad_(False)
    return model


def embeddings(model: ImageClassifier) -> ImageEmbeddings:
    """Return a ViT's embeddings: projection, class token, and position embeddings."""
    found = model.encoder.get_submodule("embeddings")
    assert isinstance(found, ImageEmbeddings)
    return found


def build_cnn(channels: int, n_classes: int) -> nn.Sequential:
    """Return a small CNN: four convolutions with batch normalization, and global pooling."""
    widths, layers = (channels, 24, 48, 72, 72), []
    for n, (before, after) in enumerate(pairwise(widths)):
        kernel, stride = (5, 4) if n == 0 else (3, 1)
        layers += [nn.Conv2d(before, after, kernel, stride, kernel // 2), nn.BatchNorm2d(after),
                   nn.ReLU()]  # fmt: skip
        if n in (1, 2):
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(widths[-1], n_classes))  # fmt: skip


def build_linear(side: int, channels: int, n_classes: int, pool: int = 1) -> nn.Sequential:
    """Return a linear classifier on all pixels, or on averages of pool x pool pixels; its initial
    weights are zero.
    """
    layer = nn.Linear(channels * (side // pool) ** 2, n_classes)
    nn.init.zeros_(layer.weight)
    return nn.Sequential(nn.AvgPool2d(pool), nn.Flatten(), layer)


ARMS: dict[str, dict[str, Any]] = {
    "ViT": {}, "pooled": {"pooled": True}, "one shuffle": {"order": "one shuffle"},
    "new shuffle": {"order": "new shuffle"}, "no positions": {"positions": False},
    "small weights": {"glorot": False},
}  # fmt: skip


def build(arm: str, patch: int, side: int, channels: int, n_classes: int) -> nn.Module:
    """Return the untrained model of an arm: one of ARMS, "CNN", "linear", or "pooled linear"."""
    if arm == "CNN":
        return build_cnn(channels, n_classes)
    if arm in ("linear", "pooled linear"):
        return build_linear(side, channels, n_classes, side // GRID if "pooled" in arm else 1)
    return build_vit(patch, side, channels, n_classes, **ARMS[arm])


def parameters(model: nn.Module) -> int:
    """Return the number of trained parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def train(arm: str, patch: int, seed: int, steps: int, rate: float = RATE) -> nn.Module:
    """Return a trained model: Adam, with linear warmup and decay of the learning rate, on batches
    of 16 images that are shifted by up to a twentieth of their side.
    """
    data = load_data()
    torch.manual_seed(seed)
    model = build(arm, patch, data.side, data.x_train.shape[1], len(data.train.names))
    batches = ImageBatches(data.x_train, data.y_train, BATCH, shift=data.side // 20, seed=seed)
    fit(model, batches, loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(model, lr=rate), schedule=linear(rate, max(1, steps // 10), steps),
        )  # fmt: skip
    return model.eval()


def attention_weights(model: ImageClassifier, images: Tensor) -> list[Tensor]:
    """Return each layer's attention weights, (B, heads, 1 + N, 1 + N)."""
    with record(model.encoder, "*.weights") as seen, torch.no_grad():
        model(images)
    return [calls[0] for calls in seen.values()]


def class_rollout(model: ImageClassifier, images: Tensor) -> Tensor:
    """Return the attention rollout from the class token to each patch, (B, N)."""
    parts = [rollout(attention_weights(model, part))[-1, :, 0, 1:] for part in images.split(70)]
    return torch.cat(parts)


def occluded(images: Tensor, patch: int, scores: Tensor, count: int) -> Tensor:
    """Return images whose `count` patches with the highest scores (B, N) are gray (zero)."""
    rows = patchify(images, patch).clone()
    highest = scores.topk(count, dim=1).indices
    at = highest[..., None].expand(-1, -1, rows.shape[2])
    return unpatchify(rows.scatter(1, at, 0.0), patch, *images.shape[2:])


def occlusion(model: ImageClassifier, patch: int, seed: int) -> dict[str, float]:
    """Return the test accuracy with a fifth of the patches gray: those with the most or the least
    attention rollout, or random ones.
    """
    data = load_data()
    scores = class_rollout(model, data.x_test)
    at_random = torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed))
    found = {}
    for name, order in (("most", scores), ("random", at_random), ("least", -scores)):
        images = occluded(data.x_test, patch, order, scores.shape[1] // 5)
        found[f"occluded_{name}"] = round(
            accuracy(model, images, data.y_test, progress=False), 4)  # fmt: skip
    return found


def measure(arm: str, patch: int, seed: int, steps: int, rate: float) -> dict[str, Any]:
    """Train one model; return its accuracy on the test and on the training part.

    For an arm whose patches are in order also the accuracy on test images with shuffled patches,
    and for "ViT" with at least 16 patches the accuracy under occlusion.
    """
    data, model = load_data(), train(arm, patch, seed, steps, rate)
    found: dict[str, Any] = {
        "accuracy": round(accuracy(model, data.x_test, data.y_test, progress=False), 4),
        "train_accuracy": round(accuracy(model, data.x_train, data.y_train, progress=False), 4),
        "parameters": parameters(model),
    }
    if arm in ("ViT", "no positions"):
        mixed = shuffled(data.x_test, patch, "one shuffle")
        found["shuffled"] = round(accuracy(model, mixed, data.y_test, progress=False), 4)
    if arm == "ViT" and isinstance(model, ImageClassifier) and (data.side // patch) ** 2 >= 16:
        found |= occlusion(model, patch, seed)
    return found


def points(
    settings: Sequence[tuple[str, int]], steps: int, seeds: Sequence[int] = SEEDS,
    rate: float = RATE,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the arguments of `measure` for these pairs of an arm and a patch size."""
    return [{"arm": arm, "patch": patch, "seed": seed, "steps": steps, "rate": rate}
            for seed in seeds for arm, patch in settings]  # fmt: skip


SIZES = (("ViT", 10), ("ViT", 20), ("ViT", 50), ("ViT", 100),
         ("pooled", 20), ("pooled", 50), ("pooled", 100))  # fmt: skip
ORDERS = (("ViT", 20), ("one shuffle", 20), ("new shuffle", 20), ("no positions", 20))
# name, arm, patch size, learning rate: 1e-4 is better than 1e-3 for a linear classifier on all
# pixels, on one seed
BASELINES = (("linear, thumbnail of 10 × 10", "pooled linear", 100, RATE),
             ("linear, all pixels", "linear", 0, 1e-4), ("small CNN", "CNN", 0, RATE))  # fmt: skip
OTHER_RATES = (3e-4, 3e-3)


def budgets() -> tuple[int, int]:
    """Return the numbers of steps of a short and a long training; few in the profile `ci`."""
    return (4, 8) if profile() == "ci" else (STEPS, LONG)


def experiment() -> list[dict[str, Any]]:
    """Return the points of the saved experiment."""
    return [
        *points([*SIZES, *ORDERS[1:3]], STEPS),
        *(point for _, arm, patch, rate in BASELINES
          for point in points([(arm, patch)], STEPS, rate=rate)),
        *points([("linear", 0)], STEPS, SEEDS[:1]),
        *points([*SIZES[1:3], *SIZES[4:], *ORDERS[1:], BASELINES[0][1:3]], LONG),
        *(point for rate in OTHER_RATES for point in points(SIZES[1:3], STEPS, SEEDS[:1], rate)),
    ]  # fmt: skip


def sizes_here(side: int) -> list[tuple[str, int]]:
    """Return those of `SIZES` whose patches divide the images' side."""
    return [(arm, patch) for arm, patch in SIZES if side % patch == 0]


class Cost(NamedTuple):
    """The number of patches, of trained parameters, and of millions of FLOPs for one image."""

    patches: int
    parameters: int
    mflops: float


def cost(arm: str, patch: int) -> Cost:
    """Return what one model costs, with random weights: nothing is trained."""
    data = load_data()
    model = build(arm, patch, data.side, data.x_train.shape[1], len(data.train.names)).eval()
    flops = count_flops(lambda: model(data.x_test[:1]))
    n = (data.side // patch) ** 2 if patch else 0
    return Cost(n, parameters(model), round(flops / 1e6, 2))


def examples() -> dict[str, Any]:
    """Return a few test images as bytes (C, H, W), named for the interactive figure."""
    test = load_data().test
    real = profile() != "ci"
    chosen, words = ((3, 5, 8), "a hand that signs") if real else ((0, 1), "a generated")
    return {f"{words} {test.names[k]}": test.pixels[test.labels == k][0] for k in chosen}


def few() -> list[dict[str, Any]]:
    """Return a few short points on generated shapes, for the profile `ci`."""
    settings = [("ViT", 10), ("pooled", 20), ("one shuffle", 10), ("no positions", 10), ("CNN", 0)]
    return [point for steps in budgets() for point in points(settings, steps, SEEDS[:1])]


def difference(
    rows: Sequence[Row], first: tuple[str, int], second: tuple[str, int], steps: int,
    key: str = "accuracy", contrasts: int = 1,
) -> Interval | float | None:  # fmt: skip
    """Return first minus second in points, paired by seed, with its `interval`."""
    ours, theirs = (by_seed(rows, key, arm=arm, patch=patch, steps=steps, rate=RATE)
                    for arm, patch in (first, second))  # fmt: skip
    return interval(paired(ours, theirs), 100, contrasts)


def change(
    rows: Sequence[Row], model: tuple[str, int], steps: int, key: str
) -> Interval | float | None:
    """Return a model's `key` minus its accuracy in points, paired by seed, with its `interval`;
    None if `key` wasn't measured.
    """
    found = select(rows, arm=model[0], patch=model[1], steps=steps, rate=RATE)
    return interval([row[key] - row["accuracy"] for row in found if key in row], 100)


def weights_for_page(model: ImageClassifier) -> dict[str, Tensor]:
    """Return the weights of the library's classifier under the names of the page's `ViT`."""
    old, found = model.state_dict(), {}
    names = {
        "encoder.embeddings.special": "class_token", "encoder.embeddings.positions": "positions",
        "encoder.embeddings.patches.project": "embed", "encoder.stack.norm": "norm",
        "encoder.stack.blocks": "blocks",
        "attn_residual.norm": "norm1", "ff_residual.norm": "norm2", "attn.out": "project",
        "attn.q": "query", "ff.inner": "mlp.0", "ff.out": "mlp.2",
    }  # fmt: skip
    side = embeddings(model).patches.size
    for name, weight in old.items():
        new = f"head.{name[4:]}" if name.startswith("out.") else name
        for own, page in names.items():
            new = new.replace(own, page)
        if ".attn.kv." in name:  # keys and values share one matrix in the library
            half = len(weight) // 2
            found[new.replace("attn.kv", "key")] = weight[:half]
            found[new.replace("attn.kv", "value")] = weight[half:]
            continue
        if new == "embed.weight":  # a linear layer's weight as a convolution kernel
            weight = weight.unflatten(1, (-1, side, side))
        found[new] = weight
    return found


def weights_for_transformers(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of the page's `ViT` under the names of `ViTForImageClassification`."""
    names = {
        "class_token": "embeddings.cls_token", "positions": "embeddings.position_embeddings",
        "embed": "embeddings.patch_embeddings.projection", "norm": "layernorm",
        "blocks": "layers", "norm1": "layernorm_before", "norm2": "layernorm_after",
        "query": "attention.q_proj", "key": "attention.k_proj", "value": "attention.v_proj",
        "project": "attention.o_proj", "mlp.0": "mlp.fc1", "mlp.2": "mlp.fc2",
    }  # fmt: skip
    found = {}
    for name, weight in weights.items():
        if name.startswith("head."):
            found[name.replace("head", "classifier")] = weight
            continue
        parts = name.replace("mlp.0", "mlp_0").replace("mlp.2", "mlp_2").split(".")
        new = ".".join(names.get(part.replace("mlp_", "mlp."), part) for part in parts)
        if name in ("class_token", "positions"):
            weight = weight[None]
        found[f"vit.{new}"] = weight
    return found
