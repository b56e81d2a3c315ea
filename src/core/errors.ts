import { wellFormed } from './unicode.ts';

/**
 * Every failure a person or a program can meet has a stable code, one line and a hint.
 * docs/errors.md holds one line per code; a test keeps the two in step.
 */
export const ERROR_CODES = {
  'AB-1001': 'usage',
  'AB-1002': 'no_session',
  'AB-1003': 'unknown_setting',
  'AB-1004': 'timed_out',
  'AB-2001': 'config_unreadable',
  'AB-2002': 'config_read_only',
  'AB-2003': 'config_changed_meanwhile',
  'AB-2004': 'unknown_harness',
  'AB-2005': 'unstable_path',
  'AB-2006': 'unquotable_path',
  'AB-2007': 'install_locked',
  'AB-2008': 'plugin_enabled',
  'AB-3001': 'daemon_unreachable',
  'AB-3002': 'store_unavailable',
  'AB-3003': 'daemon_start_failed',
  'AB-3004': 'sockets_blocked',
  'AB-3005': 'unsafe_directory',
  'AB-3006': 'daemon_stalled',
  'AB-4001': 'bad_signature',
  'AB-4002': 'not_owner',
  'AB-4003': 'bad_token',
  'AB-4004': 'standby',
  'AB-5001': 'agent_not_found',
  'AB-5002': 'ambiguous_address',
  'AB-5003': 'message_not_found',
  'AB-5005': 'id_conflict',
  'AB-5006': 'rate_limited',
  'AB-5007': 'inbox_full',
  'AB-5008': 'attachment_not_found',
  'AB-6001': 'task_not_found',
  'AB-6002': 'task_over',
  'AB-6003': 'wrong_task_state',
  'AB-7001': 'invalid_input',
  'AB-7002': 'invalid_address',
  'AB-7003': 'envelope_too_large',
  'AB-7004': 'expired',
  'AB-7005': 'attachment_too_large',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** CLI exit codes. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, timeout: 4, refused: 5 } as const;

const EXIT_BY_CODE: Partial<Record<ErrorCode, number>> = {
  'AB-1001': EXIT.usage,
  'AB-7001': EXIT.usage,
  'AB-7002': EXIT.usage,
  'AB-1003': EXIT.usage,
  'AB-1004': EXIT.timeout,
  'AB-2004': EXIT.usage,
  'AB-5001': EXIT.notFound,
  'AB-5002': EXIT.notFound,
  'AB-5003': EXIT.notFound,
  'AB-4001': EXIT.refused,
  'AB-4002': EXIT.refused,
  'AB-4003': EXIT.refused,
  'AB-4004': EXIT.refused,
  'AB-5006': EXIT.refused,
  'AB-5007': EXIT.refused,
  'AB-5008': EXIT.notFound,
  'AB-6001': EXIT.notFound,
  'AB-6002': EXIT.refused,
  'AB-6003': EXIT.refused,
};

export interface ErrorJson {
  code: ErrorCode;
  name: string;
  message: string;
  hint: string;
}

export class AgentBusError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, message: string, hint: string) {
    // Messages quote what was given, cut somewhere.
    super(wellFormed(message));
    this.name = ERROR_CODES[code];
    this.code = code;
    this.hint = hint;
  }

  get exitCode(): number {
    return EXIT_BY_CODE[this.code] ?? EXIT.failed;
  }

  toJSON(): ErrorJson {
    return { code: this.code, name: this.name, message: this.message, hint: this.hint };
  }
}

const FULL = ['ENOSPC', 'EDQUOT'];
const FILE_ERRORS = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP', ...FULL];

interface SystemError {
  code?: string;
  path?: string;
  /** Of a rename or link: where it was to go. */
  dest?: string;
}

/** Whether a disk, or a person's share of it, has no room left. */
export function isFull(error: unknown): boolean {
  return FULL.includes((error as SystemError).code ?? '');
}

/** What the file system refused, as AB-2002; null for an error of another kind. `path` counts where the error names none. */
export function fileError(error: unknown, path?: string): AgentBusError | null {
  if (!(error instanceof Error)) return null;
  const { code = '', path: source = path, dest = source } = error as SystemError;
  if (dest === undefined || !FILE_ERRORS.includes(code)) return null;
  const hint = isFull(error)
    ? 'Make room on its disk, then try again.'
    : 'Check its owner and mode, or set AGENTBUS_HOME to a directory of your own.';
  return new AgentBusError('AB-2002', `${dest} cannot be written (${code})`, hint);
}

/** Rebuilds an error that crossed the local surface as JSON; null when the value is not one. */
export function errorFromJson(value: unknown): AgentBusError | null {
  if (typeof value !== 'object' || value === null) return null;
  const { code, message, hint } = value as Record<string, unknown>;
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code) || typeof message !== 'string') return null;
  return new AgentBusError(code as ErrorCode, message, typeof hint === 'string' ? hint : '');
}
