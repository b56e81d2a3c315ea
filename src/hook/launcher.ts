import { join } from 'node:path';

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
    ? `if [ "$2" != SessionStart ] && [ ! -t 0 ]; then
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
 * The waiter, `$AGENTBUS_HOME/bin/agentbus-wait claude`: it waits at the daemon for the line that wakes
 * the session, prints it and ends with 86. In every other case it ends with 0, and at once where no person attends, since
 * Claude Code waits for it there. A shell and nc, since one of them lives as long as each idle session.
 *
 * nc writes into a file that has no name any more: a shell that waits for a background program acts on
 * signals, one that reads its output does not. docs/adr/0010 has the rest.
 */
export function renderWaitLauncher({ home, sockets, nc }: Pick<LauncherOptions, 'home' | 'sockets' | 'nc'>): string {
  const head = `#!/bin/sh
# AgentBus waiter, written by \`agentbus install\`. Usage: agentbus-wait claude
`;
  if (nc === null) return `${head}exit 0\n`;
  return `${head}[ "$1" = claude ] && [ "$CLAUDE_CODE_SESSION_ATTENDED" = 1 ] && [ "$CLAUDE_CODE_ENTRYPOINT" = cli ] || exit 0
case "$CLAUDE_PID" in '' | *[!0-9]*) exit 0 ;; esac
s=${shellQuote(sockets)}/wake.sock
f=${shellQuote(join(home, 'run'))}/wake-$$
child=
trap 'kill $child 2>/dev/null; exit 0' TERM HUP INT
umask 077
(: >"$f") 2>/dev/null || exit 0
exec 3>"$f" 4<"$f" </dev/null
rm -f "$f"
while kill -0 "$CLAUDE_PID" 2>/dev/null && kill -0 "$PPID" 2>/dev/null && [ -e "$0" ]; do
  if [ -S "$s" ] && [ -O "$s" ]; then
    ${shellQuote(nc)} -U "$s" >&3 4<&- <<END &
$1 $CLAUDE_PID $PPID
END
    child=$!
    wait "$child"
    if IFS= read -r line <&4; then
      [ "$line" = bye ] && exit 0
      printf '%s\\n' "$line"
      exit 86
    fi
  fi
  sleep 3 >/dev/null 3>&- 4<&- &
  child=$!
  wait "$child"
done
exit 0
`;
}

/**
 * The waiter's command string. Only the status 86 becomes Claude Code's 2, which wakes: a shell ends
 * with 2 by itself when a script is broken.
 */
export function waitCommand(launcher: string, harness: string): string {
  return `${shellQuote(launcher)} ${harness}${WAKING}`;
}

export const WAKING = ' 2>/dev/null; [ $? -eq 86 ] && exit 2; exit 0';

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
