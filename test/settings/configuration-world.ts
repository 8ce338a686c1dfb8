import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { atOnce } from '../../src/model/pieces.ts';
import { changesBetween } from '../../src/settings/configuration-changes.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { CHANNELS, CONNECTORS, ENV, TENANT, withOwnSecrets, writeConfiguration } from './configuration-directory.ts';

/** A tenant of a clinic, whose CalDAV password is in a file. */
/** A tenant file of one clinic, whose CalDAV password is in a file. */
export function tenantFile(clinic: string, title = 'appointment'): string {
  return TENANT.replace('tenantId: "7"', `tenantId: "${clinic}"`)
    .replace(
      '  work: { kind: google, client: main }',
      '  work: { kind: google, client: main }\n  dav: { kind: caldav, username: ada, password: { file: OWN/password } }',
    )
    .concat(`    title: ${title}\n`);
}

/** Those that run, and those that may come. */
const TENANTS = ['uno', 'due', 'tre', 'quattro', 'new', 'a-first'];

/** Three clinics that run, and connectors that count the checks of target settings. */
export function world() {
  const dir = writeConfiguration({
    ...Object.fromEntries(TENANTS.map((id) => [`secrets/${id}/password`, 'one-that-nobody-has'])),
    'tenants/uno.yaml': tenantFile('1'),
    'tenants/due.yaml': tenantFile('2'),
    'tenants/tre.yaml': tenantFile('3'),
  });
  let checks = 0;
  const calendar = CONNECTORS.get('calendar');
  if (calendar === undefined) throw new Error('there is no calendar');
  const settingsSchema = z.preprocess((value) => {
    checks += 1;
    return value;
  }, calendar.settingsSchema);
  const connectors = new Map([...CONNECTORS, ['calendar', { ...calendar, settingsSchema }]]);
  const files = new ConfigurationFiles({
    ...{ dir, env: ENV, connectors, reminderChannels: CHANNELS, mode: 'set-aside' },
  });
  return {
    dir,
    files,
    write: (name: string, content: string) => writeFileSync(join(dir, name), withOwnSecrets(name, content)),
    setPasswords(password: string) {
      for (const id of TENANTS) writeFileSync(join(dir, 'secrets', id, 'password'), password);
    },
    remove: (name: string) => rmSync(join(dir, name), { recursive: true }),
    look: () => atOnce(files.readStamps()),
    /** Reads again. @returns what changed, and how many files were checked */
    readAgain(options?: { sure: boolean }) {
      const before = files.configuration;
      checks = 0;
      const after = atOnce(files.readAgain(atOnce(files.readStamps()), options));
      return { ...changesBetween(before, after), checks, refused: after.refused, unusable: after.unusable, after };
    },
    titleOf: (id: string) => files.configuration.tenants.get(id)?.targets.get('rossi')?.title,
  };
}

/** The changes of a reading in which every tenant is as it was. */
export const NONE = { added: [], changed: [], reopened: [], removed: [] };
