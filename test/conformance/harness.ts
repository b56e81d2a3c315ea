import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { measure, renderFrame } from '../../src/core/frame.ts';
import type { EventKind, Harness, HookEvent, InjectPoint } from '../../src/core/harness.ts';
import { evidenceOf, PAYLOAD_FOLDERS, payloadsOf } from './fixtures.ts';
import { verdicts } from './evidence-rows.ts';

export interface HarnessExpectations {
  /** What the harness itself lets through of one hook's text, in the unit of its inject points. */
  hardCap: number;
  /** Everything that is wrong with an output of ours at this event. */
  outputErrors(native: string, output: unknown): string[];
  /** The text that the harness takes from an output. */
  contextOf(output: unknown): unknown;
}

type Place = 'session-start' | 'prompt' | 'post-tool' | 'stop';
const KINDS: readonly EventKind[] = [
  'session-start', 'prompt', 'post-tool', 'post-tool-failure', 'stop', 'stop-failure',
  'subagent-start', 'subagent-stop', 'compact', 'model-request', 'interrupt', 'session-end',
]; // prettier-ignore

/** What is wrong with the types of an event; the compiler can't see what a payload's fields held. */
function shapeErrors(event: HookEvent): string[] {
  const stringOrNull: (keyof HookEvent)[] = ['cwd', 'transcript', 'turn', 'source', 'reason', 'prompt', 'model'];
  const strings = [event.native, event.sessionKey, ...stringOrNull.map((key) => event[key])].filter((value) => value !== null);
  const errors = strings.filter((value) => typeof value !== 'string' || !(value as string & { isWellFormed(): boolean }).isWellFormed());
  const calls = event.tools.filter(
    (call) =>
      typeof call.name !== 'string' ||
      call.paths.some((path) => typeof path !== 'string') ||
      !(call.inputBytes >= 0) ||
      !(call.outputBytes >= 0),
  );
  const flags = [event.subagent, event.stopHookActive].filter((flag) => typeof flag !== 'boolean');
  return [
    ...errors,
    ...calls,
    ...flags,
    ...(KINDS.includes(event.kind) ? [] : [event.kind]),
    ...(event.sessionKey === '' ? ['key'] : []),
  ].map(String);
}

function parses(harness: Harness): void {
  const own = payloadsOf(harness.id);

  test.each(own)('reads $name as expected', ({ payload, expected }) => {
    expect(harness.parse(payload)).toEqual(expected);
  });

  const foreign = PAYLOAD_FOLDERS.filter((id) => id !== harness.id && id !== 'odd').flatMap((id) =>
    payloadsOf(id).map(({ name, payload }) => ({ name: `${id}/${name}`, payload })),
  );
  test.each(foreign)('takes $name for none of its own', ({ payload }) => {
    expect(harness.parse(payload)).toBeNull();
  });

  test.each(payloadsOf('odd'))('survives $name', ({ payload }) => {
    const event = harness.parse(payload);
    expect(event === null ? [] : shapeErrors(event)).toEqual([]);
  });

  test('no field of any type or depth makes it throw or answer with wrong types', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 6_000; level++) deep = level % 2 ? [deep] : { deep };
    const odd = fc.oneof(
      fc.constantFrom(null, 0, -1, Number.POSITIVE_INFINITY, true, '', 'x', '\ud83d', [], {}, ['/a'], { a: null }, deep),
      fc.anything(),
    );
    const payloads = own.map(({ payload }) => payload);
    const fields = [...new Set(payloads.flatMap((payload) => Object.keys(payload)))];
    fc.assert(
      fc.property(fc.constantFrom(...payloads), fc.dictionary(fc.constantFrom(...fields), odd, { maxKeys: 4 }), (payload, changes) => {
        const event = harness.parse({ ...payload, ...changes });
        expect(event === null ? [] : shapeErrors(event)).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test('without a session key there is no event', () => {
    for (const { payload } of own) {
      for (const key of [null, undefined, '', 7, {}, 'k'.repeat(129)]) expect(harness.parse({ ...payload, session_id: key })).toBeNull();
    }
  });
}

function injects(harness: Harness, expectations: HarnessExpectations): void {
  const cells = payloadsOf(harness.id).flatMap(({ expected }) => {
    const point = expected ? harness.inject[expected.kind as Place] : undefined;
    return expected && point ? [{ native: expected.native, kind: expected.kind, point }] : [];
  });
  const points = [...new Map(cells.map((cell) => [cell.native, cell])).values()];
  const texts = fc.string({ unit: 'binary', maxLength: 300 });

  test('every place where it injects has a captured payload', () => {
    expect(new Set(points.map(({ kind }) => kind))).toEqual(new Set(Object.keys(harness.inject)));
  });

  test.each(points)('at $native its output is what the harness accepts, with our text and nothing else', ({ native, point }) => {
    fc.assert(
      fc.property(texts, (text) => {
        const output = JSON.parse(point.render(native, text)) as unknown;
        expect(expectations.outputErrors(native, output)).toEqual([]);
        expect(expectations.contextOf(output)).toBe(text);
      }),
    );
  });

  test.each(points)('at $native the largest frame stays within the harness’s own cap', ({ native, point }) => {
    const text = largest(point);
    expect(measure(text, point.unit)).toBeLessThanOrEqual(point.budget);
    expect(measure(expectations.contextOf(JSON.parse(point.render(native, text))) as string, point.unit)).toBeLessThan(
      expectations.hardCap,
    );
  });
}

function largest(point: InjectPoint): string {
  const input = {
    id: 'msg_01J9ZK6Q8R2M3N4P5Q6R7S8T9V', type: 'a'.repeat(64), from: `agent://${'w'.repeat(63)}/${'g'.repeat(63)}/${'n'.repeat(63)}`,
    conversation: 'c'.repeat(64), traceparent: `00-${'4b'.repeat(16)}-${'00'.repeat(8)}-01`, receivedAt: 0, expires: '2026-12-07T00:00:00Z',
    redelivery: true, offer: 'k7f3q9aab2cd', data: '山<😀"\\'.repeat(6_000),
  }; // prettier-ignore
  return renderFrame(input, point.budget, point.unit).text;
}

function proves(harness: Harness): void {
  const cases = evidenceOf(harness.id).flatMap(({ name, rows, offers }) =>
    offers.map((offer, index) => ({
      name: `${name} #${index} ${offer.native}`,
      offer,
      rows: offer.rows ? rows.slice(...offer.rows) : rows,
    })),
  );

  test.each(cases)('judges $name: $offer.verdict', ({ offer, rows }) => {
    const verdict = verdicts(harness.evidence, rows, offer).at(-1)!;
    expect(verdict.state).toBe(offer.verdict);
    expect(verdict.state === 'presented' && verdict.truncated).toBe(offer.truncated ?? false);
  });

  test.each(cases)('never settles $name on what later rows deny', ({ offer, rows }) => {
    const states = verdicts(harness.evidence, rows, offer).map(({ state }) => state);
    const settled = states.findIndex((state) => state === 'presented' || state === 'miss');
    // The first verdict closes an offer: it must be the one of the whole record.
    expect(new Set(settled < 0 ? [] : states.slice(settled))).toEqual(new Set(settled < 0 ? [] : [offer.verdict]));
  });

  test('a record of which nothing is readable proves nothing', () => {
    for (const { offer } of cases)
      expect(verdicts(harness.evidence, [{ type: 'unknown', timestamp: '2026-01-01T00:00:00Z' }], { ...offer, from: 0 })).toEqual([
        { state: 'unknown' },
      ]);
  });

  test('no row of any shape makes it throw', () => {
    const rows = evidenceOf(harness.id).flatMap((fixture) => fixture.rows);
    const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    fc.assert(
      fc.property(
        fc.constantFrom(...rows),
        fc.dictionary(fc.constantFrom(...keys, 'junk'), fc.jsonValue(), { maxKeys: 3 }),
        (row, changes) => {
          expect(() => verdicts(harness.evidence, [{ ...row, ...changes }], { ...cases[0]!.offer, from: 0 })).not.toThrow();
        },
      ),
    );
  });
}

/** What every harness adapter has to fulfil, on the payloads and records captured from the real program. */
export function harnessConformance(harness: Harness, expectations: HarnessExpectations): void {
  describe(`${harness.id}: payloads`, () => {
    parses(harness);
  });
  describe(`${harness.id}: output`, () => {
    injects(harness, expectations);
  });
  describe(`${harness.id}: evidence`, () => {
    proves(harness);
  });
}
