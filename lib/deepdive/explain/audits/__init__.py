"""Audits: what a model does that its makers did not mean it to do. A bias; a secret given away."""
