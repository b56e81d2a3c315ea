import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { buildEnvelope, type Draft, type Envelope } from '../../src/core/envelope.ts';
import { newId } from '../../src/core/ids.ts';
import { rawPublicKey } from '../../src/core/jws.ts';

export const NOW = Date.parse('2026-10-10T14:00:00.000Z');

export function envelopeOf(draft: Partial<Draft> = {}, now = NOW): Envelope {
  return buildEnvelope({ from: 'agent://local/shop/claude', to: 'agent://local/shop/codex', data: 'hello', ...draft }, now);
}

export interface Keys {
  id: string;
  key: KeyObject;
  publicKey: string;
}

export function newKeys(): Keys {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { id: newId('dev'), key: privateKey, publicKey: rawPublicKey(privateKey) };
}
