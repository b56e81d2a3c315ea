// What a person has to know about where the entries went.
import type { Harness } from '../core/harness.ts';
import { hookFiles } from './inspect.ts';
import type { Place } from './options.ts';
import { projectPlace } from './project.ts';

/** The files of the other scope that hold hooks of ours as well: Codex runs both sets, Claude Code drops identical commands. */
export function doubledIn(harness: Harness, place: Place): string[] {
  if (harness.install.format !== 'codex') return [];
  if (place.scope === 'project') return hookFiles(harness, { ...place, scope: 'user' });
  return place.project && !place.sandbox ? hookFiles(harness, projectPlace(harness, place)) : [];
}

/** One sentence each, for the end of an install. */
export function placeNotes(harness: Harness, place: Place): string[] {
  const notes = doubledIn(harness, place).map(
    (path) =>
      `${path} has AgentBus's hooks too, and ${harness.title} runs both: take one out (agentbus uninstall --harness ${harness.id} --scope user, or project)`,
  );
  if (place.scope !== 'project') return notes;
  notes.push('these files name paths of this machine: keep them out of version control; elsewhere the hooks do nothing');
  if (harness.install.format === 'codex')
    notes.push(`Codex reads .codex only in a project that it trusts, and there too each hook needs your trust`);
  else notes.push('Claude Code asks you once whether to use the MCP servers of .mcp.json');
  return notes;
}
