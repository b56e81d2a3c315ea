import type { Store } from './contract.ts';

const key = (address: string): string => `expired ${address}`;

/** Tasks of an address that expired and were not named to it yet. */
export function expiredTasks(store: Store, address: string): string[] {
  return (store.meta(key(address)) ?? '').split(' ').filter((id) => id !== '');
}

export function noteExpired(store: Store, address: string, task: string): void {
  store.setMeta(key(address), [...expiredTasks(store, address), task].join(' '));
}

export function forgetExpired(store: Store, address: string): void {
  store.setMeta(key(address), '');
}
