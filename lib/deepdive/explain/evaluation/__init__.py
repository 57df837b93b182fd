"""How explanations are judged: by curves, by each other, by known causes, by lost weights."""
