"""`python -m ibidem`: the program, for where its console script is not on the path."""

from ibidem.cli.main import main

if __name__ == "__main__":
    main()
