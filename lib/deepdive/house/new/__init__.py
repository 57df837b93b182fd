"""A new system from its parent: `deepdive new SYSTEM --parent P` writes what it needs to begin.

What is written (`texts`) is the parent under a new name, in the places where a system lives: its
file, its case under the laws, its row and example in the atlas, the stub of a page, and a proof
that fails until it proves something. What a person must say carries a mark (`plan.MARK`); a test of
the house finds marks that stay. Everything is read (`reading`) and written (`files`) as text:
nothing here imports torch.
"""
