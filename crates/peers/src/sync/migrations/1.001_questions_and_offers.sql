-- Hosts project their questions; people make offers; the host that owns a question decides.
--
-- The role is the host: every row of a host bears the name of the role that wrote it, and the policies compare nothing else.

DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['askbox_host', 'askbox_person'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            -- Roles are those of all databases of the server: another migration may be making them.
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
END
$$;

-- `token` says which mailbox is this host: every write of a host demands the token that it believes in. `seen_at` is the database's
-- clock; `clock_ms` is how far the host's clock is ahead of it. `sessions` says that it replies to requests.
CREATE TABLE askbox.host (
    host     name        NOT NULL DEFAULT current_user PRIMARY KEY,
    token    uuid        NOT NULL,
    epoch    bigint      NOT NULL DEFAULT 1,
    program  text        NOT NULL CHECK (length(program) <= 100),
    clock_ms bigint      NOT NULL,
    seen_at  timestamptz NOT NULL DEFAULT now(),
    sessions boolean     NOT NULL DEFAULT false
) WITH (fillfactor = 50);

-- What changed since a hub looked last is what has a greater number here.
CREATE SEQUENCE askbox.change AS bigint;

-- `turn` and `rank` only grow: pending 0, answered 1, over 2; an answer that is taken back begins the next turn. `doc` is the question
-- in JSON, `ending` who answered it and how it ended. The ids are UUIDs of version 7, which begin with their time: a partition is a week.
CREATE TABLE askbox.question (
    host          name        NOT NULL DEFAULT current_user,
    question_id   uuid        NOT NULL,
    workflow_id   text        NOT NULL CHECK (length(workflow_id) BETWEEN 1 AND 128),
    turn          bigint      NOT NULL,
    rank          smallint    NOT NULL CHECK (rank BETWEEN 0 AND 2),
    state         text        NOT NULL CHECK (length(state) <= 32),
    question_hash uuid        NOT NULL,
    doc           text        NOT NULL CHECK (octet_length(doc) <= 4194304),
    ending        text        CHECK (octet_length(ending) <= 65536),
    change        bigint      NOT NULL,
    changed_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (host, question_id)
) PARTITION BY RANGE (question_id);
CREATE TABLE askbox.question_other PARTITION OF askbox.question DEFAULT;
CREATE INDEX question_open ON askbox.question (host, question_id) WHERE rank < 2;

-- `offer_id` is chosen by the sender, so that an offer that is sent again is the same offer. `seq` is the order in which a host reads.
CREATE TABLE askbox.offer (
    offer_id      uuid        NOT NULL PRIMARY KEY,
    seq           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    host          name        NOT NULL,
    workflow_id   text        NOT NULL CHECK (length(workflow_id) BETWEEN 1 AND 128),
    question_id   uuid        NOT NULL,
    question_hash uuid        NOT NULL,
    doc           text        NOT NULL CHECK (octet_length(doc) <= 8388608),
    sent_by       name        NOT NULL DEFAULT current_user,
    sent_at       timestamptz NOT NULL DEFAULT now(),
    outcome       text        CHECK (outcome IN ('accepted', 'lost', 'closed', 'changed', 'invalid')),
    said          text        CHECK (length(said) <= 2000),
    decided_at    timestamptz
) PARTITION BY RANGE (offer_id);
CREATE TABLE askbox.offer_other PARTITION OF askbox.offer DEFAULT;
CREATE INDEX offer_open ON askbox.offer (host, seq) WHERE outcome IS NULL;

ALTER TABLE askbox.host ENABLE ROW LEVEL SECURITY;
ALTER TABLE askbox.question ENABLE ROW LEVEL SECURITY;
ALTER TABLE askbox.offer ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA askbox TO askbox_host, askbox_person;
GRANT SELECT ON askbox.migration TO askbox_host, askbox_person;

-- A host reads and writes its own rows, and decides each of its offers once. Nobody deletes.
GRANT USAGE ON SEQUENCE askbox.change TO askbox_host;
GRANT SELECT, INSERT, UPDATE (token, epoch, program, clock_ms, seen_at, sessions) ON askbox.host TO askbox_host;
GRANT SELECT, INSERT, UPDATE (turn, rank, state, question_hash, doc, ending, change, changed_at) ON askbox.question TO askbox_host;
GRANT SELECT, UPDATE (outcome, said, decided_at) ON askbox.offer TO askbox_host;
CREATE POLICY host_itself ON askbox.host TO askbox_host USING (host = current_user) WITH CHECK (host = current_user);
CREATE POLICY host_own ON askbox.question TO askbox_host USING (host = current_user) WITH CHECK (host = current_user);
CREATE POLICY host_reads ON askbox.offer FOR SELECT TO askbox_host USING (host = current_user);
CREATE POLICY host_decides ON askbox.offer FOR UPDATE TO askbox_host
    USING (host = current_user AND outcome IS NULL) WITH CHECK (host = current_user AND outcome IS NOT NULL);

-- A person reads all, and makes offers in the name of their own role.
GRANT SELECT ON askbox.host, askbox.question, askbox.offer TO askbox_person;
GRANT INSERT (offer_id, host, workflow_id, question_id, question_hash, doc) ON askbox.offer TO askbox_person;
CREATE POLICY person_reads_hosts ON askbox.host FOR SELECT TO askbox_person USING (true);
CREATE POLICY person_reads_questions ON askbox.question FOR SELECT TO askbox_person USING (true);
CREATE POLICY person_reads_offers ON askbox.offer FOR SELECT TO askbox_person USING (true);
CREATE POLICY person_offers ON askbox.offer FOR INSERT TO askbox_person WITH CHECK (sent_by = current_user AND outcome IS NULL);

-- A request of a person about the sessions of a host, and the reply: for these two roles alone, and only until the person has it. A host
-- takes a request before it does it, so it does it once at most.
CREATE TABLE askbox.request (
    request_id uuid        NOT NULL PRIMARY KEY,
    seq        bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    host       name        NOT NULL,
    doc        text        NOT NULL CHECK (octet_length(doc) <= 262144),
    sent_by    name        NOT NULL DEFAULT current_user,
    sent_at    timestamptz NOT NULL DEFAULT now(),
    taken_at   timestamptz,
    reply      text        CHECK (octet_length(reply) <= 16777216)
);
ALTER TABLE askbox.request ENABLE ROW LEVEL SECURITY;
GRANT SELECT, DELETE, UPDATE (taken_at, reply) ON askbox.request TO askbox_host;
GRANT SELECT, DELETE, INSERT (request_id, host, doc) ON askbox.request TO askbox_person;
CREATE POLICY host_replies ON askbox.request TO askbox_host USING (host = current_user) WITH CHECK (host = current_user);
CREATE POLICY person_asks ON askbox.request TO askbox_person USING (sent_by = current_user) WITH CHECK (sent_by = current_user);
