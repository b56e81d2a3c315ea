import { first } from './001-first.ts';
import { tasks } from './002-tasks.ts';

/** In order; an entry is never changed once released, only followed by another. */
export const MIGRATIONS: readonly string[] = [first, tasks];
