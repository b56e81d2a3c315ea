/** What starts a turn in an idle session: ids and senders. The messages themselves come by the turn's own prompt hook. */
export function wakeLine(messages: readonly { id: string; source: string }[]): string {
  const word = messages.length === 1 ? 'message' : 'messages';
  return `AgentBus: unread ${word} ${messages.map(({ id, source }) => `${id} from ${source}`).join(', ')}.`;
}

export function isWakeLine(prompt: string): boolean {
  return /^\s*AgentBus: unread messages? msg_/.test(prompt);
}
