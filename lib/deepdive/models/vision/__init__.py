"""Transformers that read images and films. Start with `vit`: an image is a sequence of patches."""
