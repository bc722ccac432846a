"""`python -m ibidem.cli`: the program without its console script."""

from ibidem.cli.main import main

if __name__ == "__main__":
    main()
