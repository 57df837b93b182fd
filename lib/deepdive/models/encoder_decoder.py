"""What every model that reads one text and writes another is: an encoder, a decoder, a head."""

from typing import Any

from torch import Tensor, nn

from deepdive.core.embeddings import check_tokens
from deepdive.core.masks import Padding, padding


class EncoderDecoder(nn.Module):
    """Logits (B, T, V) for the token that follows each target token.

        logits = head(decode(tgt, begin(src)))

    `begin` reads the source into a state, which has `reorder(index)`; `decode` reads target tokens
    from there on. A model overrides `begin`, and `decode` where its decoder is called otherwise.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.decoder, self.head = encoder, decoder, head

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, T, V) for source tokens (B, S) and target tokens (B, T).

        `tgt` begins with the mark of the beginning: its token t is read to predict token t + 1.
        Masks: bool, True = real. Raises ValueError or TypeError for what does not fit together.
        """
        self.check_source(src)
        check_tokens(tgt, "tgt")
        real = padding(tgt_mask, tgt, "tgt_mask")
        if src.shape[0] != tgt.shape[0]:
            raise ValueError(
                f"src has a batch of {src.shape[0]}, tgt of {tgt.shape[0]}; expected equal sizes"
            )
        return self.head(self.decode(tgt, self.begin(src, src_mask), real))

    def check_source(self, src: Tensor) -> None:
        """Raise ValueError or TypeError for a source that is not what the encoder reads: tokens."""
        check_tokens(src, "src")

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> Any:
        """Read the source once, and return the state that `step` continues."""
        raise NotImplementedError

    def decode(self, tokens: Tensor, state: Any, mask: Tensor | Padding | None = None) -> Tensor:
        """Return the decoder's states (B, t, d) of the next target tokens (B, t)."""
        return self.decoder(tokens, state, mask)

    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Return logits (B, t, V) after the next target tokens (B, t); the state moves on."""
        return self.head(self.decode(tokens, state))
