"""``python -m ukctrl.cli``."""

from ukctrl.cli.entry import main

if __name__ == "__main__":
    main()
