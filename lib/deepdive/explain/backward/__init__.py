"""Relevance propagation: modified backward passes from an output to its inputs; see `relevance`."""
