// A home of its own for every test: nothing here may meet the configs of whoever runs it.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { InstallOptions } from '../../src/install/install.ts';

export interface Sandbox {
  home: string;
  options: InstallOptions;
  path(name: string): string;
  write(name: string, content: string | Uint8Array, mode?: number): string;
  read(name: string): string;
  bytes(name: string): Buffer;
  /** Puts a program on PATH that answers --version. */
  program(name: string, version: string): void;
}

export function sandbox(name = 'home'): Sandbox {
  const base = mkdtempSync(join(tmpdir(), 'ab-install-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  return sandboxAt(join(base, name));
}

export function sandboxAt(home: string): Sandbox {
  mkdirSync(home, { recursive: true });
  const path = (file: string): string => join(home, file);
  const env = { HOME: home, PATH: `${path('programs')}:/usr/bin:/bin` };
  const write = (file: string, content: string | Uint8Array, mode = 0o644): string => {
    mkdirSync(dirname(path(file)), { recursive: true });
    writeFileSync(path(file), content);
    chmodSync(path(file), mode);
    return path(file);
  };
  return {
    home,
    options: { home, env, agentbusHome: path('.agentbus'), node: process.execPath, dist: '/opt/agentbus/dist', nc: null },
    path,
    write,
    read: (file) => readFileSync(path(file), 'utf8'),
    bytes: (file) => readFileSync(path(file)),
    program: (file, version) => void write(`programs/${file}`, `#!/bin/sh\necho "${file} ${version}"\n`, 0o755),
  };
}

/** The same home with options for the project in its directory `project`. */
export function inProject(box: Sandbox): Sandbox {
  mkdirSync(box.path('project'), { recursive: true });
  return { ...box, options: { ...box.options, scope: 'project', project: box.path('project') } };
}
