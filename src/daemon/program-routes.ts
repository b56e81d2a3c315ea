import * as v from 'valibot';
import { newId } from '../core/ids.ts';
import { plainName } from '../record/record.ts';
import { redactJson } from '../record/redact.ts';
import { connect, disconnect, injectAck, turn, unread } from './programs.ts';
import { CallerSchema, check, identified, type Handler } from './schemas.ts';
import { countUsage } from './tasks.ts';

// What one report may count: beyond it a sum would leave the integers.
const count = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1e9)), 0);
const cost = v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1e6)), 0);
const strings = v.optional(v.pipe(v.array(v.string()), v.maxLength(50)), []);

const ConnectSchema = v.object({
  program: v.pipe(v.string(), v.regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'not a program name')),
  session: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
  cwd: v.pipe(v.string(), v.startsWith('/')),
  name: v.optional(v.string()),
  pid: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
});
const WhoSchema = v.object({ caller: CallerSchema });
const UnreadSchema = v.object({
  caller: CallerSchema,
  place: v.optional(v.nullable(v.picklist(['prompt', 'post-tool', 'stop'])), null),
  human: v.optional(v.boolean(), false),
});
const AckSchema = v.object({ caller: CallerSchema, presented: strings, missed: strings, read: strings });
const TurnSchema = v.object({ caller: CallerSchema, state: v.picklist(['started', 'completed']), human: v.optional(v.boolean(), false) });
const UsageSchema = v.object({
  caller: CallerSchema,
  model: v.optional(v.string()),
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  reasoning: count,
  usd: cost,
});

/** The calls of programs that speak the local surface themselves. */
export const PROGRAM_ROUTES: Readonly<Record<string, Handler>> = {
  'POST /connect': ({ bus }, body) => connect(bus, check(ConnectSchema, body)),
  'POST /disconnect': identified(WhoSchema, (bus, who) => disconnect(bus, who)),
  'POST /unread': identified(UnreadSchema, (bus, who, request) => unread(bus, who, request.place, request.human)),
  'POST /inject-ack': identified(AckSchema, (bus, who, request) => injectAck(bus, who, request)),
  'POST /turn': identified(TurnSchema, (bus, who, request) => turn(bus, who, request.state, request.human)),
  'POST /usage': identified(UsageSchema, (bus, who, request) => {
    const { input, output, cacheRead, cacheWrite, reasoning, usd } = request;
    const now = bus.now();
    const body = {
      event: 'usage',
      agent: who.address,
      ...(who.instance ? { harness: who.instance.harness, instance: who.instance.id } : {}),
      time: new Date(now).toISOString(),
      ...(request.model === undefined ? {} : { 'gen_ai.request.model': plainName(request.model) }),
      'gen_ai.usage.input_tokens': input,
      'gen_ai.usage.output_tokens': output,
      cache_read_tokens: cacheRead,
      cache_write_tokens: cacheWrite,
      reasoning_tokens: reasoning,
      cost_usd: usd,
    };
    const row = { id: newId('rec'), at: now, body: JSON.stringify(redactJson(body)) };
    return bus.store.mark(() => {
      bus.store.addRecord(row);
      return { id: row.id, task: countUsage(bus, who.address, input + output, usd) };
    });
  }),
};
