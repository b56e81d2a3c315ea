import { AgentBusError } from '../../src/core/errors.ts';

/** The code of the AgentBusError that a call throws; anything else that it throws or answers is thrown on. */
export function codeOf(call: () => unknown): string {
  let answer: unknown;
  try {
    answer = call();
  } catch (error) {
    if (error instanceof AgentBusError) return error.code;
    throw error;
  }
  throw new Error(`nothing was refused, the answer is ${JSON.stringify(answer)}`);
}

/** What a call comes to: its answer, or the code of its refusal. Any other failure is thrown on. */
export function outcomeOf<T>(call: () => T): { value: T } | { refused: string } {
  try {
    return { value: call() };
  } catch (error) {
    if (error instanceof AgentBusError) return { refused: error.code };
    throw error;
  }
}

/** The code of the refusal of a promise. */
export async function codeOfAsync(call: Promise<unknown>): Promise<string> {
  const settled = await call.then(
    (value: unknown) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );
  return codeOf(settled);
}
