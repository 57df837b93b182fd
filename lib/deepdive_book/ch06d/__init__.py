"""What the pages of chapter 6d, applications, show and measure: figures and experiments."""
