"""Interactive figures of chapter 2."""
