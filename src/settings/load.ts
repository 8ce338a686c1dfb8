import { join } from 'node:path';
import { type ClinicProfile, clinicProfileSchema } from '../clinic/schema/profile.ts';
import type { Configuration } from './configuration.ts';
import { ConfigurationFiles, type LoadOptions } from './configuration-files.ts';
import { ConfigurationError } from './faults.ts';
import { SeenFiles } from './seen-files.ts';
import { readProfiles } from './surroundings.ts';

export type { LoadOptions } from './configuration-files.ts';

/**
 * Reads and checks the whole configuration, secrets included.
 * @throws ConfigurationError with all faults of all files; the operator must act
 */
export function loadConfiguration(options: LoadOptions): Configuration {
  return new ConfigurationFiles(options).configuration;
}

/**
 * One clinic profile, without the rest of the configuration; `documented` is built in where there is no such file.
 * @throws ConfigurationError when the file has faults or, for another name, when there is none
 */
export function loadProfile(dir: string, name: string): ClinicProfile {
  const { valid, broken } = readProfiles(dir, new SeenFiles());
  const faults = broken.get(name);
  if (faults !== undefined) throw new ConfigurationError(faults);
  const profile = valid.get(name) ?? (name === 'documented' ? clinicProfileSchema.parse({}) : undefined);
  if (profile !== undefined) return profile;
  const remedy = `choose one of: ${[...valid.keys()].join(', ') || 'documented'}`;
  const file = join(dir, 'profiles', `${name}.yaml`);
  throw new ConfigurationError([{ file, line: null, path: '', message: 'there is no such profile', remedy }]);
}
