/** Variables of the hook's environment that the relay hands over at SessionStart. Nothing else of it is read. */
export const HANDED_VARIABLES = [
  'AGENTBUS_AGENT',
  'CLAUDECODE',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SESSION_ATTENDED',
  'CLAUDE_PID',
  'CLAUDE_CONFIG_DIR',
  'CODEX_HOME',
] as const;

export type HandedEnv = Partial<Record<(typeof HANDED_VARIABLES)[number], string>>;

const KEPT = ['HOME', 'PATH', 'USER', 'LOGNAME', 'LANG', 'TZ', 'TMPDIR'] as const;

/** The whole environment of a daemon: it must keep nothing of the session that happened to start it. */
export function daemonEnvironment(home: string): Record<string, string> {
  const env: Record<string, string> = { AGENTBUS_HOME: home };
  for (const name of KEPT) if (process.env[name] !== undefined) env[name] = process.env[name];
  return env;
}
