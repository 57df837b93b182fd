"""Exercises as assignments: each student's own variant, and what an instructor adds."""
