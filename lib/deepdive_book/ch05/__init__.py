"""What the pages of chapter 5, efficient Transformers, show and measure: figures, experiments, toy
models."""
