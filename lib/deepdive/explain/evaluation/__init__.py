"""Evaluating explanations: faithfulness curves, agreement, known causes, randomized weights."""
