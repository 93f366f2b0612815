"""The synthetic example: write its files, load it into a home, take it out again.

Usage: python -m data.examples.generate FOLDER [--seed N]
"""

import argparse
from pathlib import Path

from data.examples.load import example_loaded, load_example, remove_example
from data.examples.write import MANIFEST, SEED, write_example

__all__ = ["MANIFEST", "SEED", "example_loaded", "load_example", "main", "remove_example", "write_example"]


def main() -> None:
    """Command line: write the files into a folder."""
    parser = argparse.ArgumentParser(description="Write the synthetic example.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    for path in write_example(options.folder, options.seed):
        print(f"{path.stat().st_size:>10,}  {path}")


if __name__ == "__main__":
    main()
