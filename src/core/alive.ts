import { readFileSync } from 'node:fs';

/** Dead, but not yet collected by its parent: for good where a container's first process collects nobody. */
function isZombie(pid: number): boolean {
  try {
    // The name before it, in parentheses, may hold anything.
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Whether a process of this machine is there, somebody else's included. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}
