"""Experiments of the case studies."""
