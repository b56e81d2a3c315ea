import { FakeModel, type Json, type Script, type Step, type Wire } from './model.ts';

/** The Anthropic Messages API, as much of it as Claude Code needs. */
const messages: Wire = {
  isCall: (method, url) => method === 'POST' && /^\/v1\/messages(?:\?|$)/.test(url),
  // Titles and the like are asked without tools; a conversation always offers some.
  isMain: (body) => Array.isArray(body['tools']) && body['tools'].length > 0,
  other: (url) =>
    url.includes('count_tokens')
      ? { status: 200, body: { input_tokens: 100 } }
      : { status: 404, body: { type: 'error', error: { type: 'not_found_error', message: 'not here' } } },
  error: (status, message) => ({
    type: 'error',
    error: { type: status < 500 ? 'invalid_request_error' : 'api_error', message },
  }),
  async answer(request, step, out) {
    const id = `msg_lab_${request.index}`;
    const usage = { input_tokens: step.tokens ?? 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 };
    const stop = step.tools?.length ? 'tool_use' : 'end_turn';
    const head = {
      id,
      type: 'message',
      role: 'assistant',
      model: request.body['model'],
      content: [],
      stop_reason: null,
      stop_sequence: null,
    };
    out.event('message_start', { message: { ...head, usage } });
    let index = 0;
    const block = async (start: Json, fill: (delta: (data: Json) => void) => void | Promise<void>): Promise<boolean> => {
      out.event('content_block_start', { index, content_block: start });
      await fill((delta) => out.event('content_block_delta', { index, delta }));
      if (!(await out.open('early'))) return false;
      out.event('content_block_stop', { index });
      out.block();
      index += 1;
      return true;
    };
    const text = step.text;
    if (text !== undefined) {
      const whole = await block({ type: 'text', text: '' }, (delta) =>
        out.words(text, (word) => delta({ type: 'text_delta', text: word })),
      );
      if (!whole) return;
    }
    for (const [at, tool] of (step.tools ?? []).entries()) {
      const start = { type: 'tool_use', id: `toolu_lab${String(request.index).padStart(4, '0')}x${at}`, name: tool.name, input: {} };
      if (!(await block(start, (delta) => delta({ type: 'input_json_delta', partial_json: JSON.stringify(tool.input) })))) return;
    }
    if (!(await out.open('late'))) return;
    out.event('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage });
    out.event('message_stop', {});
  },
};

export function startFakeMessages(script?: Script | Step[]): Promise<FakeModel> {
  return FakeModel.start(messages, script);
}
