"""What heads have to do with each other: mixed, shared, told to disagree, of several widths.

Start with `talking_heads`: one matrix mixes the scores of all heads.
"""
