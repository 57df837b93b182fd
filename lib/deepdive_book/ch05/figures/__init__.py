"""Interactive figures of chapter 5."""
