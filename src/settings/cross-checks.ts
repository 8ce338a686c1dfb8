import { parseTitleFormat, valuesOf } from '../model/title-format.ts';
import { checkEntries } from './calendar-checks.ts';
import { isForOthers } from './common-schemas.ts';
import type { ChannelDescription, ConnectorDescription } from './configuration.ts';
import { checkCrm } from './crm-checks.ts';
import { faultAt } from './describe-issue.ts';
import { didYouMean } from './did-you-mean.ts';
import type { ConfigurationFault } from './faults.ts';
import { checkAddresses } from './outbound-checks.ts';
import type { Outbound } from './outbound-schema.ts';
import { CLINIC_CONNECTION } from './tenant-schema.ts';
import { keysAt, type ValuePath, type YamlFile } from './yaml-file.ts';

/*
 * Checks between parts and files. They read the raw files, so that a fault of one part does not hide those of another; what
 * is missing or of the wrong type is passed over here, since the schema has reported it.
 */

/** Sections of the settings that hold registrations at vendors, with what one of them is called. */
export const CLIENT_SECTIONS = {
  googleClients: 'Google client',
  microsoftClients: 'Microsoft client',
  hubspotClients: 'HubSpot client',
  salesforceClients: 'Salesforce client',
  oauthClients: 'OAuth client',
} as const;

/** A section of {@link CLIENT_SECTIONS}. */
export type ClientSection = keyof typeof CLIENT_SECTIONS;

/** What a registration has to prove who it is, and where it logs in as written. */
export interface KnownClient {
  hasSecret: boolean;
  hasCertificate: boolean;
  loginUrl: unknown;
}

/** Names that a tenant file may refer to; null when the file that defines them could not be read. */
export interface KnownNames {
  clinicClients: readonly string[] | null;
  /** Registrations at vendors, by section of the settings and name. */
  vendorClients: Readonly<Record<ClientSection, ReadonlyMap<string, KnownClient>>> | null;
  connectors: ReadonlyMap<string, ConnectorDescription>;
  reminderChannels: ReadonlyMap<string, ChannelDescription>;
  /** Null when the settings have faults. */
  outbound: Outbound | null;
  /** `http.publicUrl` as written. */
  publicUrl: unknown;
  /** Names of what patients agree to, by clinic client; null for one whose profile could not be read. */
  consents(clinicClient: string): readonly string[] | null;
  /** Whether that client's profile tells the addresses that an entry may show; null as above. */
  links(clinicClient: string): Readonly<Record<'page' | 'teleVisit', boolean>> | null;
}

/** Every clinic client's profile must be there, and the ports must be as what is said of them asks. */
export function checkSettingsReferences(file: YamlFile, profiles: readonly string[]): ConfigurationFault[] {
  const clients = keysAt(file, ['clinicClients']).flatMap((client) =>
    checkName(file, ['clinicClients', client, 'profile'], profiles, 'profile', 'add the file to profiles/'),
  );
  return [...clients, ...checkPublicPort(file), ...checkOperatorPort(file), ...checkAuditLog(file)];
}

/** An address for the outside leads to the port for the outside. */
function checkPublicPort(file: YamlFile): ConfigurationFault[] {
  if (file.valueAt(['http', 'port']) !== undefined) return [];
  const addresses = [
    ['http', 'publicUrl'],
    ['notifications', 'url'],
  ].filter((path) => file.valueAt(path) !== undefined);
  const remedy = 'set http.port to the port that this address leads to, such as 8080: without it none is opened';
  return addresses.map((path) => faultAt(file, path, 'no port is open for this address', remedy));
}

/** This machine alone, as an address to listen on. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Metrics name every tenant and target. */
function checkOperatorPort(file: YamlFile): ConfigurationFault[] {
  const path = ['operator', 'host'];
  const host = file.valueAt(path);
  if (typeof host !== 'string' || LOOPBACK.test(host) || file.valueAt(['operator', 'token']) !== undefined) return [];
  const remedy = 'add operator.token as { env: NAME } or { file: path }, or listen on 127.0.0.1';
  return [faultAt(file, path, 'others than this machine could read the metrics', remedy)];
}

/** What asks for evidence has to have a place for it. */
function checkAuditLog(file: YamlFile): ConfigurationFault[] {
  if (file.valueAt(['dataDirectory']) !== undefined) return [];
  const asking = ['approvals', 'auditLog'].filter((section) => file.valueAt([section]) !== undefined);
  const remedy = 'set dataDirectory: the audit log is kept there';
  return asking.map((section) => faultAt(file, [section], `${section} need a dataDirectory`, remedy));
}

/** Every name in a tenant file must be defined, and what it names must fit. */
export function checkTenantReferences(file: YamlFile, known: KnownNames): ConfigurationFault[] {
  const clients = checkName(
    file,
    ['clinic', 'client'],
    known.clinicClients,
    'clinic client',
    inSettings('clinicClients'),
  );
  const connections = keysAt(file, ['connections']).flatMap((id) => checkLogin(file, ['connections', id], known));
  const targets = keysAt(file, ['targets']).flatMap((id) => targetFaults(file, ['targets', id], known));
  const channels = keysAt(file, ['reminders', 'channels']).flatMap((id) => checkChannel(file, id, known));
  const rules = keysAt(file, ['reminders', 'rules']).flatMap((id) => checkRule(file, id));
  return [
    ...clients,
    ...connections,
    ...targets,
    ...checkDoubleTargets(file),
    ...checkFormerTargets(file),
    ...channels,
    ...rules,
    ...checkLinks(file, known),
    ...checkDoubleEndpoints(file),
    ...checkAddresses(file, known.outbound),
  ];
}

function inSettings(section: string): string {
  return `add it to ${section} in clinic-mirror.yaml`;
}

/** The section that holds the registrations of a kind of connection. */
export const SECTION_OF_KIND: ReadonlyMap<unknown, ClientSection> = new Map([
  ['google', 'googleClients'],
  ['microsoft', 'microsoftClients'],
  ['microsoft-app', 'microsoftClients'],
  ['hubspot', 'hubspotClients'],
  ['salesforce', 'salesforceClients'],
  ['salesforce-app', 'salesforceClients'],
  ['oauth', 'oauthClients'],
]);

/** The client of a connection, of those that its kind uses. */
function checkLogin(file: YamlFile, at: ValuePath, { vendorClients }: KnownNames): ConfigurationFault[] {
  const path = [...at, 'client'];
  const kind = file.valueAt([...at, 'kind']);
  const section = SECTION_OF_KIND.get(kind);
  if (section === undefined || vendorClients === null) return [];
  const clients = vendorClients[section];
  const unknown = checkName(file, path, [...clients.keys()], CLIENT_SECTIONS[section], inSettings(section));
  const name = String(file.valueAt(path));
  const client = clients.get(name);
  if (unknown.length > 0 || client === undefined) return unknown;
  if (kind === 'microsoft-app') return checkMicrosoftApp(file, path, name, client);
  return kind === 'salesforce-app' ? checkSalesforceApp(file, at, name, client) : [];
}

function checkMicrosoftApp(file: YamlFile, path: ValuePath, name: string, client: KnownClient): ConfigurationFault[] {
  if (client.hasSecret || client.hasCertificate) return [];
  const message = `the Microsoft client ${name} can't log in as itself`;
  return [faultAt(file, path, message, 'give it a clientSecret or a certificate in clinic-mirror.yaml')];
}

/** The servers that all organisations share; they take no secret in place of a person. */
const SHARED_LOGIN = /^https:\/\/(login|test)\.salesforce\.com\/*$/;

function checkSalesforceApp(file: YamlFile, at: ValuePath, name: string, client: KnownClient): ConfigurationFault[] {
  const path = [...at, 'client'];
  if (file.valueAt([...at, 'subject']) !== undefined) {
    if (client.hasCertificate) return [];
    const remedy = 'give it a certificate in clinic-mirror.yaml, or leave subject out to log in by its secret';
    return [faultAt(file, path, `the Salesforce client ${name} can't log in as a named user`, remedy)];
  }
  if (!client.hasSecret) {
    const remedy = 'give it a clientSecret in clinic-mirror.yaml, or name a subject to log in by its certificate';
    return [faultAt(file, path, `the Salesforce client ${name} can't log in without a person`, remedy)];
  }
  const { loginUrl } = client;
  if (loginUrl !== undefined && !SHARED_LOGIN.test(String(loginUrl))) return [];
  const remedy =
    "set its loginUrl in clinic-mirror.yaml to the organisation's own address, such as https://example.my.salesforce.com";
  return [faultAt(file, path, `the Salesforce client ${name} logs in where its secret alone is not taken`, remedy)];
}

/** A channel of reminders must be of a kind that there is, and what it asks consent to must be read from the clinic. */
function checkChannel(file: YamlFile, id: string, known: KnownNames): ConfigurationFault[] {
  const at = ['reminders', 'channels', id];
  const kinds = [...known.reminderChannels.keys()];
  const consents = known.consents(String(file.valueAt(['clinic', 'client'])));
  return [
    ...checkName(file, [...at, 'kind'], kinds, 'kind of channel', 'choose one of these'),
    ...checkName(file, [...at, 'consent'], consents, 'consent', 'add it to patients.consents in the clinic profile'),
  ];
}

/** Links in reminders lead to the daemon, so patients must be able to reach it. */
function checkLinks(file: YamlFile, { publicUrl }: KnownNames): ConfigurationFault[] {
  const at = ['reminders', 'links'];
  if (file.valueAt(at) === undefined || isForOthers(String(publicUrl))) return [];
  const remedy =
    'set http.publicUrl in clinic-mirror.yaml to an https address that patients can reach, or leave links out';
  return [faultAt(file, at, 'links in reminders need a public address', remedy)];
}

/** One receiver under two names would be told of each document twice, under two ids. */
function checkDoubleEndpoints(file: YamlFile): ConfigurationFault[] {
  const at = ['triggers', 'endpoints'];
  const names = keysAt(file, at);
  const eventsOf = (name: string) => {
    const events = file.valueAt([...at, name, 'events']);
    return Array.isArray(events) ? events : [];
  };
  return names.flatMap((name, index) => {
    const url = file.valueAt([...at, name, 'url']);
    const twin = names.slice(0, index).find((other) => {
      const isSame = url !== undefined && file.valueAt([...at, other, 'url']) === url;
      return isSame && eventsOf(other).some((event) => eventsOf(name).includes(event));
    });
    if (twin === undefined) return [];
    const message = `is the same address as the endpoint ${twin}, with the same events`;
    return [faultAt(file, [...at, name], message, 'give them different events or addresses, or remove one')];
  });
}

/** A rule's channels must be defined beside it. */
function checkRule(file: YamlFile, id: string): ConfigurationFault[] {
  const at = ['reminders', 'rules', id, 'channels'];
  const named = file.valueAt(at);
  const known = keysAt(file, ['reminders', 'channels']);
  return (Array.isArray(named) ? named : []).flatMap((_, index) =>
    checkName(file, [...at, index], known, 'channel', 'add it to reminders.channels'),
  );
}

function targetFaults(file: YamlFile, at: ValuePath, known: KnownNames): ConfigurationFault[] {
  const connectors = [...known.connectors.keys()];
  return [
    ...checkName(file, [...at, 'connector'], connectors, 'connector', 'choose one of these'),
    ...checkConnection(file, at, known),
    ...checkTitle(file, at),
    ...checkTitleFormat(file, at),
    ...checkEntries(file, at, known),
    ...checkParts(file, at, known),
    ...checkCrm(file, at, known),
  ];
}

const OF_CALENDARS = [
  ...['title', 'titleReason', 'titleFormat', 'fields', 'free', 'tentative'],
  ...['visibility', 'labels', 'reminderMinutes', 'links'],
];

/** A calendar names its agendas and has no part for a CRM; a CRM has one, and shows nothing as a calendar does. */
function checkParts(file: YamlFile, at: ValuePath, known: KnownNames): ConfigurationFault[] {
  const name = String(file.valueAt([...at, 'connector']));
  const connector = known.connectors.get(name);
  if (connector === undefined) return [];
  const has = (key: string) => file.valueAt([...at, key]) !== undefined;
  if (connector.holds === 'events') {
    const stray = has('crm') ? [faultAt(file, [...at, 'crm'], `${name} is a calendar`, 'remove crm')] : [];
    const agendas = 'name the ids of the agendas that go into this calendar, or all';
    return has('agendas') ? stray : [...stray, faultAt(file, at, 'agendas are not named', agendas)];
  }
  const ofCalendars = OF_CALENDARS.filter(has);
  const stray = ofCalendars.map((key) =>
    faultAt(file, [...at, key], `${key} is for calendars`, 'remove it: crm.mapping says what a CRM is told'),
  );
  if (has('crm')) return [...stray, ...checkStream(file, [...at, 'crm', 'stream'], connector)];
  return [...stray, faultAt(file, at, 'the part crm is missing', 'add crm with a mapping: what each property holds')];
}

function checkStream(file: YamlFile, at: ValuePath, { streams }: ConnectorDescription): ConfigurationFault[] {
  const stream = file.valueAt(at) ?? 'patients';
  if (typeof stream !== 'string' || streams.some((known) => known === stream)) return [];
  return [faultAt(file, at, `this connector can't follow ${stream}`, `choose one of ${streams.join(', ')}`)];
}

function checkConnection(file: YamlFile, at: ValuePath, known: KnownNames): ConfigurationFault[] {
  const path = [...at, 'connection'];
  const name = file.valueAt(path);
  if (name === CLINIC_CONNECTION) {
    return [faultAt(file, path, 'the login to the clinic can write to no target', 'name one of connections')];
  }
  const unknown = checkName(file, path, keysAt(file, ['connections']), 'connection', 'add it to connections');
  if (unknown.length > 0 || typeof name !== 'string') return unknown;
  const connector = known.connectors.get(String(file.valueAt([...at, 'connector'])));
  const kind = file.valueAt(['connections', name, 'kind']);
  if (connector === undefined || typeof kind !== 'string' || connector.connectionKinds.includes(kind)) return [];
  const message = `the connection ${name} is of the kind ${kind}, which this connector can't use`;
  return [faultAt(file, path, message, `name a connection of the kind ${connector.connectionKinds.join(' or ')}`)];
}

/** Titles that tell of the patient need a reason in writing. */
function checkTitle(file: YamlFile, at: ValuePath): ConfigurationFault[] {
  const title = file.valueAt([...at, 'title']);
  if (title !== 'initials' && title !== 'full') return [];
  if (file.valueAt([...at, 'titleReason']) !== undefined) return [];
  const remedy = 'add titleReason: who decided it and on what ground; or choose a title that tells nothing of patients';
  return [faultAt(file, [...at, 'title'], `the title ${title} tells of the patient, and no reason is given`, remedy)];
}

/** A title tells of an appointment what the target's fields allow, and no more. */
function checkTitleFormat(file: YamlFile, at: ValuePath): ConfigurationFault[] {
  const path = [...at, 'titleFormat'];
  const format = file.valueAt(path);
  const fields = file.valueAt([...at, 'fields']);
  const allowed = ['title', ...(Array.isArray(fields) ? fields : [])];
  const values = typeof format === 'string' ? valuesOf(parseTitleFormat(format) ?? []) : [];
  const stray = values.find((value) => !allowed.includes(value));
  if (stray === undefined) return [];
  return [
    faultAt(
      file,
      path,
      `titles would tell the ${stray}, which is not among fields`,
      `add ${stray} to fields, or leave it out`,
    ),
  ];
}

/** What is kept under a target's name, and carries its owner tag, is of one target alone. */
function checkFormerTargets(file: YamlFile): ConfigurationFault[] {
  const ids = keysAt(file, ['targets']);
  const formerOf = (id: string) => file.valueAt(['targets', id, 'formerly']);
  return ids.flatMap((id, index) => {
    const former = formerOf(id);
    if (typeof former !== 'string' || former === id) return [];
    const twin = ids.includes(former) ? former : ids.slice(0, index).find((other) => formerOf(other) === former);
    if (twin === undefined) return [];
    const message = twin === former ? `there is a target ${twin}` : `the target ${twin} was formerly the same`;
    const remedy = 'remove formerly: the entries under a name are of one target alone';
    return [faultAt(file, ['targets', id, 'formerly'], message, remedy)];
  });
}

/** One calendar that is fed twice with the same agenda would show each of its appointments twice. */
function checkDoubleTargets(file: YamlFile): ConfigurationFault[] {
  const ids = keysAt(file, ['targets']);
  return ids.flatMap((id, index) => {
    const twin = ids.slice(0, index).find((other) => isSameUse(file, id, other));
    if (twin === undefined) return [];
    const isCrm = file.valueAt(['targets', id, 'crm']) !== undefined;
    const message = isCrm
      ? `writes the same records into the same CRM as the target ${twin}`
      : `writes to the same calendar as the target ${twin}, with the same agendas`;
    const remedy = isCrm
      ? 'remove one: each record would be there twice'
      : 'give them different agendas or calendars, or remove one';
    return [faultAt(file, ['targets', id], message, remedy)];
  });
}

function isSameUse(file: YamlFile, one: string, other: string): boolean {
  const of = (target: string, ...part: string[]) => file.valueAt(['targets', target, ...part]);
  const isSame = (...part: string[]) => sortedJson(of(one, ...part)) === sortedJson(of(other, ...part));
  const [first, second] = [of(one, 'crm'), of(other, 'crm')];
  if (first === undefined || second === undefined) {
    const isThere = ['connector', 'connection', 'settings'].every(
      (part) => of(one, part) !== undefined && isSame(part),
    );
    return isThere && doOverlap(of(one, 'agendas'), of(other, 'agendas'));
  }
  const [stream, otherStream] = [one, other].map((target) => of(target, 'crm', 'stream') ?? 'patients');
  if (stream !== otherStream || !['connector', 'connection', 'settings'].every((part) => isSame(part))) return false;
  return stream !== 'appointments' || doOverlap(of(one, 'agendas') ?? 'all', of(other, 'agendas') ?? 'all');
}

function doOverlap(one: unknown, other: unknown): boolean {
  if (one === 'all' || other === 'all') return true;
  return Array.isArray(one) && Array.isArray(other) && one.some((id) => other.includes(id));
}

/** JSON in which the order of keys does not matter. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function checkName(
  file: YamlFile,
  path: ValuePath,
  known: readonly string[] | null,
  what: string,
  remedy: string,
): ConfigurationFault[] {
  const name = file.valueAt(path);
  if (typeof name !== 'string' || known === null || known.includes(name)) return [];
  const guess = didYouMean(name, known);
  const list = known.length === 0 ? `there is no ${what} yet` : `there are: ${known.join(', ')}`;
  const question = guess === null ? '' : `did you mean ${guess}? `;
  return [faultAt(file, path, `there is no ${what} ${JSON.stringify(name)}`, `${question}${list}; ${remedy}`)];
}
