"""Other backward passes: an output handed back to the rows that made it; begin with `relevance`."""
