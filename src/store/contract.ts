import type { EventKind, HandedEnv } from '../core/harness.ts';
import type { Task, TaskEvent } from '../core/task.ts';

/**
 * What the daemon keeps. Times are ms since the epoch. `promise` commits with synchronous=FULL: for
 * what a receipt or an ack stands on. `mark` commits with NORMAL: a power cut may take it back, and
 * then a message is shown once more, marked as a redelivery.
 */
export interface Store extends AgentStore, InboxStore, OfferStore, OutboxStore, TaskStore, RecordStore {
  promise<T>(fn: () => T): T;
  mark<T>(fn: () => T): T;
  /** Deletes, in portions, what is over and older than a time. */
  forget(before: number): void;
  meta(key: string): string | null;
  setMeta(key: string, value: string): void;
  close(): void;
}

export type AgentKind = 'slot' | 'name' | 'person' | 'oneoff';

export interface AgentRow {
  address: string;
  kind: AgentKind;
  harness: string | null;
  epoch: number;
  createdAt: number;
}

export type InstanceState = 'idle' | 'busy' | 'ended';

export interface InstanceRow {
  id: string;
  harness: string;
  sessionKey: string;
  address: string;
  epoch: number;
  state: InstanceState;
  headless: boolean;
  /** Named explicitly, so a headless run is treated like an interactive one. */
  named: boolean;
  /** A second claimant of an explicit name: it may read, nothing is shown to it, it can't send as it. */
  standby: boolean;
  cwd: string | null;
  root: string | null;
  transcript: string | null;
  pid: number | null;
  model: string | null;
  env: HandedEnv;
  /** When the current turn began; what was shown since then is repeated after a compaction. */
  turnAt: number;
  /** The highest `hops` of what was shown in this turn outside a human prompt. */
  turnHops: number;
  midFrames: number;
  midBytes: number;
  /** Stop extensions in this turn, and since the last human prompt. */
  stopInTurn: number;
  stopTotal: number;
  /** The last session-start line; a resume repeats it only when it would differ. */
  announced: string | null;
  startedAt: number;
  seenAt: number;
  endedAt: number | null;
  endReason: string | null;
}

export interface AgentStore {
  project(root: string, wanted: string): string;
  agents(): AgentRow[];
  agent(address: string): AgentRow | null;
  addAgent(row: AgentRow): void;
  setEpoch(address: string, epoch: number): void;
  /** The latest instance of a session: a resumed session is a new instance under the old key. */
  instance(harness: string, sessionKey: string): InstanceRow | null;
  instanceById(id: string): InstanceRow | null;
  /** Instances that have not ended, latest seen first. */
  liveInstances(): InstanceRow[];
  /** The last instance that held the address, ended or not. */
  lastHolder(address: string): InstanceRow | null;
  /** The instance of a harness in a project that ended last, if it did so after `since`. */
  lastEnded(harness: string, root: string, since: number): InstanceRow | null;
  saveInstance(row: InstanceRow): void;
}

export type InboxState = 'unread' | 'presented' | 'read' | 'replied' | 'resolved' | 'expired';

export interface InboxRow {
  seq: number;
  workspace: string;
  source: string;
  id: string;
  recipient: string;
  conversation: string;
  conversationSeq: number;
  type: string;
  /** 0 low … 3 urgent */
  priority: number;
  hops: number;
  /** The task that it is a message of. */
  task: string | null;
  /** Tells only how a task goes: a later one of that task takes its place. */
  status: boolean;
  jws: string;
  digest: string;
  receivedAt: number;
  expiresAt: number;
  state: InboxState;
  /** Times shown so far, and how many of those ended without proof either way. */
  shows: number;
  unproven: number;
  stopUsed: boolean;
}

export interface InboxStore {
  /** `conflict`: the same workspace, source and id with other bytes; the first stays. */
  addInbox(row: Omit<InboxRow, 'seq' | 'state' | 'shows' | 'unproven' | 'stopUsed'>): 'new' | 'duplicate' | 'conflict';
  inboxMessage(id: string): InboxRow | null;
  inboxBySeq(seq: number): InboxRow | null;
  /** Unread, unexpired, not in an open offer: what may be shown, by priority, then oldest first. */
  showable(recipient: string, now: number, limit: number): InboxRow[];
  /** The same of one conversation, in its order. */
  showableIn(recipient: string, conversation: string, now: number, limit: number): InboxRow[];
  unreadCount(recipient: string, now: number): number;
  /** How many of these the loop brake holds. */
  heldCount(recipient: string, now: number): number;
  listInbox(recipient: string, options: { unreadOnly: boolean; after: number; limit: number }): InboxRow[];
  /** Moves forward only: a state never goes back. Answers whether it moved. */
  advance(seq: number, state: InboxState): boolean;
  countShow(seq: number, atStop: boolean): void;
  countUnproven(seq: number): void;
  /** The messages of a task that came here and were not seen yet, in their order. */
  unreadOfTask(task: string): InboxRow[];
  /** The last message of a task that came for an address; 0 without any. */
  lastOfTask(task: string, recipient: string): number;
  expireInbox(now: number): InboxRow[];
  /** When the next unread message expires; null when nothing is unread. */
  nextExpiry(): number | null;
}

export type OfferState = 'open' | 'accepted' | 'presented' | 'miss' | 'unproven';

export interface OfferRow {
  nonce: string;
  instance: string;
  message: number;
  kind: EventKind;
  native: string;
  transcript: string | null;
  start: number;
  toolIds: string[];
  promptHash: string | null;
  laterHashes: string[];
  at: number;
  state: OfferState;
}

export interface OfferStore {
  addOffer(row: OfferRow): void;
  openOffers(instance: string): OfferRow[];
  /** Instances that have open or accepted offers. */
  instancesWithOffers(): string[];
  /** Offers without a verdict go over to the instance that continues the session. */
  moveOffers(from: string, to: string): void;
  setOffer(nonce: string, state: OfferState): void;
  addLaterHash(nonce: string, hash: string): void;
  offersOf(message: number): OfferRow[];
  /** Messages shown to this instance since a time, seen and not read. */
  seenSince(instance: string, since: number): number[];
  /** Messages that extended a stop of this instance and were seen, but do not count as read yet. */
  seenAtStop(instance: string): number[];
}

export interface OutboxRow {
  seq: number;
  id: string;
  sender: string;
  recipient: string;
  jws: string;
  state: 'queued' | 'sent' | 'dead';
  attempts: number;
  nextAt: number;
  createdAt: number;
  expiresAt: number;
  reason: string | null;
}

export interface ReceiptRow {
  id: string;
  messageId: string;
  state: string;
  at: number;
  /** The recipient that the state is about. */
  agent: string | null;
  /** The sender that is to learn of it. */
  sender: string | null;
  detail: Record<string, unknown>;
  queued: boolean;
}

export interface OutboxStore {
  addOutbox(row: Omit<OutboxRow, 'seq' | 'state' | 'attempts' | 'reason'>): void;
  outboxMessage(id: string): OutboxRow | null;
  queuedOutbox(limit: number): OutboxRow[];
  settleOutbox(id: string, state: 'sent' | 'dead', reason: string | null): void;
  retryOutbox(id: string, nextAt: number, reason: string): void;
  addReceipt(row: ReceiptRow): boolean;
  receipts(messageId: string): ReceiptRow[];
  /** All receipts in the order they came, behind a cursor; null: the last ones. */
  receiptsAfter(cursor: number | null, limit: number): { cursor: number; receipt: ReceiptRow }[];
  queuedReceipts(limit: number): ReceiptRow[];
  receiptSent(id: string): void;
  /** Id and recipient of what an agent sent lately, newest first. */
  sentBy(sender: string, limit: number): OutboxRow[];
}

/** A task as the hub last told it, and what it has used here. */
export interface TaskRow extends Task {
  tokens: number;
  usd: number;
}

export interface TaskStore {
  /** Takes over how a task stands unless something newer is known; keeps the event. Answers whether it was news. */
  saveTask(task: Task, event: TaskEvent): boolean;
  task(id: string): TaskRow | null;
  /** Tasks given to or by an address (null: anybody) that have not ended, oldest first. */
  openTasks(address: string | null): TaskRow[];
  /** When the next open task expires; null when none is open. */
  nextTaskEnd(): number | null;
  /** All of an address (null: of everybody), the latest news first. */
  tasksOf(address: string | null, limit: number): TaskRow[];
  /** Whether a conversation is about a task of this address that is being worked on. */
  inFlight(conversation: string, address: string): boolean;
  addTaskUsage(id: string, tokens: number, usd: number): void;
  taskEvents(id: string): TaskEvent[];
}

export interface RecordRow {
  id: string;
  at: number;
  body: string;
}

export interface RecordStore {
  addRecord(row: RecordRow): void;
  queuedRecords(limit: number): RecordRow[];
  recordsSent(ids: readonly string[]): void;
  pinnedKey(device: string): string | null;
  pinKey(device: string, publicKey: string, now: number): void;
}
