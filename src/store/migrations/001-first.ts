/** The daemon's store. Times are ms since the epoch. Never text of prompts or tools. */
export const first = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE projects (root TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE agents (
  address TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('slot', 'name', 'person', 'oneoff')),
  harness TEXT,
  epoch INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE instances (
  id TEXT PRIMARY KEY,
  harness TEXT NOT NULL,
  session_key TEXT NOT NULL,
  address TEXT NOT NULL REFERENCES agents (address),
  epoch INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('idle', 'busy', 'ended')),
  headless INTEGER NOT NULL,
  named INTEGER NOT NULL,
  standby INTEGER NOT NULL,
  cwd TEXT,
  root TEXT,
  transcript TEXT,
  pid INTEGER,
  model TEXT,
  env TEXT NOT NULL,
  turn_at INTEGER NOT NULL DEFAULT 0,
  turn_hops INTEGER NOT NULL DEFAULT 0,
  mid_frames INTEGER NOT NULL DEFAULT 0,
  mid_bytes INTEGER NOT NULL DEFAULT 0,
  stop_in_turn INTEGER NOT NULL DEFAULT 0,
  stop_total INTEGER NOT NULL DEFAULT 0,
  announced INTEGER,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_reason TEXT
) STRICT;
CREATE INDEX instances_session ON instances (harness, session_key, started_at);
CREATE INDEX instances_address ON instances (address);
CREATE INDEX instances_ended ON instances (ended_at) WHERE state = 'ended';
CREATE INDEX instances_live ON instances (seen_at) WHERE state <> 'ended';

CREATE TABLE inbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace TEXT NOT NULL,
  source TEXT NOT NULL,
  id TEXT NOT NULL,
  recipient TEXT NOT NULL,
  conversation TEXT NOT NULL,
  conversation_seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  priority INTEGER NOT NULL,
  hops INTEGER NOT NULL,
  jws TEXT NOT NULL,
  digest TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('unread', 'presented', 'read', 'replied', 'resolved', 'expired')),
  shows INTEGER NOT NULL DEFAULT 0,
  unproven INTEGER NOT NULL DEFAULT 0,
  stop_used INTEGER NOT NULL DEFAULT 0,
  UNIQUE (workspace, source, id)
) STRICT;
CREATE INDEX inbox_id ON inbox (id);
CREATE INDEX inbox_recipient ON inbox (recipient, seq);
CREATE INDEX inbox_unread ON inbox (recipient, priority DESC, seq) WHERE state = 'unread';
CREATE INDEX inbox_conversation ON inbox (recipient, conversation, conversation_seq) WHERE state = 'unread';
CREATE INDEX inbox_expiry ON inbox (expires_at) WHERE state = 'unread';

CREATE TABLE offers (
  nonce TEXT PRIMARY KEY,
  instance TEXT NOT NULL REFERENCES instances (id),
  message INTEGER NOT NULL REFERENCES inbox (seq),
  kind TEXT NOT NULL,
  native TEXT NOT NULL,
  transcript TEXT,
  start INTEGER NOT NULL,
  tool_ids TEXT NOT NULL,
  prompt_hash TEXT,
  later_hashes TEXT NOT NULL DEFAULT '[]',
  at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'accepted', 'presented', 'miss', 'unproven'))
) STRICT;
CREATE INDEX offers_instance ON offers (instance, kind);
CREATE INDEX offers_open ON offers (instance) WHERE state IN ('open', 'accepted');
CREATE INDEX offers_message ON offers (message);
CREATE INDEX offers_unsettled ON offers (message, state) WHERE state IN ('open', 'accepted');

CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  sender TEXT NOT NULL,
  recipient TEXT NOT NULL,
  jws TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'sent', 'dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  reason TEXT
) STRICT;
CREATE INDEX outbox_queued ON outbox (seq) WHERE state = 'queued';

CREATE TABLE receipts (
  id TEXT PRIMARY KEY,
  message_id TEXT NOT NULL,
  state TEXT NOT NULL,
  at INTEGER NOT NULL,
  agent TEXT,
  sender TEXT,
  detail TEXT NOT NULL,
  queued INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_message ON receipts (message_id, at);
CREATE INDEX receipts_queued ON receipts (id) WHERE queued = 1;

CREATE TABLE records (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  queued INTEGER NOT NULL
) STRICT;
CREATE INDEX records_queued ON records (id) WHERE queued = 1;

CREATE TABLE pins (device TEXT PRIMARY KEY, public_key TEXT NOT NULL, pinned_at INTEGER NOT NULL) STRICT;
`;
