"""`python -m deepdive.house.pages`."""

from deepdive.house.pages.commands import main

main(prog_name="python -m deepdive.house.pages")
