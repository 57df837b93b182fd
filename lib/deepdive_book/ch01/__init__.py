"""What the pages of chapter 1, before the Transformer, show and measure: figures, experiments, toy
models."""
