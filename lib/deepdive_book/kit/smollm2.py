"""A real language model that needs no network: it comes inside a package.

SmolLM2-135M-Instruct (Ben Allal et al. 2025, "SmolLM2: When Smol Goes Big") is a Llama of 30
layers, 576 wide, whose 9 query heads share 3 heads of keys and values; its weights have 5 bits each
(Q4_1), its embedding 8.5 (Q8_0). Apache License 2.0.

    model, tokenizer = smollm2_model(), smollm2_tokenizer()
    asked = chat(tokenizer, ("user", "What is the capital of France?"))
    [answer] = greedy(model, prompt=[asked], eos=tokenizer.eos)
    tokenizer.decode(answer)
"""

from functools import cache
from pathlib import Path

import torch

from deepdive.models.generative.llama import SMOLLM2 as SIZES
from deepdive.models.generative.llama import Llama, llama
from deepdive.published import from_gguf, gguf
from deepdive.published.pretrained import check_file, folder_of
from deepdive.tokenizers import ByteBPETokenizer
from deepdive_book.kit.packaged import SMOLLM2

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
ROLES = ("system", "user", "assistant")


@cache
def smollm2() -> Path:
    """Return the GGUF file of SmolLM2-135M-Instruct, checked.

    Raises ImportError where the package is not installed, ValueError where the file is not the one
    that was published. The package's own code is not run.
    """
    folder = folder_of(SMOLLM2.name)
    if folder is None:
        raise SMOLLM2.absent()
    check(folder / FILE)
    return folder / FILE


def check(file: Path) -> None:
    """Raise ValueError unless `file` is there and holds SmolLM2, byte by byte."""
    check_file(file, SHA256, SMOLLM2.repair)


def smollm2_model() -> Llama:
    """Return the model: 134.5 million parameters, in float32 540 MB, in evaluation mode.

    Where its package is absent, the profile ci gets a small untrained one.
    """
    if SMOLLM2.replaced():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return llama(SIZES, vocab_size=len(_bytes().vocab), n_layers=4).eval()
    return from_gguf.model_of(gguf.read(smollm2()))


def smollm2_tokenizer() -> ByteBPETokenizer:
    """Return the tokeniser: 49,152 pieces of bytes, each digit alone; see `smollm2_model`."""
    if SMOLLM2.replaced():
        return _bytes()
    return from_gguf.tokenizer_of(gguf.read(smollm2()))


def _bytes() -> ByteBPETokenizer:
    """A tokeniser without merges, its marks those of SmolLM2."""
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocab = [*marks, *ByteBPETokenizer.alphabet(())]
    named = ["<|im_end|>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    return ByteBPETokenizer(vocab, [], specials=named)


def chat(
    tokenizer: ByteBPETokenizer, *messages: tuple[str, str], system: str = SYSTEM
) -> list[int]:
    """Return what the model reads before it answers the `messages`, each (role, text):

        <|im_start|>system\\n ... <|im_end|>\\n<|im_start|>user\\n ... <|im_end|>\\n
        <|im_start|>assistant\\n

    The model was tuned on texts of this form. `system` begins it, unless the first message is of
    that role. Raises ValueError for no message, and for another role.
    """
    if not messages or any(role not in ROLES for role, _ in messages):
        raise ValueError(
            f"messages: got {messages!r}; expected one at least, each (role, text), its role "
            f"one of {', '.join(ROLES)}"
        )
    if messages[0][0] != "system":
        messages = (("system", system), *messages)
    ids: list[int] = []
    for role, text in messages:
        ids += tokenizer.encode(f"{role}\n{text}", bos=True, eos=True) + tokenizer.encode("\n")
    return ids + tokenizer.encode("assistant\n", bos=True)
