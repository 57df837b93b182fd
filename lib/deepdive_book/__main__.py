"""The command `deepdive`, also `python -m deepdive_book`: Ctrl-C at any moment exits with 130."""

import sys


def main() -> None:
    try:
        from deepdive_book.cli import main as command

        command(prog_name="deepdive")
    except KeyboardInterrupt:  # while modules are imported; later `Group` sees it
        sys.exit(130)


if __name__ == "__main__":
    main()
