"""What the pages of chapter 4, multilingual models, show and measure: figures, experiments, toy
models."""
