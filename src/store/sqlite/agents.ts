import type { AgentKind, AgentRow, AgentStore, InstanceRow, InstanceState } from '../contract.ts';
import type { Database, Row } from '../driver.ts';

function toAgent(row: Row): AgentRow {
  return {
    address: row['address'] as string,
    kind: row['kind'] as AgentKind,
    harness: row['harness'] as string | null,
    epoch: Number(row['epoch']),
    createdAt: Number(row['created_at']),
  };
}

// Column by column, in the order of the INSERT below.
const COLUMNS: readonly [column: string, field: keyof InstanceRow][] = [
  ['id', 'id'],
  ['harness', 'harness'],
  ['session_key', 'sessionKey'],
  ['address', 'address'],
  ['epoch', 'epoch'],
  ['state', 'state'],
  ['headless', 'headless'],
  ['named', 'named'],
  ['standby', 'standby'],
  ['cwd', 'cwd'],
  ['root', 'root'],
  ['transcript', 'transcript'],
  ['pid', 'pid'],
  ['model', 'model'],
  ['env', 'env'],
  ['turn_at', 'turnAt'],
  ['turn_hops', 'turnHops'],
  ['mid_frames', 'midFrames'],
  ['mid_bytes', 'midBytes'],
  ['stop_in_turn', 'stopInTurn'],
  ['stop_total', 'stopTotal'],
  ['announced', 'announced'],
  ['started_at', 'startedAt'],
  ['seen_at', 'seenAt'],
  ['ended_at', 'endedAt'],
  ['end_reason', 'endReason'],
];
const BOOLEANS = new Set<keyof InstanceRow>(['headless', 'named', 'standby']);

function toInstance(row: Row): InstanceRow {
  const out: Record<string, unknown> = {};
  for (const [column, field] of COLUMNS) {
    const value = row[column]!;
    out[field] = field === 'env' ? JSON.parse(value as string) : BOOLEANS.has(field) ? value === 1 : value;
  }
  return { ...(out as unknown as InstanceRow), state: row['state'] as InstanceState };
}

function fromInstance(row: InstanceRow): (string | number | null)[] {
  return COLUMNS.map(([, field]) => {
    const value = row[field];
    if (field === 'env') return JSON.stringify(value);
    if (typeof value === 'boolean') return value ? 1 : 0;
    return value as string | number | null;
  });
}

export function agentStore(db: Database): AgentStore {
  const names = COLUMNS.map(([column]) => column);
  const sql = {
    projectByRoot: db.prepare('SELECT slug FROM projects WHERE root = ?'),
    slugTaken: db.prepare('SELECT 1 FROM projects WHERE slug = ?'),
    addProject: db.prepare('INSERT INTO projects (root, slug) VALUES (?, ?)'),
    agents: db.prepare('SELECT * FROM agents ORDER BY address'),
    agent: db.prepare('SELECT * FROM agents WHERE address = ?'),
    addAgent: db.prepare(
      'INSERT INTO agents (address, kind, harness, epoch, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (address) DO NOTHING',
    ),
    setEpoch: db.prepare('UPDATE agents SET epoch = ? WHERE address = ?'),
    instance: db.prepare('SELECT * FROM instances WHERE harness = ? AND session_key = ? ORDER BY started_at DESC, rowid DESC LIMIT 1'),
    byId: db.prepare('SELECT * FROM instances WHERE id = ?'),
    live: db.prepare("SELECT * FROM instances WHERE state <> 'ended' ORDER BY seen_at DESC"),
    holder: db.prepare("SELECT * FROM instances WHERE address = ? AND standby = 0 ORDER BY (state <> 'ended') DESC, seen_at DESC LIMIT 1"),
    ended: db.prepare(
      "SELECT * FROM instances WHERE state = 'ended' AND harness = ? AND root = ? AND ended_at >= ? ORDER BY ended_at DESC LIMIT 1",
    ),
    save: db.prepare(
      `INSERT INTO instances (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})
       ON CONFLICT (id) DO UPDATE SET ${names
         .slice(1)
         .map((name) => `${name} = excluded.${name}`)
         .join(', ')}`,
    ),
  };
  const optional = <T>(row: Row | undefined, map: (row: Row) => T): T | null => (row ? map(row) : null);

  function project(root: string, wanted: string): string {
    const known = sql.projectByRoot.get(root);
    if (known) return known['slug'] as string;
    let slug = wanted;
    for (let n = 2; sql.slugTaken.get(slug); n++) slug = `${wanted}-${n}`;
    sql.addProject.run(root, slug);
    return slug;
  }

  return {
    project,
    agents: () => sql.agents.all().map(toAgent),
    agent: (address) => optional(sql.agent.get(address), toAgent),
    addAgent: (row) => void sql.addAgent.run(row.address, row.kind, row.harness, row.epoch, row.createdAt),
    setEpoch: (address, epoch) => void sql.setEpoch.run(epoch, address),
    instance: (harness, key) => optional(sql.instance.get(harness, key), toInstance),
    instanceById: (id) => optional(sql.byId.get(id), toInstance),
    liveInstances: () => sql.live.all().map(toInstance),
    lastHolder: (address) => optional(sql.holder.get(address), toInstance),
    lastEnded: (harness, root, since) => optional(sql.ended.get(harness, root, since), toInstance),
    saveInstance: (row) => void sql.save.run(...fromInstance(row)),
  };
}
