import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

/**
 * Changes settings that `init` wrote: removes the request limit of the clinic. One request per second, as `init` sets it, is right for an
 * unknown clinic; a test would only wait.
 */
export async function widenBudget(folder: string, changes: object = {}): Promise<void> {
  const file = join(folder, 'clinic-mirror.yaml');
  const settings = parse(await readFile(file, 'utf8'));
  for (const client of Object.values<object>(settings.clinicClients))
    Object.assign(client, { budget: { requestsPerMinute: 6_000, burst: 500 } });
  await writeFile(file, stringify({ ...settings, ...changes }), { mode: 0o600 });
}
