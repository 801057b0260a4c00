CREATE TABLE accounts (
    name  text PRIMARY KEY,
    cents bigint NOT NULL DEFAULT 0
);

-- One row for each message whose effect is in this database.
CREATE TABLE inbox (
    key  text PRIMARY KEY,
    done timestamptz NOT NULL DEFAULT now()
);
