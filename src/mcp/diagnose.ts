import type { Diagnosis } from '../daemon/diagnosis.ts';
import type { TaskView } from '../daemon/task-view.ts';
import type { TraceView } from '../daemon/trace.ts';
import { AgentBusError } from '../core/errors.ts';
import { framePayload } from '../core/frame.ts';
import { cutUtf16 } from '../core/unicode.ts';
import { optional, READS, type Tool, type ToolContext } from './tool.ts';

// The last steps say how it stands; a long task reports hundreds.
const STEPS = 50;

function traceText(trace: TraceView): string {
  const steps = trace.steps
    .slice(-STEPS)
    .map((step) => `${step.at} ${step.state}${Object.keys(step.detail).length > 0 ? ` ${JSON.stringify(step.detail)}` : ''}`);
  return [`${trace.id} from ${trace.from} to ${trace.to}: ${trace.state}`, ...steps].join('\n');
}

/** The timeline of a task: its steps with how far each message got. */
function taskText(view: TaskView): string {
  const steps = view.timeline
    .slice(-STEPS)
    .map(
      (step) =>
        `${step.at} ${step.what}${step.late ? ' (late)' : ''}: ${step.state}${step.message === null ? '' : `, ${step.message} ${step.seen.at(-1) ?? 'sent'}`}`,
    );
  return [
    `Task ${view.id} from ${view.from} to ${view.to}: ${view.state}${view.reason === null ? '' : ` (${framePayload(cutUtf16(view.reason, 300))})`}`,
    ...(view.timeline.length > STEPS ? [`${view.timeline.length - STEPS} earlier steps: \`agentbus task show ${view.id}\``] : []),
    ...steps,
  ].join('\n');
}

async function about({ ask, caller }: ToolContext, id: string): Promise<string> {
  try {
    return `${taskText(await ask<TaskView>('/task/show', { caller: caller(), task: id }))}\n\n${traceText(await ask<TraceView>('/trace', { id, caller: caller() }))}`;
  } catch (error) {
    if (!(error instanceof AgentBusError) || error.code !== 'AB-6001') throw error;
    return traceText(await ask<TraceView>('/trace', { id, caller: caller() }));
  }
}

export const diagnose: Tool = {
  name: 'diagnose',
  description: 'Tell what became of a message or task you sent or got; without an id, how your own connection stands.',
  inputSchema: { type: 'object', properties: { id: { type: 'string', description: 'Message or task id' } } },
  annotations: READS,
  async run(context, args) {
    const id = optional(args, 'id');
    if (id !== undefined) return about(context, id);
    const own = await context.ask<Diagnosis>('/diagnose', { caller: context.caller() });
    const lines = [
      `You are ${own.address}, ${own.presence}.`,
      `${own.unread} unread.`,
      own.tasks,
      ...own.notes,
      `AgentBus ${own.version}.`,
    ];
    return lines.filter((line) => line !== '').join('\n');
  },
};
