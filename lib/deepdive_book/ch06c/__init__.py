"""What the pages of chapter 6c, speech, show and measure: figures, experiments, toy models."""
