import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, isAbsolute, relative, resolve } from 'node:path';
import { AgentBusError } from '../core/errors.ts';
import { LIMITS } from '../core/limits.ts';
import { record, text } from '../core/payload.ts';
import type { Attachment } from '../core/task-data.ts';
import { cutUtf16 } from '../core/unicode.ts';
import { items, type Args, type ToolContext } from './tool.ts';

export const attachmentsSchema = {
  type: 'array',
  description: 'Files: a path under your working directory, or a name and its text',
  items: { type: 'object', properties: { path: { type: 'string' }, name: { type: 'string' }, text: { type: 'string' } } },
};

function refused(what: string): AgentBusError {
  return new AgentBusError('AB-7001', `attachments: ${what}`, 'give the path of a file under your working directory, or {name, text}');
}

/** A regular file under the session's directory, links resolved: a tool must not read what its harness may not. */
function readFile(path: string): { name: string; bytes: Buffer } {
  let root: string;
  let real: string;
  try {
    root = realpathSync(process.cwd());
    real = realpathSync(resolve(root, path));
  } catch {
    throw refused(`no file ${path.slice(0, 200)}`);
  }
  const inside = relative(root, real);
  if (inside === '' || inside === '..' || inside.startsWith('../') || isAbsolute(inside))
    throw refused(`${path.slice(0, 200)} lies outside the working directory`);
  const { size, isFile } = ((stat) => ({ size: stat.size, isFile: stat.isFile() }))(statSync(real));
  if (!isFile) throw refused(`${path.slice(0, 200)} is no file`);
  if (size > LIMITS.attachmentBytes)
    throw new AgentBusError('AB-7005', `${path.slice(0, 200)} has ${size} bytes`, `an attachment has at most ${LIMITS.attachmentBytes}`);
  try {
    return { name: basename(path), bytes: readFileSync(real) };
  } catch (error) {
    throw refused(`${path.slice(0, 200)} can't be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Hands the files of a call to the hub. Throws AB-7001, AB-7005. */
export async function attachAll({ ask, caller }: ToolContext, args: Args): Promise<Attachment[] | undefined> {
  const given = items(args['attachments']);
  if (given.length === 0) return undefined;
  if (given.length > LIMITS.attachments)
    throw new AgentBusError('AB-7005', `${given.length} attachments`, `at most ${LIMITS.attachments} in one message`);
  const files = given.map((item) => {
    const fields = typeof item === 'string' ? { path: item } : record(item);
    const path = text(fields['path']);
    if (path !== null) return readFile(path);
    const [name, content] = [text(fields['name']), text(fields['text'])];
    if (name === null || content === null) throw refused('neither a path nor a name with its text');
    return { name, bytes: Buffer.from(content) };
  });
  const attached: Attachment[] = [];
  for (const { name, bytes } of files) {
    attached.push(await ask<Attachment>('/attach', { caller: caller(), name: cutUtf16(name, 200), base64: bytes.toString('base64') }));
  }
  return attached;
}
