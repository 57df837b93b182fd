"""A model seen only through what it says when parts of its input are gone; begin with `game`."""
