import { setTimeout as pause } from 'node:timers/promises';

/** Looks at `test` until it gives something. Programs of others tell us nothing, so they are asked until the deadline. */
export async function until<T>(
  test: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  what: string | (() => string | Promise<string>),
  deadline = 20_000,
): Promise<T> {
  const end = Date.now() + deadline;
  for (;;) {
    const found = await test();
    if (found !== null && found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${deadline} ms for ${typeof what === 'string' ? what : await what()}`);
    await pause(40);
  }
}

export interface Gate {
  opened: Promise<void>;
  open(): void;
}

/** A promise for the steps of a fake model, opened by the test. */
export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
