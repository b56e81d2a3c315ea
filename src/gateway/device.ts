import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentBusError } from '../core/errors.ts';
import { isId, newId } from '../core/ids.ts';
import { rawPublicKey } from '../core/jws.ts';

export interface Device {
  id: string;
  key: KeyObject;
  /** base64url of the 32 raw bytes */
  publicKey: string;
}

/** How to go on without the key: the hub's store knows this machine's addresses as that key's. */
export const ANEW = 'put the key back; or move it and hub.db away, and AgentBus begins with a new one';

interface Stored {
  id: string;
  pkcs8: string;
}

/** This machine's signing key in `<keys>/device.json` (0600), made on first use. */
export function loadDevice(keys: string): Device {
  const file = join(keys, 'device.json');
  mkdirSync(keys, { recursive: true, mode: 0o700 });
  try {
    return read(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const { privateKey } = generateKeyPairSync('ed25519');
  const stored: Stored = { id: newId('dev'), pkcs8: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64') };
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(stored), { mode: 0o600, flag: 'wx' });
  try {
    // A link fails when the file exists: of two first starts, one key wins.
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
  return read(file);
}

/** Throws AB-3002 for a file that holds none: another identity is nobody's wish. */
function read(file: string): Device {
  const text = readFileSync(file, 'utf8');
  chmodSync(file, 0o600);
  try {
    const stored = JSON.parse(text) as Stored;
    const key = createPrivateKey({ key: Buffer.from(stored.pkcs8, 'base64'), format: 'der', type: 'pkcs8' });
    if (isId(stored.id, 'dev')) return { id: stored.id, key, publicKey: rawPublicKey(key) };
  } catch {
    // What it holds instead is not for a log.
  }
  throw new AgentBusError('AB-3002', `${file} holds no device key`, ANEW);
}
