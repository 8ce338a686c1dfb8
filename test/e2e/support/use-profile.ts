import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { SmallWorld } from './small-world.ts';

/** Gives every clinic client the profile `mine`, passed as YAML. */
export async function useProfile({ configDir }: SmallWorld, profile: string): Promise<void> {
  const file = join(configDir, 'clinic-mirror.yaml');
  const settings = parse(await readFile(file, 'utf8'));
  for (const client of Object.values<{ profile: string }>(settings.clinicClients)) client.profile = 'mine';
  await writeFile(file, stringify(settings));
  await writeFile(join(configDir, 'profiles', 'mine.yaml'), profile);
}
