/** Quotes one word for POSIX sh. A NUL or newline cannot be quoted safely here: install refuses such paths first. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", `'"'"'`)}'`;
}

export interface LauncherOptions {
  /** AGENTBUS_HOME. */
  home: string;
  /** Directory of the hook sockets. */
  sockets: string;
  /** Absolute path of the Node that install ran with. */
  node: string;
  /** Absolute path of dist/. */
  dist: string;
  /** Absolute path of an `nc` that speaks Unix sockets, or null: everything then takes the relay. */
  nc: string | null;
}

/**
 * The hook launcher, `$AGENTBUS_HOME/bin/agentbus-hook <harness> <event>`.
 *
 * It asks the daemon's socket by nc, which costs about 3 ms; a refused connection, a missing socket
 * or a SessionStart (whose environment the daemon needs) goes to the Node relay. A stale socket fails
 * before stdin is read, so the relay still gets the whole payload. docs/adr/0002 has the measurements.
 */
export function renderHookLauncher(options: LauncherOptions): string {
  const fast = options.nc
    ? `if [ "$2" != SessionStart ]; then
  s=${shellQuote(options.sockets)}/"$1".sock
  if [ -S "$s" ] && [ -O "$s" ]; then ${shellQuote(options.nc)} -w 2 -U "$s" && exit 0; fi
fi
`
    : '';
  return `#!/bin/sh
# AgentBus hook launcher, written by \`agentbus install\`. Usage: agentbus-hook <harness> <event>
case "$1" in '' | *[!a-z0-9-]*) exit 0 ;; esac
${fast}unset NODE_OPTIONS NODE_EXTRA_CA_CERTS
[ -x ${shellQuote(options.node)} ] && [ -r ${shellQuote(`${options.dist}/hook.cjs`)} ] || exit 0
AGENTBUS_HOME=${shellQuote(options.home)} exec ${shellQuote(options.node)} ${shellQuote(`${options.dist}/hook.cjs`)} "$1" "$2"
`;
}

/** The MCP launcher, `$AGENTBUS_HOME/bin/agentbus-mcp`: paths baked in, for clients that pass a bare environment. */
export function renderMcpLauncher(options: Omit<LauncherOptions, 'nc' | 'sockets'>): string {
  return `#!/bin/sh
# AgentBus MCP launcher, written by \`agentbus install\`.
unset NODE_OPTIONS NODE_EXTRA_CA_CERTS
AGENTBUS_HOME=${shellQuote(options.home)} exec ${shellQuote(options.node)} ${shellQuote(`${options.dist}/mcp.mjs`)} "$@"
`;
}

/**
 * The command string in a harness's config. Fail-open by itself: whatever is missing or broken behind
 * it, the exit status is 0 and stderr is silent. Its bytes never change between versions, since Codex
 * trusts a hook by the hash of its command.
 *
 * `shell`: `sh` where the harness runs it by /bin/sh, `any` where it takes the user's own shell, csh
 * included; the shell in between costs about 3 ms (docs/adr/0002).
 */
export function hookCommand(launcher: string, harness: string, event: string, shell: 'sh' | 'any'): string {
  if (shell === 'sh') return `${shellQuote(launcher)} ${harness} ${event}${QUIET}`;
  return `/bin/sh -c '"$0" "$@"${QUIET}' ${shellQuote(launcher)} ${harness} ${event}`;
}

/** What makes a command fail-open in POSIX sh. */
export const QUIET = ' 2>/dev/null; exit 0';
