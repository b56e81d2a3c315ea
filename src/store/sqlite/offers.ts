import type { EventKind } from '../../core/harness.ts';
import type { OfferRow, OfferState, OfferStore } from '../contract.ts';
import type { Database, Row } from '../driver.ts';

function toOffer(row: Row): OfferRow {
  return {
    nonce: row['nonce'] as string,
    instance: row['instance'] as string,
    message: Number(row['message']),
    kind: row['kind'] as EventKind,
    native: row['native'] as string,
    transcript: row['transcript'] as string | null,
    start: Number(row['start']),
    toolIds: JSON.parse(row['tool_ids'] as string) as string[],
    promptHash: row['prompt_hash'] as string | null,
    laterHashes: JSON.parse(row['later_hashes'] as string) as string[],
    at: Number(row['at']),
    state: row['state'] as OfferState,
  };
}

export function offerStore(db: Database): OfferStore {
  const sql = {
    add: db.prepare(
      `INSERT INTO offers (nonce, instance, message, kind, native, transcript, start, tool_ids, prompt_hash, later_hashes, at, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    open: db.prepare("SELECT * FROM offers WHERE instance = ? AND state IN ('open', 'accepted') ORDER BY at"),
    instances: db.prepare("SELECT DISTINCT instance FROM offers WHERE state IN ('open', 'accepted')"),
    move: db.prepare("UPDATE offers SET instance = ? WHERE instance = ? AND state IN ('open', 'accepted')"),
    set: db.prepare('UPDATE offers SET state = ? WHERE nonce = ?'),
    later: db.prepare(
      "UPDATE offers SET later_hashes = json_insert(later_hashes, '$[#]', ?) WHERE nonce = ? AND json_array_length(later_hashes) < 50",
    ),
    seenSince: db.prepare(
      `SELECT DISTINCT o.message FROM offers o JOIN inbox i ON i.seq = o.message
       WHERE o.instance = ? AND o.at >= ? AND o.state = 'presented' AND i.state = 'presented' ORDER BY o.message`,
    ),
    atStop: db.prepare(
      `SELECT DISTINCT o.message FROM offers o JOIN inbox i ON i.seq = o.message
       WHERE o.instance = ? AND o.kind = 'stop' AND o.state = 'presented' AND i.state = 'presented'`,
    ),
    of: db.prepare('SELECT * FROM offers WHERE message = ? ORDER BY at'),
  };
  return {
    addOffer(row) {
      sql.add.run(
        row.nonce,
        row.instance,
        row.message,
        row.kind,
        row.native,
        row.transcript,
        row.start,
        JSON.stringify(row.toolIds),
        row.promptHash,
        JSON.stringify(row.laterHashes),
        row.at,
        row.state,
      );
    },
    openOffers: (instance) => sql.open.all(instance).map(toOffer),
    instancesWithOffers: () => sql.instances.all().map((row) => row['instance'] as string),
    moveOffers: (from, to) => void sql.move.run(to, from),
    setOffer: (nonce, state) => void sql.set.run(state, nonce),
    addLaterHash: (nonce, hash) => void sql.later.run(hash, nonce),
    seenSince: (instance, since) => sql.seenSince.all(instance, since).map((row) => Number(row['message'])),
    seenAtStop: (instance) => sql.atStop.all(instance).map((row) => Number(row['message'])),
    offersOf: (message) => sql.of.all(message).map(toOffer),
  };
}
