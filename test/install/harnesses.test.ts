import { claude } from '../../src/harness/claude/harness.ts';
import { codex } from '../../src/harness/codex/harness.ts';
import { conformance } from './conformance.ts';

conformance(claude, {
  version: '2.1.332',
  files: {
    '.claude/settings.json':
      '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      { "hooks": [{ "type": "command", "command": "mine" }] }\n    ]\n  }\n}',
    '.claude.json': '{\n  "numStartups": 3,\n  "mcpServers": {},\n  "projects": {}\n}\n',
  },
  touch: (file, content) =>
    file.endsWith('settings.json') ? content.replace('opus', 'sonnet') : content.replace('"projects": {}', '"projects": { "/p": [] }'),
});

conformance(codex, {
  version: '0.171.0',
  files: {
    '.codex/hooks.json': '{"hooks": {\n  "Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]\n}}\n',
    '.codex/config.toml': '# mine\nmodel = "a"\n\n[mcp_servers.other]\ncommand = "other" # mine',
  },
  touch: (file, content) => (file.endsWith('.toml') ? content.replace('"a"', '"b"') : content.replace('"mine"', '"mine too"')),
});

conformance(claude, {
  version: '2.1.332',
  project: true,
  files: {
    'project/.claude/settings.json': '{\n\t"hooks": {\n\t\t"Stop": []\n\t},\n\t"env": {"A": "b"}\n}\n',
    'project/.mcp.json': '{ "mcpServers": { "other": { "command": "x" } } }',
  },
  touch: (file, content) => content.replace(file.endsWith('settings.json') ? '"b"' : '"x"', '"changed"'),
});

conformance(codex, {
  version: '0.171.0',
  project: true,
  files: {
    'project/.codex/hooks.json': '{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] } }',
    'project/.codex/config.toml': 'model = "a"\r\n[mcp_servers.other]\r\ncommand = "other"\r\n',
  },
  touch: (file, content) => (file.endsWith('.toml') ? content.replace('"a"', '"b"') : content.replace('"mine"', '"mine too"')),
});
