"""The whole model as another that can be read: a tree and its rules, a finite automaton."""
