"""Interactive figures of chapter 6b."""
