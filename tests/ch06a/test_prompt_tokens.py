"""Prompts assembled from parts have the tokens of the whole text, wherever lib assembles one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import deepdive
import deepdive_book
from deepdive.data.table_text import linearized
from deepdive.data.wikitables import Table
from deepdive.decoding import Prompted
from deepdive.models.generative import llama
from deepdive.tokenizers import BERT_SPECIALS, ByteBPETokenizer, WordPieceTokenizer
from deepdive_book.ch06a.runs import chain_of_thought, in_context
from deepdive_book.ch06a.runs.in_context import REVIEW, TEMPLATES, TOPIC, PromptedLM, Template
from deepdive_book.kit.packaged import SMOLLM2
from deepdive_book.kit.smollm2 import SYSTEM, chat, smollm2_tokenizer

MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SHOWN = [("a warm film .", 1), ("so dull , so long .", 0), ("2 good jokes in 90 minutes", 0)]
QUERIES = ("it moves", " begins with a space", "", "N/A")
LIB = [Path(package.__file__).parent for package in (deepdive, deepdive_book)]  # type: ignore[arg-type]


def merging_tokenizer() -> ByteBPETokenizer:
    """A tokenizer in which, as in SmolLM2's, "\\n\\n" is one token unless more text follows."""
    merges = ["Ċ Ċ", "Ġ a", "Ġ g"]
    vocab = [*MARKS, *ByteBPETokenizer.alphabet(()), *(pair.replace(" ", "") for pair in merges)]
    named = ["<|im_end|>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    return ByteBPETokenizer(vocab, merges, specials=named)


@pytest.fixture(params=["merging", "SmolLM2"])
def lm(request: pytest.FixtureRequest) -> PromptedLM:
    if request.param == "SmolLM2" and not SMOLLM2.here:
        pytest.skip("the package with SmolLM2 isn't installed")
    made = merging_tokenizer() if request.param == "merging" else smollm2_tokenizer()
    sizes = {"vocab_size": len(made.vocab), "max_length": 4096}
    return PromptedLM(llama.llama(llama.TINY, **sizes).eval(), made)


class Spy:
    """Records prompt and rests whenever `Prompted` scores or generates."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inputs: list[list[int]] = []
        for name in ("labels", "write"):
            original = getattr(Prompted, name)

            def spied(prompt: Prompted, questions: list[list[int]], *args: object,
                      original: object = original, **more: object) -> object:  # fmt: skip
                self.inputs += [[*prompt.tokens, *question] for question in questions]
                return original(prompt, questions, *args, **more)  # type: ignore[operator]

            monkeypatch.setattr(Prompted, name, spied)


def test_the_merging_tokenizer_can_show_the_fault(lm: PromptedLM) -> None:
    encode = lm.tokenizer.encode
    parts = encode("Sentiment: positive") + encode("\n\n") + encode("Review:")
    assert parts != encode("Sentiment: positive\n\nReview:")


@pytest.mark.parametrize("template", [*TEMPLATES.values(), TOPIC], ids=lambda t: t.query[:9])
def test_few_shot_prompts(
    lm: PromptedLM, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy, prompt = Spy(monkeypatch), Prompted(lm.model)
    for n in (3, 1, 2, 0):  # the cache is cropped and extended between the calls
        in_context.label_log_probs(prompt, template, SHOWN[:n], QUERIES, lm.tokenizer)
        shown = "".join(f"{template.query.format(t)} {template.words[k]}\n\n" for t, k in SHOWN[:n])
        texts = [shown + template.query.format(query) for query in QUERIES]
        assert spy.inputs[-len(QUERIES) :] == [lm.tokenizer.encode(text) for text in texts]
        for text in texts:  # and the label continues it as in running text
            for word, label in zip(template.words, template.labels(lm.tokenizer), strict=True):
                whole = lm.tokenizer.encode(f"{text} {word}")
                assert whole == lm.tokenizer.encode(text) + label


def test_separately_encoded_demonstrations_are_found(
    lm: PromptedLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def old(self: Template, tokenizer: ByteBPETokenizer, shown: in_context.Demonstrations,
            query: str) -> list[int]:  # fmt: skip
        """How prompts were assembled until version 2 of the saved rows."""
        ids = [token for text, k in shown
               for part in (self.query.format(text), f" {self.words[k]}", "\n\n")
               for token in tokenizer.encode(part)]  # fmt: skip
        return ids + tokenizer.encode(self.query.format(query))

    monkeypatch.setattr(Template, "tokens", old)
    with pytest.raises(AssertionError):
        test_few_shot_prompts(lm, REVIEW, monkeypatch)


@pytest.mark.parametrize("form", chain_of_thought.FORMS)
def test_chains_of_thought(lm: PromptedLM, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(monkeypatch)
    chain_of_thought.measure_form(lm, form, shots=2, seed=0, queries=3)
    texts, _ = chain_of_thought.prompt_texts(form, shots=2, seed=0, queries=3)
    assert all(text.count("Q:") == 3 for text in texts)
    assert spy.inputs == [lm.tokenizer.encode(text) for text in texts]


def test_chat_messages(lm: PromptedLM) -> None:
    """Special tokens split a text, so each run between two of them is encoded as a whole."""
    encode, id_of = lm.tokenizer.encode, lm.tokenizer.id_of
    start, end = id_of("<|im_start|>"), id_of("<|im_end|>")
    runs = [f"system\n{SYSTEM}", "\n", "user\nHi\n\n", "\n", "assistant\n"]
    expected = [start, *encode(runs[0]), end, *encode(runs[1]), start, *encode(runs[2]), end,
                *encode(runs[3]), start, *encode(runs[4])]  # fmt: skip
    assert chat(lm.tokenizer, ("user", "Hi\n\n")) == expected


def test_table_cells() -> None:
    """WordPiece splits at spaces and punctuation first: "name | type | " can be encoded alone."""
    texts = ["which year ? year | real | 2016 city | text | rio"] * 3
    tokenizer = WordPieceTokenizer.train(texts, vocab_size=80, specials=BERT_SPECIALS)
    table = Table(["year", "city"], ["real", "text"], [["2016", "rio"]])
    tokens = linearized("which year ?", table, tokenizer)[0][0, 0].tolist()
    sep, cls = tokenizer.id_of("[SEP]"), tokenizer.id_of("[CLS]")
    parts = ("which year ?", "year | real | 2016", "city | text | rio")
    assert tokens == [cls, *(t for text in parts for t in (*tokenizer.encode(text), sep))]


# ---- and no other place in lib joins the tokens of two texts

ALLOWED = {  # function -> why its parts have the tokens of the whole text (tested above)
    "deepdive_book/kit/smollm2.py: chat": "special tokens are between the parts",
    "deepdive/data/table_text.py: linearized": "WordPiece splits at the bar",
}


def encodes(node: ast.expr) -> bool:
    """Whether an expression has a call of a tokenizer's `encode` for text."""
    return any(
        isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr == "encode"
        and not isinstance(each.func.value, ast.Constant | ast.JoinedStr)
        and not any(
            isinstance(a, ast.Constant) and a.value in ("utf-8", "ascii", "cp437")
            for a in each.args
        )
        for each in ast.walk(node)
    )


def joined(tree: ast.AST) -> Iterator[ast.AST]:
    """Expressions that join encoded tokens with others: a + b, x += a, and [*a, *b]."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            if encodes(node.left) and encodes(node.right):
                yield node
        elif isinstance(node, ast.List | ast.Tuple):
            starred = [each for each in node.elts if isinstance(each, ast.Starred)]
            if len(starred) > 1 and any(encodes(each.value) for each in starred):
                yield node


def places(source: str, name: str) -> set[str]:
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {f"{name}: {function.name}" for function in functions if any(joined(function))}


def test_no_other_function_joins_separately_encoded_texts() -> None:
    found: set[str] = set()
    for package in LIB:
        for path in sorted(package.rglob("*.py")):
            found |= places(path.read_text("utf-8"), str(path.relative_to(package.parent)))
    assert found == set(ALLOWED), "encode the whole text instead, or test it above and list it"


def test_the_search_finds_the_old_assembly() -> None:
    old = "def shown(self, t, text):\n    return [*self.query(t, text), *t.encode('x')]"
    assert places(old, "old") == {"old: shown"}
    assert not places("def f(t):\n    return [1, *t.encode('a'), 2]", "one text")
