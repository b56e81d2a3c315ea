import type { Hub, SubmitResult } from '../hub/hub.ts';
import type { Delivery, HubAgent, HubRecord, RecordQuery } from '../hub/store.ts';

/**
 * The transport seam: everything between the daemon's outbox and inbox. The hub link is the first
 * implementation; it is the same calls whether the hub runs in this process or elsewhere. Calls throw
 * AgentBusError for what the hub refused (final) and anything else for what may work later.
 */
export interface Link {
  submit(jws: string): Promise<SubmitResult>;
  submitReceipt(jws: string): Promise<void>;
  announce(address: string, card: Record<string, unknown>): Promise<void>;
  directory(): Promise<HubAgent[]>;
  publicKey(device: string): Promise<string | null>;
  pull(after: number, limit: number): Promise<Delivery[]>;
  ack(seqs: readonly number[]): Promise<void>;
  nak(seq: number, reason: string): Promise<void>;
  /** Hands an attachment of an own agent to the hub; answers with its hash. */
  putBlob(address: string, bytes: Buffer): Promise<string>;
  /** Throws AB-5008 for what is not this agent's to read. */
  blob(address: string, ref: string): Promise<Buffer>;
  addRecords(records: readonly { id: string; at: number; body: Record<string, unknown> }[]): Promise<void>;
  records(query: RecordQuery): Promise<HubRecord[]>;
  watch(onNews: () => void): () => void;
}

/** The link to a hub in this process, as one device. */
export function embeddedLink(hub: Hub, device: string): Link {
  return {
    submit: (jws) => hub.submit(device, jws),
    submitReceipt: (jws) => hub.submitReceipt(device, jws),
    announce: (address, card) => hub.announce(device, address, card),
    directory: () => hub.directory(device),
    publicKey: (id) => hub.publicKey(id),
    pull: (after, limit) => hub.pull(device, after, limit),
    ack: (seqs) => hub.ack(device, seqs),
    nak: (seq, reason) => hub.nak(device, seq, reason),
    putBlob: (address, bytes) => hub.putBlob(device, address, bytes),
    blob: (address, ref) => hub.blob(device, address, ref),
    addRecords: (records) => hub.addRecords(device, records),
    records: (query) => hub.records(device, query),
    watch: (onNews) => hub.watch(device, onNews),
  };
}
