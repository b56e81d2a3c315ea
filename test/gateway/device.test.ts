import { mkdtempSync, rmSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rawPublicKey } from '../../src/core/jws.ts';
import { loadDevice } from '../../src/gateway/device.ts';

function keysFolder(): string {
  const home = mkdtempSync(join(tmpdir(), 'ab-device-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return join(home, 'keys');
}

test('a machine makes its key once and keeps it to its user', () => {
  const keys = keysFolder();
  const first = loadDevice(keys);
  const again = loadDevice(keys);
  expect({ ...again, key: null }).toEqual({ ...first, key: null });
  expect(rawPublicKey(again.key)).toBe(first.publicKey);
  expect(statSync(keys).mode & 0o777).toBe(0o700);
  expect(statSync(join(keys, 'device.json')).mode & 0o777).toBe(0o600);
});

test('a key file that others could read is closed to them', () => {
  const keys = keysFolder();
  loadDevice(keys);
  chmodSync(join(keys, 'device.json'), 0o644);
  loadDevice(keys);
  expect(statSync(join(keys, 'device.json')).mode & 0o777).toBe(0o600);
});

test('a broken key file is an error, not another identity', () => {
  const keys = keysFolder();
  loadDevice(keys);
  writeFileSync(join(keys, 'device.json'), '{"id":"x"}');
  expect(() => loadDevice(keys)).toThrow(/device\.json holds no device key/);
  writeFileSync(join(keys, 'device.json'), '');
  expect(() => loadDevice(keys)).toThrow(/device\.json holds no device key/);
});
