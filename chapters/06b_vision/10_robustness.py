# %% [markdown] tags=["slide"]
# # What breaks a reader of images
#
# TODO
#
# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)

# %% The pictures tags=["fold"]
import torch
from torch import nn

from deepdive.data.images import fashion_mnist, generated_shapes
from deepdive.page.profile import pick, profile
from deepdive.training.tasks.images import ImageBatches, tensors

SIDE, PATCH, KINDS = pick(ci=(16, 4, 4), laptop=(28, 7, 10), gpu=(28, 7, 10))
GRID = SIDE // PATCH  # patches a side


def pictures(part):
    if profile() == "ci":
        return generated_shapes(600 if part == "train" else 200, SIDE, seed=int(part == "test"))
    return fashion_mnist(part)


clothes, others = pictures("train"), pictures("test")
names = clothes.names
(x, y), (new, truth) = tensors(clothes), tensors(others)

# %% Five readers: the ViTs tags=["fold"]
from deepdive.models.before.convnet import ConvNet
from deepdive.models.vision import vit


class Vit(nn.Module):
    """Logits from the mean over patches of their states, or from all states in a row (`flat`)."""

    def __init__(self, places=True, flat=False, d_model=64):
        super().__init__()
        self.flat = flat
        self.encoder = vit.vit(
            vit.TINY, image_size=SIDE, patch_size=PATCH, d_model=d_model, n_layers=4,
            d_ff=2 * d_model, n_special=0,
        )  # fmt: skip
        table = self.encoder.embeddings.positions
        for weight in self.encoder.parameters():
            if weight.ndim == 2 and weight is not table:
                nn.init.xavier_uniform_(weight)
        if not places:
            nn.init.zeros_(table).requires_grad_(False)
        self.out = nn.Linear(d_model * (GRID**2 if flat else 1), KINDS)

    def forward(self, images):
        states = self.encoder(images)
        return self.out(states.flatten(1) if self.flat else states.mean(1))


# %% Five readers: the CNNs tags=["fold"]
class FlatCnn(nn.Module):
    """The CNN of page 6b.2, but its last maps stay in place: each place has weights of its own."""

    def __init__(self):
        super().__init__()
        self.layers = ConvNet((16, 24, 48, 48)).layers
        self.out = nn.Linear(48 * (SIDE // 4) ** 2, KINDS)

    def forward(self, images):
        return self.out(self.layers(images).flatten(1))


MODELS = {
    "ViT": Vit,
    "CNN": lambda: ConvNet((16, 24, 48, 48), n_classes=KINDS),
    "ViT, no positions": lambda: Vit(places=False),
    "ViT, flat": lambda: Vit(flat=True),
    "CNN, flat": FlatCnn,
}

# %% Spoil: cover, move tags=["fold"]
GREY, BLACK = 0.0, -1.0  # of pixels that go from -1 to 1


def drawn(seed=0):
    """What draws by lot, the same lots each time."""
    return torch.Generator().manual_seed(seed)


def covered(x, ranks, k, shade=GREY, off=0):
    """The k patches of each image with the highest of `ranks` (B, patches), in one shade; squares
    that lie `off` pixels beside the patches go on at the other edge."""
    over = torch.zeros(len(x), GRID**2, dtype=torch.bool)
    over.scatter_(1, ranks.topk(k).indices, True)
    over = over.view(-1, 1, GRID, GRID).repeat_interleave(PATCH, 2).repeat_interleave(PATCH, 3)
    return torch.where(over.roll((off, off), (2, 3)), torch.full_like(x, shade), x)


def moved(x, by, draw):
    """Each image by so many pixels up, down, left or right, by lot; what comes in is empty."""
    wide = nn.functional.pad(x, (by,) * 4, value=BLACK)
    ways = torch.tensor([[0, by], [2 * by, by], [by, 0], [by, 2 * by]])
    ways = ways[torch.randint(4, (len(x),), generator=draw)]
    lines, columns = (start[:, None] + torch.arange(SIDE) for start in ways.T)
    each = torch.arange(len(x))[:, None, None]
    return wide[each, 0, lines[:, :, None], columns[:, None, :]][:, None]


# %% Spoil: shuffle, noise tags=["fold"]
from deepdive.layers.patches import cut, joined


def shuffled(x, across, draw):
    """Each image cut into across x across squares, which change places by lot."""
    size = SIDE // across
    squares = cut(x, size)  # (B, across * across, size * size)
    order = torch.rand(squares.shape[:2], generator=draw).argsort(1)
    return joined(squares.gather(1, order[..., None].expand_as(squares)), size, SIDE, SIDE)


def noisy(x, spread, draw):
    """Noise on each pixel, normal, with a deviation of this share of the whole range."""
    return (x + 2 * spread * torch.randn(x.shape, generator=draw)).clamp(-1, 1)


# %% All that is asked tags=["fold"]
HIDDEN = (2, 4, 6, 8, 10, 12, 14)  # of 16 patches
FINE = pick(ci=8, laptop=7, gpu=7)  # squares a side that are smaller than a patch


def spoiled(x):
    """Name -> the images, spoiled."""
    lots, light = torch.rand(len(x), GRID**2, generator=drawn()), cut(x, PATCH).sum(2)
    yield "as it is", x
    for shade, called in ((GREY, "grey"), (BLACK, "black")):
        for k in HIDDEN:
            yield f"{called} {k}", covered(x, lots, k, shade)
        yield f"{called}, 4 lightest", covered(x, light, 4, shade)
        yield f"{called}, 4 darkest", covered(x, -light, 4, shade)
        for k in (4, 8):
            yield f"{called} {k}, beside", covered(x, lots, k, shade, off=PATCH // 2)
    for by in range(1, PATCH + 1):
        yield f"moved {by}", moved(x, by, drawn(by))
    for across in (2, 4, FINE):
        yield f"shuffled {across}", shuffled(x, across, drawn(across))
    for percent in (10, 20, 40):
        yield f"noise {percent}", noisy(x, percent / 100, drawn(percent))


# %% Erase while training tags=["fold"]
class Erased(ImageBatches):
    """In half of the images, by lot, a rectangle of 2 to 40 % of them gets one shade, by lot."""

    def __iter__(self):
        for images, labels in super().__iter__():
            draw = drawn((self.seed * 1000 + self.epoch) * 100_000 + self.index)
            share, shape, down, across, shade, which = torch.rand(6, len(images), generator=draw)
            share, shape = 0.02 + 0.38 * share, (shape * 2 - 1).mul(1.2).exp()  # 0.3 to 3.3
            high, wide = (SIDE * share.mul(s).sqrt().clamp(max=1) for s in (shape, 1 / shape))
            spans = [(place * (SIDE - size), size) for place, size in ((down, high), (across, wide))]
            rows, columns = (
                (torch.arange(SIDE) >= at[:, None].round())
                & (torch.arange(SIDE) < (at + size)[:, None].round())
                for at, size in spans
            )  # fmt: skip
            inside = rows[:, None, :, None] & columns[:, None, None, :]
            inside &= (which < 0.5)[:, None, None, None]
            yield torch.where(inside, 2 * shade[:, None, None, None] - 1, images), labels


# %% Train and ask tags=["fold"]
from time import process_time

from deepdive.page.experiments import kept, share, sweep
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive.training.tasks.images import loss
from deepdive.training.tasks.images import predict as logits

SOME = pick(ci=200, laptop=500, gpu=2000, experiment=2000)  # new images that are spoiled


def trained(model, erase, steps, seed):
    """A network after so many batches of 64 images."""
    torch.manual_seed(seed)
    net, rate = MODELS[model](), 8e-3 if model.startswith("CNN") else 2e-3  # as on page 6b.2
    batches = (Erased if erase else ImageBatches)(x, y, 64, seed=seed)
    fit(net, batches, loss, steps=steps, seed=seed, optimizer=adam(net, weight_decay=0.05),
        schedule=cosine(rate, steps // 20 + 1, steps), progress=False)  # fmt: skip
    return net


# %% Measure one tags=["fold"]
def measure(model, erase, steps, seed):
    """Right in % of the new images, for each way to spoil them; and in % of those that were right
    before."""
    start, found, still, before = process_time(), {}, {}, None
    net = trained(model, erase, steps, seed)
    for called, images in spoiled(new[:SOME]):
        right = logits(net, images, progress=False).argmax(1) == truth[:SOME]
        before = right if before is None else before
        found[called] = round(100 * float(right.float().mean()), 2)
        still[called] = round(100 * float(right[before].float().mean()), 2)
    return {"right": found, "still": still, "processor": round(process_time() - start, 1)}


# %% Measure tags=["fold"]
steps = pick(ci=40, laptop=400, gpu=400, experiment=round(1000 * share()))
asked = [(name, False, steps) for name in MODELS] + [("CNN", False, steps // 4)]
asked += [(name, True, steps) for name in MODELS]
if profile() != "experiment":
    asked = [("CNN", False, steps // 4)]
seeds = (1, 2, 3) if profile() == "experiment" else (1,)
points = [dict(zip(("model", "erase", "steps", "seed"), (*each, seed), strict=True))
          for seed in seeds for each in asked]  # fmt: skip
file = kept("06b_vision", "robustness")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data="fashion_mnist", minutes=60)
