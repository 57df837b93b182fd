# %% [markdown] tags=["slide"]
# # A language model in 98 MB: four bits a weight
#
# What was thrown away?
#
# <small>Book 6.1.3 · 18 min to read</small>

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

# %% Open it
import torch

from deepdive.published import gguf
from deepdive.published.from_gguf import model_of, tokenizer_of
from deepdive.published.smollm2 import smollm2

file = gguf.read(smollm2())
tokenizer = tokenizer_of(file)


# %% Round
def rounded(x, bits, block):
    """x again, each number at the nearest of the 2^bits marks of its block."""
    rows = x.reshape(-1, block)
    m, top = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)
    d = (top - m) / (2**bits - 1)
    q = ((rows - m) / d.clamp(min=1e-30) + 0.5).floor()
    return (d.half().float() * q + m.half().float()).reshape(x.shape)


def again(weight, bits, block):
    """A matrix rounded in blocks of 32, in blocks of 32 that begin 16 later, or a row a block."""
    if block == "32 shifted":
        return rounded(weight.flatten().roll(-16), bits, 32).roll(16).reshape(weight.shape)
    return rounded(weight, bits, 32 if block == "32" else weight.shape[1])


# %% Texts that it has to guess tags=["fold"]
import gzip

from deepdive.data import fetch
from deepdive.data.text import shuffled
from deepdive.page.profile import banner, pick, profile

LONG, MANY = 256, pick(ci=2, laptop=3, gpu=3)  # tokens of a text, texts of a kind


def passages(whole, many):
    """`many` texts of LONG tokens, from anywhere in a whole one."""
    ids = tokenizer.encode(whole)
    starts = shuffled(range(len(ids) // LONG), seed=0)[:many]
    return [ids[LONG * at : LONG * (at + 1)] for at in starts]


def kinds_of_text(many):
    """Texts by their kind."""
    if profile() == "ci":
        from sklearn import datasets

        whole = "".join(getattr(datasets, f"load_{x}")().DESCR for x in ("iris", "wine", "digits"))
        return {"descriptions": passages(whole, many)}
    wiki = gzip.decompress(fetch("wikitext2_heldout", "test.txt.gz").read_bytes()).decode()
    plays = fetch("tinyshakespeare", "input.txt").read_text("utf-8")
    return {"wikipedia": passages(wiki, many), "plays": passages(plays, many)}


# %% Nats of a text
import torch.nn.functional as F


@torch.no_grad()
def nats(model, text):
    """What the model pays for the tokens of a text after the first, together."""
    ids = torch.tensor([text])
    return F.cross_entropy(model(ids)[0, :-1], ids[0, 1:], reduction="sum").item()


# %% Round its layers, and count tags=["fold"]
def measure(bits, block, part, texts):
    """Nats of each text, by its kind, when weights are rounded again (0 bits: they are not)."""
    model = model_of(file)
    parts = {"layers": model.decoder.stack, "embedding": model.decoder.embedding}
    matrices = [p for p in parts[part].parameters() if p.dim() == 2]
    same = total = 0
    for weight in matrices if bits else []:
        new = again(weight.data, bits, block)
        same, total = same + int((new == weight).sum()), total + new.numel()
        weight.data = new
    found = {f"nats_{kind}": [round(nats(model, text), 4) for text in some]
             for kind, some in kinds_of_text(texts).items()}  # fmt: skip
    return found | {"unmoved": round(same / total, 6) if total else 1.0}


# %% What was kept tags=["fold"]
from deepdive.page.experiments import kept, sweep

experiment = profile() == "experiment"
MEASURED = 20  # texts of a kind
settings = [(0, "32", "layers"), (4, "32", "layers"), (5, "32", "layers"), (8, "32", "layers")]
settings += [(b, how, "layers") for b in (4, 3, 2, 5, 6, 8) for how in ("32 shifted", "row")]
settings += [(4, "32", "embedding"), (4, "row", "embedding")]
points = [{"bits": b, "block": how, "part": part, "texts": MEASURED} for b, how, part in settings]
path = kept("06a_text", "four_bits")
if experiment:
    sweep(measure, points, path, data="wikitext2_heldout, tinyshakespeare", minutes=40)
