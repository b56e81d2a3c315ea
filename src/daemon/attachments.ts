import { AgentBusError } from '../core/errors.ts';
import { framePayload } from '../core/frame.ts';
import { LIMITS } from '../core/limits.ts';
import { blobRef, type Attachment } from '../core/task-data.ts';
import type { Bus } from './bus.ts';
import { requireOwner, type CallerIdentity } from './callers.ts';

function isText(bytes: Buffer): boolean {
  return bytes.equals(Buffer.from(bytes.toString('utf8')));
}

/** Keeps a file at the hub for a message that will name it. Throws AB-7005. */
export async function attach(
  bus: Bus,
  who: CallerIdentity,
  file: { name: string; mediaType?: string | undefined; base64: string },
): Promise<Attachment> {
  requireOwner(who);
  const bytes = Buffer.from(file.base64, 'base64');
  await bus.announce(who.address);
  const hash = await bus.link.putBlob(who.address, bytes);
  const mediaType = file.mediaType ?? (isText(bytes) ? 'text/plain' : 'application/octet-stream');
  return { ref: blobRef(hash), name: file.name, mediaType, size: bytes.length };
}

/** The bytes, as far as the caller may read them; a person reads what any agent here may. Throws AB-5008. */
async function bytesOf(bus: Bus, who: CallerIdentity, ref: string): Promise<Buffer> {
  const own = who.address === bus.person ? bus.store.agents().map(({ address }) => address) : [];
  for (const address of own) {
    const bytes = await bus.link.blob(address, ref).catch(() => null);
    if (bytes) return bytes;
  }
  return bus.link.blob(who.address, ref);
}

/** The whole bytes as base64. Throws AB-5008. */
export async function fetchBlob(bus: Bus, who: CallerIdentity, ref: string): Promise<{ size: number; base64: string }> {
  const bytes = await bytesOf(bus, who, ref);
  return { size: bytes.length, base64: bytes.toString('base64') };
}

export interface BlobPart {
  ref: string;
  size: number;
  /** Null for what is no UTF-8 text. The same escapes as in a frame. */
  text: string | null;
  /** Where the next part begins, in bytes; null at the end. */
  nextOffset: number | null;
}

/** A part of a text attachment that fits into a tool result. Throws AB-5008, AB-7001. */
export async function readBlob(bus: Bus, who: CallerIdentity, ref: string, offset: number): Promise<BlobPart> {
  const bytes = await bytesOf(bus, who, ref);
  if (!isText(bytes)) return { ref, size: bytes.length, text: null, nextOffset: null };
  if (offset > bytes.length)
    throw new AgentBusError('AB-7001', `offset: behind the end at ${bytes.length}`, 'give the offset of the answer before');
  // Escapes make it longer, at worst six bytes for one; a part ends between two characters.
  for (let room = LIMITS.toolResultBytes - 1_000; ; room = Math.floor(room * 0.8)) {
    let end = Math.min(bytes.length, offset + room);
    while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
    const text = framePayload(bytes.subarray(offset, end).toString('utf8'));
    if (Buffer.byteLength(text) > LIMITS.toolResultBytes - 500) continue;
    return { ref, size: bytes.length, text, nextOffset: end < bytes.length ? end : null };
  }
}
