"""Documents as lists of sentences, the data for next-sentence prediction."""

import gzip
import random

from deepdive.data.fetch import fetch
from deepdive.data.generated import Generated, whole
from deepdive.data.text import shuffled

Document = list[str]

# The vocabulary of each topic: nouns (singular, plural), verbs (singular, plural), places.
TOPICS = {
    "farm": (
        [("hen", "hens"), ("cow", "cows"), ("goose", "geese"), ("farmer", "farmers")],
        [("eats", "eat"), ("sleeps", "sleep"), ("drinks", "drink")],
        ["barn", "field", "pond"],
    ),
    "harbour": (
        [("sailor", "sailors"), ("gull", "gulls"), ("captain", "captains"), ("seal", "seals")],
        [("swims", "swim"), ("waits", "wait"), ("sleeps", "sleep")],
        ["ship", "quay", "lighthouse"],
    ),
    "kitchen": (
        [("cook", "cooks"), ("guest", "guests"), ("child", "children"), ("cat", "cats")],
        [("eats", "eat"), ("waits", "wait"), ("laughs", "laugh")],
        ["table", "oven", "cupboard"],
    ),
    "school": (
        [("teacher", "teachers"), ("girl", "girls"), ("boy", "boys"), ("parent", "parents")],
        [("reads", "read"), ("laughs", "laugh"), ("drinks", "drink")],
        ["library", "gate", "classroom"],
    ),
}
ADJECTIVES = ("old", "young", "quiet", "tired", "happy", "hungry")
PLACES = ("near", "behind", "beside")


def generated_documents(n: int, seed: int = 0, sentences: int = 8) -> Generated[Document]:
    """Return n documents of `sentences` sentences, each on one of four topics: "the old hens eat
    near the barn .".

    The verb, which follows the noun, shows its number, so predicting a masked noun requires the
    context on its right; the other sentences show its topic.
    """
    whole("n", n, 1, None)
    whole("sentences", sentences, 1, None)
    draw = random.Random(f"generated_documents {seed}")
    found = []
    for _ in range(n):
        actors, deeds, places = TOPICS[draw.choice(list(TOPICS))]
        document = []
        for _ in range(sentences):
            many = draw.randrange(2)
            who, does = draw.choice(actors)[many], draw.choice(deeds)[many]
            where = f"{draw.choice(PLACES)} the {draw.choice(places)}"
            document.append(f"the {draw.choice(ADJECTIVES)} {who} {does} {where} .")
        found.append(document)
    return Generated(found, f"generated_documents({n}, seed={seed}, sentences={sentences})")


def web_documents(part: str = "train", seed: int | None = 0) -> list[Document]:
    """Return documents of ud_english_ewt: weblogs, newsgroups, mails, reviews and questions.

    part: "train", "dev" or "test". The sentences of each document are the treebank's original
    texts, in order; the documents are shuffled by `seed`, because the file is sorted by genre,
    weblogs first: so the first documents are a sample. `seed=None` keeps the order of the file.
    Raises ValueError for another part.
    """
    if part not in ("train", "dev", "test"):
        raise ValueError(f"part: got {part!r}, expected train, dev or test")
    path = fetch("ud_english_ewt", f"en_ewt-ud-{part}.conllu.gz")
    found: list[Document] = []
    for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines():
        if line.startswith("# newdoc"):
            found.append([])
        elif line.startswith("# text = "):
            found[-1].append(line.removeprefix("# text = "))
    return found if seed is None else shuffled(found, seed)
