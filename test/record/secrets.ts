import { readFileSync } from 'node:fs';

/** A decoded JSON fixture of fixtures/redact. */
export function decoded(name: string): unknown {
  const text = readFileSync(new URL(`../../fixtures/redact/${name}.json.b64`, import.meta.url), 'utf8');
  return JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
}

export function toolResponse(name: string): string {
  const { tool_response: response } = decoded(name) as { tool_response: unknown };
  return typeof response === 'string' ? response : Object.values(response as Record<string, string>).join('\n');
}

/** The made-up values of the .env fixture, by the names of its variables. */
export function dotenvSecrets(): Map<string, string> {
  const lines = toolResponse('32-dotenv')
    .split('\n')
    .filter((line) => line.includes('='));
  const pairs = lines.map((line) => /^(?:export )?(\w+)=["']?(.*?)["']?$/.exec(line)!);
  return new Map(pairs.map(([, name, value]) => [name!, value!] as const).filter(([name]) => name !== 'PORT' && name !== 'NODE_ENV'));
}

/** Every piece of eight characters of a secret that a text still contains. */
export function piecesIn(text: string, secret: string): string[] {
  const starts = Array.from({ length: Math.max(1, secret.length - 7) }, (_, at) => at);
  return starts.map((at) => secret.slice(at, at + 8)).filter((piece) => text.includes(piece));
}
