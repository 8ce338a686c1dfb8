import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { ChannelDescription, ConnectorDescription } from '../../src/settings/configuration.ts';
import { changesBetween } from '../../src/settings/configuration-changes.ts';
import { ConfigurationFiles, loadConfiguration } from '../../src/settings/configuration-files.ts';
import { ConfigurationError } from '../../src/settings/faults.ts';
import type { LoadOptions } from '../../src/settings/reading.ts';
import { tenantSecretFile, tenantVariable } from '../../src/settings/tenant-secrets.ts';

/** A key of 32 bytes in base64. */
export const KEY = Buffer.alloc(32, 7).toString('base64');

export const ENV = {
  IDENTITY_KEY: KEY,
  SEALING_KEY: Buffer.alloc(32, 9).toString('hex'),
  CLIENT_SECRET: 'shh-client',
  TENANT_UNO__SECRET: 'shh-uno',
};

export const SETTINGS = `
redis: { url: "redis://127.0.0.1:6390" }
secrets:
  identityKey: { env: IDENTITY_KEY }
  sealingKeys: [{ id: k1, key: { env: SEALING_KEY } }]
clinicClients:
  main:
    profile: plain
    baseUrl: https://api.clinic.test/
    authUrl: https://login.clinic.test
    clientId: mirror
    clientSecret: { env: CLIENT_SECRET }
googleClients:
  main: { clientId: g, clientSecret: { env: CLIENT_SECRET } }
`;

export const TENANT = `
name: Studio Uno
language: it
zone: Europe/Rome
clinic: { client: main, tenantId: "7" }
connections:
  work: { kind: google, client: main }
targets:
  rossi:
    connector: calendar
    connection: work
    agendas: all
    settings: { calendar: a }
`;

/** What a directory of {@link writeConnections} has. */
export interface ConnectionFiles {
  /** Connections of the tenant `uno`: a mapping in YAML. */
  connections: string;
  /** More sections of the tenant's file. */
  more?: string;
  /** Default: {@link SETTINGS}. */
  settings?: string;
  /** More sections of the settings, such as the vendors' clients. */
  clients?: string;
  /** More files by name, such as those of secrets. */
  files?: Record<string, string>;
}

/** Writes a configuration directory of the one tenant `uno` with these connections, and without targets unless `more` has some. */
export function writeConnections({
  connections,
  more = '',
  settings = SETTINGS,
  clients = '',
  files,
}: ConnectionFiles) {
  return writeConfiguration({
    'clinic-mirror.yaml': `${settings}${clients}`,
    'tenants/uno.yaml': `
name: Studio Uno
language: it
zone: Europe/Rome
clinic: { client: main, tenantId: "7" }
connections:
${connections}
${more}`,
    ...files,
  });
}

/** Two connectors as the settings see them. */
export const CONNECTORS: ReadonlyMap<string, ConnectorDescription> = new Map([
  [
    'calendar',
    {
      streams: ['appointments'],
      holds: 'events',
      supports: { presets: ['category'] },
      connectionKinds: ['google', 'google-service-account'],
      settingsSchema: z.strictObject({ calendar: z.string(), color: z.string().default('blue') }),
    },
  ],
  [
    'dav',
    {
      streams: ['appointments'],
      holds: 'events',
      supports: {},
      connectionKinds: ['caldav'],
      settingsSchema: z.strictObject({
        calendar: z.union([z.strictObject({ url: z.url() }), z.strictObject({ create: z.string() })]),
      }),
    },
  ],
]);

/** A kind of reminder channel as the settings see it. */
export const CHANNELS: ReadonlyMap<string, ChannelDescription> = new Map([
  ['post', { settingsSchema: () => z.strictObject({ stamp: z.string().default('A') }).prefault({}) }],
]);

/** Writes a configuration directory for one test: file name to content, in addition to valid defaults. */
export function writeConfiguration(files: Record<string, string> = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'configuration-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const all = { 'clinic-mirror.yaml': SETTINGS, 'profiles/plain.yaml': '{}', 'tenants/uno.yaml': TENANT, ...files };
  for (const [name, content] of Object.entries(all)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), withOwnSecrets(name, content));
  }
  return dir;
}

/** A tenant's file in which `OWN/` and `OWN__` stand for where that tenant's secrets are: its folder, and how its variables begin. */
export function withOwnSecrets(fileName: string, content: string): string {
  const tenant = basename(fileName, '.yaml');
  return content.replaceAll('OWN/', `${tenantSecretFile(tenant, '')}/`).replaceAll('OWN__', tenantVariable(tenant, ''));
}

export function load(dir: string, options: Partial<LoadOptions> = {}) {
  return loadConfiguration({
    dir,
    env: ENV,
    connectors: CONNECTORS,
    reminderChannels: CHANNELS,
    mode: 'strict',
    ...options,
  });
}

/** The error that reading the directory throws. */
export function loadError(dir: string, options: Partial<LoadOptions> = {}): ConfigurationError {
  try {
    load(dir, options);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

/** The faults as short lines: file, line, path, message → remedy; the directory left out. */
export function faultLines(dir: string, options: Partial<LoadOptions> = {}): string[] {
  const { faults } = loadError(dir, options);
  return faults.map(({ file, line, path, message, remedy }) => {
    return `${file.replace(`${dir}/`, '')}:${line ?? '-'} ${path}: ${message} → ${remedy}`;
  });
}

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
    /** Reloads the files. @returns the changes, and the number of checked files */
    readAgain(options?: { sure: boolean }) {
      const before = files.configuration;
      checks = 0;
      const after = atOnce(files.readAgain(atOnce(files.readStamps()), options));
      return { ...changesBetween(before, after), checks, refused: after.refused, unusable: after.unusable, after };
    },
    titleOf: (id: string) => files.configuration.tenants.get(id)?.targets.get('rossi')?.title,
  };
}

/** The changes of a reload in which every tenant is unchanged. */
export const NONE = { added: [], changed: [], reopened: [], removed: [] };
