# %% [markdown] tags=["slide"]
# # Chapter 6d: Retrieval-augmented Transformers
#
# A language model stores what it knows in its weights. **Retrieval** gives it a text to read
# instead: it searches an index of passages, and answers from what it finds. How does a retriever
# learn what to search for, and how much does reading help?
#
# <small>Prerequisites: [BERT](../03_bert/02_architecture.ipynb), [sentence
# embeddings](../03_bert/11_sentences.ipynb) · 2 min ·
# whole chapter: 18 min reading · blog, RAG and REALM</small>

# %% Closed book, and with retrieval [markdown] tags=["slide"] figure="ch06d.retrieval_augmented:retrievers"
# ![Left, closed book: question, language model, answer. Right, with retrieval: the question goes to
# a retriever, and question and passage go to the language model, which gives the
# answer.](figures/00_opening.svg)
#
# *A language model alone, and one that reads a retrieved passage. The passage can be replaced
# without training, and cited.*

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
# The simplest retriever counts shared words:

# %% Retrieval by shared words tags=["nbval-check-output"]
passages = ["The pound is the currency of the United Kingdom.", "The yen is the currency of Japan."]
question = "Which currency does Japan use?"
asked = set(question.lower().strip("?").split())
scores = [len(asked & set(passage.lower().strip(".").split())) for passage in passages]
print("shared words:", scores, "-> read:", passages[scores.index(max(scores))])

# %% [markdown]
# **What it covers.** **Retrieval-augmented generation** (RAG), in which the passage is a latent
# variable, and **REALM**, which pretrains the retriever with a masked language model.
#
# **What you'll be able to do.** Derive what the likelihood of an answer teaches a retriever, and
# measure retriever and generator separately.
#
# The data are Wikipedia paragraphs with questions (XQuAD), and facts that the page generates.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 6d.1 | [Retrieval-augmented generation](01_retrieval_augmented_generation.ipynb) | Can a retriever learn alone? | 16 |
