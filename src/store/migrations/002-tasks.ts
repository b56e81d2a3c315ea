/** Tasks, as the hub last told how they stand, and what the inbox knows of their messages. */
export const tasks = `
ALTER TABLE inbox ADD COLUMN task TEXT;
ALTER TABLE inbox ADD COLUMN status INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inbox_task ON inbox (task) WHERE task IS NOT NULL;
-- What may be forgotten one day, without reading the messages themselves.
CREATE INDEX inbox_over ON inbox (expires_at) WHERE state <> 'unread';
CREATE INDEX outbox_over ON outbox (expires_at) WHERE state <> 'queued';

-- The session-start line itself, where the unread count of it stood.
ALTER TABLE instances DROP COLUMN announced;
ALTER TABLE instances ADD COLUMN announced TEXT;

CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  caller TEXT NOT NULL,
  agent TEXT NOT NULL,
  conversation TEXT NOT NULL,
  state TEXT NOT NULL,
  seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  cancel_requested_at INTEGER,
  reason TEXT,
  tokens INTEGER NOT NULL DEFAULT 0,
  usd REAL NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tasks_caller ON tasks (caller, updated_at);
CREATE INDEX tasks_agent ON tasks (agent, updated_at);
CREATE INDEX tasks_open ON tasks (conversation) WHERE state IN ('submitted', 'working', 'input-required', 'auth-required');

CREATE TABLE task_events (
  id TEXT PRIMARY KEY,
  task TEXT NOT NULL,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  sender TEXT,
  at INTEGER NOT NULL,
  state TEXT NOT NULL,
  late INTEGER NOT NULL
) STRICT;
CREATE INDEX task_events_task ON task_events (task, seq);
`;
