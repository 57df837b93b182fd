"""Interactive figures of chapter 0."""
