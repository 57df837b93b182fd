"""Vision Transformers for images and videos. Start with `vit`: an image is a patch sequence."""
