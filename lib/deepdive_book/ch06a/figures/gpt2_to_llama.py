"""From GPT-2's block to Llama's in six drawings, one change at a time."""

from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.diagrams.layers import FIRST_STEP, LEFT, WIDE, Sublayer, norm_first
from deepdive_book.kit.frame_strip import film
from deepdive_book.kit.markup import Html

# Caption: notes at the input, the attention, the feed-forward layer, and the norm ("" = no note).
FRAMES = {
    "GPT-2 block with biases: learned positions added once, LayerNorm before each sublayer":
        ("learned positions", "MHA: 12 heads, 12 KV heads", "GELU, two matrices", "LayerNorm"),
    "RMSNorm: divide by the root mean square, subtract no mean": ("", "", "", "RMSNorm"),
    "RoPE: rotate queries and keys in every layer, add no position vectors":
        ("no position vectors", "RoPE on q and k", "", ""),
    "SwiGLU: a third matrix gates the units": ("", "", "SwiGLU, three matrices", ""),
    "GQA: several query heads share one KV head (here 3, as in SmolLM2)":
        ("", "GQA: 9 heads, 3 KV heads", "", ""),
    "Llama block: all four parts, and no biases":
        ("no position vectors", "RoPE, GQA: 9 heads, 3 KV heads", "SwiGLU, three matrices",
         "RMSNorm"),
}  # fmt: skip
ALT = (
    "Six drawings of a decoder block, from GPT-2's to Llama's. Attention is below, the "
    "feed-forward layer above, each with a norm before it and a residual connection around both. "
    "Notes name the part that changes: RMSNorm, RoPE, SwiGLU, grouped-query attention."
)


def block(below: str, attention: str, feed: str, norm: str) -> str:
    """Draw one block with its notes."""
    parts = [Sublayer("attention", "query", attention), Sublayer("feed-forward", "value", feed)]
    x, y = WIDE / 2 + LEFT + 14, FIRST_STEP * 2 + 16
    tokens = text(x, y + 14, f"embeddings, {below}" if below else "embeddings", 14)
    return svg(460, y + 30, [*norm_first(x, y, parts, norm or "norm"), tokens])


def gpt2_and_llama() -> str:
    """Return GPT-2's block and Llama's side by side as SVG."""
    first, *_, last = FRAMES.values()
    left, right = (block(*notes).replace("<svg ", f'<svg x="{x}" y="14" ', 1)
                   for x, notes in ((0, first), (470, last)))  # fmt: skip
    titles = [text(120, 16, "GPT-2", 17, bold=True), text(590, 16, "Llama", 17, bold=True)]
    return svg(930, 310, [*titles, left, right])


def gpt2_to_llama() -> Html:
    """Return the drawings as a strip that plays."""
    return film([block(*notes) for notes in FRAMES.values()], list(FRAMES), ALT)
