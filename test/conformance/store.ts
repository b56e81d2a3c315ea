import { describe } from 'vitest';
import type { Store } from '../../src/store/contract.ts';
import { agentTests } from './store-agents.ts';
import { basicTests } from './store-basics.ts';
import { inboxTests } from './store-inbox.ts';
import { offerTests } from './store-offers.ts';
import { outboxTests } from './store-outbox.ts';
import { taskTests } from './store-tasks.ts';

export interface StoreWorld {
  store: Store;
  /** Closes the store and opens it again on the same data. */
  reopen(): Store;
}

/** A fresh and empty store; it is closed when the test that asked for it is over. */
export type OpenWorld = () => StoreWorld;

/** What every implementation of src/store/contract.ts has to fulfil. */
export function storeConformance(name: string, open: OpenWorld): void {
  describe(`${name}: transactions, meta, records, keys`, () => {
    basicTests(open);
  });
  describe(`${name}: agents and instances`, () => {
    agentTests(open);
  });
  describe(`${name}: inbox`, () => {
    inboxTests(open);
  });
  describe(`${name}: offers`, () => {
    offerTests(open);
  });
  describe(`${name}: outbox and receipts`, () => {
    outboxTests(open);
  });
  describe(`${name}: tasks`, () => {
    taskTests(open);
  });
}
