"""How does Alembic reach the database? Over the connection that the store hands it."""

from alembic import context

from controlplane.store.schema import metadata


def migrate() -> None:
    """Runs the migrations that are missing."""
    context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
    with context.begin_transaction():
        context.run_migrations()


if hasattr(context, "config"):  # only while Alembic runs a command; other tools may just import this file
    migrate()
