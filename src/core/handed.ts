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
