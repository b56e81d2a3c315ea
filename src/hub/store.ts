import type { AgentBusError } from '../core/errors.ts';
import type { Task, TaskChange, TaskStep } from '../core/task.ts';

/**
 * What a hub keeps. Asynchronous, since the next implementation is a network database; the embedded
 * one is SQLite. Times are ms since the epoch. Everything here is durable before a call returns.
 */
export interface HubStore {
  addDevice(device: DeviceRow): Promise<void>;
  device(id: string): Promise<DeviceRow | null>;
  /** False when the address belongs to another device: the first to claim it keeps it. */
  putAgent(agent: HubAgent): Promise<boolean>;
  agent(address: string): Promise<HubAgent | null>;
  agents(workspace: string): Promise<HubAgent[]>;
  /**
   * Takes a message: gives it the next number of its conversation and queues it for the recipient's
   * device, in one transaction. `duplicate`: the same bytes were taken before (with the number of
   * then); `conflict`: the same workspace, source and id with other bytes. A message that is a step of
   * a task takes it in the same transaction, and both parties' devices get the task as it then stands;
   * `refused`: the task was not where the step leads on from, or the sender may not read an attachment.
   */
  addMessage(message: NewMessage, accepted: MessageStep, task?: { id: string; decide: DecideTask }): Promise<AddResult>;
  message(workspace: string, id: string): Promise<HubMessage | null>;
  /** Messages of a recipient that are neither seen nor closed nor expired, and how many of them one sender sent. */
  openMessages(recipient: string, source: string, now: number): Promise<{ all: number; fromSource: number }>;
  /** Messages from source to recipient accepted after one time and not after another. */
  recentMessages(source: string, recipient: string, since: number, until: number): Promise<number>;
  /** Adds a step once per receipt id; answers with the device that is told of it, null for none, false when it was there. */
  addStep(step: MessageStep): Promise<string | null | false>;
  deliveries(device: string, after: number, limit: number): Promise<Delivery[]>;
  /** Removes deliveries; each message among them takes its step in the same transaction. Answers with the devices told. */
  ack(device: string, seqs: readonly number[], stepOf: (message: HubMessage) => MessageStep): Promise<string[]>;
  receipts(workspace: string, messageId: string): Promise<HubReceipt[]>;
  task(workspace: string, id: string): Promise<Task | null>;
  /** Open tasks whose time is over by `now`, oldest first. */
  overdueTasks(now: number, limit: number): Promise<Task[]>;
  /** Takes a step of a task that no message makes. Answers with the devices told. */
  endTask(workspace: string, id: string, end: (task: Task) => TaskChange | null): Promise<string[]>;
  /** Keeps bytes by their hash; `reader` may read them until then, and send them on. */
  putBlob(blob: { workspace: string; hash: string; bytes: Buffer; reader: string; until: number }): Promise<void>;
  /** Null for bytes that are not there or not this reader's to read. */
  blob(workspace: string, hash: string, reader: string): Promise<Buffer | null>;
  /** Forgets what nobody may read any more. */
  sweepBlobs(now: number): Promise<void>;
  /** Deletes, in portions, messages that expired before a time, and receipts, ended tasks and records that are older. */
  forget(before: number): Promise<void>;
  addRecords(records: readonly HubRecord[]): Promise<void>;
  records(workspace: string, options: RecordQuery): Promise<HubRecord[]>;
  close(): Promise<void>;
}

export interface DeviceRow {
  id: string;
  workspace: string;
  /** base64url of the 32 raw bytes */
  publicKey: string;
  enrolledAt: number;
}

export interface HubAgent {
  address: string;
  workspace: string;
  device: string;
  /** Harness, badges, presence: what a sender may know. */
  card: Record<string, unknown>;
  updatedAt: number;
}

/** Decides a step of a task by how it stands (null: no such task). Pure: a store may call it again. */
export type DecideTask = (current: Task | null) => TaskStep;

export type AddResult =
  | { result: 'new' | 'duplicate' | 'conflict'; conversationSeq: number }
  | { result: 'refused'; error: AgentBusError; devices: string[] };

export interface NewMessage {
  workspace: string;
  source: string;
  id: string;
  recipient: string;
  conversation: string;
  jws: string;
  digest: string;
  device: string;
  acceptedAt: number;
  expiresAt: number;
  /** Hashes of its attachments. */
  blobs: string[];
}

export interface HubMessage extends Omit<NewMessage, 'blobs'> {
  conversationSeq: number;
  state: string;
}

/** What happens to a message, kept and told in one transaction. */
export interface MessageStep {
  receipt: HubReceipt;
  /** The message's sender, whose device is told, unless it is `except`. */
  source: string;
  except: string | null;
  /** What the message counts as from now on; null: as before. */
  state: string | null;
}

export type DeliveryKind = 'message' | 'receipt' | 'task';

export interface Delivery {
  seq: number;
  kind: DeliveryKind;
  /** A JWS (message), or JSON: a hub receipt, a task's change. */
  body: string;
  messageId: string;
  conversationSeq: number;
}

export interface HubReceipt {
  id: string;
  workspace: string;
  messageId: string;
  state: string;
  at: number;
  agent: string | null;
  detail: Record<string, unknown>;
}

export interface HubRecord {
  id: string;
  workspace: string;
  at: number;
  body: Record<string, unknown>;
}

export interface RecordQuery {
  limit: number;
  agent?: string | undefined;
  event?: string | undefined;
}
