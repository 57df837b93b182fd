"""What the pages of chapter 7, explainability, show and measure: figures, experiments, toy
models."""
