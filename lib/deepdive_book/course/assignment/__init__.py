"""Exercises as assignments: a variant for each student, released, collected, graded, given back."""
