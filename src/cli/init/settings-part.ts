import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { keysAt, type YamlFile } from '../../settings/yaml-file.ts';
import type { Asker } from './asker.ts';
import { SETTINGS_FILE } from './written-files.ts';

/** Kinds of calendars that this command can set up. */
export const CALENDAR_KINDS = ['google', 'microsoft', 'caldav'] as const;
/** One of {@link CALENDAR_KINDS}. */
export type CalendarKind = (typeof CALENDAR_KINDS)[number];

/** What a tenant's file can name of the settings. */
export interface Registrations {
  /** A name of clinicClients. */
  clinic: string;
  /** A name of googleClients, of microsoftClients; null where there is none. */
  google: string | null;
  microsoft: string | null;
}

/** What the settings are made of: files by their path from the directory on. */
export interface MadeSettings {
  files: Map<string, string>;
  registrations: Registrations;
}

/** Size of keys (docs/operating.md, "Set-up"). */
const KEY_BYTES = 32;
const HEAD =
  '# Made by clinic-mirror init. Every key: docs/configuration.md. Secrets stand in keys/, which nobody else may read.\n\n';

const AS_DOCUMENTED =
  '# The clinic answers as its specification suggests. What it does otherwise is written here: docs/clinic-profile.md.\n{}\n';

/** The registrations of settings that are there already. The first of each is meant. */
export function registrationsOf(settings: YamlFile): Registrations | null {
  const first = (section: string) => keysAt(settings, [section])[0] ?? null;
  const clinic = first('clinicClients');
  return clinic === null ? null : { clinic, google: first('googleClients'), microsoft: first('microsoftClients') };
}

/**
 * Asks for what the settings need and makes keys.
 * @param profileOf makes a profile of an OpenAPI document; gives the profile's text
 */
export async function askSettings(
  dir: string,
  asker: Asker,
  profileOf: (document: string) => Promise<string>,
): Promise<MadeSettings> {
  const files = new Map<string, string>();
  const kept = (name: string, value: string) => {
    files.set(join('keys', name), `${value}\n`);
    return { file: join('keys', name) };
  };
  const redisUrl = await asker.text({
    id: 'redisUrl',
    ask: 'Address of Redis',
    why: 'the daemon keeps its state there: appendonly yes, maxmemory-policy noeviction, and nobody else uses it',
    usual: 'redis://127.0.0.1:6379',
    check: addressOf(['redis:', 'rediss:']),
  });
  const clinic = await askClinic(asker, kept, files, profileOf);
  const kinds = await asker.choices({
    id: 'calendarKinds',
    ask: 'Where are the calendars?',
    why: 'for Google and Microsoft an application is registered there first: docs/connect-google.md, docs/connect-microsoft.md',
    choices: [
      { value: 'caldav', label: 'a CalDAV server, such as iCloud, Nextcloud or Fastmail' },
      { value: 'google', label: 'Google Calendar' },
      { value: 'microsoft', label: 'Microsoft 365 (Outlook)' },
    ] satisfies { value: CalendarKind; label: string }[],
  });
  const google = kinds.includes('google') ? await askClient(asker, 'google', 'Google', kept) : null;
  const microsoft = kinds.includes('microsoft') ? await askClient(asker, 'microsoft', 'Microsoft', kept) : null;
  const newKey = () => randomBytes(KEY_BYTES).toString('base64');
  const settings = {
    redis: { url: kept('redis-url', redisUrl) },
    dataDirectory: join(resolve(dir), 'data'),
    secrets: {
      identityKey: kept('identity-key', newKey()),
      sealingKeys: [{ id: 'k1', key: kept('sealing-key-1', newKey()) }],
    },
    ...clinic,
    ...(google === null ? {} : { googleClients: { main: google } }),
    ...(microsoft === null ? {} : { microsoftClients: { main: microsoft } }),
  };
  // Last: with it the directory counts as set up.
  files.set(SETTINGS_FILE, HEAD + stringify(settings));
  const named = (client: object | null) => (client === null ? null : 'main');
  return { files, registrations: { clinic: 'main', google: named(google), microsoft: named(microsoft) } };
}

type Keep = (name: string, value: string) => { file: string };

async function askClinic(
  asker: Asker,
  kept: Keep,
  files: Map<string, string>,
  profileOf: (document: string) => Promise<string>,
): Promise<object> {
  const address = addressOf(['https:', 'http:']);
  const baseUrl = await asker.text({
    ...{ id: 'clinic.baseUrl', ask: 'Address of the clinic API', check: address },
    why: 'whoever runs the clinic system tells it, such as https://api.clinic.example',
  });
  const authUrl = await asker.text({
    ...{ id: 'clinic.authUrl', ask: 'Address of its authorization server', check: address },
    why: 'logins are made there; often another host than the API',
  });
  const clientId = await asker.text({
    ...{ id: 'clinic.clientId', ask: 'Client id at the clinic system' },
    why: 'the registration of this daemon there',
  });
  const secret = await asker.secret({
    ...{ id: 'clinic.clientSecret', ask: 'Client secret, if there is one', isOptional: true },
    why: 'kept in keys/clinic-secret, never in a YAML file',
  });
  const port = await asker.text({
    ...{ id: 'loginPort', ask: 'Port of the registered redirect address, if it names one', isOptional: true },
    why: 'for http://127.0.0.1:8765/callback it is 8765; empty where any port is taken (RFC 8252)',
    check: (text) => (/^\d{1,5}$/.test(text) ? undefined : 'give a number, or nothing'),
  });
  const document = await asker.text({
    ...{ id: 'clinic.document', ask: "File with the clinic's OpenAPI document, if there is one", isOptional: true },
    why: 'the profile that says how the clinic answers is proposed from it; without one it is taken to answer as its specification suggests',
  });
  const profile = document === '' ? 'documented' : 'clinic';
  files.set(join('profiles', `${profile}.yaml`), document === '' ? AS_DOCUMENTED : await profileOf(document));
  const client = { profile, baseUrl, authUrl, clientId };
  return {
    ...(port === '' ? {} : { http: { loginPort: Number(port) } }),
    clinicClients: { main: { ...client, ...(secret === '' ? {} : { clientSecret: kept('clinic-secret', secret) }) } },
  };
}

async function askClient(asker: Asker, id: 'google' | 'microsoft', name: string, kept: Keep): Promise<object> {
  const clientId = await asker.text({
    ...{ id: `${id}.clientId`, ask: `Client id at ${name}` },
    why: `docs/connect-${id}.md says how the application is registered`,
  });
  const secret = await asker.secret({
    ...{ id: `${id}.clientSecret`, ask: `Client secret at ${name}`, isOptional: id === 'microsoft' },
    why: id === 'google' ? 'Google gives one to desktop apps too' : 'none for the platform "mobile and desktop"',
  });
  return { clientId, ...(secret === '' ? {} : { clientSecret: kept(`${id}-secret`, secret) }) };
}

/** An address by one of these protocols. */
export function addressOf(protocols: readonly string[]): (text: string) => string | undefined {
  const words = protocols.map((protocol) => `${protocol}//…`).join(' or ');
  return (text) => (protocols.includes(URL.parse(text)?.protocol ?? '') ? undefined : `give an address: ${words}`);
}
