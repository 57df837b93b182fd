# %% [markdown] tags=["slide"]
# # Further resources: libraries, books, courses
#
# The chapter is over. Where do you go with a question that these pages do not answer?
#
# <small>Prerequisites: this chapter's core pages · 2 min · book 1.3</small>

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
# ## Libraries
#
# - [PyTorch](https://pytorch.org/docs/stable/nn.html): the parts themselves. Our LSTM and attention
#   are tested against `torch.nn`.
# - [Transformers](https://huggingface.co/docs/transformers): trained models with their tokenizers.
#   Our models are tested against it where it has them.
# - [x-transformers](https://github.com/lucidrains/x-transformers): to try a variant in a line; each
#   feature names its paper.
# - [nanoGPT](https://github.com/karpathy/nanoGPT): one model, to be read and trained as a whole.
# - [timm](https://github.com/huggingface/pytorch-image-models): Transformers for images.
#
# Table 1.4 of the book (2022) also has AllenNLP and GluonNLP. AllenNLP is archived, and MXNet, on
# which GluonNLP stands, is retired: read them, do not start with them.
#
# ## Books
#
# - Goodfellow, Bengio, Courville (2016), [*Deep Learning*](https://www.deeplearningbook.org): the
#   mathematics before attention.
# - Zhang, Lipton, Li, Smola, [*Dive into Deep Learning*](https://d2l.ai): to read and run side by
#   side, with exercises.
# - Jurafsky, Martin, [*Speech and Language Processing*](https://web.stanford.edu/~jurafsky/slp3/),
#   draft: language, from n-grams to large models.
# - Raschka, [*Build a Large Language Model (From
#   Scratch)*](https://github.com/rasbt/LLMs-from-scratch): one GPT in small steps.
# - Kamath, Graham, Emara (2022), *Transformers for Machine Learning*: an overview of the variants;
#   these pages accompany it. Its section 1.3.2 has five more.
#
# ## Courses and lectures
#
# - [The Annotated Transformer](https://nlp.seas.harvard.edu/2018/04/03/attention.html): the 2017
#   paper, line by line in code.
# - Fleuret, [*Deep Learning*](https://fleuret.org/dlc/): short slides, with code.
# - [CS224n](https://web.stanford.edu/class/cs224n/), Stanford: language from word vectors on, with
#   assignments.
# - [The Hugging Face course](https://huggingface.co/course): to use and fine-tune trained models.
# - [fast.ai](https://course.fast.ai/): a working model first, theory later.
# - [Alammar's articles](https://jalammar.github.io/): pictures of attention. Two of the lectures
#   that we follow borrow them.
#
# ## Your predictions in this chapter

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import score

score("01_before/")

# %% [markdown] tags=["slide"]
# ## Summary
#
# Weighted sums, gradients and word vectors are older than attention and stayed. Recurrence carried
# them for twenty-five years and gave way, because it forgets and cannot be computed side by side.
# [Chapter 2](../02_transformer/00_opening.ipynb) builds what took its place.
