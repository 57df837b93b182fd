"""Requests to an assistant, labeled with intent and domain, for semantic similarity.

Two requests of one intent ask for the same, two of one domain are about the same subject.
"""

import gzip
import json
import random
from typing import NamedTuple

from deepdive.data.fetch import fetch
from deepdive.data.generated import Generated, whole


class Request(NamedTuple):
    """A text, its intent, and its domain."""

    text: str
    intent: str
    domain: str


def requests(part: str = "test") -> list[Request]:
    """Return clinc150: 150 intents in ten domains, in file order, without out-of-scope requests.

    part: "train" (15,000), "val" (3,000) or "test" (4,500). Raises ValueError for another.
    """
    if part not in ("train", "val", "test"):
        raise ValueError(f"part: got {part!r}, expected train, val or test")
    domains = json.loads(fetch("clinc150", "domains.json").read_text(encoding="utf-8"))
    domain = {intent: name for name, intents in domains.items() for intent in intents}
    packed = fetch("clinc150", "data_full.json.gz").read_bytes()
    rows = json.loads(gzip.decompress(packed))[part]
    return [Request(text, intent, domain[intent]) for text, intent in rows]


# domain -> (objects shared by all its intents, intent -> templates)
WAYS: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "bank": (
        ["card", "account", "savings", "loan"],
        {
            "close": ["please close my {}", "i want to get rid of my {}", "cancel the {} for me"],
            "open": ["how do i get a {}", "i would like a new {}", "set up another {} for me"],
            "report": ["someone stole my {}", "my {} was hacked", "i see fraud on my {}"],
        },
    ),
    "kitchen": (
        ["soup", "bread", "rice", "salad"],
        {
            "recipe": ["how do i cook {}", "tell me how to make {}", "what are the steps for {}"],
            "calories": ["is {} fattening", "how many calories has {}", "will {} make me fat"],
            "order": ["bring me some {}", "deliver {} to my house", "i am hungry , send {}"],
        },
    ),
    "travel": (
        ["paris", "rome", "london", "berlin"],
        {
            "flight": ["book a plane to {}", "i want to fly to {}", "find me an airline to {}"],
            "weather": ["will it rain in {}", "is it cold in {}", "do i need a coat in {}"],
            "hotel": ["where can i sleep in {}", "book a room in {}", "find a bed in {}"],
        },
    ),
    "music": (
        ["jazz", "rock", "folk", "opera"],
        {
            "play": ["put on some {}", "i want to hear {}", "let me listen to {}"],
            "stop": ["no more {}", "turn off the {}", "silence , enough {}"],
            "louder": ["turn up the {}", "i can hardly hear the {}", "raise the volume of the {}"],
        },
    ),
}
MANNERS = ["", "hello , ", "hey , ", "excuse me , "]
ENDS = ["", " please", " , thanks", " today"]


def generated_requests(n: int, seed: int = 0) -> Generated[Request]:
    """Return n different requests of twelve intents in four domains; 1 <= n <= 2,304.

    Two of one intent may share no word, and two of one domain may name the same object.
    """
    whole("n", n, 1, 2304)
    made = [
        Request(manner + way.format(thing) + end, intent, domain)
        for domain, (things, intents) in WAYS.items()
        for intent, ways in intents.items()
        for way in ways
        for thing in things
        for manner in MANNERS
        for end in ENDS
    ]
    drawn = random.Random(f"generated_requests {seed}").sample(made, n)
    return Generated(drawn, f"generated_requests({n}, seed={seed})")
