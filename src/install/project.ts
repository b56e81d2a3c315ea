// What counts as "the project" of a directory, and where its configs would be.
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { AgentBusError } from '../core/errors.ts';
import type { Harness } from '../core/harness.ts';
import { targetsOf, type Place } from './options.ts';

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The git root of a directory, else the directory itself; null in the home, whose files are at user scope. */
export function projectRoot(directory: string, home: string): string | null {
  // The CLIs know their working directory by its real path, and Codex's trust keys hold it.
  const start = real(directory);
  let root = start;
  while (!existsSync(join(root, '.git'))) {
    if (root === dirname(root)) {
      root = start;
      break;
    }
    root = dirname(root);
  }
  return root === real(home) ? null : root;
}

/** The main checkout of a linked git worktree, and of anything else the directory itself. */
export function mainCheckout(root: string): string {
  try {
    if (!statSync(join(root, '.git')).isFile()) return root;
    const linked = resolve(root, /^gitdir: (.+?)\s*$/.exec(readFileSync(join(root, '.git'), 'utf8'))?.[1] ?? '');
    // Submodules have such a file too, but no common directory elsewhere.
    const common = resolve(linked, readFileSync(join(linked, 'commondir'), 'utf8').trim());
    return real(dirname(common));
  } catch {
    return root;
  }
}

/** The place of a harness's project files: from a worktree, Codex reads the hooks of the main checkout. */
export function projectPlace<P extends Place>(harness: Harness, place: P): P & { scope: 'project' } {
  const project = place.project && harness.install.format === 'codex' ? mainCheckout(place.project) : place.project;
  return { ...place, project, scope: 'project' };
}

/** Refuses a project scope that would not be one. */
export function checkProject(harness: Harness, place: Place): void {
  if (place.scope !== 'project') return;
  const usage = (message: string, hint: string): AgentBusError => new AgentBusError('AB-1001', message, hint);
  const { project } = place;
  const user = targetsOf(harness, { ...place, scope: 'user' }).map(({ path }) => path);
  const shared = targetsOf(harness, place).filter((target) => target.shared);
  if (!project || shared.some(({ path }) => user.includes(path)))
    throw usage('the home directory is no project', 'Go to a project first, or leave out --scope.');
  const main = projectPlace(harness, place).project;
  if (main !== project)
    throw usage(
      `${project} is a worktree, and ${harness.title} reads the hooks of its main checkout`,
      `Run the command in ${main}; it holds for all worktrees.`,
    );
}
