import { FakeModel, type Json, type Script, type Step, type Wire } from './model.ts';

/** The OpenAI Responses API, as much of it as Codex needs. */
const responses: Wire = {
  isCall: (method, url) => method === 'POST' && /^\/v1\/responses(?:\?|$)/.test(url),
  isMain: (body) => Array.isArray(body['tools']) && body['tools'].length > 0,
  other: (url) =>
    url.startsWith('/v1/models')
      ? { status: 200, body: { object: 'list', data: [{ id: 'lab-model', object: 'model' }], models: [] } }
      : { status: 404, body: {} },
  error: (_status, message) => ({ error: { message, type: 'lab', code: 'lab' } }),
  async answer(request, step, out) {
    const id = `resp_lab_${request.index}`;
    out.event('response.created', { response: { id } });
    let index = 0;
    const item = async (start: Json, whole: Json, fill?: () => Promise<void>): Promise<boolean> => {
      out.event('response.output_item.added', { output_index: index, item: start });
      await fill?.();
      if (!(await out.open('early'))) return false;
      out.event('response.output_item.done', { output_index: index, item: whole });
      out.block();
      index += 1;
      return true;
    };
    const text = step.text;
    if (text !== undefined) {
      const message = { type: 'message', role: 'assistant', id: `msg_lab_${request.index}` };
      const delta = (word: string): void =>
        out.event('response.output_text.delta', { output_index: index, item_id: message.id, content_index: 0, delta: word });
      const whole = { ...message, content: [{ type: 'output_text', text }] };
      if (!(await item({ ...message, content: [] }, whole, () => out.words(text, delta)))) return;
    }
    for (const [at, tool] of (step.tools ?? []).entries()) {
      const call = {
        type: 'function_call',
        id: `fc_lab_${request.index}_${at}`,
        call_id: `call_lab_${request.index}_${at}`,
        name: tool.name,
      };
      const spaced = tool.namespace === undefined ? call : { ...call, namespace: tool.namespace };
      if (!(await item({ ...spaced, arguments: '' }, { ...spaced, arguments: JSON.stringify(tool.input) }))) return;
    }
    if (!(await out.open('late'))) return;
    const usage = {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 18,
    };
    out.event('response.completed', { response: { id, usage } });
  },
};

export function startFakeResponses(script?: Script | Step[]): Promise<FakeModel> {
  return FakeModel.start(responses, script);
}
