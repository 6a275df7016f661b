"""The command line. Data goes to stdout; progress, summaries and errors to stderr."""

from __future__ import annotations

import atexit
import gc
import io
import os
import re
import sys
import traceback
import warnings
from contextlib import nullcontext, redirect_stderr
from pathlib import Path
from typing import Any

import click

from ensclust import __version__
from ensclust.cli._choosing import compare, methods, select_k, split_half
from ensclust.cli._demo import demo
from ensclust.cli._info import info
from ensclust.cli._messages import in_options
from ensclust.cli._paper import datasets, reproduce
from ensclust.cli._predict import predict
from ensclust.cli._report import certainty, report
from ensclust.cli._run import cluster, consensus

_COMPLETION = """\b
To complete commands, options, methods and files with the Tab key:
  bash: eval "$(_ENSCLUST_COMPLETE=bash_source ensclust)"    in ~/.bashrc
  zsh:  eval "$(_ENSCLUST_COMPLETE=zsh_source ensclust)"     in ~/.zshrc
  fish: _ENSCLUST_COMPLETE=fish_source ensclust | source     in config.fish
"""


class _OutputError(click.ClickException):
    """Standard output is not writable."""

    exit_code = 2


class _Commands(click.Group):
    """A group that reports an error in one line and exits with status 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run, with usage errors formatted like all other errors."""
        kwargs["standalone_mode"] = False  # else click would print them itself
        atexit.register(gc.freeze)  # saves 0.4 s of garbage collection
        with _lossy(sys.stderr):
            try:
                sys.exit(super().main(*args, **kwargs))
            except click.ClickException as error:
                context = getattr(error, "ctx", None)
                hint = f" See '{context.command_path} --help'." if context else ""
                _say("error", error.format_message().rstrip(".") + "." + hint)
                sys.exit(error.exit_code)
            except click.Abort:
                sys.exit(130)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for reports to show."""
        ctx.obj = list(args)
        if any(":" in word for word in args) and "" not in sys.path:
            sys.path.insert(0, "")  # -m module:Class may be a file in this directory
        if sys.stdout is None:
            from ensclust._support.whole_files import ClosedOutput  # noqa: PLC0415  slow

            sys.stdout = ClosedOutput()
        try:
            return super().parse_args(ctx, args)  # prints the help if requested
        except BrokenPipeError:
            raise
        except OSError as error:
            said = f"standard output could not be written: {error.strerror}"
            raise _OutputError(said if error.strerror else str(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; each error or warning becomes one line."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            said: set[str] = set()  # a file may be read twice

            def show(message: Warning | str, *_: Any, **__: Any) -> None:
                if str(message) not in said:
                    said.add(str(message))
                    _say("warning", message)

            warnings.showwarning = show
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as stop:
                click.echo(
                    f"ensclust: interrupted{f': {stop}' if stop.args else ''}", err=True
                )
                ctx.exit(130)
            except BrokenPipeError:  # "| head" is done: click exits quietly
                raise
            except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
                if ctx.params["debug"]:
                    traceback.print_exc()
                _say("error", str(error) or type(error).__name__)
                ctx.exit(2)


@click.group(
    cls=_Commands,
    commands=[
        cluster,
        consensus,
        predict,
        select_k,
        compare,
        certainty,
        split_half,
        report,
        info,
        methods,
        demo,
        reproduce,
        datasets,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog=_COMPLETION,
)
@click.version_option(__version__, prog_name="ensclust")
@click.option("--debug", is_flag=True, help="Show the traceback of errors.")
@click.pass_context
def main(ctx: click.Context, *, debug: bool) -> None:
    """Combine many clusterings of the same objects into one."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class _Lossy(io.RawIOBase):
    """A stream that drops what it cannot write, for a stderr that is full."""

    def __init__(self, stream: Any):
        self._stream = stream

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, data: Any) -> int | None:
        try:
            return self._stream.write(data)
        except OSError:
            return len(data)


def _lossy(stream: Any) -> Any:
    """Return a context in which it does not matter if stderr is not writable."""
    if stream is None:  # closed: an output file must not get its number
        return redirect_stderr(Path(os.devnull).open("w"))
    if id(stream) != id(sys.__stderr__):  # replaced by other code
        return nullcontext()
    lossy = _Lossy(getattr(stream.buffer, "raw", stream.buffer))
    return redirect_stderr(
        io.TextIOWrapper(
            io.BufferedWriter(lossy),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=True,
        )
    )


def _say(kind: str, message: Any) -> None:
    text = re.sub(r"\s*\n\s*", " ", in_options(str(message)).strip())
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    # Not click.echo, which would write into the progress bar.
    print(f"ensclust: {kind}: {text}", file=sys.stderr, flush=True)
