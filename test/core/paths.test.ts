import { dirname } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  agentbusHome,
  controlSocket,
  homePaths,
  hookSocket,
  exposedPlace,
  relaySocket,
  socketDir,
  socketPathLimit,
} from '../../src/core/paths.ts';
import { HARNESSES } from '../../src/harness/registry.ts';

const LONGEST = '/run/claude-control.sock';

function homeOf(bytes: number, filler: string): string {
  const room = bytes - Buffer.byteLength(`/tmp/${LONGEST}`);
  const unit = Buffer.byteLength(filler);
  return `/tmp/${filler.repeat(Math.floor(room / unit))}${'x'.repeat(room % unit)}`;
}

test.each(['d', '山', 'é'])('a home of %s: sockets lie in it up to 107 bytes and beside it from 108 on', (filler) => {
  const fits = homeOf(107, filler);
  const long = homeOf(108, filler);
  expect(Buffer.byteLength(`${fits}${LONGEST}`)).toBe(107);
  expect(socketDir(fits, 1000, 'linux')).toBe(`${fits}/run`);
  expect(socketDir(long, 1000, 'linux')).toMatch(/^\/tmp\/agentbus-1000\/[0-9a-f]{16}$/);
});

test('elsewhere than on Linux the limit is four bytes lower', () => {
  expect(socketPathLimit('linux')).toBe(107);
  expect(socketPathLimit('darwin')).toBe(103);
  const home = homeOf(104, 'd');
  expect(socketDir(home, 501, 'linux')).toBe(`${home}/run`);
  expect(socketDir(home, 501, 'darwin')).not.toBe(`${home}/run`);
});

test('whatever the home, every socket’s name is short enough for the system', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), (name) => {
      const home = `/home/${name.replaceAll('/', '_').replaceAll('\0', '_')}/.agentbus`;
      const sockets = [relaySocket(home), controlSocket(home), ...HARNESSES.map(({ id }) => hookSocket(home, id))];
      for (const socket of sockets) expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(socketPathLimit());
    }),
  );
});

test('homes that share their first 108 bytes get different sockets, and a home always the same ones', () => {
  const long = `/var/${'u'.repeat(120)}`;
  expect(relaySocket(`${long}/a`)).not.toBe(relaySocket(`${long}/b`));
  expect(relaySocket(`${long}/a`)).toBe(relaySocket(`${long}/a`));
  expect(socketDir(`${long}/a`, 1000)).not.toBe(socketDir(`${long}/a`, 1001));
});

test('the home is AGENTBUS_HOME when that is absolute, else .agentbus in the user’s', () => {
  expect(agentbusHome({ AGENTBUS_HOME: '/srv/bus', HOME: '/home/dev' })).toBe('/srv/bus');
  expect(agentbusHome({ AGENTBUS_HOME: '/srv//bus/', HOME: '/home/dev' })).toBe('/srv/bus');
  expect(agentbusHome({ AGENTBUS_HOME: 'relative', HOME: '/home/dev' })).toBe('/home/dev/.agentbus');
  expect(agentbusHome({ AGENTBUS_HOME: '', HOME: '/home/dev' })).toBe('/home/dev/.agentbus');
  expect(agentbusHome({ HOME: '/home/dev' })).toBe('/home/dev/.agentbus');
});

test('sockets beside the home lie in a directory that has to be checked', () => {
  const long = `/home/${'x'.repeat(120)}`;
  expect(exposedPlace(long)).toBe(dirname(socketDir(long)));
  expect(exposedPlace('/home/short')).toBe(null);
});

test('all that a home holds lies inside it', () => {
  for (const path of Object.values(homePaths('/home/dev/.agentbus'))) expect(path).toMatch(/^\/home\/dev\/\.agentbus(?:\/|$)/);
});
