import { first } from './001-first.ts';

/** In order; an entry is never changed once released, only followed by another. */
export const MIGRATIONS: readonly string[] = [first];
