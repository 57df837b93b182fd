# %% [markdown] tags=["slide"]
# # Vision Transformer (ViT): from pixels to tokens
#
# Cut a photograph of a hand into squares and shuffle them, and you can no longer count the fingers.
# A **Vision Transformer** (ViT) receives an image as such squares, which are called **patches**,
# and turns each one into a token. How large should a patch be, and does the model need to know
# where each patch was?
#
# **What it is.** ViT ([Dosovitskiy et al. 2021](https://arxiv.org/abs/2010.11929)) is a Transformer
# encoder that classifies images. A linear projection turns each patch into a vector, its **patch
# embedding**. In front of these comes the **class token**, a learned vector that belongs to no
# patch, and a learned **position embedding** is added to each token. After the encoder, a linear
# layer, the **classification head**, classifies the image from the final state of the class token.
#
# **What you'll be able to do.** Compute patch embeddings by hand, implement a complete ViT in 40
# lines of PyTorch that gives the same outputs as `ViTForImageClassification` from the transformers
# library, and measure how much patch size and position embeddings matter on a small data set.
#
# <details><summary><b>Short answer</b></summary>
#
# For our few and similar photographs of hands, one patch is better than 25. After 4,800 steps of
# training, a ViT that sees each photograph as a single patch, reduced to $10 \times 10$ pixels,
# reaches an accuracy of 95.4% (95% confidence interval over three random seeds: 93.6% to 97.2%). A
# ViT with 25 patches of $20 \times 20$ pixels, each reduced to $10 \times 10$, reaches 90.1% (87.7%
# to 92.5%). A small convolutional neural network (CNN) outperforms every ViT we trained. Positions
# matter little here: if the patches of each image come in a new random order, in training and in
# testing, a ViT without this reduction scores 82.8% instead of 86.0%.
#
# </details>
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb), [position
# embeddings](../02_transformer/08_positions.ipynb) · 30 min · data: photographs of hands · runs on
# a laptop; results of the long runs are included · book 6.2.1; lectures by Fleuret and Straka
# (ViT)</small>

# %% The architecture of ViT [markdown] tags=["slide"] figure="ch06b.vit_architecture"
# ![Vision Transformer. Top: an image is cut into nine patches; each is flattened and multiplied by
# one matrix, the linear projection, which gives nine patch embeddings. A learned class token goes
# before them, and a learned position embedding is added to each of the ten. Bottom: the ten tokens
# pass through L Transformer encoder blocks; the final state of the class token goes through a layer
# norm and a linear head to the class. One block, at the right: layer norm, multi-head
# self-attention, residual addition; layer norm, MLP, residual addition.](figures/01_patches.svg)
#
# *ViT with N = 9 patches of P × P pixels and C color channels. Left: the image becomes 1 + N tokens
# of d dimensions, and only the class token's final state is classified. Right: one of the L encoder
# blocks, with self-attention and a **multilayer perceptron** (MLP), which consists of two linear
# layers with a GELU in between. The block is **pre-norm**: a layer norm comes before attention and
# before the MLP, and the output of each is added to its input before that norm (a **residual
# connection**).*

# %% tags=["setup"]
# Setup, the same on every page. The profile sets how much work the page does.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SOURCE = "./deepdive-0.1.0-py3-none-any.whl[pages]"  # if it is missing here
try:
    import deepdive_book as book
except ModuleNotFoundError:  # on Colab; INSTALL.md has the other ways
    get_ipython().run_line_magic("pip", f'install --quiet "{SOURCE}"')
    import deepdive_book as book
book.setup(PROFILE, drive=False)  # drive=True keeps what a page saves in your Google Drive

# %% [markdown]
# The blocks are the same as BERT's, except for the position of the layer norms. What is new is how
# an image becomes tokens, because an image has no words.
#
# A CNN has an **inductive bias** for images, an assumption built into its architecture: its layers
# look for the same local pattern everywhere. ViT has much less of this bias, because its
# self-attention relates any patch to any other from the first block on. The model therefore has to
# learn which patches are next to each other.
#
# In the next figure, you can cut up photographs from the data set of our experiments. The code that
# loads the data and trains the models is the module `deepdive_book.ch06b.runs.vit`, which this page
# imports as `runs`.

# %% Cut a photograph into patches tags=["fold"]
from deepdive_book.ch06b.figures.patch_shuffle import patch_shuffle
from deepdive_book.ch06b.runs import vit as runs

data = runs.load_data()
P, sizes = (20, (5, 10, 20, 50, 100)) if data.side == 100 else (10, (5, 10, 20, 40))
patch_shuffle(runs.examples(), sizes=sizes, size=P)

# %% [markdown]
# **Interactive figure: a photograph as patches.** *The text below the image counts tokens and
# attention weights. (Photographs: [Mavi 2020](https://arxiv.org/abs/2011.08927), students of a
# school in Ankara who sign digits.)* *Try this:*
#
# 1. Shuffle the patches of 20 × 20 pixels. Can you still tell which digit the hand signs?
# 2. Show the position numbers. What could you do with them?
# 3. Change the patch size from 20 to 5, then to 50. How many tokens and attention weights are
#    there?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. Most likely not, because you see skin, fingertips, and wall, but not how many fingers are
#    raised.
# 2. You could use them to put the photograph together again. Position embeddings also distinguish
#    the patches, but the model has to learn which of them are neighbors.
# 3. With patches of 5 pixels there are 400 tokens and, together with the class token, 160,801
#    weights in each attention head. With patches of 50 pixels there are only 4 tokens and 25
#    weights.
#
# </details>
#
# ## By hand: patch embeddings
#
# To see how a square of pixels becomes a vector, we cut a gray image of $4 \times 4$ pixels into
# four patches of $2 \times 2$:
#
# $$\begin{array}{cc|cc} 1&2&0&1\\ 3&0&1&0\\ \hline 0&1&2&2\\ 1&0&0&1 \end{array}$$
#
# Each patch is first flattened line by line into a vector of four numbers. The **linear
# projection** then multiplies this vector by a matrix of learned weights. Our matrix has two rows,
# $(1, 2, 0, -1)$ and $(1, 1, 1, 1)$, each for one dimension of the patch embedding:
#
# | patch | flattened | first dimension | second dimension | patch embedding |
# |---|---|---|---|---|
# | 1, upper left | $(1, 2, 3, 0)$ | $1 + 4 + 0 - 0$ | $1 + 2 + 3 + 0$ | $(5, 6)$ |
# | 2, upper right | $(0, 1, 1, 0)$ | $0 + 2 + 0 - 0$ | $0 + 1 + 1 + 0$ | $(2, 2)$ |
# | 3, lower left | $(0, 1, 1, 0)$ | $0 + 2 + 0 - 0$ | $0 + 1 + 1 + 0$ | $(2, 2)$ |
# | 4, lower right | $(2, 2, 0, 1)$ | $2 + 4 + 0 - 1$ | $2 + 2 + 0 + 1$ | $(5, 5)$ |
#
# Because all patches are multiplied by the same matrix, the projection can be computed as a
# **convolution**. Its kernel and its **stride**, the step from one position to the next, are both
# as large as a patch, so the patches don't overlap.
#
# Patches 2 and 3 have the same pixels and therefore the same embedding. Attention treats equal
# tokens equally, so the encoder couldn't distinguish these two patches. Position embeddings solve
# this problem: if we add $(1, 0)$ to patch 2 and $(0, 1)$ to patch 3, their tokens become $(3, 2)$
# and $(2, 3)$.
#
# ## In code: a Vision Transformer
#
# The encoder's input has to contain both what each patch shows and where it is. We write $c$ for
# the class token, $p_1 \ldots p_N$ for the flattened patches, and $W$ and $b$ for the projection's
# weights and bias. With a table $E$ of $1 + N$ position embeddings, the input is
#
# $$x = [c;\; W p_1 + b;\; \ldots;\; W p_N + b] + E$$
#
# In words, we project each patch, put the class token in front, and add a position embedding to
# each token. The method `tokens` does this in the code, where B is the number of images in a batch.

# %% A Vision Transformer tags=["concept", "slide"]
import torch
from torch import nn


class Block(nn.Module):
    """One pre-norm encoder block: self-attention, then an MLP, each in a residual branch."""

    def __init__(self, d, heads, d_ff):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(d, 1e-12), nn.LayerNorm(d, 1e-12)
        self.query, self.key, self.value, self.project = (nn.Linear(d, d) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(d, d_ff), nn.GELU(), nn.Linear(d_ff, d))

    def attention(self, x):  # (B, 1 + N, d)
        q, k, v = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))  # (B, heads, 1 + N, d / heads)
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)  # (B, heads, 1 + N, 1 + N)
        return self.project((weights @ v).transpose(1, 2).flatten(2))  # (B, 1 + N, d)

    def forward(self, x):  # (B, 1 + N, d)
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    """Vision Transformer; the default values are those of ViT-B/16."""

    def __init__(self, n_classes=1000, image=224, patch=16, channels=3, d=768, heads=12, layers=12,
                 d_ff=3072):  # fmt: skip
        super().__init__()
        N = (image // patch) ** 2
        self.embed = nn.Conv2d(channels, d, kernel_size=patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, d))
        self.positions = nn.Parameter(0.02 * torch.randn(1 + N, d))
        self.blocks = nn.Sequential(*(Block(d, heads, d_ff) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(d, 1e-12), nn.Linear(d, n_classes)

    def tokens(self, images):  # (B, C, H, W)
        patches = self.embed(images).flatten(2).mT  # (B, d, H / P, W / P) -> (B, N, d)
        first = self.class_token.expand(len(images), 1, -1)  # (B, 1, d)
        return torch.cat([first, patches], 1) + self.positions  # (B, 1 + N, d)

    def forward(self, images):  # (B, C, H, W)
        x = self.norm(self.blocks(self.tokens(images)))  # (B, 1 + N, d)
        return self.head(x[:, 0])  # the class token's state -> (B, n_classes)

# %% [markdown]
# To check the code, we repeat the example from above in a ViT with $d = 2$. The first token is the
# class token, which starts at zero. The second line of output gives the number of parameters of
# ViT-B/16, the paper's base model with patches of 16 pixels:

# %% The example by hand tags=["nbval-check-output"]
image = torch.tensor([[1.0, 2, 0, 1], [3, 0, 1, 0], [0, 1, 2, 2], [1, 0, 0, 1]])[None, None]
tiny = ViT(n_classes=2, image=4, patch=2, channels=1, d=2, heads=1, layers=1, d_ff=4)
with torch.no_grad():
    tiny.embed.weight.copy_(torch.tensor([[1.0, 2, 0, -1], [1, 1, 1, 1]]).view(2, 1, 2, 2))
    tiny.embed.bias.zero_()
    tiny.positions.copy_(torch.tensor([[0.0, 0], [0, 0], [1, 0], [0, 1], [0, 0]]))
print("tokens:", tiny.tokens(image)[0].int().tolist())
with torch.device("meta"):  # shapes without memory
    print(f"ViT-B/16: {sum(p.numel() for p in ViT().parameters()):,} parameters")

# %% [markdown]
# The tokens are those that we computed by hand, and the number of parameters agrees with the paper.
# It reports 86 million parameters for ViT-Base (table 1), which is our number without the
# classification head.
#
# As a second check, we copy the weights of a ViT from `deepdive`, the small library that
# accompanies this book, into ours. The assertions in the cell check that both models then give the
# same logits and the same gradient of the position embeddings:

# %% Equal to the library tags=["equals-library"]
from deepdive.layers.heads import ImageClassifier
from deepdive.models.vision import vit

torch.manual_seed(0)
library = ImageClassifier(vit.vit(image_size=40, patch_size=10, d_model=64, n_heads=4, n_layers=2,
                                  d_ff=128), 64, 10)  # fmt: skip
ours = ViT(n_classes=10, image=40, patch=10, d=64, heads=4, layers=2, d_ff=128)
ours.load_state_dict(runs.weights_for_page(library))
images = torch.randn(4, 3, 40, 40)
assert torch.allclose(ours(images), library(images), atol=1e-5)

tables = ours.positions, library.encoder.embeddings.positions
gradients = [torch.autograd.grad(model(images).pow(2).sum(), table)[0]
             for model, table in zip((ours, library), tables, strict=True)]  # fmt: skip
assert torch.allclose(*gradients, atol=1e-5)

# %% [markdown] tags=["slide"]
# ## Experiments
#
# We now train small ViTs to answer the two questions from the beginning, and then ask which patches
# a prediction depends on. The data are color photographs of hands that sign the digits 0 to 9, with
# $100 \times 100$ pixels. There are 1,642 photographs for training and 420 for testing, and no
# student is in both parts.
#
# Every ViT has $d = 64$, two blocks, four heads, and 128 hidden units in the MLP. Our runs use the
# ViT from `deepdive`, initialized as in the authors' code, and train it from scratch for 1,200 or
# 4,800 steps (function `train` in `runs`). Each step uses a batch of 16 photographs, each of them
# shifted by up to five pixels. The optimizer is Adam, whose learning rate rises linearly to 0.001
# in the first tenth of the steps and then falls linearly to zero.
#
# We compared this rate with 0.0003 and 0.003 only for patches of 20 and of 50 pixels, with one seed
# and 1,200 steps ([results](01b_patches_more.ipynb#patch-size-and-learning-rate)). It was the best
# of the three rates for 50 pixels and the second best for 20, so our comparison may slightly favor
# larger patches. We made this choice on the test photographs. A larger study would hold out some
# students for it.
#
# We train every setting in the tables with three **seeds**, which determine the initial weights and
# the order of the batches. After each mean over the seeds, the 95% confidence interval follows in
# brackets (Student's t). It covers initialization and batch order, but not the choice of
# photographs. Differences are computed before rounding.
#
# ### 1. How large should a patch be?
#
# Larger patches mean fewer tokens, but also a larger model, because the patch embedding has $3 P^2
# d$ weights. As a result, a model whose only patch is the entire photograph has 21 times the
# parameters of a model with patches of 10 pixels.
#
# To separate the two effects, we also train a **pooled ViT**, which first reduces each patch to a
# grid of $10 \times 10$ by averaging neighboring pixels. The embedding then always has $3 \cdot
# 10^2 d$ weights, so all patch sizes have nearly the same number of parameters. However, pooling
# introduces another difference between the models, because larger patches also lose more detail. A
# patch of 100 pixels, for example, becomes a thumbnail of the entire photograph.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "With nearly the same number of parameters and 4,800 steps, 25 patches of 20 pixels reach an "
    "accuracy of about 90%. What does a single patch reach, a thumbnail of 10 x 10 pixels?",
    ["about 50%: attention has nothing to compare", "about 80%", "about 95%"],
    answer=2,
    explain="Probably because these hands are all in the middle of the image, so one projection "
    "can respond to a finger at a given position. With 25 tokens, attention has to learn how to "
    "combine them.",
    key="06b_vision/patch-size",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Load the saved runs, or train a few
from deepdive_book.kit import rows

saved = rows.load_or_measure(runs.measure, "06b_vision", "vit", points=runs.experiment(),
                             few=runs.few(), data="sign_digits").rows  # fmt: skip
print(f"{len(data.train):,} images for training, {len(data.test)} for testing")

# %% [markdown]
# The table compares ViTs that see every pixel with pooled ViTs. The column "MFLOPs per image" is
# the compute of one forward pass in millions of **FLOPs** (floating-point operations, where a
# multiply-add counts as two). The last two columns are the accuracy on the test photographs after a
# short and a longer training.

# %% Accuracy by patch size tags=["surprise", "slide"]
from deepdive_book.kit.tables import table

short, long = runs.budgets()
heads = [f"accuracy, {steps:,} steps" for steps in (short, long)]


def accuracy(arm, patch, steps=long, key="accuracy", rate=runs.RATE):
    """Mean over seeds with its 95% t interval, None if not measured."""
    where = {"arm": arm, "patch": patch, "steps": steps, "rate": rate}
    return rows.interval([row[key] for row in rows.select(saved, **where) if key in row])


names = {"ViT": "ViT", "pooled": "pooled ViT"}
lines = [[names[arm], f"{patch} × {patch}", *runs.cost(arm, patch), accuracy(arm, patch, short),
          accuracy(arm, patch)] for arm, patch in runs.sizes_here(data.side)]  # fmt: skip
table(lines, ["model", "patch, pixels", "patches", "parameters", "MFLOPs per image", *heads],
      formats={**dict.fromkeys(heads, ".1%"), "MFLOPs per image": ".3g"},
      caption="test accuracy, mean of 3 seeds [95% t interval]; empty: not run")  # fmt: skip

# %% [markdown]
# To find out whether these differences are larger than the variation between seeds, we subtract the
# accuracies of two models seed by seed. If the confidence interval of such a difference includes
# zero, the two models may be equally good. The more pairs we compare, the more likely one of them
# differs by chance, so we widen the four intervals with the **Bonferroni correction**. All four
# together then have a confidence level of at least 95%.

# %% Differences at equal steps
pairs = [(("pooled", 50), ("pooled", 20)), (("pooled", 100), ("pooled", 20)),
         (("pooled", 100), ("pooled", 50)), (("pooled", 20), ("ViT", 20))]  # fmt: skip
lines = [[f"{names[a]} {p} × {p} minus {names[b]} {q} × {q}",
          runs.difference(saved, (a, p), (b, q), long, contrasts=4)] for (a, p), (b, q) in pairs]
table(lines, ["models", "difference, points"], formats={"difference, points": ".1f"},
      caption=f"test accuracy after {long:,} steps, paired by seed [95% t interval, Bonferroni "
      "corrected for four comparisons]")  # fmt: skip

# %% [markdown]
# To see whether the training was long enough, we compare the accuracy of two pooled ViTs on their
# *training* photographs, after the short and after the long training:

# %% Are they undertrained?
lines = [[f"pooled ViT {p} × {p}", *(accuracy("pooled", p, steps, "train_accuracy")
                                     for steps in (short, long))] for p in (20, 100)]  # fmt: skip
table(lines, ["model", *heads], formats=dict.fromkeys(heads, ".1%"),
      caption="accuracy on the training photographs, mean of 3 seeds [95% t interval]")  # fmt: skip

# %% [markdown]
# **At nearly equal parameters, one patch is better than 25.** With pooling, a single patch reaches
# 95.4% after 4,800 steps, and 25 patches reach 90.1%. The interval of this difference excludes zero
# (second table), although the single patch is the one that loses most detail. For four patches
# compared with 25, the corrected interval just includes zero. With patches of 20 pixels, the pooled
# ViT is even better than the ViT that sees every pixel and has more parameters, so pooling may help
# by itself.
#
# Why is one patch enough? With a single patch, attention only passes the patch on to the class
# token, so the pooled model is nearly an MLP on a thumbnail. Such a thumbnail is probably enough
# because all hands are in the middle of the image, in front of a plain wall. With 25 or 100
# patches, in contrast, the model first has to learn how to combine them.
#
# The difference also depends on the length of the training. After 1,200 steps, the model with 25
# patches is undertrained, because it doesn't even fit its training photographs (third table). After
# 4,800 steps it nearly does, and its accuracy is much closer to that of a single patch. We didn't
# train longer or try other learning rates for one patch. At two other rates, patches of 50 pixels
# are also better than patches of 20 ([more experiments](01b_patches_more.ipynb), ViTs without
# pooling, one seed, and 1,200 steps).
#
# To see how good these accuracies are, we compare them with two simple kinds of baselines, trained
# in the same way. One is a linear classifier on the thumbnail or on all pixels. (On all pixels its
# learning rate is 0.0001, which was better than 0.001 on the test photographs with one seed.) The
# other is a small CNN with four convolutions and about the same number of parameters as the pooled
# ViTs.

# %% Baselines tags=["slide"]
lines = [[name, runs.cost(arm, patch).parameters, runs.cost(arm, patch).mflops,
          *(accuracy(arm, patch, steps, rate=rate) for steps in (short, long))]
         for name, arm, patch, rate in runs.BASELINES]  # fmt: skip
table(lines, ["model", "parameters", "MFLOPs per image", *heads],
      formats={**dict.fromkeys(heads, ".1%"), "MFLOPs per image": ".3g"},
      caption="test accuracy, mean of 3 seeds [95% t interval]; empty: not run")  # fmt: skip

# %% [markdown]
# **The CNN outperforms every ViT we trained.** After 1,200 steps it reaches 98.5%, more than the
# ViTs reach after 4,800 steps. The likely reason is its inductive bias, because a CNN doesn't have
# to learn that neighboring pixels belong together. After 1,200 steps, even a linear classifier on
# the pixels is better than the ViTs with patches of 10 or 20 pixels. However, the CNN also needs
# more compute than any of the ViTs. It takes 27.5 million FLOPs per image, while the ViT with a
# single pooled patch takes 0.3 million.
#
# Because these results are for one small data set, don't choose a patch size by them if your data
# set is much larger, or its objects differ in position and size. With enough training, smaller
# patches tend to be better (see "In practice").

# %% [markdown]
# ### 2. Does ViT need positions?
#
# Self-attention has no notion of order, because each token receives a weighted sum over all tokens,
# and a sum is the same in any order. So without position embeddings, a **permutation** of the
# patches (the same patches in another order) doesn't change the logits, whatever the weights are.
#
# We check this with the untrained ViT from above, whose logits we compare before and after a
# permutation. The three lines of output are for a model with position embeddings, with position
# embeddings that are permuted in the same way, and without any.

# %% Permute the patches tags=["nbval-check-output"]
import copy

mixed = runs.shuffled(images, 10, "one shuffle")  # the same permutation for all images
order = torch.cat([torch.zeros(1).long(), 1 + runs.one_shuffle(16)])  # the class token stays
model = copy.deepcopy(ours)
with torch.no_grad():
    model.positions.mul_(50)  # large enough to matter
    logits = model(images)
    print("with positions, same logits:", torch.allclose(model(mixed), logits, atol=1e-4))
    model.positions.copy_(model.positions[order])
    print("positions permuted too:     ", torch.allclose(model(mixed), logits, atol=1e-4))
    model.positions.zero_()
    print("without positions:          ", torch.allclose(model(mixed), model(images), atol=1e-4))

# %% [markdown]
# The logits change only if the patches move and their position embeddings stay. To see whether
# positions still matter after training, we train ViTs with patches of 20 pixels on ordered
# photographs, on shuffled ones, and without position embeddings.

# %% tags=["fold"]
predict(
    "Cut all photographs into 25 patches and put them together in one fixed wrong order, in "
    "training and in testing. How accurate is a ViT trained on them, compared with one trained on "
    "ordered photographs?",
    ["about the same", "about half", "at chance"],
    answer=0,
    explain="No layer knows which patches are neighbors. A fixed permutation only assigns the "
    "position embeddings, which start at random, to other patches.",
    key="06b_vision/one-shuffle",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# In the column "accuracy", the test photographs are ordered or shuffled like the training
# photographs. The next column is the difference from the model trained on ordered patches, with
# intervals corrected for three comparisons. The last two columns show the accuracy when all test
# photographs are shuffled in one fixed way, and how much it changes. We measured this for the two
# models trained on ordered patches; without position embeddings, the accuracy can't change.

# %% Four trainings, with and without positions tags=["surprise", "slide"]
arms = {"ordered patches": "ViT", "one shuffle for all images": "one shuffle",
        "a new shuffle for each image": "new shuffle",
        "ordered, no position embeddings": "no positions"}  # fmt: skip
lines = [[name, accuracy(arm, P), None if arm == "ViT" else
          runs.difference(saved, (arm, P), ("ViT", P), long, contrasts=3),
          accuracy(arm, P, key="shuffled"), runs.change(saved, (arm, P), long, "shuffled")]
         for name, arm in arms.items()]  # fmt: skip
columns = [heads[1], "difference from the first, points", "accuracy, test images shuffled",
           "change, points"]  # fmt: skip
forms = dict(zip(columns, (".1%", ".1f", ".1%", ".1f"), strict=True))
table(lines, ["training", *columns], formats=forms,
      caption=f"patches of {P} × {P} pixels; test accuracy, mean of 3 seeds [95% t interval]; "
      "differences and changes paired by seed; differences Bonferroni corrected for three "
      "comparisons; last two columns: only the test images have one fixed shuffle")  # fmt: skip

# %% [markdown]
# **One fixed shuffle makes no clear difference.** To you, a shuffle destroys the hand. To the
# model, it only assigns the position embeddings to other patches, and because these start at
# random, a fixed order can't matter on average. The measurement is consistent with this argument,
# within about 5 points: with one shuffle for all images (second row of the table), the ViT is
# about as accurate as with ordered patches.
#
# **This ViT reaches most of its accuracy without positions.** With a new shuffle for each image,
# the ViT can use which patches occur, but not where they are, and its accuracy is 3.3 points lower.
# Without position embeddings it is 2.5 points lower, but the interval includes zero, so with three
# seeds this result is inconclusive. For comparison, the paper measures 61.4% without and 64.2% with
# position embeddings on ImageNet, the standard data set for image classification, where a linear
# classifier on a pretrained ViT learns from five images per class (table 8).
#
# Still, a model that is trained with position embeddings may make some use of them. If only the
# test images are shuffled (first row of the table, last two columns), its mean accuracy falls by
# 4.5 points, although the interval just includes zero. With longer training, the model might make
# more use of positions.

# %% [markdown]
# ### 3. Which patches does a prediction depend on?
#
# The attention weights of a block show which of *its* inputs it combines, but from the second block
# on, these inputs are already mixtures of patches. **Attention rollout** ([Abnar and Zuidema
# 2020](https://arxiv.org/abs/2005.00928)) therefore follows the weights through all blocks, back to
# the patches.
#
# For each block $l$, rollout starts with the block's attention matrix $S_l$, averaged over the
# heads. The block also adds its input to the output of attention (the residual connection), and
# rollout gives both the same weight, so it averages $S_l$ with the identity $I$. Multiplying the
# averages combines the blocks: entry $(i, j)$ of $A_2 A_1$ adds up, over every token $k$, how much
# token $i$ takes from $k$ in block 2 times how much $k$ takes from $j$ in block 1.
#
# $$A_l = \tfrac12 (S_l + I), \qquad R = A_L \cdots A_2 A_1$$
#
# The first row of $R$, without its first entry, is the class token's rollout, one number for each
# patch. For example, suppose there are two blocks and one patch. In both blocks, the class token
# attends to itself with weight 0.4 and to the patch with 0.6, while the patch attends only to
# itself. Then $A_1$ and $A_2$ both have the rows $(0.7, 0.3)$ and $(0, 1)$, and the patch's rollout
# is $0.7 \cdot 0.3 + 0.3 \cdot 1 = 0.51$.
#
# In the next figure, a small ViT classifies handwritten digits of $8 \times 8$ pixels in patches of
# $2 \times 2$. The model runs in your browser, and your drawing stays there.

# %% Interactive figure: draw a digit
from deepdive_book.ch06b.figures.drawing import drawing
from deepdive_book.ch06b.toys.drawn_digits import drawn_digits

toy = drawn_digits()
correct, low, high = (f"{100 * share:.1f}%" for share in toy.right["as they are"])
drawing(toy.model, start="3", told=f"Accuracy on {toy.tested} digits of people whose digits were "
        f"not in the training data: {correct} [95% interval over these digits: "
        f"{low}, {high}].")  # fmt: skip

# %% [markdown]
# **Interactive figure: draw a digit.** *Left: attention rollout from the class token. Right: the
# attention of the patch under the pen, in the layer you choose.* *Try this:*
#
# 1. Press *7*, and then *undo* to remove the crossbar of our example. What happens to the
#    prediction?
# 2. Draw a 9 slowly, starting at the upper right. Which digits does the model predict on the way?
# 3. Press *3*, and select the upper right patch of the right picture. To which patch does it attend
#    most in layers 1, 2, and 3?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. The prediction changes from 7 to 3, and the probability is at least 99% both times, so a
#    confident prediction can be wrong. Perhaps most people in the training data cross their sevens,
#    but we didn't check this.
# 2. That depends on your drawing. When we add the segments of our example 9 one after the other,
#    the model predicts 1, 3, 0, 7, 0, 4, and only then 9.
# 3. The attention pattern is different in every layer. The patch attends most to row 3, column 4
#    (layer 1), to row 4, column 4 (layer 2), and to row 4, column 2 (layer 3).
#
# </details>
#
# Rollout may not show what a prediction depends on, because it ignores the values and the MLPs. We
# test it by **occlusion**, which means that we cover some patches and measure how much accuracy
# falls. If rollout finds the patches that matter, covering those with the most rollout should hurt
# most.
#
# For the ViTs without pooling and with patches of 10 and 20 pixels, we make a fifth of the patches
# of each test photograph gray, without retraining. The last four columns show the accuracy without
# gray patches, with gray patches where rollout is highest, with gray patches at random places that
# are new for each photograph, and with gray patches where rollout is lowest.

# %% Occlude patches by attention rollout tags=["slide"]
keys = ["accuracy", "occluded_most", "occluded_random", "occluded_least"]
lines = [[f"{patch} × {patch}", steps, *(accuracy("ViT", patch, steps, key) for key in keys)]
         for patch, steps in ((10, short), (20, short), (20, long))]  # fmt: skip
which = ["no gray patches", "highest rollout gray", "random gray", "lowest rollout gray"]
table(lines, ["patch, pixels", "steps", *which], formats=dict.fromkeys(which, ".1%"),
      caption="test accuracy when a fifth of the patches are gray; mean of 3 seeds [95% t "
      "interval, which can exceed 100%]")  # fmt: skip

# %% [markdown]
# Averages can hide exceptions, so we also count single runs:

# %% In how many runs?
tested = [row for row in saved if "occluded_most" in row and row["rate"] == runs.RATE]
most = sum(row["occluded_most"] < row["occluded_random"] for row in tested)
least = sum(row["occluded_least"] > row["occluded_random"] for row in tested)
print(f"{len(tested)} runs; most rollout hurts more than random patches in {most}, "
      f"least rollout hurts less in {least}")  # fmt: skip

# %% [markdown]
# **Rollout finds patches that matter more than random ones.** In all nine runs, occluding the
# patches with the highest rollout hurts more than occluding random ones. With patches of 20 pixels
# and 4,800 steps, accuracy falls to 30.4% for the highest rollout and to 56.2% for random patches.
# Occluding the patches with the lowest rollout hurts less than occluding random ones in seven of
# the nine runs. With patches of 20 pixels and 1,200 steps, however, the two mean accuracies are
# nearly the same.
#
# This conclusion is limited in two ways. Because random patches often show only the wall, the test
# may say only that rollout finds the hand, not that it ranks the patches of a hand. In addition,
# gray patches are **out of distribution**, because no training photograph had any.
#
# While rollout summarizes which patches attention reaches, the mean **attention distance**
# summarizes how far it reaches, as the distance between a patch and the patches it attends to. In a
# pretrained ViT, some heads of the first blocks attend to nearby patches and others across the
# entire image (figure 7 of the paper).
#
# ## With the real library
#
# In a project, you would use the transformers library, whose class is `ViTForImageClassification`.
# With the weights of our ViT, it computes the same logits:

# %% transformers' ViT tags=["nbval-check-output"]
from transformers import ViTConfig, ViTForImageClassification

config = ViTConfig(image_size=40, patch_size=10, hidden_size=64, num_hidden_layers=2,
                   num_attention_heads=4, intermediate_size=128, num_labels=10)  # fmt: skip
theirs = ViTForImageClassification(config).eval()
print(theirs.load_state_dict(runs.weights_for_transformers(ours.state_dict())))
with torch.no_grad():
    print("same logits:", torch.allclose(theirs(images).logits, ours(images), atol=1e-5))

# %% [markdown]
# To classify your own photograph, use pretrained weights as in the following lines. These weights
# can't be downloaded here, so the output isn't shown.
#
# ```python
# from PIL import Image
# from transformers import AutoImageProcessor, AutoModelForImageClassification
#
# image = Image.open("photo.jpg").convert("RGB")
# processor = AutoImageProcessor.from_pretrained("google/vit-base-patch16-224")
# model = AutoModelForImageClassification.from_pretrained("google/vit-base-patch16-224")
# logits = model(**processor(images=image, return_tensors="pt")).logits  # (1, 1000)
# for k in logits[0].topk(5).indices.tolist():
#     print(model.config.id2label[k], f"{logits[0].softmax(-1)[k]:.1%}")
# ```
#
# For your own classes, pass `num_labels=10, ignore_mismatched_sizes=True` to `from_pretrained`.
# This replaces the classification head with an untrained one, so you then have to continue the
# training on your own data, which is called **fine-tuning**.
#
# ## How it differs: ViT and a CNN
#
# | | CNN | ViT |
# |---|---|---|
# | first layer | small kernels on overlapping windows | one projection of disjoint patches |
# | an output of one layer depends on | neighboring pixels | all patches |
# | positions | shared kernels: a shifted input gives a shifted output | learned embeddings |
# | other image sizes | yes, with global pooling | after interpolating the positions |
# | compute, in the number of pixels | linear | quadratic in attention |
# | little data | strong | needs **pretraining**, [distillation](03_deit.ipynb), or augmentation |
#
# **Interpolation** of the positions means that a larger table of position embeddings is computed
# from the learned one. The last line of the table agrees with the paper's main finding, although
# the paper's smallest data set for pretraining, ImageNet, is already far larger than ours. Trained
# on ImageNet only, ViT is a few points below comparable ResNets, which are CNNs with residual
# connections. Pretraining on a much larger data set, up to 300 million images, reverses the order
# ([Dosovitskiy et al. 2021](https://arxiv.org/abs/2010.11929), sections 1 and 4.3).
#
# ## Common mistake: `reshape` without `permute`
#
# It is tempting to cut patches with `images.reshape(B, N, -1)`, because this also gives $N$ vectors
# of the right length. But `reshape` never moves a number, so each vector is a run of consecutive
# pixels, line by line, which may even cross from one channel into the next.

# %% Strips instead of squares tags=["nbval-check-output"]
pixels = torch.arange(16).view(1, 1, 4, 4)  # each pixel is its own number
squares = pixels.reshape(1, 1, 2, 2, 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(1, 4, 4)
print("reshape, second patch:", pixels.reshape(1, 4, 4)[0, 1].tolist())
print("with permute:         ", squares[0, 1].tolist())

# %% [markdown]
# **Symptom:** there is no error, but a patch drawn as an image shows stripes. **Fix:** use the
# `permute` above, or a convolution as in our ViT. Test your code on an image whose pixels are their
# own numbers.
#
# ## In practice
#
# - **Start from pretrained weights.** For fine-tuning, use a higher resolution than in pretraining
#   if you can, with interpolated position embeddings (section 3.2 of the paper).
# - **Smaller patches tend to be better with enough training, but they cost more.** For example,
#   torchvision's ViT-B reaches 81.1% on ImageNet with patches of 16 pixels and 75.9% with patches
#   of 32 ([table of weights](https://docs.pytorch.org/vision/stable/models.html)). But patches of
#   16 pixels take four times the compute.
# - **Check the initialization when you train from scratch.** [The authors'
#   code](https://github.com/google-research/vision_transformer) initializes the weights of
#   attention and MLPs with Glorot's uniform distribution, whose width depends on the size of the
#   layer, and our runs do the same. By default, the libraries timm, transformers, and `deepdive`
#   use a standard deviation of 0.02 for most weights.
# - **Split by person.** Each student signed ten digits, so a random split would put photographs of
#   the same hand into both the training and the test data.
#
# ## Summary
#
# ViT cuts an image into patches, projects each patch to an embedding, and adds position embeddings.
# A Transformer encoder processes these tokens, and the classification head classifies the final
# state of the class token.
#
# How large should a patch be? For 1,642 photographs of centered hands and at nearly equal
# parameters, one pooled patch reaches 95.4% and 25 patches reach 90.1%, while the result for four
# patches is inconclusive. Positions matter only a little for our ViT after 4,800 steps, since
# accuracy is 3.3 points lower with a new shuffle for each image. As for which patches a prediction
# depends on, those with a high attention rollout matter more than random ones.
#
# Without position embeddings, Dosovitskiy et al. (2021) measure about three points less, while our
# difference is inconclusive. We did not reproduce their main result, that pretraining on many
# millions of images lets ViT outperform CNNs. Without pretraining, our CNN outperforms every ViT we
# trained.
#
# ## Check your understanding
#
# 1. Why can the patch embedding be implemented as a convolution?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Every patch is multiplied by the same matrix, which is exactly what a convolution does if its
#    kernel and stride equal the patch size.
#
#    </details>
# 2. What would a CNN do with the same shuffled photographs?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Its kernels combine neighboring pixels, which don't belong together at the edges of shuffled
#    patches. We therefore expect lower accuracy, but didn't test it here.
#
#    </details>
# 3. You halve the patch's side. How do the numbers of patches and of attention weights change?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    There are four times the patches and, if they are many, nearly sixteen times the attention
#    weights. (With few patches the class token makes the factor smaller.)
#
#    </details>
# 4. What does attention rollout leave out?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    It leaves out the values, the MLPs, and the differences between heads. Rollout uses only
#    averaged attention weights, so you should test it by occlusion.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* ViT-B/16 has RGB patches of $16 \times 16$ pixels and $d = 768$. Compute
#    the number of weights in the patch embedding, and the number of position embeddings for images
#    of $224 \times 224$ pixels.
#
#    <details><summary>Answer</summary>
#
#    A patch has $3 \cdot 256 = 768$ values, so the patch embedding has $768 \cdot 768 = 589{,}824$
#    weights (and 768 biases). There are $14 \cdot 14 + 1 = 197$ position embeddings.
#
#    </details>
# 2. *(in code, 10 min)* Change `ViT` so that the classification head uses the mean of the final
#    patch states instead of the class token's. Which parameters become unnecessary?
#
#    <details><summary>Answer</summary>
#
#    Return `self.head(x[:, 1:].mean(1))`. If you also drop the class token from `tokens`, return
#    `self.head(x.mean(1))`. Then the class token's embedding and its position embedding become
#    unnecessary, which saves $2d$ parameters.
#
#    </details>
# 3. *(measure, 15 min)* Train `runs.train("ViT", 20, seed=1, steps=1200)`, and shuffle only the
#    test images with `runs.shuffled(data.x_test, 20, "one shuffle")`. Predict first: how many
#    points of accuracy does the model lose?
#
#    <details><summary>Answer</summary>
#
#    Accuracy falls by only a few points, probably because the model barely uses positions after
#    such a short training. After 4,800 steps it falls by 4.5 points on average over three seeds
#    (experiment 2).
#
#    </details>

# %% The answers, checked tags=["nbval-check-output"]
with torch.device("meta"):
    base = ViT()
print(base.embed.weight.numel(), base.positions.shape[0])

# %% [markdown]
# ## Further reading
#
# - [Dosovitskiy et al. (2021)](https://arxiv.org/abs/2010.11929), *An Image is Worth 16x16 Words*:
#   section 3 for the model, section 4.3 for the amount of data, figure 7 for what attention learns.
# - [The authors' code](https://github.com/google-research/vision_transformer), with weights.
# - [Abnar and Zuidema (2020)](https://arxiv.org/abs/2005.00928), *Quantifying Attention Flow in
#   Transformers*: attention rollout.
# - [Touvron et al. (2021)](https://arxiv.org/abs/2012.12877), *Training data-efficient image
#   transformers & distillation through attention*: a ViT trained on ImageNet only ([DeiT,
#   6b.3](03_deit.ipynb)).
# - [Mavi (2020)](https://arxiv.org/abs/2011.08927), *A New Dataset and Proposed Convolutional
#   Neural Network Architecture for Classification of American Sign Language Digits*: the
#   photographs.
