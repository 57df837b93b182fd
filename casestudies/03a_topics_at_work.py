# %% [markdown] tags=["slide"]
# # BERTopic in practice: uses and costs
#
# A program has sorted sixty years of presidents' speeches into topics. That is where work begins:
# when did each come up, can you ask for one, where does a new text go, and will all this still run
# with ten times as many texts?
#
# <small>Prerequisites: case study 3a, topics in 4,000 abstracts · 20 min · about 2 minutes to run
# on two cores, since most runs are kept here · book 3.5</small>

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

# %% Read the texts tags=["fold"]
import time

from deepdive.data.subjects import Subjects, addresses, generated_subjects
from deepdive_book.kit.profile import banner, pick, profile

began = time.perf_counter()
if profile() == "ci":  # nobody said these in any year: one is made up for each
    made = generated_subjects(320)
    every = Subjects(made.texts, [str(1945 + i % 60) for i in range(len(made))], made.source)
else:
    every = addresses().first(pick(ci=0, laptop=2000, gpu=5450))
texts, years = every.texts, [int(year) for year in every.labels]
print(banner(every.source))
print(f"{len(texts):,} paragraphs of {min(years)} to {max(years)}")

# %% Turn each text into a vector tags=["fold"]
import logging
import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
from sentence_transformers import SentenceTransformer

from deepdive.published.pretrained import minilm
from deepdive_book.kit.cached_embeddings import cached_embeddings

logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
encoder = SentenceTransformer(str(minilm()))


def encode(some):
    return encoder.encode(list(some), show_progress_bar=False)


def vectors_of(some):
    return cached_embeddings(encode, some, "all-MiniLM-L6-v2")


vectors = vectors_of(texts)
print(f"{vectors.shape[0]:,} vectors of {vectors.shape[1]} numbers")

# %% Find the topics tags=["fold"]
import numpy as np

from deepdive.topics.bertopic import TopicModel, by_size, steps

model = TopicModel(*steps(0)).fit(texts, vectors)
n_topics = int(model.labels.max()) + 1
in_none = float((model.labels < 0).mean())
print(f"{n_topics} topics, {100 * in_none:.0f} % of the paragraphs in none")

# %% Draw the map tags=["fold"]
from umap import UMAP

from deepdive_book.studies.figures.topic_map import topic_map

flat = UMAP(n_neighbors=15, n_components=2, min_dist=0.1, metric="cosine", random_state=0,
            n_jobs=1).fit_transform(vectors)  # fmt: skip
shown = slice(0, 1000)  # the order is drawn, so the first are a sample
topic_map(
    flat[shown], model.labels[shown],
    [f"{year}: {text[:230]}" for text, year in zip(texts[shown], years[shown], strict=True)],
    {int(t): model.words(int(t), 8) for t in sorted(set(model.labels[shown])) if t >= 0},
    caption="1,000 paragraphs, and the topics that BERTopic found",
)  # fmt: skip

# %% [markdown]
# Each point is a paragraph of an address to Congress, 1945 to 2006: 1,000 of the 2,000 that were
# sorted, and the numbers in the list count these. Point at one to read it, and press a topic to see
# its words. Neither the year nor the president was told to the program.
#
# It has four steps. MiniLM, a small BERT, **embeds** each text: it makes a vector of it. UMAP
# **reduces** the vectors to five numbers, so that neighbors stay neighbors. HDBSCAN **clusters**
# them: a dense place is a topic, and a text in no dense place is in *none*. c-TF-IDF **names** a
# topic by the words that are frequent in it and rare elsewhere. Together they are BERTopic.
#
# [Case study 3a](03a_topics.ipynb) asks whether such topics can be trusted. This page asks what to
# do with them: when each was spoken of, which of the four steps does the work, what the program
# does with words or texts of your own, and how long all this takes.

# %% [markdown] tags=["slide"]
# ## When was it spoken of?
#
# **By hand.** A topic has 12 paragraphs of one five-year period, and 6 of another. Was it spoken of
# half as much? The first period has 240 paragraphs in all, the second 60:
#
# $$\frac{12}{240} = 5\,\% \qquad \frac{6}{60} = 10\,\%$$
#
# Twice as much. Speeches differ in length, and periods in what is kept of them. So a topic over
# time is a **share**, never a count.

# %% Topics over time, by their words tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

assert (12 / 240, 6 / 60) == (0.05, 0.1)
WORDS = pick(ci=("song", "planet", "court"),
             laptop=("soviet", "vietnam", "inflation", "energy", "health"),
             gpu=("soviet", "vietnam", "inflation", "energy", "health"))  # fmt: skip


def topic_of(word, of=model):
    """The topic in which a word weighs most."""
    column = int(np.flatnonzero(of.vocabulary == word)[0])
    rows = of.weights.tocsr()[of.topics >= 0].toarray()[:, column]
    return int(of.topics[of.topics >= 0][rows.argmax()])


period = (np.array(years) - 1945) // 5
said = np.bincount(period)
chosen = {word: topic_of(word) for word in WORDS}
share = {word: 100 * np.bincount(period[model.labels == t], minlength=len(said)) / said
         for word, t in chosen.items()}  # fmt: skip

# %% Draw topics over time tags=["fold"]
figure = Figure(figsize=(7.5, 3.2))
axes = figure.subplots()
starts = 1945 + 5 * np.arange(len(said))
for word, of_period in share.items():
    name = ", ".join(model.words(chosen[word], 3))
    axes.plot(starts + 2, of_period, "o-", markersize=3, label=name)
axes.set(xlabel="year", ylabel="share of the paragraphs, %")
axes.legend(fontsize=8)
highest = [f"{word} is highest from {starts[of.argmax()]}" for word, of in share.items()]
with_alt(figure, f"Shares of topics in each five-year period: {'; '.join(highest)}.")

# %% When each was highest tags=["fold"]
from deepdive_book.kit.tables import table

table([
    {"topic": ", ".join(model.words(chosen[word], 4)),
     "paragraphs": int((model.labels == chosen[word]).sum()),
     "highest from": str(starts[of.argmax()]), "share then, %": round(float(of.max()), 1),
     "of paragraphs": int(said[of.argmax()])}
    for word, of in share.items()
])  # fmt: skip

# %% [markdown]
# *Each line is a topic, named by its first three words. Its height is the share of all paragraphs
# of five years; a point stands in their middle. The table counts all 2,000 paragraphs.*
#
# Nobody told the program a date: where a line rises with what happened, it found that in the words
# alone. But these five topics were chosen by us, because we knew the history; there are 38. And a
# peak can stand on little: that of *health*, at the end, is 12.5% of 40 paragraphs, so one speech
# makes it. Which topics there are came from one run, and another run may cut them otherwise.

# %% [markdown] tags=["slide"]
# ## Which of the four steps matters?
#
# Embed, reduce, cluster, name: three of them decide which texts come together. Swap one at a time,
# leave the others, and ask how much the topics **agree** with what a person wrote on each text. The
# number for that is adjusted mutual information: 1 if the topic tells the label exactly, 0 if it
# tells no more than chance would. Texts in none count as one topic more.
#
# Three sets have such labels: requests to an assistant (150 intents), abstracts of arXiv (its
# archives) and medical abstracts (five kinds of illness). To spare the processor, 2,000 of the
# first two are used, and 1,024 of the third. Each of three seeds leaves out another quarter. On
# that the topics' words are judged (**NPMI**: do they stand in the same texts?).

# %% Three sets with labels tags=["fold"]
from functools import cache

from deepdive.data.intents import requests
from deepdive.data.subjects import arxiv_abstracts, medical_abstracts
from deepdive.data.text import shuffled


@cache
def labeled(name):
    """At most 2,000 texts, each with what a person said it is about; their order is drawn."""
    if name == "generated":
        return generated_subjects(320)
    if name == "clinc150":
        asked = shuffled(requests(), 0)
        both = [r.text for r in asked], [r.intent for r in asked]
        return Subjects(*both, "clinc150 (real)").first(2000)
    return arxiv_abstracts().first(2000) if name[0] == "a" else medical_abstracts().first(1024)


@cache
def parts(name, seed):
    """Which texts are seen, and which are held out: another quarter with each seed."""
    drawn = np.random.default_rng(seed).permutation(len(labeled(name)))
    return drawn[len(drawn) // 4 :], drawn[: len(drawn) // 4]


# %% Each step, and what it is swapped for tags=["fold"]
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from deepdive_book.studies.topic_baselines import k_means

SWAPS = {  # name -> embed, reduce, cluster
    "nothing swapped": ("MiniLM", "UMAP", "HDBSCAN"),
    "embed: TF-IDF, SVD to 50": ("TF-IDF", "UMAP", "HDBSCAN"),
    "reduce: PCA to 5": ("MiniLM", "PCA", "HDBSCAN"),
    "reduce: nothing": ("MiniLM", "none", "HDBSCAN"),
    "cluster: k-means": ("MiniLM", "UMAP", "k-means"),
}


# %% Points and topics tags=["fold"]
@cache
def points_of(name, seed, embed, reduce):
    some, (seen, _) = labeled(name).texts, parts(name, seed)
    if embed == "TF-IDF":
        counted = TfidfVectorizer(stop_words="english", min_df=2).fit_transform(
            [some[i] for i in seen])  # fmt: skip
        found = TruncatedSVD(50, random_state=seed).fit_transform(counted)
    else:
        found = vectors_of(some)[seen]
    if reduce == "UMAP":
        return steps(seed)[0].fit_transform(found)
    return PCA(5, random_state=seed).fit_transform(found) if reduce == "PCA" else found


@cache
def topics_of(name, seed, swap):
    embed, reduce, cluster = SWAPS[swap]
    points = points_of(name, seed, embed, reduce)
    if cluster == "HDBSCAN":
        return by_size(steps(seed)[1].fit_predict(points))
    return k_means(points, int(topics_of(name, seed, "nothing swapped").max()) + 1, seed)


# %% Judge what comes of a swap tags=["fold"]
from deepdive.topics.class_tfidf import counter, only_words, words_of
from deepdive_book.studies.topic_metrics import agreement, npmi


def swapped(data, swap, seed):
    labels, (seen, held_out) = topics_of(data, seed, swap), parts(data, seed)
    truth = np.array(labeled(data).labels)[seen]
    clean = [only_words(text) for text in labeled(data).texts]
    count = counter(min_df=2).fit([clean[i] for i in seen])
    counts = count.transform(clean)
    met = np.asarray(counts[held_out].sum(0)).ravel() > 0  # words that both parts have
    vocabulary = count.get_feature_names_out()[met]
    words = words_of(labels, counts[seen][:, met], vocabulary)
    unseen = [[str(vocabulary[j]) for j in row.indices] for row in counts[held_out][:, met]]
    by = swap if SWAPS[swap][2] == "HDBSCAN" else "nothing swapped"  # who says what is placed
    placed = topics_of(data, seed, by) >= 0
    whole = agreement(labels, truth, n=pick(ci=10, laptop=100, gpu=100))
    return {
        "topics": int(labels.max()) + 1,
        "none": float((labels < 0).mean()),
        "agreement": whole.value,
        "agreement_interval": [whole.low, whole.high],
        "agreement_placed": agreement(labels[placed], truth[placed], n=2).value,
        "npmi": float(npmi(words, unseen).mean()) if words else None,
    }


# %% Three sets, five chains, three seeds tags=["fold"]
from deepdive_book.kit.experiments import results_path, sweep

ALL = ("clinc150", "arxiv_abstracts", "medical_abstracts")
SETS = pick(ci=("generated",), laptop=ALL, gpu=ALL)
file_of = (lambda name: results_path("03_bert", name)) if profile() != "ci" else (lambda name: None)
seeds = range(pick(ci=1, laptop=3, gpu=3))
points = [{"data": name, "swap": swap, "seed": seed}
          for name in SETS for seed in seeds for swap in SWAPS]  # fmt: skip
step_rows = sweep(swapped, points, file_of("topics_steps"), data=", ".join(ALL))

# %% Predict tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Each swap alone, the rest as it was. Which costs most agreement with the labels?",
    ["counts of words instead of BERT's vectors", "PCA instead of UMAP",
     "k-means instead of HDBSCAN"],
    answer=1,
    explain="On real texts agreement is 0.45 with nothing swapped, the mean of three sets and "
    "three seeds. It is 0.32 with counts of words, 0.19 with PCA, and 0.49 with k-means.",
    key="03a/which-step",
)  # fmt: skip


# %% [markdown] tags=["slide"]
# ## What each swap costs
#
# Mean of the seeds, set by set. *Placed texts* are those to which HDBSCAN gives a topic.

# %% What each swap does tags=["fold"]
def of_set(swap, data, key, form="{:.2f}"):
    rows = [r for r in step_rows if r["swap"] == swap and data in (r["data"], "all")]
    values = [row[key] for row in rows if row[key] is not None]
    if not values:
        return "no topic"
    return f"{form} ({form} to {form})".format(np.mean(values), min(values), max(values))


COLUMNS = {"topics": ("topics", "{:.0f}"), "none": ("share in none", "{:.2f}"),
           "agreement": ("agreement", "{:.2f}"), "npmi": ("NPMI, held out", "{:.2f}"),
           "agreement_placed": ("agreement, placed texts", "{:.2f}")}  # fmt: skip
table([
    {"swapped": swap, "texts": data,
     **{head: of_set(swap, data, key, form) for key, (head, form) in COLUMNS.items()}}
    for data in (*SETS, "all") for swap in SWAPS
], caption="mean of the seeds, and the lowest to the highest")  # fmt: skip

# %% Draw the agreement tags=["fold"]
figure = Figure(figsize=(7.5, 2.8))
axes = figure.subplots()
for place, data in enumerate(SETS):
    for line, swap in enumerate(SWAPS):
        values = [r["agreement"] for r in step_rows if (r["swap"], r["data"]) == (swap, data)]
        axes.plot(values, [line + 0.2 * (place - 1)] * len(values), "osD"[place],
                  color=f"C{place}", markersize=5, label=data if not line else None)  # fmt: skip
axes.set(yticks=range(len(SWAPS)), yticklabels=list(SWAPS), xlabel="agreement with the labels")
axes.invert_yaxis()
axes.legend(fontsize=8)
with_alt(figure, "Agreement of the topics with the labels for each swap, a point for each seed, in "
         f"{len(SETS)} sets of texts.")  # fmt: skip

# %% [markdown]
# *A point is a seed; each seed has left out other texts.*
#
# Put PCA in the place of UMAP, or nothing, and agreement falls in all nine pairs of set and seed.
# But how much, and whether that is the worst swap, depends on the set:
#
# - **Among the requests UMAP is what the chain stands on**: agreement falls from 0.70 to 0.10 with
#   PCA, and to 0.15 with nothing, while counts of words cost less (0.47). HDBSCAN then finds 2 to
#   17 topics, where there were 58 to 65. (It is the hardest place: 150 intents have about ten
#   requests each, as few as HDBSCAN takes for a topic.)
# - **Among the abstracts of arXiv and the medical ones it is a tie**: PCA has 0.34 and 0.13, counts
#   of words 0.36 and 0.14.
#
# HDBSCAN's knobs stayed as they were, though PCA's points lie on another scale, and where counts
# replace MiniLM, SVD comes with them. So the page shows what a swap costs when nothing else is
# touched, and not what each step could do at its best.
#
# **k-means in place of HDBSCAN costs nothing**: over all texts it agrees more in all nine pairs. It
# borrows the number of topics from HDBSCAN, and each text gets a topic. On the texts that HDBSCAN
# places, the two are close: 0.77 and 0.76 among the requests. So HDBSCAN pays if you want to hear
# *none*. (k-means kept UMAP here; without it, it was not run.)
#
# **NPMI misleads** in the table. Among the requests, PCA leaves 5 topics and hardly any agreement,
# and its NPMI of -0.61 is higher than -0.73 with nothing swapped: huge topics have common words,
# and common words meet. Never read it without the number of topics.

# %% [markdown] tags=["aside"]
# ### One row, measured here
#
# The rows above were measured beforehand (`deepdive run 03a_topics_at_work --profile experiment`).
# This is the same code, now: the first set, the first seed, PCA.

# %%
SWAP = "reduce: PCA to 5"
now = swapped(SETS[0], SWAP, 0)
(before_now,) = (r for r in step_rows
                 if (r["data"], r["swap"], r["seed"]) == (SETS[0], SWAP, 0))  # fmt: skip
table([{"when": when, **{COLUMNS[key][0]: row[key] for key in COLUMNS}}
       for when, row in (("kept", before_now), ("now", now))])  # fmt: skip

# %% [markdown] tags=["slide"]
# ## Ask for a topic
#
# You care about veterans, and the list has no topic for them. **Guided** BERTopic takes a few words
# for each topic that you wish for. `seed_topic_list` does three things. A text that is nearer to
# your words than to the mean of all texts is moved a quarter of the way toward them, before UMAP.
# UMAP is given the wish of each text as a label (semi-supervised). And the weight of every wished
# word is multiplied by 1.2 in c-TF-IDF, so that it comes sooner among a topic's first words. Here
# are four wishes, put to the package `bertopic` (`seed_topic_list`). One counts as found if a topic
# has two of its four words among its first ten. The *nearest* topic is the one with most of the
# four words. Where no topic has any of them, all are equally near, and the table shows whichever
# comes first: that says nothing.

# %% With and without a wish tags=["fold"]
import warnings

from bertopic import BERTopic

WISHES = pick(
    ci=("song band violin concert", "planet star moon rocket"),
    laptop=("veterans soldiers benefits pensions", "immigration immigrants border citizenship",
            "energy oil gas fuel", "women equal mothers families"),
    gpu=("veterans soldiers benefits pensions", "immigration immigrants border citizenship",
         "energy oil gas fuel", "women equal mothers families"),
)  # fmt: skip


def fitted(seed, wishes=None, n=None):
    small, dense = steps(seed)
    package = BERTopic(embedding_model=encoder, umap_model=small, hdbscan_model=dense,
                       vectorizer_model=counter(), seed_topic_list=wishes)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # a copy: with wishes, the package moves the vectors that it is given
        package.fit(texts[:n], vectors[:n].copy())
    return package


# %%
def most_of(package, wish):
    """The topic with most of the wish's words among its ten: how many it has, and its words."""
    first = {t: [w for w, _ in package.get_topic(t)] for t in package.get_topics() if t >= 0}
    best = max(first, key=lambda t: len(set(first[t]) & set(wish)))
    return len(set(first[best]) & set(wish)), ", ".join(first[best][:5])


# %% Three seeds tags=["fold"]
wishes = [wish.split() for wish in WISHES]


def asked_for(seed, way):
    package = fitted(seed, wishes if way == "guided" else None)
    both = [most_of(package, wish) for wish in wishes]
    return {"found": [n for n, _ in both], "words": [words for _, words in both]}


few = range(pick(ci=1, laptop=3, gpu=3))
points = [{"seed": s, "way": way} for s in few for way in ("alone", "guided")]
asked = sweep(asked_for, points, file_of("topics_guided"), data="state_union")

# %% What came of each wish tags=["fold"]
rows = []
for i, wish in enumerate(wishes):
    row = {"wish": " ".join(wish)}
    for way in ("alone", "guided"):
        each = [run for run in asked if run["way"] == way]
        row[f"{way}: found"] = f"{sum(run['found'][i] >= 2 for run in each)} of {len(each)}"
        row[f"{way}: nearest topic"] = each[0]["words"][i]
    rows.append(row)
table(rows, caption="found: in how many seeds; the topic shown is that of the first seed")

# %% [markdown]
# A wish is a push, not an order. The veterans came in each of three seeds, and in none without the
# wish. That is partly by construction: the package raises the weight of these very words, and the
# rule counts them among the first ten. Words of an unboosted c-TF-IDF, or the texts, would be a
# fairer count; they were not used here. Energy was there anyway. Immigration and women came in no
# seed, with the wish or without. (By this rule: *welfare, child, work, care, help* may well be
# about families, in other words.) And read what came of a wish before you count its texts: they
# were moved toward your words, so a topic that you asked for proves nothing about the speeches.
#
# One trap of the package: with wishes it moves the vectors *in place*. Give it a copy, or your
# array is another one afterwards.

# %% [markdown] tags=["aside"]
# ### Which topics would join?
#
# So many topics are hard to survey. **Hierarchical** topics are joined two by two, those first
# whose words are most alike: the cosine between their rows of c-TF-IDF. Cut the tree anywhere, and
# you have fewer.

# %%
from scipy.cluster.hierarchy import dendrogram, linkage

inside = model.topics >= 0
tree = linkage(model.weights.tocsr()[inside].toarray(), "average", metric="cosine")
figure = Figure(figsize=(7.5, 0.17 * n_topics + 0.8))
axes = figure.subplots()
leaves = dendrogram(tree, orientation="left", ax=axes, color_threshold=0, leaf_font_size=7,
                    labels=[", ".join(model.words(t, 3)) for t in range(n_topics)],
                    above_threshold_color="0.4")["leaves"]  # fmt: skip
axes.set(xlabel="distance at which two are joined, 1 - cosine")
a, b = (int(i) for i in tree[0, :2])
print("joined first:", *(" | ".join(model.words(t, 4)) for t in (a, b)), sep="\n  ")
with_alt(figure, f"A tree of the {n_topics} topics, each by three words; branches join at the "
         "distance of their words, and all are one at the left.")  # fmt: skip

# %% [markdown] tags=["slide"]
# ## Where does a new text go?
#
# Another speech of these years turns up. You do not want to find all topics anew, so the text is
# put where its point falls among the old ones (`predict` of the model here, `transform` of the
# package). Is that the topic that it would have had, had it been there from the start?
#
# A tenth of the paragraphs, drawn by lot, is held out. One model sees all, another only nine
# tenths. Their numbers differ, so a topic of the second is named after that of the first with which
# it shares most texts. For comparison, the same is asked of the nine tenths, which both have seen.
# *Same topic* can also mean: none in both. (A speech of next year, on things that nobody spoke of
# before, is harder; that is not measured here.)

# %% Hold out a tenth, three times tags=["fold"]
from deepdive.evaluate.confidence_intervals import bootstrap


def renamed(labels, to):
    """For each topic of `labels`, the topic of `to` that has most in common with it; -1 stays."""
    names = {-1: -1}
    for t in range(labels.max() + 1):
        here = labels == t
        shared = [(here & (to == u)).sum() / (here | (to == u)).sum() for u in range(to.max() + 1)]
        names[t] = int(np.argmax(shared))
    return names


# %%
def newcomers(seed):
    drawn = np.random.default_rng(seed).permutation(len(texts))
    out, stay = np.split(drawn, [len(drawn) // 10])
    whole = TopicModel(*steps(seed)).fit(texts, vectors).labels
    part = TopicModel(*steps(seed)).fit([texts[i] for i in stay], vectors[stay])
    names = renamed(part.labels, whole[stay])
    new = np.array([names[t] for t in part.predict(vectors[out])]) == whole[out]
    old = np.array([names[t] for t in part.labels]) == whole[stay]
    told = {"new": bootstrap(new), "seen": bootstrap(old)}
    return {key: list(value) for key, value in told.items()}


points = [{"seed": s} for s in few]
new_rows = sweep(newcomers, points, file_of("topics_new"), data="state_union")

# %% New texts and old ones tags=["fold"]
from deepdive.evaluate.confidence_intervals import Interval

table([
    {"seed": str(row["seed"]), "a new text: same topic": Interval(*row["new"]),
     "a text both saw: same topic": Interval(*row["seen"])} for row in new_rows
])  # fmt: skip

# %% [markdown]
# Read the two columns together. Of the texts that both models saw, a sixth to a fifth does not
# return either: the topics are another draw. So that part of what looks like an error of `predict`
# is none. The rest, 5 to 13 points, is the price of coming later. When you report how well new
# texts are placed, report how well old ones return, too.

# %% [markdown] tags=["slide"]
# ## Save it, and load it again
#
# `save` with `safetensors` keeps what the topics are: their words, the mean vector of each, the
# topic of each text. All come back.

# %% Save, load, compare tags=["fold"]
import tempfile

cut = len(texts) - len(texts) // 10
before = fitted(0, n=cut)
logging.getLogger("BERTopic").setLevel(logging.ERROR)  # it warns that no encoder is saved
with tempfile.TemporaryDirectory() as folder:
    before.save(folder, serialization="safetensors", save_ctfidf=True, save_embedding_model=False)
    kilobytes = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)) / 1024
    after = BERTopic.load(folder, embedding_model=encoder)
assert list(after.topics_) == list(before.topics_)
for t in before.get_topics():
    assert [w for w, _ in after.get_topic(t)] == [w for w, _ in before.get_topic(t)]
assert abs(after.c_tf_idf_ - before.c_tf_idf_).max() < 1e-6
print("the same topics, the same words")

# %% [markdown]
# Now the common mistake: to believe that the loaded model does with *new* texts what the saved one
# did. UMAP and HDBSCAN are not in the folder.

# %% Ask both about new texts tags=["fold"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    first, _ = before.transform(texts[cut:], vectors[cut:])
    second, _ = after.transform(texts[cut:], vectors[cut:])
first, second = np.array(first), np.array(second)
same = bootstrap(first == second)
table([
    {"model": "saved", "new texts in none, %": 100 * float((first < 0).mean()), "same": None},
    {"model": "loaded", "new texts in none, %": 100 * float((second < 0).mean()), "same": same},
], formats={"new texts in none, %": ".0f"},
   caption=f"{len(first)} new texts; the folder has {kilobytes:,.0f} kB")  # fmt: skip

# %% [markdown]
# The loaded model puts a new text to the nearest mean vector; the saved one asks HDBSCAN whether it
# lies in a dense place at all. These are two questions, so they have two answers. But look at the
# saved one: it leaves 58% of the new texts in none, and of all texts, when they were sorted, 35%
# were. A new text did not help to make a dense place, and HDBSCAN is strict with those that come
# later. Whoever counts topics of new texts beside those of old ones must know this.
#
# If new texts matter, keep UMAP and HDBSCAN (`serialization="pickle"`, for yourself only: a pickle
# runs code when it is opened), or assign with the loaded model from the first day.

# %% [markdown] tags=["slide"]
# ## What does it cost?
#
# All of this ran on a few thousand texts. Yours may be 43,000: how does the time grow? It was
# measured on comments of Reddit with three seeds, beforehand. For UMAP and HDBSCAN the vectors are
# TF-IDF, made small, since only what comes after the vectors is measured. The time is the
# processor's, one thread; what else runs on the machine is not in it.

# %% Count time and memory tags=["fold"]
import resource
from contextlib import suppress
from pathlib import Path

from deepdive.data.subjects import goemotions


@cache
def comments():
    """TF-IDF and SVD to 50 of comments on Reddit: what is measured is what comes after it."""
    if profile() == "ci":
        some = generated_subjects(1000).texts
    else:
        read = [text for part in ("train", "dev", "test") for text in goemotions(part).texts]
        some = shuffled(dict.fromkeys(read), 0)[:43_000]
    counted = TfidfVectorizer(stop_words="english", min_df=2).fit_transform(some)
    return TruncatedSVD(50, random_state=0).fit_transform(counted)


# %% One size and one seed tags=["fold"]
def cost(n, seed):
    """Seconds of the processor for each step, and the most memory that the program then had."""
    small, dense = steps(seed)
    with suppress(OSError):  # on Linux: forget the most so far; elsewhere it is the most so far
        Path("/proc/self/clear_refs").write_text("5")
    dense.core_dist_n_jobs = 1  # in this process, where its seconds are counted
    start = time.process_time()
    places = small.fit_transform(comments()[:n])
    middle = time.process_time()
    labels = dense.fit_predict(places)
    end = time.process_time()
    return {
        "umap": round(middle - start, 2),
        "hdbscan": round(end - middle, 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "topics": int(labels.max()) + 1,
    }


# %% From 1,000 comments upwards tags=["fold"]
EVERY = (1000, 2000, 4000, 8000, 16_000, 32_000, 43_000)
SIZES = pick(ci=(300, 600), laptop=EVERY, gpu=EVERY)
if profile() == "experiment":  # compile first: both ways by which UMAP looks for neighbours
    [cost(n, 0) for n in (500, 4200)]
runs = pick(ci=1, laptop=3, gpu=3)
points = [{"n": n, "seed": s} for s in range(runs) for n in SIZES]
cost_rows = sweep(cost, points, file_of("topics_cost"), data="goemotions")

# %% And the vectors? Measured on a few texts tags=["fold"]
some = texts[: pick(ci=50, laptop=100, gpu=500)]
start = time.process_time()
encode(some)
of_vectors = (time.process_time() - start) / len(some)  # seconds a text
print(f"MiniLM: {1000 * of_vectors:.0f} ms a paragraph, so {of_vectors * SIZES[-1] / 60:.0f} "
      f"minutes of the processor for {SIZES[-1]:,} (scaled from {len(some)})")  # fmt: skip


# %% Fit a slope to each seed tags=["fold"]
def slope(key, seed):
    """By how much log seconds grow with log n: 1 is as fast as the texts, 2 as their square."""
    rows = [row for row in cost_rows if row["seed"] == seed and row["n"] >= FROM]
    seconds = [max(row[key], 0.01) for row in rows]
    return float(np.polyfit(np.log([row["n"] for row in rows]), np.log(seconds), 1)[0])


FROM = SIZES[0] if len(SIZES) < 4 else 8000  # below 4,096, UMAP compares all pairs
slopes = {key: [slope(key, seed) for seed in range(runs)] for key in ("umap", "hdbscan")}


def seconds_for(n, key):
    return float(np.mean([row[key] for row in cost_rows if row["n"] == n]))


told = [n for n in (SIZES[0], 4000, FROM, SIZES[-1]) if n in SIZES]
table([
    {"step": key.upper(), "slope": f"{np.mean(s):.2f} ({min(s):.2f} to {max(s):.2f})",
     **{f"s, {n:,} texts": round(seconds_for(n, key), 1) for n in sorted({*told})}}
    for key, s in slopes.items()
], caption=f"slopes from {FROM:,} texts on; seeds: {runs}; "
   f"most memory {max(row['peak_mb'] for row in cost_rows):,} MB")  # fmt: skip

# %% Draw the cost tags=["fold"]
figure = Figure(figsize=(7.5, 3.2))
left, right = figure.subplots(1, 2)
n_of = np.array([row["n"] for row in cost_rows])
for key, s in slopes.items():
    seconds = np.maximum([row[key] for row in cost_rows], 0.01)
    (dots,) = left.loglog(n_of, seconds, "o", markersize=4, label=key.upper())
    fitted_to = np.array([n for n in SIZES if n >= FROM])
    line = max(seconds_for(SIZES[-1], key), 0.01) * (fitted_to / SIZES[-1]) ** np.mean(s)
    left.loglog(fitted_to, line, color=dots.get_color(), alpha=0.5, label=f"slope {np.mean(s):.2f}")
left.loglog(SIZES, of_vectors * np.array(SIZES), "--", color="0.5", label="vectors, scaled")
least = {s: min(row["peak_mb"] for row in cost_rows if row["seed"] == s) for s in range(runs)}
beyond = [row["peak_mb"] - least[row["seed"]] for row in cost_rows]  # the program held the rest
right.semilogx(n_of, beyond, "o", markersize=4)
left.set(xlabel="texts", ylabel="seconds of the processor")
right.set(xlabel="texts", ylabel="memory beyond the least, MB")
left.set_ylim(top=1e6)
left.legend(fontsize=8, ncol=2, loc="upper left")
with_alt(figure, f"Left: seconds of UMAP and of HDBSCAN from {SIZES[0]:,} to {SIZES[-1]:,} texts, "
         "both axes logarithmic, with fitted lines. Right: the "
         f"most memory, up to {max(beyond)} MB beyond the least.")  # fmt: skip

# %% [markdown]
# *Left: seconds, both axes logarithmic, so that a power of the number of texts is a straight line.
# Right: the most memory of a run beyond that of its seed's least. It does not follow the number of
# texts; the whole program, its libraries included, never had more than 1,560 MB.*
#
# A slope of 1 means: twice the texts, twice the time. A slope of 2 means four times the time.
# UMAP's slope of 0.71 is drawn through a bend, so do not extend it. Below 4,096 texts UMAP compares
# all pairs; beyond, it searches for neighbors, and 8,000 texts take less time than 4,000. From
# 10,000 on it makes 200 rounds instead of 500, so 16,000 take no longer than 8,000. From 16,000 to
# 43,000 nothing changes any more, and there the slope is 1.2 for UMAP and 1.4 for HDBSCAN. Neither
# grows with the square.
#
# And neither is what you wait for: the dashed line is what MiniLM's vectors would cost. It is
# scaled from 100 paragraphs of speeches; Reddit's comments are shorter and cost less. Vectors are
# kept on disk, so that you pay for them once, and may try settings of the other steps as often as
# you like. So ten times the 2,000 texts of this page still run on a laptop: a quarter of an hour
# for the vectors, less than half a minute for the rest.

# %% [markdown] tags=["slide"]
# ## What can go wrong at the edge
#
# Four inputs that real tables have, tried with the model of this page (the package `bertopic` has
# messages of its own):

# %% Two languages, and one way to try tags=["fold"]
from deepdive.data.text import pairs


def two_languages():
    """Sentences and their translations; in `ci` the other language is English backwards."""
    if profile() == "ci":
        english = generated_subjects(60, seed=1).texts
        return english, [" ".join(word[::-1] for word in text.split()) for text in english]
    both = [pair for pair in pairs("tatoeba_eng_fra") if len(pair[0].split()) >= 8][:300]
    return [english for english, _ in both], [french for _, french in both]


def tried(some):
    try:
        return TopicModel(*steps(0)).fit(some, encode(some))
    except ValueError as error:
        return f"ValueError: {error}"


# %% Try the two languages tags=["fold"]
english, french = two_languages()
mixed = tried([*english, *french])
left, right = mixed.labels[: len(english)], mixed.labels[len(english) :]
of_each = [((left == t).sum(), (right == t).sum()) for t in range(mixed.labels.max() + 1)]
pure = sum(max(both) >= 0.9 * sum(both) for both in of_each)
together = int(((left == right) & (left >= 0)).sum())
sane = (f"{len(of_each)} topics, {pure} of them nearly all of one language; {together} of "
        f"{len(left)} sentences are in the topic of their translation")  # fmt: skip

# %% One text, all the same, an empty one tags=["fold", "nbval-check-output"]
sixty = generated_subjects(60).texts
edges = {
    "one text": tried(["To be or not to be."]),
    "one text, 60 times": tried(["To be or not to be."] * 60),
    "60 texts, the last empty": tried([*sixty[:-1], ""]),
}
table([{"the texts": case, "what happens": came} for case, came in edges.items()])

# %% And the two languages tags=["fold"]
table([{"the texts": f"{len(left)} sentences in each of two languages", "what happens": sane}])

# %% [markdown]
# Two languages give no error, which is worse: both topics are a language and no subject, since
# MiniLM learned from English. Split by language before, or take a multilingual encoder, which is
# not tried here. The other three cannot have topics: one text or many copies of one have no dense
# *places*, and an empty text has no words. The model says so, and what to do.

# %% [markdown] tags=["aside"]
# ### The results, kept, and what they cost

# %%
from deepdive_book.kit.results import results_file, update


def mean_of(swap, key="agreement"):
    return float(np.mean([row[key] for row in step_rows if row["swap"] == swap]))


# %%
took = time.perf_counter() - began
metrics = {
    "steps": {
        swap.replace(": ", "_").replace(", ", "_").replace(" ", "_").lower(): {
            "agreement": round(mean_of(swap), 3), "in_none": round(mean_of(swap, "none"), 3)
        } for swap in SWAPS
    },
    "new_texts_same_topic": [round(row["new"][0], 3) for row in new_rows],
    "seen_texts_same_topic": [round(row["seen"][0], 3) for row in new_rows],
    "loaded_same_as_saved": round(same.value, 3),
    "slope": {key: round(float(np.mean(s)), 2) for key, s in slopes.items()},
}  # fmt: skip
used = ("state_union", *SETS, "goemotions") if profile() != "ci" else ("generated_subjects",)
part = {
    "profile": profile(), "data": list(used), "cores": os.cpu_count(),
    "seconds": round(took, 1), "metrics": metrics,
    "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
}  # fmt: skip
if profile() != "experiment":
    path = results_file("03a_topics")
    print("written:", update(path, part, page="03a_topics_at_work")["study"])

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A topic has 30 of 300 paragraphs in one period and 20 of 100 in the next. Did it grow?
#
#    <details><summary>Answer</summary>
#
#    Yes: from 10% to 20% of what was said, although there are fewer paragraphs.
#
#    </details>
# 2. Why can HDBSCAN do so little with the 384 numbers of a vector?
#
#    <details><summary>Answer</summary>
#
#    It looks for dense places, and among hundreds of dimensions hardly any place is dense: all
#    distances are about alike. That is not the only cause: PCA to five dimensions does as badly in
#    the same table.
#
#    </details>
# 3. You ask for the topic *veterans*, and get one. Was it in the texts?
#
#    <details><summary>Answer</summary>
#
#    Not by that alone: the texts near to your words were moved toward them. Read some of them, and
#    ask for a subject that is surely not there, to see what comes.
#
#    </details>
# 4. A colleague loads your model, and it leaves fewer texts in none than it did for you. Why?
#
#    <details><summary>Answer</summary>
#
#    The folder has no HDBSCAN. The loaded model takes the nearest mean vector; that of the texts in
#    none is only one among many.
#
#    </details>
# 5. Which step would you speed up first for ten times as many texts?
#
#    <details><summary>Answer</summary>
#
#    The vectors: they take most of the time at every size that was measured. A graphics card or a
#    smaller encoder helps, and so does keeping them.
#
#    </details>

# %% [markdown] tags=["slide"]
# ## Summary
#
# With topics you can see when a subject was spoken of, ask for one by a few words (veterans came,
# partly because the package raises the words that are counted; immigration did not), put new texts
# among old ones and save what was found; each has its trap, from counts over time to a loaded model
# that answers otherwise. HDBSCAN agrees less with the labels in all three sets when UMAP is
# replaced, among the requests from 0.70 to 0.10 with PCA, while k-means instead of HDBSCAN costs
# none. The price is in the vectors, which you pay once: 31 minutes for 43,000 texts, of which UMAP
# takes 27.6 seconds and HDBSCAN 1.3.
#
# ## Further reading
#
# - BERTopic's own pages: [topics over
#   time](https://maartengr.github.io/BERTopic/getting_started/topicsovertime/topicsovertime.html),
#   [guided topics](https://maartengr.github.io/BERTopic/getting_started/guided/guided.html) and
#   [saving](https://maartengr.github.io/BERTopic/getting_started/serialization/serialization.html).
# - Grootendorst (2022), [*BERTopic*](https://arxiv.org/abs/2203.05794): section 3.
# - McInnes, Healy and Melville (2018), [*UMAP*](https://arxiv.org/abs/1802.03426).

# %% [markdown]
# <small>Book 3.5, 3.3.2.</small>
