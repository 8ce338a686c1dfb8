import { parseTitleFormat, valuesOf } from '../model/title-format.ts';
import { isForOthers } from './common-schemas.ts';
import type { ChannelDescription, ConnectorDescription } from './configuration.ts';
import { checkCrm } from './crm-checks.ts';
import { FilePart } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import { checkAddresses } from './outbound-checks.ts';
import type { Outbound } from './outbound-schema.ts';
import { CLINIC_CONNECTION, FREE_BY_DEFAULT } from './tenant-schema.ts';
import type { YamlFile } from './yaml-file.ts';

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
export interface RegisteredClient {
  hasSecret: boolean;
  hasCertificate: boolean;
  loginUrl: unknown;
}

/** Names that a tenant file may refer to; null when the file that defines them could not be read. */
export interface DefinedNames {
  clinicClients: readonly string[] | null;
  /** Registrations at vendors, by section of the settings and name. */
  vendorClients: Readonly<Record<ClientSection, ReadonlyMap<string, RegisteredClient>>> | null;
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

/** Finds the faults of one part of a file. */
type Check<Names> = (part: FilePart, definedNames: Names) => Iterable<ConfigurationFault>;
/** Checks with the parts that they look at, as {@link FilePart.matching} takes them. */
type Checks<Names> = readonly (readonly [pattern: string, check: Check<Names>])[];

const SETTINGS_CHECKS: Checks<readonly string[]> = [
  ['clinicClients.*.profile', (part, profiles) => part.unknownName(profiles, 'profile', 'add the file to profiles/')],
  ['http.publicUrl', checkPublicPort],
  ['notifications.url', checkPublicPort],
  ['operator', checkOperatorPort],
  ['approvals', checkAuditLog],
  ['auditLog', checkAuditLog],
];

const TENANT_CHECKS: Checks<DefinedNames> = [
  [
    'clinic.client',
    (part, definedNames) => part.unknownName(definedNames.clinicClients, 'clinic client', inSettings('clinicClients')),
  ],
  ['connections.*', checkLogin],
  ['targets.*.connector', (part, { connectors }) => part.unknownName([...connectors.keys()], 'connector', CHOOSE)],
  ['targets.*', checkConnection],
  ['targets.*', checkTitle],
  ['targets.*', checkTitleFormat],
  ['targets.*', checkTentative],
  ['targets.*.links', checkShownLinks],
  ['targets.*', checkPresets],
  ['targets.*', checkParts],
  ['targets.*', checkCrm],
  ['targets', checkDoubleTargets],
  ['targets', checkFormerTargets],
  [
    'reminders.channels.*.kind',
    (part, { reminderChannels }) => part.unknownName([...reminderChannels.keys()], 'kind of channel', CHOOSE),
  ],
  [
    'reminders.channels.*.consent',
    (part, { consents }) =>
      part.unknownName(consents(clientOf(part)), 'consent', 'add it to patients.consents in the clinic profile'),
  ],
  [
    'reminders.rules.*.channels.*',
    (part) =>
      part.unknownName(
        new FilePart(part.file, ['reminders', 'channels']).names,
        'channel',
        'add it to reminders.channels',
      ),
  ],
  ['reminders.links', checkReminderLinks],
  ['triggers.endpoints', checkDoubleEndpoints],
  ['', checkAddresses],
];

const CHOOSE = 'choose one of these';

function inSettings(section: string): string {
  return `add it to ${section} in clinic-mirror.yaml`;
}

/** The clinic client of the tenant that a part belongs to, as written. */
function clientOf({ file }: FilePart): string {
  return String(file.valueAt(['clinic', 'client']));
}

/** Every clinic client's profile must be there, and the ports must be as what is said of them asks. */
export function checkSettingsReferences(file: YamlFile, profiles: readonly string[]): ConfigurationFault[] {
  return faultsOf(SETTINGS_CHECKS, file, profiles);
}

/** Every name in a tenant file must be defined, and what it names must fit. */
export function checkTenantReferences(file: YamlFile, definedNames: DefinedNames): ConfigurationFault[] {
  return faultsOf(TENANT_CHECKS, file, definedNames);
}

function faultsOf<Names>(checks: Checks<Names>, file: YamlFile, definedNames: Names): ConfigurationFault[] {
  return checks.flatMap(([pattern, check]) =>
    [...new FilePart(file).matching(pattern)].flatMap((part) => [...check(part, definedNames)]),
  );
}

/** A URL for the outside leads to the port for the outside. */
function* checkPublicPort(url: FilePart): Generator<ConfigurationFault> {
  if (url.isMissing || url.file.valueAt(['http', 'port']) !== undefined) return;
  const remedy = 'set http.port to the port that this address leads to, such as 8080: without it none is opened';
  yield url.fault('no port is open for this address', remedy);
}

/** This machine alone, as an address to listen on. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Metrics name every tenant and target. */
function* checkOperatorPort(operator: FilePart): Generator<ConfigurationFault> {
  const host = operator.at('host');
  if (host.text === null || LOOPBACK.test(host.text) || !operator.at('token').isMissing) return;
  const remedy = 'add operator.token as { env: NAME } or { file: path }, or listen on 127.0.0.1';
  yield host.fault('others than this machine could read the metrics', remedy);
}

/** What asks for evidence has to have a place for it. */
function* checkAuditLog(section: FilePart): Generator<ConfigurationFault> {
  if (section.isMissing || section.file.valueAt(['dataDirectory']) !== undefined) return;
  const message = `${section.path.join('.')} need a dataDirectory`;
  yield section.fault(message, 'set dataDirectory: the audit log is kept there');
}

/** The servers that all organisations share; they take no secret in place of a person. */
const SHARED_LOGIN = /^https:\/\/(login|test)\.salesforce\.com\/*$/;

/** The client of a connection, of those that its kind uses. */
function* checkLogin(connection: FilePart, { vendorClients }: DefinedNames): Generator<ConfigurationFault> {
  const part = connection.at('client');
  const kind = connection.at('kind').value;
  const section = SECTION_OF_KIND.get(kind);
  if (section === undefined || vendorClients === null) return;
  const clients = vendorClients[section];
  yield* part.unknownName([...clients.keys()], CLIENT_SECTIONS[section], inSettings(section));
  const name = String(part.value);
  const client = clients.get(name);
  if (client === undefined) return;
  if (kind === 'microsoft-app' && !client.hasSecret && !client.hasCertificate) {
    const message = `the Microsoft client ${name} can't log in as itself`;
    yield part.fault(message, 'give it a clientSecret or a certificate in clinic-mirror.yaml');
  }
  if (kind !== 'salesforce-app') return;
  if (!connection.at('subject').isMissing) {
    if (client.hasCertificate) return;
    const remedy = 'give it a certificate in clinic-mirror.yaml, or leave subject out to log in by its secret';
    yield part.fault(`the Salesforce client ${name} can't log in as a named user`, remedy);
  } else if (!client.hasSecret) {
    const remedy = 'give it a clientSecret in clinic-mirror.yaml, or name a subject to log in by its certificate';
    yield part.fault(`the Salesforce client ${name} can't log in without a person`, remedy);
  } else if (client.loginUrl === undefined || SHARED_LOGIN.test(String(client.loginUrl))) {
    const remedy =
      "set its loginUrl in clinic-mirror.yaml to the organisation's own address, such as https://example.my.salesforce.com";
    yield part.fault(`the Salesforce client ${name} logs in where its secret alone is not taken`, remedy);
  }
}

/** Links in reminders lead to the daemon, so patients must be able to reach it. */
function* checkReminderLinks(links: FilePart, { publicUrl }: DefinedNames): Generator<ConfigurationFault> {
  if (links.isMissing || isForOthers(String(publicUrl))) return;
  const remedy =
    'set http.publicUrl in clinic-mirror.yaml to an https address that patients can reach, or leave links out';
  yield links.fault('links in reminders need a public address', remedy);
}

/** One receiver under two names would be told of each document twice, under two ids. */
function* checkDoubleEndpoints(endpoints: FilePart): Generator<ConfigurationFault> {
  const { names } = endpoints;
  const isSame = (one: FilePart, other: FilePart) =>
    !one.at('url').isMissing &&
    one.at('url').value === other.at('url').value &&
    other.at('events').list.some((event) => one.at('events').list.includes(event));
  for (const [index, name] of names.entries()) {
    const first = names.slice(0, index).find((other) => isSame(endpoints.at(name), endpoints.at(other)));
    if (first === undefined) continue;
    const message = `is the same address as the endpoint ${first}, with the same events`;
    yield endpoints.at(name).fault(message, 'give them different events or addresses, or remove one');
  }
}

const OF_CALENDARS = [
  ...['title', 'titleReason', 'titleFormat', 'fields', 'free', 'tentative'],
  ...['visibility', 'labels', 'reminderMinutes', 'links'],
];

/** A calendar names its agendas and has no part for a CRM; a CRM has one, and shows nothing as a calendar does. */
function* checkParts(target: FilePart, { connectors }: DefinedNames): Generator<ConfigurationFault> {
  const name = String(target.at('connector').value);
  const connector = connectors.get(name);
  if (connector === undefined) return;
  const crm = target.at('crm');
  if (connector.holds === 'events') {
    if (!crm.isMissing) yield crm.fault(`${name} is a calendar`, 'remove crm');
    const remedy = 'name the ids of the agendas that go into this calendar, or all';
    if (target.at('agendas').isMissing) yield target.fault('agendas are not named', remedy);
    return;
  }
  for (const key of OF_CALENDARS) {
    if (target.at(key).isMissing) continue;
    yield target.at(key).fault(`${key} is for calendars`, 'remove it: crm.mapping says what a CRM is told');
  }
  if (crm.isMissing) {
    yield target.fault('the part crm is missing', 'add crm with a mapping: what each property holds');
    return;
  }
  const { streams } = connector;
  const stream = crm.at('stream').value ?? 'patients';
  if (typeof stream !== 'string' || streams.includes(stream)) return;
  yield crm.at('stream').fault(`this connector can't follow ${stream}`, `choose one of ${streams.join(', ')}`);
}

function* checkConnection(target: FilePart, { connectors }: DefinedNames): Generator<ConfigurationFault> {
  const part = target.at('connection');
  const name = part.text;
  if (name === null) return;
  if (name === CLINIC_CONNECTION) {
    yield part.fault('the login to the clinic can write to no target', 'name one of connections');
    return;
  }
  const connections = new FilePart(target.file, ['connections']);
  yield* part.unknownName(connections.names, 'connection', 'add it to connections');
  const kind = connections.at(name, 'kind').text;
  const kinds = connectors.get(String(target.at('connector').value))?.connectionKinds;
  if (kinds === undefined || kind === null || kinds.includes(kind)) return;
  const message = `the connection ${name} is of the kind ${kind}, which this connector can't use`;
  yield part.fault(message, `name a connection of the kind ${kinds.join(' or ')}`);
}

/** Titles that tell of the patient need a reason in writing. */
function* checkTitle(target: FilePart): Generator<ConfigurationFault> {
  const title = target.at('title');
  if ((title.value !== 'initials' && title.value !== 'full') || !target.at('titleReason').isMissing) return;
  const remedy = 'add titleReason: who decided it and on what ground; or choose a title that tells nothing of patients';
  yield title.fault(`the title ${title.value} tells of the patient, and no reason is given`, remedy);
}

/** A title tells of an appointment what the target's fields allow, and no more. */
function* checkTitleFormat(target: FilePart): Generator<ConfigurationFault> {
  const format = target.at('titleFormat');
  const allowed = ['title', ...target.at('fields').list];
  const stray = valuesOf(parseTitleFormat(format.text ?? '') ?? []).find((value) => !allowed.includes(value));
  if (stray === undefined) return;
  const message = `titles would tell the ${stray}, which is not among fields`;
  yield format.fault(message, `add ${stray} to fields, or leave it out`);
}

/** An appointment blocks its time, leaves it free, or is tentative. */
function* checkTentative(target: FilePart): Generator<ConfigurationFault> {
  const tentative = target.at('tentative');
  const free = target.at('free').isMissing ? FREE_BY_DEFAULT : target.at('free').list;
  const both = tentative.list.find((status) => free.some((one) => one === status));
  if (both === undefined) return;
  yield tentative.fault(`${both} is among free too, which is ${free.join(', ')}`, 'name each status in one of the two');
}

/** A profile that has no URL for it leaves nothing to show. */
function* checkShownLinks(links: FilePart, definedNames: DefinedNames): Generator<ConfigurationFault> {
  const inProfile = definedNames.links(clientOf(links));
  for (const name of links.list) {
    if (inProfile?.[name as keyof typeof inProfile] !== false) continue;
    const key = `appointments.${name === 'page' ? 'pageUrl' : 'teleVisitUrl'}`;
    yield links.fault(`the clinic profile tells no address for ${name}`, `set ${key} there, or leave it out`);
  }
}

/** What a vendor has no place for can't be asked of it. */
function* checkPresets(target: FilePart, { connectors }: DefinedNames): Generator<ConfigurationFault> {
  const name = String(target.at('connector').value);
  const connector = connectors.get(name);
  if (connector?.holds !== 'events') return;
  const refused: [preset: string, parts: Iterable<FilePart>, remedy: string][] = [
    ['colour', target.matching('labels.*.colour'), 'give a category, whose colour is chosen in the calendar'],
    ['category', target.matching('labels.*.category'), 'give a colour'],
    [
      'noAlert',
      target.at('reminderMinutes').value === 'none' ? [target.at('reminderMinutes')] : [],
      'leave it out: entries are made without reminders',
    ],
  ];
  for (const [preset, parts, remedy] of refused) {
    if (connector.supports.presets?.includes(preset) === true) continue;
    for (const part of parts) if (!part.isMissing) yield part.fault(`${name} has no place for it`, remedy);
  }
}

/** What is kept under a target's name, and carries its owner tag, is of one target alone. */
function* checkFormerTargets(targets: FilePart): Generator<ConfigurationFault> {
  const { names } = targets;
  const formerOf = (name: string) => targets.at(name, 'formerly');
  for (const [index, name] of names.entries()) {
    const former = formerOf(name).text;
    if (former === null || former === name) continue;
    const first = names.includes(former)
      ? former
      : names.slice(0, index).find((other) => formerOf(other).text === former);
    if (first === undefined) continue;
    const message = first === former ? `there is a target ${first}` : `the target ${first} was formerly the same`;
    yield formerOf(name).fault(message, 'remove formerly: the entries under a name are of one target alone');
  }
}

/** One calendar that is fed twice with the same agenda would show each of its appointments twice. */
function* checkDoubleTargets(targets: FilePart): Generator<ConfigurationFault> {
  const { names } = targets;
  for (const [index, name] of names.entries()) {
    const target = targets.at(name);
    const first = names.slice(0, index).find((other) => isSameUse(target, targets.at(other)));
    if (first === undefined) continue;
    if (target.at('crm').isMissing) {
      const message = `writes to the same calendar as the target ${first}, with the same agendas`;
      yield target.fault(message, 'give them different agendas or calendars, or remove one');
    } else {
      const message = `writes the same records into the same CRM as the target ${first}`;
      yield target.fault(message, 'remove one: each record would be there twice');
    }
  }
}

function isSameUse(one: FilePart, other: FilePart): boolean {
  const parts = ['connector', 'connection', 'settings'];
  if (!parts.every((part) => sortedJson(one.at(part).value) === sortedJson(other.at(part).value))) return false;
  const [agendas, otherAgendas] = [one.at('agendas').value, other.at('agendas').value];
  if (one.at('crm').isMissing || other.at('crm').isMissing) {
    return parts.every((part) => !one.at(part).isMissing) && doOverlap(agendas, otherAgendas);
  }
  const [stream, otherStream] = [one, other].map((target) => target.at('crm', 'stream').value ?? 'patients');
  if (stream !== otherStream) return false;
  return stream !== 'appointments' || doOverlap(agendas ?? 'all', otherAgendas ?? 'all');
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
