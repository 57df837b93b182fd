"""What the pages of chapter 3, BERT, show and measure: figures, experiments, toy models."""
