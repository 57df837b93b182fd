"""Interactive figures of chapter 4."""
