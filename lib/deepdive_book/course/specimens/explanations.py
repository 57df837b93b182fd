"""What chapter 7's clinic hides a word by."""

BLANK = "[MASK]"
