"""Alembic's entry: runs the migrations on the connection that `db.migrate` hands over."""

from alembic import context

from registerwatch.platform.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
