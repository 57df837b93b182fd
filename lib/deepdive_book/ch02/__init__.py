"""What the pages of chapter 2, the Transformer, show and measure: figures, experiments, toy
models."""
