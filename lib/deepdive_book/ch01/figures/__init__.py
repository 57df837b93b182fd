"""Interactive figures of chapter 1."""
