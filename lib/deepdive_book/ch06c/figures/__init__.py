"""Interactive figures of chapter 6c."""
