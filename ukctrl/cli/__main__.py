"""``python -m ukctrl.cli``."""

from ukctrl.cli.main import main

if __name__ == "__main__":
    main()
