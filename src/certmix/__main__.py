"""``python -m certmix`` and the console script. Signals are listened to before anything heavy is imported."""

from certmix.interruption import leave, listen


def main() -> None:
    """Run the command line and end the process with its exit code."""
    listen()
    from certmix.cli.main import run

    leave(run())


if __name__ == "__main__":
    main()
