"""What the pages of chapter 6a, text, show and measure: figures, experiments, toy models."""
