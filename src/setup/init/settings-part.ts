import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { network } from '../../settings/common-schemas.ts';
import { CLINIC_BASE_URL } from '../../settings/settings-schema.ts';
import { keysAt, type YamlFile } from '../../settings/yaml-file.ts';
import { type Asker, questionOf, type TextQuestion } from './asker.ts';
import type { ClientValues, ValueTests } from './value-tests.ts';
import { prepareSecret, SETTINGS_FILE, type TestedSecret, untilAccepted, writeMissingFiles } from './written-files.ts';

/** Kinds of calendars that this command can set up. */
export const CALENDAR_KINDS = ['google', 'microsoft', 'caldav'] as const;
/** One of {@link CALENDAR_KINDS}. */
export type CalendarKind = (typeof CALENDAR_KINDS)[number];

/** Names in the settings to which a tenant file can refer. */
export interface Registrations {
  /** A name of clinicClients. */
  clinic: string;
  /** Names of googleClients and microsoftClients; null if not set. */
  google: string | null;
  microsoft: string | null;
}

/** Functions that create settings. */
export interface SettingsTools {
  tests: Pick<ValueTests, 'redis' | 'client'>;
  /** Makes a profile from an OpenAPI document, and returns the text of the profile. */
  profileOf(document: string): Promise<string>;
}

/** Size of keys (docs/runbook.md, "Requirements"). */
const KEY_BYTES = 32;
const HEAD =
  '# Created by clinic-mirror init. Every key: docs/configuration.md. Secrets are in the private folder keys/.\n\n';

const AS_DOCUMENTED = '# The clinic API follows its specification. Add differences here: docs/clinic-profile.md.\n{}\n';

/** Returns the first registration of each section of the existing settings. */
export function registrationsOf(settings: YamlFile): Registrations | null {
  const first = (section: string) => keysAt(settings, [section])[0] ?? null;
  const clinic = first('clinicClients');
  return clinic === null ? null : { clinic, google: first('googleClients'), microsoft: first('microsoftClients') };
}

/**
 * Asks for the settings, makes keys, and writes the files. Each secret is written after its server accepted the secret. The settings file
 * is written last and marks the directory as set up. Working values of an earlier run remain.
 * @throws MirrorError `settings`, code `value-refused`
 */
export async function makeSettings(dir: string, asker: Asker, tools: SettingsTools): Promise<Registrations> {
  const { tests } = tools;
  await untilAccepted(asker, () => prepareSecret(dir, redisSecret(asker, tests), asker));
  const { settings: clinic, files } = await untilAccepted(asker, () => askClinic(dir, asker, tools));
  const kinds = await asker.choices({
    id: 'calendarKinds',
    ask: 'Where are the calendars?',
    why: 'Google and Microsoft require an app registration first: docs/connect/google.md, docs/connect/microsoft.md',
    choices: [
      { value: 'caldav', label: 'a CalDAV server, such as iCloud, Nextcloud or Fastmail' },
      { value: 'google', label: 'Google Calendar' },
      { value: 'microsoft', label: 'Microsoft 365 (Outlook)' },
    ] satisfies { value: CalendarKind; label: string }[],
  });
  const vendor = async (kind: VendorKind) =>
    kinds.includes(kind) ? { main: await untilAccepted(asker, () => askClient(dir, asker, kind, tests)) } : null;
  const [google, microsoft] = [await vendor('google'), await vendor('microsoft')];
  const mayBeOwn = kinds.includes('caldav') || asker.presetAnswer('calendarNetwork') !== null;
  const outbound = mayBeOwn ? await askNetwork(asker) : {};
  const newKey = () => `${randomBytes(KEY_BYTES).toString('base64')}\n`;
  const keys = { identity: join('keys', 'identity-key'), sealing: join('keys', 'sealing-key-1') };
  const settings = {
    redis: { url: { file: REDIS_FILE } },
    dataDirectory: join(resolve(dir), 'data'),
    secrets: { identityKey: { file: keys.identity }, sealingKeys: [{ id: 'k1', key: { file: keys.sealing } }] },
    ...clinic,
    ...outbound,
    ...(google === null ? {} : { googleClients: google }),
    ...(microsoft === null ? {} : { microsoftClients: microsoft }),
  };
  const made = [[keys.identity, newKey()] as const, [keys.sealing, newKey()] as const, ...files];
  await writeMissingFiles(dir, new Map([...made, [SETTINGS_FILE, HEAD + stringify(settings)]]));
  const named = (client: object | null) => (client === null ? null : 'main');
  return { clinic: 'main', google: named(google), microsoft: named(microsoft) };
}

/**
 * A calendar server in the operator's private network is reachable only if the settings allow the server. A tenant file cannot allow
 * private networks.
 */
async function askNetwork(asker: Asker): Promise<{ outbound?: object }> {
  const written = await asker.text({
    ...{ id: 'calendarNetwork', ask: 'Private network of the calendar server, if any', isOptional: true },
    why: 'such as 10.1.0.0/16, or 127.0.0.0/8 for this host; empty for a server on the internet',
    check: (text) =>
      network.safeParse(text).success ? undefined : 'enter a network such as 10.1.0.0/16, or leave this field empty',
  });
  return written === '' ? {} : { outbound: { calendars: [written] } };
}

/** Tests the secrets of existing settings. Replaces refused secrets that `init` wrote. */
export async function checkSettings(
  settings: YamlFile,
  registrations: Registrations,
  asker: Asker,
  { dir, tests }: Pick<SettingsTools, 'tests'> & { dir: string },
): Promise<void> {
  const isOurs = (path: readonly string[], { file }: TestedSecret) => settings.valueAt([...path, 'file']) === file;
  const secrets: [path: string[], secret: TestedSecret][] = [[['redis', 'url'], redisSecret(asker, tests)]];
  for (const kind of ['clinic', 'google', 'microsoft'] as const) {
    const name = registrations[kind];
    if (name === null) continue;
    const path = [`${kind}Clients`, name];
    const client = settings.valueAt(path) as Omit<ClientValues, 'kind' | 'clientSecret'>;
    const secret = clientSecret(asker, kind, { kind, ...client } as ClientValues, tests);
    secrets.push([[...path, 'clientSecret'], { ...secret, mayBeAway: true }]);
  }
  for (const [path, secret] of secrets) {
    if (isOurs(path, secret)) await untilAccepted(asker, () => prepareSecret(dir, secret, asker));
  }
}

const REDIS_FILE = join('keys', 'redis-url');

function redisSecret(asker: Asker, tests: Pick<ValueTests, 'redis'>): TestedSecret {
  return {
    ...{ file: REDIS_FILE, what: 'the URL of Redis', mayBeAway: false },
    ask: () =>
      asker.text({
        ...{ id: 'redisUrl', ask: 'URL of Redis', usual: 'redis://127.0.0.1:6379' },
        why: 'stores the state of the daemon; required: appendonly yes, maxmemory-policy noeviction, no other users',
        check: addressOf(['redis:', 'rediss:']),
      }),
    test: tests.redis,
  };
}

type VendorKind = 'google' | 'microsoft';

const SECRET_QUESTIONS: Readonly<Record<'clinic' | VendorKind, Omit<TextQuestion, 'id'> & { what: string }>> = {
  clinic: {
    ...{
      what: 'the client secret of the clinic',
      ask: 'Client secret, if the registration has a secret',
      isOptional: true,
    },
    why: 'stored in keys/clinic-secret, never in a YAML file',
  },
  google: {
    ...{ what: 'the Google client secret', ask: 'Google client secret' },
    why: 'Google also creates a secret for desktop apps',
  },
  microsoft: {
    ...{ what: 'the Microsoft client secret', ask: 'Microsoft client secret', isOptional: true },
    why: 'empty for the platform "mobile and desktop"',
  },
};

function clientSecret(
  asker: Asker,
  kind: 'clinic' | VendorKind,
  client: ClientValues,
  tests: Pick<ValueTests, 'client'>,
): TestedSecret {
  const { what, ...question } = SECRET_QUESTIONS[kind];
  return {
    ...{ file: join('keys', `${kind}-secret`), what, mayBeAway: false },
    ask: () => asker.secret({ id: `${kind}.clientSecret`, ...question }),
    test: (value) => tests.client({ ...client, clientSecret: value === '' ? null : value }),
  };
}

/** Returns the settings of a secret; an empty part for a client without a secret. */
async function secretSettings(
  dir: string,
  asker: Asker,
  client: ClientValues,
  tests: Pick<ValueTests, 'client'>,
): Promise<object> {
  const secret = clientSecret(asker, client.kind, client, tests);
  return (await prepareSecret(dir, secret, asker)) === '' ? {} : { clientSecret: { file: secret.file } };
}

async function askClinic(
  dir: string,
  asker: Asker,
  { tests, profileOf }: SettingsTools,
): Promise<{ settings: object; files: [file: string, content: string][] }> {
  const address = addressOf(['https:', 'http:']);
  const baseUrl = await asker.text({
    ...{ id: 'clinic.baseUrl', ask: questionOf(CLINIC_BASE_URL), check: address },
    why: 'from the vendor of the clinic system, such as https://api.clinic.example',
  });
  const authUrl = await asker.text({
    ...{ id: 'clinic.authUrl', ask: 'URL of the authorization server', check: address },
    why: 'for sign-in; often on another host than the API',
  });
  const clientId = await asker.text({
    ...{ id: 'clinic.clientId', ask: 'Client id in the clinic system' },
    why: 'the registration of this daemon in the clinic system',
  });
  const proof = await secretSettings(dir, asker, { kind: 'clinic', authUrl, clientId, clientSecret: null }, tests);
  const port = await asker.text({
    ...{ id: 'loginPort', ask: 'Port of the registered redirect URL, if the URL has a port', isOptional: true },
    why: '8765 for http://127.0.0.1:8765/callback; empty if the server accepts any port (RFC 8252)',
    check: (text) => (/^\d{1,5}$/.test(text) ? undefined : 'enter a number, or leave this field empty'),
  });
  const document = await asker.text({
    ...{ id: 'clinic.document', ask: "File with the clinic's OpenAPI document, if available", isOptional: true },
    why: 'used to propose the profile of the clinic API; without a document, the profile follows the specification',
  });
  const profile = document === '' ? 'documented' : 'clinic';
  const content = document === '' ? AS_DOCUMENTED : await profileOf(document);
  const settings = {
    ...(port === '' ? {} : { http: { loginPort: Number(port) } }),
    clinicClients: { main: { profile, baseUrl, authUrl, clientId, ...proof } },
  };
  return { settings, files: [[join('profiles', `${profile}.yaml`), content]] };
}

async function askClient(
  dir: string,
  asker: Asker,
  kind: VendorKind,
  tests: Pick<ValueTests, 'client'>,
): Promise<object> {
  const clientId = await asker.text({
    ...{ id: `${kind}.clientId`, ask: `Client id for ${kind === 'google' ? 'Google' : 'Microsoft'}` },
    why: `to register the app, see docs/connect/${kind}.md`,
  });
  const field = kind === 'google' ? 'issuer' : 'authority';
  const address = asker.presetAnswer(`${kind}.${field}`);
  const client = { clientId, ...(address === null ? {} : { [field]: address }) };
  return { ...client, ...(await secretSettings(dir, asker, { kind, clientSecret: null, ...client }, tests)) };
}

/** Returns a check for URLs with one of the protocols. */
export function addressOf(protocols: readonly string[]): (text: string) => string | undefined {
  const words = protocols.map((protocol) => `${protocol}//…`).join(' or ');
  return (text) => (protocols.includes(URL.parse(text)?.protocol ?? '') ? undefined : `enter a URL: ${words}`);
}
