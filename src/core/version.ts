/** Whether `version` (`1.2.3`, other parts ignored) is `minimum` or later. */
export function atLeast(version: string, minimum: string): boolean {
  const parts = (text: string): number[] => text.split(/[.+-]/, 3).map((part) => Number.parseInt(part, 10) || 0);
  const [have, want] = [parts(version), parts(minimum)];
  for (let at = 0; at < 3; at++) {
    const difference = (have[at] ?? 0) - (want[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** Of this package; a test keeps it equal to package.json's. */
export const VERSION = '0.1.0';
