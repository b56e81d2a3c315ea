import { newId } from '../core/ids.ts';
import { wakeLine } from '../core/wake-line.ts';
import { chooseWake, wakesFrom, type WakeState } from '../drain/wake.ts';
import { candidates, type HookContext } from '../hook/handle.ts';
import type { InboxRow, InstanceRow } from '../store/contract.ts';
import { codexQueues, codexSteers, queueCodex, steerCodex } from './codex-push.ts';
import { holds } from './identity.ts';
import { pausedKey } from './overview.ts';
import type { Waiters } from './waiters.ts';

/** Wakes idle sessions for their messages, where their person has allowed it. */
export interface Waker {
  /** Wakes whoever holds this address, if there is a reason to. */
  consider(address: string): void;
  /** Whether a session can be woken right now, whatever for. */
  reaches(instance: InstanceRow): boolean;
  /** Whether a message of this priority, arriving now, wakes the idle session. */
  wakes(instance: InstanceRow, priority: number): boolean;
}

type Log = (message: string, detail: Record<string, unknown>) => void;

interface Way {
  reaches(instance: InstanceRow): boolean;
  /** Answers whether the session took the line. */
  wake(instance: InstanceRow, line: string): boolean | Promise<boolean>;
}

/** A step that the sender learns of here only: hubs do not know it. */
function noteWoke({ store, now }: HookContext, row: InboxRow, push: string): void {
  const { id, recipient, source } = row;
  const step = { id: newId('rct'), messageId: id, state: 'woke', at: now(), agent: recipient, sender: source };
  store.addReceipt({ ...step, detail: { by: push }, queued: false });
}

function wokeKey(address: string): string {
  return `woke ${address}`;
}

export function createWaker(context: HookContext, waiters: Waiters, log: Log): Waker {
  const { store } = context;
  const ways: Readonly<Record<string, Way>> = {
    wake: {
      reaches: ({ pid }) => pid !== null && waiters.has(pid),
      wake: ({ pid }, line) => pid !== null && waiters.wake(pid, line),
    },
    queue: {
      reaches: (instance) => codexQueues(instance, context.userHome),
      wake: (instance, line) => queueCodex(instance, line, context.userHome),
    },
    steer: {
      reaches: (instance) => codexSteers(instance, context.userHome),
      wake: (instance, line) => steerCodex(instance, line, context.userHome),
    },
  };

  function stateOf(instance: InstanceRow): WakeState {
    const [id, at] = (store.meta(wokeKey(instance.address)) ?? '').split(' ');
    return {
      push: context.settings().push(instance.harness),
      instance,
      paused: store.meta(pausedKey(instance.address)) === '1',
      wokenAt: id === instance.id ? Number(at) : null,
      now: context.now(),
    };
  }

  function reaches(instance: InstanceRow): boolean {
    return ways[context.settings().push(instance.harness)]?.reaches(instance) ?? false;
  }

  function consider(address: string): void {
    const instance = store.lastHolder(address);
    if (!instance || !holds(context, instance)) return;
    const state = stateOf(instance);
    const rows = chooseWake(state, candidates(context, address));
    const way = ways[state.push];
    if (rows.length === 0 || !way) return;
    if (!way.reaches(instance)) return log('nothing there to wake by', { push: state.push, address });

    // Before the wake itself: whatever becomes of it, there is no second one behind it.
    store.mark(() => {
      store.setMeta(wokeKey(address), `${instance.id} ${state.now}`);
      store.saveInstance({ ...instance, stopTotal: instance.stopTotal + 1 });
    });
    void Promise.resolve(way.wake(instance, wakeLine(rows)))
      .then((taken) => {
        if (!taken) throw new Error('it was not taken');
        store.mark(() => rows.forEach((row) => noteWoke(context, row, state.push)));
      })
      .catch((error: unknown) => log('wake failed', { push: state.push, address, error: String(error) }));
  }

  return {
    consider,
    reaches,
    wakes(instance, priority) {
      const least = wakesFrom(stateOf(instance));
      return least !== null && priority >= least && reaches(instance);
    },
  };
}
