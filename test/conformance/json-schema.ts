/** As much of JSON Schema (draft 7) as the hook schemas of the harnesses use. Answers with what does not fit. */
type Schema = Record<string, unknown>;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  null: (value) => value === null,
};
const UNDERSTOOD = new Set([
  '$schema',
  'title',
  'description',
  'default',
  'definitions',
  'type',
  'properties',
  'additionalProperties',
  'required',
  'const',
  'enum',
  'allOf',
  '$ref',
]);

export function schemaErrors(schema: Schema, value: unknown, root: Schema = schema, at = '$'): string[] {
  const strange = Object.keys(schema).filter((key) => !UNDERSTOOD.has(key));
  if (strange.length > 0) return [`${at}: the check does not know ${strange.join(', ')}`];
  const errors: string[] = [];
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    const definitions = root['definitions'] as Record<string, Schema>;
    errors.push(...schemaErrors(definitions[reference.replace('#/definitions/', '')]!, value, root, at));
  }
  for (const part of (schema['allOf'] ?? []) as Schema[]) errors.push(...schemaErrors(part, value, root, at));
  if ('const' in schema && schema['const'] !== value) errors.push(`${at}: not ${JSON.stringify(schema['const'])}`);
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(value)) errors.push(`${at}: not one of ${JSON.stringify(schema['enum'])}`);
  const type = schema['type'];
  if (typeof type === 'string' && !TYPES[type]!(value)) return [...errors, `${at}: no ${type}`];
  if (!TYPES['object']!(value)) return errors;
  const object = value as Record<string, unknown>;
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
  for (const name of (schema['required'] ?? []) as string[]) if (!Object.hasOwn(object, name)) errors.push(`${at}.${name}: missing`);
  for (const [name, item] of Object.entries(object)) {
    if (Object.hasOwn(properties, name)) errors.push(...schemaErrors(properties[name]!, item, root, `${at}.${name}`));
    else if (schema['additionalProperties'] === false) errors.push(`${at}.${name}: unknown`);
  }
  return errors;
}
