import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { ConfigurationReading } from './readings.ts';
import type { Settings } from './settings-schema.ts';
import { type Kept, type KeptFile, NOTHING_KEPT, openVerdicts, type Verdict, type VerdictFile } from './verdicts.ts';

/** What a process does with the files, beside reading them: a daemon runs tenants by them, a command works on what daemons run. */
export type FileUse = 'daemon' | 'command';

/**
 * What a daemon runs tenants by, kept in its data directory for commands: where a file has faults these work on what it held before, as the
 * daemon does. It is checked again under the settings of the command, so neither these nor the version of the program need be the same.
 */
export interface LastRun {
  /** What a daemon ran last; nothing for a daemon, which runs only what it found to be without faults itself. */
  read(): KeptFile;
  /** Notes what this process runs; nothing where it is no daemon, or it is as it was. Managed tenants are kept elsewhere. */
  note(reading: Pick<ConfigurationReading, 'running' | 'surroundings'>): void;
}

/** Of a process that neither runs tenants nor works on what runs. */
export const NO_LAST_RUN: LastRun = { read: () => NOTHING_KEPT, note: () => {} };

/** Nothing of the surroundings decides whether it can be read. */
const ANY_SURROUNDINGS = '';
/** Raised when the file's form changes. */
const FORM = 'running 1';

/** Opens it under settings without faults. */
export function openLastRun(dir: string, { dataDirectory, secrets }: Settings, use: FileUse): LastRun {
  const file: VerdictFile = openVerdicts({
    ...{ name: 'running', dir, dataDirectory: dataDirectory ?? null },
    identityKey: secrets.identityKey.reveal(),
    sealingKeys: secrets.sealingKeys.map(({ key }) => key.reveal()),
    program: () => FORM,
  });
  if (use === 'command') return { read: () => file.read(ANY_SURROUNDINGS), note: () => {} };
  let noted: Kept | null = null;
  return {
    read: () => NOTHING_KEPT,
    note({ running, surroundings }) {
      const ofFiles = [...running].flatMap(([id, { verdict }]): [string, Verdict][] =>
        verdict.managed === null ? [[id, verdict]] : [],
      );
      const now = { tenants: new Map(ofFiles), profiles: surroundings.profiles.valid };
      if (noted !== null && isSame(noted, now)) return;
      noted = now;
      file.keep(now, ANY_SURROUNDINGS, { makeDirectory: true });
    },
  };
}

function isSame(one: Kept, other: Kept): boolean {
  const isEqual = (before: ReadonlyMap<string, Verdict | ClinicProfile>, now: typeof before) =>
    before.size === now.size && [...now].every(([id, value]) => before.get(id) === value);
  return isEqual(one.tenants, other.tenants) && isEqual(one.profiles, other.profiles);
}
