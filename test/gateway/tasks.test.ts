import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TYPES, type Draft } from '../../src/core/envelope.ts';
import { isOver, type Task } from '../../src/core/task.ts';
import { CLAUDE, CODEX } from '../hub/world.ts';
import { inboxIds, twoMachines, type Machine } from './world.ts';

type Step = Pick<Draft, 'type' | 'data'>;

const BY_AGENT: Readonly<Record<string, Step>> = {
  accept: { type: TYPES.taskAccept, data: {} },
  progress: { type: TYPES.taskProgress, data: { percent: 10 } },
  question: { type: TYPES.taskProgress, data: { question: 'which?' } },
  result: { type: TYPES.taskResult, data: { result: 'done' } },
  failed: { type: TYPES.taskError, data: { outcome: 'failed', message: 'no' } },
  rejected: { type: TYPES.taskError, data: { outcome: 'rejected', message: 'no' } },
};
const BY_CALLER: Readonly<Record<string, Step>> = {
  input: { type: TYPES.taskInput, data: { answer: 'main' } },
  cancel: { type: TYPES.taskCancel, data: {} },
};

const REQUEST: Step = { type: TYPES.taskRequest, data: { instructions: 'review' } };

async function begin() {
  const { world, sender, recipient } = await twoMachines();
  const id = sender.queue({ ...REQUEST, expiresIn: 60_000 });
  await sender.pump.run();
  await recipient.pump.run();
  const rounds = async (): Promise<void> => {
    for (const machine of [sender, recipient, sender, recipient]) await machine.pump.run();
  };
  const act = (machine: Machine, step: Step): string => machine.queue({ ...step, inReplyTo: id });
  return { world, sender, recipient, id, rounds, act };
}

const state = (machine: Machine, id: string): Task['state'] | undefined => machine.store.task(id)?.state;
const inboxState = (machine: Machine, id: string): string => machine.store.inboxMessage(id)!.state;

test('both ends know a task as soon as its request is taken, and follow it to its end', async () => {
  const { sender, recipient, id, rounds, act } = await begin();
  expect([state(sender, id), state(recipient, id)]).toEqual(['submitted', 'submitted']);
  for (const [machine, step, wanted] of [
    [recipient, BY_AGENT['accept'], 'working'],
    [recipient, BY_AGENT['question'], 'input-required'],
    [sender, BY_CALLER['input'], 'working'],
    [recipient, BY_AGENT['result'], 'completed'],
  ] as const) {
    act(machine, step!);
    await rounds();
    expect([state(sender, id), state(recipient, id)]).toEqual([wanted, wanted]);
  }
  expect(sender.store.taskEvents(id)).toEqual(recipient.store.taskEvents(id));
});

test('the first end counts; what comes after it is refused, and both sides see that it came', async () => {
  const { sender, recipient, id, rounds, act } = await begin();
  act(recipient, BY_AGENT['accept']!);
  act(recipient, BY_AGENT['result']!);
  await rounds();
  const late = act(recipient, BY_AGENT['failed']!);
  await rounds();
  expect(recipient.outbox(late)).toMatchObject({ state: 'dead' });
  expect(JSON.parse(recipient.outbox(late).reason!)).toMatchObject({ code: 'AB-6002' });
  for (const machine of [sender, recipient]) {
    expect(state(machine, id)).toBe('completed');
    expect(machine.store.taskEvents(id).at(-1)).toMatchObject({ id: late, late: true });
  }
  expect(inboxIds(sender, CLAUDE)).not.toContain(late);
});

test('a task that was called off before it was shown is not shown any more; one that was shown is told', async () => {
  for (const shown of [false, true]) {
    const { sender, recipient, id, rounds, act } = await begin();
    if (shown) recipient.store.countShow(recipient.store.inboxMessage(id)!.seq, false);
    const cancel = act(sender, BY_CALLER['cancel']!);
    await rounds();
    expect(state(recipient, id)).toBe('canceled');
    expect([inboxState(recipient, id), inboxState(recipient, cancel)]).toEqual(shown ? ['unread', 'unread'] : ['resolved', 'resolved']);
  }
});

test('of news on progress only the last is left to be shown', async () => {
  const { sender, recipient, rounds, act } = await begin();
  const ids = ['accept', 'progress', 'progress', 'question'].map((name) => act(recipient, BY_AGENT[name]!));
  await rounds();
  expect(ids.map((id) => inboxState(sender, id))).toEqual(['resolved', 'resolved', 'resolved', 'unread']);
});

test('a question that was not seen before the task ended is not shown any more; the end is', async () => {
  const { sender, recipient, rounds, act } = await begin();
  act(recipient, BY_AGENT['accept']!);
  const [question, end] = [act(recipient, BY_AGENT['question']!), act(recipient, BY_AGENT['failed']!)];
  await rounds();
  expect([inboxState(sender, question), inboxState(sender, end)]).toEqual(['resolved', 'unread']);
});

test('a task whose time is over has failed at both ends, and late work is refused', async () => {
  const { world, sender, recipient, id, rounds, act } = await begin();
  act(recipient, BY_AGENT['accept']!);
  await rounds();
  world.clock.now += 60_000;
  await world.hub.sweep();
  await rounds();
  for (const machine of [sender, recipient]) expect(machine.store.task(id)).toMatchObject({ state: 'failed', reason: 'expired' });
  const late = act(recipient, BY_AGENT['result']!);
  await rounds();
  expect(recipient.outbox(late).state).toBe('dead');
});

test('the hub ends an expired task even where no sweep came first', async () => {
  const { world, recipient, id, rounds, act } = await begin();
  act(recipient, BY_AGENT['accept']!);
  await rounds();
  world.clock.now += 60_000;
  act(recipient, BY_AGENT['result']!);
  await rounds();
  expect(recipient.store.task(id)).toMatchObject({ state: 'failed', reason: 'expired' });
});

const who = fc.constantFrom('agent', 'caller', 'both');
const anyStep = fc.oneof(
  fc.record({ do: fc.constant('agent' as const), step: fc.constantFrom(...Object.keys(BY_AGENT)) }),
  fc.record({ do: fc.constant('caller' as const), step: fc.constantFrom(...Object.keys(BY_CALLER)) }),
  // A message that the hub is handed twice, a process that dies between two steps, an acknowledgement lost.
  fc.record({ do: fc.constant('again' as const), who }),
  fc.record({ do: fc.constant('restart' as const), who }),
  fc.record({ do: fc.constant('lost-ack' as const), who }),
  fc.record({ do: fc.constant('run' as const), who }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1_000, 30_000, 61_000) }),
);

test('whatever happens in whatever order, both ends agree in the end, on one end of the task', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 25 }), async (steps) => {
      const { world, sender, recipient, id, rounds, act } = await begin();
      const machines = { agent: [recipient], caller: [sender], both: [sender, recipient] };
      for (const each of steps) {
        if (each.do === 'agent') act(recipient, BY_AGENT[each.step]!);
        else if (each.do === 'caller') act(sender, BY_CALLER[each.step]!);
        else if (each.do === 'wait') world.clock.now += each.ms;
        else {
          for (const machine of machines[each.who]) {
            const { ack, submit } = machine.link;
            if (each.do === 'restart') machine.restart();
            if (each.do === 'lost-ack') machine.link.ack = () => Promise.reject(new Error('lost'));
            // oxlint-disable-next-line no-loop-func
            if (each.do === 'again') machine.link.submit = async (jws) => (await submit(jws)) && submit(jws);
            await machine.pump.run().catch(() => {});
            Object.assign(machine.link, { ack, submit });
          }
        }
      }
      world.clock.now += 600_000;
      await world.hub.sweep();
      await rounds();
      const task = sender.store.task(id)!;
      expect(recipient.store.task(id)).toEqual(task);
      expect(isOver(task)).toBe(true);
      for (const machine of [sender, recipient]) {
        const events = machine.store.taskEvents(id);
        expect(events).toEqual(sender.store.taskEvents(id));
        const applied = events.filter((event) => !event.late);
        expect(applied.map(({ seq }) => seq)).toEqual(applied.map((_, at) => at + 1));
        expect(applied.filter((event) => isOver(event))).toHaveLength(1);
        expect(isOver(applied.at(-1)!)).toBe(true);
      }
      // No message of an event that was applied was lost on its way.
      for (const event of task.seq > 0 ? sender.store.taskEvents(id).filter(({ late, from }) => !late && from !== null) : []) {
        const [machine, address] = event.from === CODEX ? ([sender, CLAUDE] as const) : ([recipient, CODEX] as const);
        expect(inboxIds(machine, address)).toContain(event.id);
      }
    }),
    { numRuns: 300 },
  );
});
