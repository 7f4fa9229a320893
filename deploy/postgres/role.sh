#!/bin/sh
# Runs once, when PostgreSQL makes its data folder: the role of the service owns its own database and nothing else, so
# that whoever gets into the service does not get into the server of the database.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$(cat "$ROLE_PASSWORD_FILE")" \
  --username="$POSTGRES_USER" --dbname=postgres <<'SQL'
CREATE ROLE registerwatch LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE registerwatch OWNER registerwatch ENCODING 'UTF8' TEMPLATE template0;
REVOKE CONNECT ON DATABASE registerwatch, postgres FROM PUBLIC;
SQL
