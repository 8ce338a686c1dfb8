/** Writes `config/schema/*.json`, the schemas by which editors check and complete the configuration files. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectors } from '../src/connectors/registry.ts';
import { reminderChannels } from '../src/features/reminders/channels/registry.ts';
import { jsonSchemas } from '../src/settings/json-schemas.ts';

const directory = join(import.meta.dirname, '../config/schema');

/** What the schema files hold, by file name. */
export function schemaFiles(): Map<string, string> {
  const files = jsonSchemas(connectors, reminderChannels);
  return new Map([...files].map(([name, schema]) => [join(directory, name), `${JSON.stringify(schema, null, 2)}\n`]));
}

if (import.meta.main) {
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of schemaFiles()) writeFileSync(name, content);
}
