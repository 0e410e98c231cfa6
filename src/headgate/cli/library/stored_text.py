"""What is stored of an item, as `headgate library show` prints it."""

from __future__ import annotations

import typer

from headgate.catalogue.stored import ContentsPage, StoredDetails
from headgate.cli.output import print_table
from headgate.cli.phrases import count_of
from headgate.domain.words.inspection_words import file_state_text
from headgate.domain.words.times import size_text


def print_stored(stored: StoredDetails, inside: ContentsPage | None) -> None:
    """Print the files, what is wrong with them, and what is inside."""
    if stored.files:
        print_table(
            ("File", "Size", "State", "Reason"),
            [
                (
                    file.name,
                    size_text(file.size_bytes) if file.size_bytes else "",
                    "being downloaded" if file.running else file_state_text(file.state),
                    file.reason,
                )
                for file in stored.files
            ],
            title="Files",
            numeric=("Size",),
            empty="",
        )
    contents = stored.contents
    if contents is not None and contents.problems:
        typer.echo(f"\nProblem: {contents.state_text} ({'; '.join(contents.problems)}). {contents.remedy}")
    if contents is not None and contents.waiting_reason:
        typer.echo(f"\nNot read yet: {contents.waiting_reason}")
    if contents is None or inside is None:
        return
    unpacked = size_text(contents.unpacked_bytes)
    print_table(
        ("Name", "Size"),
        [
            (
                f"{row.path}/ ({count_of(row.files, 'file')})" if row.is_folder else row.path,
                size_text(row.size_bytes) if row.size_bytes is not None else "",
            )
            for row in inside.entries
        ],
        title=f"Inside: {count_of(contents.entry_count, 'entry', 'entries')}, {unpacked} unpacked",
        numeric=("Size",),
        empty="Nothing matches.",
    )
    if inside.next is not None:
        typer.echo("There is more; use --inside with a folder or --find with words.")
