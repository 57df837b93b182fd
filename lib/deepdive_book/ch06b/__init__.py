"""What the pages of chapter 6b, vision, show and measure: figures, experiments, toy models."""
