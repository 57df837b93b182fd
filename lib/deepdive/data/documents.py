"""Documents as lists of sentences: what next-sentence prediction is made of."""

import gzip
import random

from deepdive.data.fetch import fetch
from deepdive.data.generated import Generated, whole
from deepdive.data.text import shuffled

Document = list[str]

# What stands in a document of one topic: who (one, many), what they do (one, many), where.
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
    """n documents of `sentences` sentences, each on one of four topics: "the old hens eat near the
    barn .".

    The verb, which comes after the noun, says whether one acts or many, so a hidden noun can only
    be filled with what stands on its right; and its topic is in the sentences around it.
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
    """ud_english_ewt: weblogs, newsgroups, mails, reviews and questions, a list of sentences each.

    part: "train", "dev" or "test". Sentences are the treebank's, as they were written, in the order
    of their document; the documents come in an order that `seed` draws. The file is sorted by kind:
    its first documents are all weblogs, the first of these a sample. `seed=None` keeps its order.
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
