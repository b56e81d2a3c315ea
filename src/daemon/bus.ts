import { existsSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAlive } from '../core/alive.ts';
import { formatAddress, parseAddress, toSegment } from '../core/address.ts';
import { AgentBusError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { homePaths } from '../core/paths.ts';
import { createTranscriptReader } from '../drain/transcript.ts';
import { settle } from '../drain/settle.ts';
import { addReceipt } from '../drain/offer.ts';
import { ANEW, loadDevice, type Device } from '../gateway/device.ts';
import { embeddedLink, type Link } from '../gateway/link.ts';
import { createPump, type Pump } from '../gateway/pump.ts';
import { findHarness } from '../harness/registry.ts';
import { sweep, type HookContext } from '../hook/handle.ts';
import { createHub } from '../hub/hub.ts';
import { openSqliteHubStore } from '../hub/sqlite.ts';
import { openStore } from '../store/sqlite/store.ts';
import { holds, WORKSPACE } from './identity.ts';
import { programHarness } from './programs.ts';
import { settingsReader } from './settings.ts';
import { countUsage } from './tasks.ts';
import { createWaiters, type Waiters } from './waiters.ts';
import { createWaker, type Waker } from './wake.ts';

/** Everything a daemon holds: the store, the link to the hub, and the timers between hook calls. */
export interface Bus extends HookContext {
  link: Link;
  pump: Pump;
  /** A round of the pump soon; nobody waits for it. */
  pumpSoon(): void;
  device: Device;
  person: string;
  waiters: Waiters;
  waker: Waker;
  /** Makes sure that the hub knows the address before something is sent from or to it. */
  announce(address: string): Promise<void>;
  /** The inbox tool returned these to an instance; they count as read at its next event or call. */
  returned(instance: string, seqs: readonly number[]): void;
  /** Calls back at the next message for an address; answers with the way to stop waiting. */
  onMessage(address: string, callback: () => void): () => void;
  log(message: string, detail?: Record<string, unknown>): void;
  close(): Promise<void>;
}

export interface BusOptions {
  home: string;
  userHome?: string;
  now?: () => number;
  log?: (message: string, detail?: Record<string, unknown>) => void;
}

// ms. Records wait this long for company; open offers of silent sessions are looked at this often.
const RECORD_DELAY = 1_000;
const SWEEP = 30_000;
const HOUR = 3_600_000;
// A queued message that has to wait is looked at no more often than this.
const RETRY_LEAST = 250;
const RETRY_FAILED = 15_000;
// What arrives together wakes once; and a session that starts may be about to take a prompt by itself.
const WAKE_DELAY = 250;
const WAKE_DELAY_AT_START = 2_000;
// Further looks at a record after the first one at the end of a turn, each after the one before.
const LATER = [350, 1_500, 3_000, 10_000];

/** In a container the user may have no entry anywhere. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env['USER'] ?? '';
  }
}

/** Opens the stores and connects the embedded hub. Throws AB-3002. */
export async function openBus(options: BusOptions): Promise<Bus> {
  const paths = homePaths(options.home);
  const now = options.now ?? Date.now;
  const log = options.log ?? (() => {});
  const store = openStore(paths.store);
  const device = loadDevice(paths.keys);
  const hubStore = openSqliteHubStore(paths.hubStore);
  const hub = createHub(hubStore, now);
  await hub.enroll({ id: device.id, workspace: WORKSPACE, publicKey: device.publicKey });
  const link = embeddedLink(hub, device.id);
  const person = formatAddress({ workspace: WORKSPACE, group: 'people', name: toSegment(userName(), 'me') });
  store.mark(() => store.addAgent({ address: person, kind: 'person', harness: null, epoch: 0, createdAt: now() }));

  const timers = new Map<string, NodeJS.Timeout>();
  const pending = new Map<string, Set<number>>();
  const announced = new Map<string, string>();
  const waiting = new Map<string, Set<() => void>>();
  let closed = false;

  function once(key: string, delay: number, fn: () => void): void {
    if (closed || timers.has(key)) return;
    const run = (): void => {
      timers.delete(key);
      try {
        fn();
      } catch (error) {
        log('background work failed', { key, error: String(error) });
      }
    };
    timers.set(key, setTimeout(run, delay));
  }

  /** As `once`, in the place of an earlier call that still waits. */
  function onceFromNow(key: string, delay: number, fn: () => void): void {
    clearTimeout(timers.get(key));
    timers.delete(key);
    once(key, delay, fn);
  }

  const rounds = createPump({
    store,
    link,
    device,
    now,
    onMessage(address) {
      waiting.get(address)?.forEach((callback) => callback());
      wakeLater(address, WAKE_DELAY);
      scheduleUpkeep();
    },
    log,
  });
  /** A round, and another when the first queued message that has to wait is due, or after a while where it failed itself. */
  async function round(): Promise<void> {
    let again = RETRY_FAILED;
    try {
      await rounds.run();
      const due = Math.min(...store.queuedOutbox(200).map((row) => row.nextAt));
      again = Math.max(RETRY_LEAST, due - now());
    } finally {
      if (Number.isFinite(again)) onceFromNow('retry', again, runPump);
    }
  }
  const pump: Pump = { run: round };
  function runPump(): void {
    pump.run().catch((error: unknown) => log('pump failed', { error: String(error) }));
  }
  const unwatch = link.watch(runPump);

  function wakeLater(address: string, delay: number): void {
    once(`wake ${address}`, delay, () => waker.consider(address));
  }

  async function announce(address: string): Promise<void> {
    const agent = store.agent(address);
    if (!agent || parseAddress(address)?.workspace !== WORKSPACE) return;
    const harness = agent.harness === null ? null : findHarness(agent.harness);
    const badges = harness ? Object.keys(harness.inject).filter((place) => place !== 'session-start') : [];
    const card = { kind: agent.kind, harness: agent.harness, badges };
    const text = JSON.stringify(card);
    if (announced.get(address) === text) return;
    await link.announce(address, card);
    announced.set(address, text);
  }

  // What hook calls leave to do once they are answered.
  const answered: (() => void)[] = [];
  function finishAnswered(): void {
    for (const work of answered.splice(0)) {
      try {
        work();
      } catch (error) {
        log('after a hook', { error: String(error) });
      }
    }
  }

  function confirmReads(instance: string): void {
    const seqs = pending.get(instance);
    if (!seqs) return;
    pending.delete(instance);
    for (const seq of seqs) {
      const message = store.inboxBySeq(seq);
      if (message && store.advance(seq, 'read')) addReceipt(store, message, 'read', { by: 'inbox' }, now());
    }
  }

  const context: HookContext = {
    store,
    transcripts: createTranscriptReader(),
    now,
    alive: isAlive,
    userHome: options.userHome ?? homedir(),
    settings: settingsReader(paths.config, (message) => log(message)),
    confirmReads,
    settleLater(id, delay, attempt = 0) {
      once(`settle ${id} ${attempt}`, delay, () => {
        const instance = store.instanceById(id);
        const harness = instance && findHarness(instance.harness);
        if (!instance || !harness) return;
        // A loaded machine writes late: only the last look at an ended session is final.
        const last = attempt >= LATER.length;
        store.mark(() => settle(context, harness, instance, instance.state === 'ended' && last ? 'ended' : 'live'));
        wakeLater(instance.address, WAKE_DELAY);
        if (!last && store.openOffers(id).length > 0) context.settleLater(id, LATER[attempt]!, attempt + 1);
        runPump();
      });
    },
    used(address, tokens, usd) {
      answered.push(() => void countUsage(bus, address, tokens, usd));
    },
    afterHook(instance, records) {
      setImmediate(finishAnswered);
      answered.push(() => {
        store.mark(() => {
          for (const row of records()) store.addRecord(row);
        });
        if (!announced.has(instance.address))
          void announce(instance.address).catch((error: unknown) => log('announce failed', { error: String(error) }));
        once('records', RECORD_DELAY, runPump);
        if (instance.state === 'idle') wakeLater(instance.address, WAKE_DELAY_AT_START);
        if (store.openOffers(instance.id).length > 0) once('sweep', SWEEP, upkeep);
      });
    },
  };

  const waiters = createWaiters({
    alive: isAlive,
    // A session whose hooks were taken out would start a turn that shows nothing.
    wanted: (harness) => context.settings().push(harness) !== 'off' && existsSync(paths.waitLauncher),
    onWaiter(pid) {
      for (const { pid: other, address } of store.liveInstances()) if (other === pid) wakeLater(address, WAKE_DELAY_AT_START);
    },
  });
  const waker = createWaker(context, waiters, log);

  /** Looks after what no event will: offers of sessions that fell silent, and messages whose time is over. */
  function upkeep(): void {
    sweep(context, (id) => findHarness(id) ?? programHarness(id));
    store.mark(() => {
      for (const row of store.expireInbox(now())) addReceipt(store, row, 'expired', {}, now());
    });
    hub
      .sweep()
      .catch((error: unknown) => log('sweep of the hub failed', { error: String(error) }))
      .finally(scheduleUpkeep);
    runPump();
    const live = store.instancesWithOffers().some((id) => {
      const instance = store.instanceById(id);
      return instance !== null && holds(context, instance);
    });
    if (live) once('sweep', SWEEP, upkeep);
  }

  /** Now and then, and never at the start, a portion of what is long over is deleted. */
  function forgetLater(delay: number): void {
    once('forget', delay, () => {
      store.mark(() => store.forget(now() - LIMITS.kept));
      hub.forget().catch((error: unknown) => log('the hub could not forget', { error: String(error) }));
      forgetLater(HOUR);
    });
  }

  /** At the next expiry, and once an hour in any case. */
  function scheduleUpkeep(): void {
    if (closed) return;
    const next = Math.min(store.nextExpiry() ?? Infinity, store.nextTaskEnd() ?? Infinity);
    onceFromNow('upkeep', Math.min(HOUR, Math.max(1_000, next - now() + 50)), upkeep);
  }

  try {
    for (const agent of store.agents()) await announce(agent.address);
  } catch (error) {
    if (!(error instanceof AgentBusError) || error.code !== 'AB-4002') throw error;
    throw new AgentBusError('AB-3002', `${paths.hubStore} is of another device key than ${paths.keys} holds`, ANEW);
  }

  const bus: Bus = {
    ...context,
    link,
    pump,
    pumpSoon: runPump,
    device,
    person,
    waiters,
    waker,
    announce,
    returned(instance, seqs) {
      const set = pending.get(instance) ?? new Set();
      for (const seq of seqs) set.add(seq);
      pending.set(instance, set);
    },
    onMessage(address, callback) {
      const set = waiting.get(address) ?? new Set();
      waiting.set(address, set.add(callback));
      return () => {
        set.delete(callback);
        if (set.size === 0 && waiting.get(address) === set) waiting.delete(address);
      };
    },
    log,
    async close() {
      finishAnswered();
      closed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      unwatch();
      waiters.close();
      await pump.run().catch(() => {});
      store.close();
      await hubStore.close();
    },
  };
  upkeep();
  forgetLater(SWEEP);
  return bus;
}
