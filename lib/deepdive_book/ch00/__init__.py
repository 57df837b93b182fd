"""What the pages of chapter 0, first steps, show and measure: figures, experiments, toy models."""
