import { expect, test } from 'vitest';
import { hookCommand, waitCommand } from '../../src/hook/launcher.ts';
import { isOurCommand, splitWords } from '../../src/install/words.ts';

test.each([
  hookCommand("/home/O'Brien/.agent bus/bin/agentbus-hook", 'claude', 'Stop', 'sh'),
  hookCommand("/home/O'Brien/.agent bus/bin/agentbus-hook", 'codex', 'Stop', 'any'),
  waitCommand("/home/O'Brien/.agent bus/bin/agentbus-wait", 'claude'),
  '/home/u/.agentbus/bin/agentbus-wait claude',
  '/home/u/.agentbus/bin/agentbus-hook codex Stop',
  '"$HOME/.agentbus/bin/agentbus-hook" claude  SessionStart',
  '~/.agentbus/bin/agentbus-hook claude Stop',
  '/home/u/.npm/_npx/7cfa/node_modules/.bin/agentbus hook Stop',
  '"/home/u/.local/bin/agentbus" hook Stop',
  'agentbus hook codex-stop',
  'agentbus hook claude Stop',
])('ours: %s', (command) => expect(isOurCommand(command)).toBe(true));

test.each([
  'mine',
  'echo agentbus hook Stop',
  '/home/u/agentbus-hook.sh claude Stop',
  'agentbus-hook claude Stop; rm -rf /tmp/x',
  'agentbus-hook claude Stop && notify',
  'agentbus-hook claude $(id)',
  'agentbus-hook claude Stop extra',
  'agentbus-wait claude Stop',
  'agentbus-wait',
  'agentbus-wait claude 2>/dev/null; [ $? -eq 1 ] && exit 2; exit 0',
  'agentbus send Stop hi',
  'my-agentbus hook Stop',
  "/bin/sh -c 'agentbus-hook claude Stop'",
  `/bin/sh -c '"$0" "$@"' '/x/bin/agentbus-hook' claude Stop`,
  '# agentbus hook Stop',
  "agentbus hook 'Stop",
  '',
  42,
  null,
])('not ours: %s', (command) => expect(isOurCommand(command)).toBe(false));

test('words are those of POSIX sh', () => {
  expect(splitWords(`a 'b c' "d \\" \\$e \\x" f\\ g''h`)).toEqual(['a', 'b c', 'd " $e \\x', 'f gh']);
  expect(splitWords('a >b')).toBeNull();
});
