import { isOver } from '../core/task.ts';
import { cutUtf16 } from '../core/unicode.ts';
import type { TaskSummary, TaskView, TimelineStep } from '../daemon/task-view.ts';
import { oneLine, table } from './context.ts';

function short(text: string, longest: number): string {
  const line = oneLine(text);
  return line.length > longest ? `${cutUtf16(line, longest - 1)}…` : line;
}

export function describeTasks(tasks: readonly TaskSummary[], all: boolean): string {
  if (tasks.length === 0) return all ? 'no tasks' : 'no open tasks (--all also shows what is over)';
  const rows = tasks.map((task) => [
    task.id,
    task.cancelRequested && !isOver(task) ? `${task.state}, cancel asked` : task.state,
    task.from,
    task.to,
    short(task.last || task.instructions, 50),
  ]);
  return table(['TASK', 'STATE', 'FROM', 'TO', 'LAST'], rows);
}

/** How far the message of a step got: the furthest of what its trace tells. */
function reached(step: TimelineStep): string {
  const furthest = [
    'replied',
    'resolved',
    'read',
    'presented',
    'unproven',
    'in-context',
    'offered',
    'held',
    'delivered',
    'accepted',
    'rejected',
  ].find((state) => step.seen.includes(state));
  return step.message === null ? '' : (furthest ?? 'queued');
}

/** A task and its timeline, for a person. */
export function describeTask(task: TaskView): string {
  const { tokens, usd } = task.budget;
  const budget = [
    tokens === undefined ? '' : `${task.used.tokens} of ${tokens} tokens`,
    usd === undefined ? '' : `${task.used.usd.toFixed(2)} of ${usd} USD`,
  ];
  const lines = [
    `${task.id} ${task.state}${task.reason === null ? '' : `: ${short(task.reason, 200)}`}`,
    `from ${task.from} to ${task.to}, expires ${task.expires}`,
    ...(task.cancelRequested ? ['its sender asked to call it off'] : []),
    ...budget.filter((part) => part !== '').map((part) => `used ${part}`),
    '',
    table(
      ['TIME', 'STEP', 'STATE', 'MESSAGE', ''],
      task.timeline.map((step) => [
        step.at,
        step.late ? `${step.what} (late)` : step.what,
        step.state,
        reached(step),
        short(step.text, 100),
      ]),
    ),
    ...task.timeline.flatMap((step) =>
      step.attachments.map(({ name, size, ref }) => `${short(name, 60)}, ${size} bytes: agentbus task fetch ${ref}`),
    ),
  ];
  return lines.join('\n');
}
