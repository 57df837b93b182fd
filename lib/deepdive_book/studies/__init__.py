"""What the case studies show and measure: figures, experiments, saved translations."""
