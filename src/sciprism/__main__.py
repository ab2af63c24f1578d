"""`python -m sciprism`."""

from sciprism.cli.main import main

if __name__ == "__main__":
    main()
