import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { connectors } from '../../src/connectors/registry.ts';
import { inPieces } from '../../src/core/pieces/in-pieces.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import type { ConfigurationFault } from '../../src/settings/faults.ts';
import { FILE_LIMITS } from '../../src/settings/yaml-file.ts';

const HEAD = `name: a
language: it
zone: Europe/Rome
clinic: { client: main, tenantId: "1" }
connections:
  work: { kind: google, client: main }
`;
const MAPPED = `${HEAD}targets:\n  t:\n    connector: hubspot\n    connection: work\n    crm:\n      mapping:\n`;

/** Parts of a tenant's file that repeat as often as the limit of tokens allows: what is above, a part, and its tokens. */
const PARTS: Readonly<Record<string, readonly [above: string, part: (at: number) => string, tokens: number]>> = {
  'empty targets': [`${HEAD}targets:\n`, (at) => ` t${at}: {}\n`, 9],
  'misspelled keys of targets': [`${HEAD}targets:\n`, (at) => ` t${at}: {conector: a}\n`, 16],
  'unknown keys of targets': [`${HEAD}targets:\n`, (at) => ` t${at}: {kkkkkkkk${at}: a, connectoor${at}: b}\n`, 22],
  'unknown connections': [
    `${HEAD}targets:\n`,
    (at) => ` t${at}: {connector: google-calendar, connection: w${at}}\n`,
    22,
  ],
  'equal targets': [
    `${HEAD}targets:\n`,
    (at) => ` t${at}: {connector: google-calendar, connection: work, agendas: [a${at}], settings: {}}\n`,
    40,
  ],
  'faulty settings': [`${HEAD}targets:\n`, (at) => ` t${at}: {connector: hubspot, settings: {a: b}}\n`, 28],
  'unknown clients': [HEAD, (at) => `  c${at}: {kind: google, client: w${at}}\n`, 22],
  'unknown keys': ['', (at) => `k${at}: a\n`, 7],
  'former names': [`${HEAD}targets:\n`, (at) => ` t${at}: {formerly: f${at}}\n`, 16],
  'unknown fields': [MAPPED, (at) => `        p${at}: emal\n`, 8],
  'spellings of properties': [MAPPED, (at) => `        ${at % 2 === 0 ? 'P' : 'p'}${at >> 1}: email\n`, 8],
  agendas: [`${HEAD}targets:\n  t:\n    agendas:\n`, (at) => `      - ${at}\n`, 6],
};

/** Tenants' files without faults of grammar and with a fault in almost each line. */
export const faultyTenants = fc
  .record({ form: fc.constantFrom(...Object.keys(PARTS)), share: fc.integer({ min: 50, max: 95 }) })
  .map((parameters) => ({ ...parameters, text: () => faultyTenant(parameters) }));

/** @param share of the largest number of tokens, in percent */
function faultyTenant({ form, share }: { form: string; share: number }): string {
  const [above, part, tokens] = PARTS[form]!;
  const count = Math.floor(((FILE_LIMITS.tokens - 100) * share) / 100 / tokens);
  return above + Array.from({ length: count }, (_, at) => part(at)).join('');
}

const SETTINGS = `redis: { url: "redis://127.0.0.1:6390" }
secrets:
  identityKey: { env: KEY }
  sealingKeys: [{ id: k1, key: { env: KEY } }]
clinicClients:
  main: { profile: plain, baseUrl: https://a.test/, authUrl: https://a.test, clientId: m, clientSecret: { env: KEY } }
googleClients:
  main: { clientId: g, clientSecret: { env: KEY } }
`;

/** Settings without tenants. */
function openFiles(): ConfigurationFiles {
  const dir = mkdtempSync(join(tmpdir(), 'hostile-tenants-'));
  try {
    for (const folder of ['tenants', 'profiles']) mkdirSync(join(dir, folder));
    writeFileSync(join(dir, 'clinic-mirror.yaml'), SETTINGS);
    writeFileSync(join(dir, 'profiles/plain.yaml'), '{}');
    const env = { KEY: Buffer.alloc(32, 7).toString('base64') };
    return new ConfigurationFiles({ dir, env, connectors, reminderChannels: new Map(), mode: 'set-aside' });
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const files = openFiles();

/** Checks a document as the request that stores a managed tenant does. */
export function checkTenantFile(yaml: string): Promise<ConfigurationFault[]> {
  return inPieces(files.faultsOf({ id: 'a', revision: '', open: () => ({ yaml, json: '', secrets: {} }) }));
}
