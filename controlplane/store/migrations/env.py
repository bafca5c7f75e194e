"""How does Alembic reach the database? Over the connection that the store hands it."""

from alembic import context

from controlplane.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
