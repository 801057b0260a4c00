CREATE TABLE orders (
    id       bigserial PRIMARY KEY,
    customer text NOT NULL,
    cents    integer NOT NULL
);

-- Written in the transaction that writes the order: both are there, or neither is.
CREATE TABLE outbox (
    -- Which transaction wrote the row. Ids are taken at INSERT and seen at COMMIT, so they are not seen in their order;
    -- of transactions PostgreSQL can tell which are over.
    xid  xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id   bigserial,
    kind text NOT NULL,
    body jsonb NOT NULL,
    PRIMARY KEY (xid, id)
);

-- What the handlers were given. Without a unique key on purpose: a double must show.
CREATE TABLE handled (
    message text NOT NULL,
    key     text NOT NULL
);
