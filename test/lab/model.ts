import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A tool call of the fake model. Codex knows its MCP tools by `namespace` and `name`. */
export interface ToolUse {
  name: string;
  input: Record<string, unknown>;
  namespace?: string;
}

/** One answer of the fake model: text, then tool calls, with what may go wrong on the way. */
export interface Step {
  text?: string;
  tools?: ToolUse[];
  /** What the answer says that the request had, in tokens; Claude Code compacts by it. */
  tokens?: number;
  /** Milliseconds between the words of `text`. */
  pace?: number;
  /** Milliseconds, or a promise, to wait for before the first byte. */
  before?: number | Promise<unknown>;
  /** A promise to wait for when all but the last word of `text` is sent. */
  middle?: Promise<unknown>;
  /** A promise to wait for when all blocks are sent, before the answer's end. */
  after?: Promise<unknown>;
  /** An HTTP error instead of an answer. */
  status?: number;
  /** What that error says. */
  error?: string;
  /** Drop the connection before the first block is whole, or after the last, before the answer's end. */
  cut?: 'early' | 'late';
}

export type Json = Record<string, unknown>;

/** A request as the server saw it, in the order of arrival. */
export interface ModelRequest {
  index: number;
  /** ms since the epoch */
  at: number;
  /** Not one of the CLI's own side calls (titles, summaries of a screen). */
  main: boolean;
  body: Json;
  status: number;
  /** When the first part of a content block was sent; null before. */
  startedAt: number | null;
  /** Content blocks that were sent whole. */
  blocks: number;
  /** Whether the answer was sent to its end. */
  done: boolean;
  /** Whether the client went away before that. */
  aborted: boolean;
}

export type Script = (request: ModelRequest) => Step | undefined | Promise<Step | undefined>;

/** What differs between the two APIs. */
export interface Wire {
  isCall(method: string, url: string): boolean;
  isMain(body: Json): boolean;
  /** The answer to anything that is no call of the model. */
  other(url: string): { status: number; body: Json };
  error(status: number, message: string): Json;
  /** Server-sent events in order: functions send one event, `block` counts a whole content block. */
  answer(request: ModelRequest, step: Step, out: Stream): Promise<void>;
}

export interface Stream {
  event(type: string, data: Json): void;
  /** Sends text word by word at the step's pace. */
  words(text: string, send: (word: string) => void): Promise<void>;
  block(): void;
  /** Resolves to false when the step cuts here; the connection is then gone. */
  open(place: 'early' | 'late'): Promise<boolean>;
}

const DEFAULT_STEP: Step = { text: 'Done.' };
const SIDE_STEP: Step = { text: 'side call' };

export class FakeModel {
  readonly requests: ModelRequest[] = [];
  /** Requests that were no call of the model, as `METHOD url`. */
  readonly others: string[] = [];
  private script: Script = () => undefined;
  private readonly server: Server;
  private readonly watchers = new Set<() => void>();

  private constructor(private readonly wire: Wire) {
    this.server = createServer((request, response) => {
      // A client that leaves in mid-answer is part of the tests, never an error of the server.
      void this.serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(wire: Wire, script?: Script | Step[]): Promise<FakeModel> {
    const model = new FakeModel(wire);
    if (script) model.play(script);
    await new Promise<void>((resolve) => model.server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Sets what the main requests from now on are answered with; a list is used up in order, then `Done.`. */
  play(script: Script | Step[]): void {
    const steps = Array.isArray(script) ? [...script] : null;
    this.script = steps ? () => steps.shift() : (script as Script);
  }

  mainRequests(): ModelRequest[] {
    return this.requests.filter((request) => request.main);
  }

  /** Forgets the requests so far, so that the next are counted from none. */
  clear(): void {
    this.requests.length = 0;
  }

  /** Resolves once `test` gives something, looked at after each request, block and end of an answer. */
  async until<T>(test: (model: this) => T | null | undefined | false, what: string, deadline = 30_000): Promise<T> {
    return await new Promise<T>((resolve, reject) => {
      const look = (): void => {
        const found = test(this);
        if (found === null || found === undefined || found === false) return;
        finish();
        resolve(found);
      };
      const timer = setTimeout(() => {
        finish();
        reject(new Error(`the fake model waited ${deadline} ms for ${what}; ${this.mainRequests().length} main requests so far`));
      }, deadline);
      const finish = (): void => {
        clearTimeout(timer);
        this.watchers.delete(look);
      };
      this.watchers.add(look);
      look();
    });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private changed(): void {
    for (const look of this.watchers) look();
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = request.url ?? '';
    const reply = (status: number, body: Json): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (!this.wire.isCall(request.method ?? '', url)) {
      this.others.push(`${request.method} ${url}`);
      const other = this.wire.other(url);
      reply(other.status, other.body);
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json;
    const entry: ModelRequest = {
      index: this.requests.length,
      at: Date.now(),
      main: this.wire.isMain(body),
      body,
      status: 200,
      startedAt: null,
      blocks: 0,
      done: false,
      aborted: false,
    };
    this.requests.push(entry);
    response.on('close', () => {
      if (!entry.done) entry.aborted = true;
      this.changed();
    });
    const step = entry.main ? ((await this.script(entry)) ?? DEFAULT_STEP) : SIDE_STEP;
    this.changed();
    await (typeof step.before === 'number' ? pause(step.before) : step.before);
    if (step.status) {
      entry.status = step.status;
      entry.done = true;
      reply(step.status, this.wire.error(step.status, step.error ?? `the lab answers ${step.status}`));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await this.wire.answer(entry, step, this.stream(entry, step, response));
    if (response.destroyed) return;
    entry.done = true;
    response.end();
    this.changed();
  }

  private stream(entry: ModelRequest, step: Step, response: ServerResponse): Stream {
    return {
      event: (type, data) => {
        if (!response.destroyed) response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
      },
      words: async (text, send) => {
        const words = text.split(/(?<=\s)/);
        for (const [at, word] of words.entries()) {
          if (at === words.length - 1) await step.middle;
          send(word);
          if (!response.destroyed) entry.startedAt ??= Date.now();
          this.changed();
          if (step.pace) await pause(step.pace);
        }
      },
      block: () => {
        if (response.destroyed) return;
        entry.startedAt ??= Date.now();
        entry.blocks += 1;
        this.changed();
      },
      open: async (place) => {
        if (place === 'late') await step.after;
        if (step.cut === place) response.destroy();
        return !response.destroyed;
      },
    };
  }
}
