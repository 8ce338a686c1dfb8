import { atOnce, type Pieces } from '../core/model/pieces.ts';
import { valuesOf } from '../core/model/text-format.ts';
import { message, type Text, withRemedy } from '../messages/message.ts';
import { isForOthers } from './common-schemas.ts';
import type { ChannelDescription, ConnectorDescription } from './configuration.ts';
import { checkCrm } from './crm-checks.ts';
import { FilePart } from './describe-issue.ts';
import { parseTitleFormat } from './event-fields.ts';
import type { ConfigurationFault } from './faults.ts';
import { checkAddresses } from './outbound-checks.ts';
import type { Outbound } from './outbound-schema.ts';
import { CLINIC_CONNECTION, FREE_BY_DEFAULT } from './tenant-schema.ts';
import { checkDoubleEndpoints, checkDoubleTargets, checkFormerTargets } from './twin-checks.ts';
import type { YamlFile } from './yaml-file.ts';

/*
 * Checks between parts and files. Checks read the raw files, so that a fault does not hide others. Missing or wrongly typed parts are
 * skipped, because the schema reports them.
 */

/** Settings sections with vendor registrations, and the vendors' names. */
export const CLIENT_SECTIONS = {
  googleClients: 'Google',
  microsoftClients: 'Microsoft',
  hubspotClients: 'HubSpot',
  salesforceClients: 'Salesforce',
  oauthClients: 'OAuth',
} as const;

export type ClientSection = keyof typeof CLIENT_SECTIONS;

/** Credentials of a registration and its authorization URL as written. */
export interface RegisteredClient {
  hasSecret: boolean;
  hasCertificate: boolean;
  loginUrl: unknown;
}

/** Names for use in a tenant file; null if the defining file is unreadable. */
export interface DefinedNames {
  clinicClients: readonly string[] | null;
  /** Vendor registrations by settings section and name. */
  vendorClients: Readonly<Record<ClientSection, ReadonlyMap<string, RegisteredClient>>> | null;
  connectors: ReadonlyMap<string, ConnectorDescription>;
  reminderChannels: ReadonlyMap<string, ChannelDescription>;
  /** Null if the settings have faults. */
  outbound: Outbound | null;
  /** `http.publicUrl` as written. */
  publicUrl: unknown;
  /** Consent names by clinic client; null if the profile is unreadable. */
  consents(clinicClient: string): readonly string[] | null;
  /** Whether the client's profile provides the URLs for events; null if the profile is unreadable. */
  links(clinicClient: string): Readonly<Record<'page' | 'teleVisit', boolean>> | null;
}

/** Section with the registrations for a kind of connection. */
export const SECTION_OF_KIND: ReadonlyMap<unknown, ClientSection> = new Map([
  ['google', 'googleClients'],
  ['microsoft', 'microsoftClients'],
  ['microsoft-app', 'microsoftClients'],
  ['hubspot', 'hubspotClients'],
  ['salesforce', 'salesforceClients'],
  ['salesforce-app', 'salesforceClients'],
  ['oauth', 'oauthClients'],
]);

/** Finds the faults of a part; undefined for a break. */
type Check<Names> = (part: FilePart, definedNames: Names) => Iterable<ConfigurationFault | undefined>;
/** Checks with patterns for {@link FilePart.matching}. */
type Checks<Names> = readonly (readonly [pattern: string, check: Check<Names>])[];

const SETTINGS_CHECKS: Checks<readonly string[]> = [
  [
    'clinicClients.*.profile',
    (part, profiles) => part.unknownName(profiles, message('settings.a-profile'), message('settings.add-profile')),
  ],
  ['http.publicUrl', checkPublicPort],
  ['notifications.url', checkPublicPort],
  ['operator', checkOperatorPort],
  ['approvals', checkAuditLog],
  ['auditLog', checkAuditLog],
];

const TENANT_CHECKS: Checks<DefinedNames> = [
  [
    'clinic.client',
    (part, definedNames) =>
      part.unknownName(definedNames.clinicClients, message('settings.a-clinic-client'), inSettings('clinicClients')),
  ],
  ['connections.*', checkLogin],
  [
    'targets.*.connector',
    (part, { connectors }) => part.unknownName([...connectors.keys()], message('settings.a-connector'), CHOOSE),
  ],
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
    (part, { reminderChannels }) =>
      part.unknownName([...reminderChannels.keys()], message('settings.a-channel-kind'), CHOOSE),
  ],
  [
    'reminders.channels.*.consent',
    (part, { consents }) =>
      part.unknownName(consents(clientOf(part)), message('settings.a-consent'), message('mapping.add-consent')),
  ],
  [
    'reminders.rules.*.channels.*',
    (part) =>
      part.unknownName(
        new FilePart(part.file, ['reminders', 'channels']).names,
        message('settings.a-channel'),
        message('settings.add-channel'),
      ),
  ],
  ['reminders.links', checkReminderLinks],
  ['triggers.endpoints', checkDoubleEndpoints],
  ['', checkAddresses],
];

const CHOOSE = message('settings.choose');

function inSettings(section: string): Text {
  return message('settings.add-to', { section });
}

/** Returns the tenant's clinic client as written. */
function clientOf({ file }: FilePart): string {
  return String(file.valueAt(['clinic', 'client']));
}

/** Checks that the profile of every clinic client exists, and that the ports match their options. */
export function checkSettingsReferences(file: YamlFile, profiles: readonly string[]): ConfigurationFault[] {
  return atOnce(faultsOf(SETTINGS_CHECKS, file, profiles));
}

/** Checks that names in a tenant file are defined and match. */
export function checkTenantReferences(file: YamlFile, definedNames: DefinedNames): Pieces<ConfigurationFault[]> {
  return faultsOf(TENANT_CHECKS, file, definedNames);
}

/** Parts without a break. A break takes longer than the check of a small part. */
const PARTS_AT_ONCE = 16;

/** A break follows each fault, because a suggestion compares with many names. */
function* faultsOf<Names>(checks: Checks<Names>, file: YamlFile, definedNames: Names): Pieces<ConfigurationFault[]> {
  const faults: ConfigurationFault[] = [];
  let parts = 0;
  for (const [pattern, check] of checks) {
    for (const part of new FilePart(file).matching(pattern)) {
      for (const fault of check(part, definedNames)) {
        if (fault !== undefined) faults.push(fault);
        yield;
      }
      parts += 1;
      if (parts % PARTS_AT_ONCE === 0) yield;
    }
  }
  return faults;
}

/** A public URL requires the public port. */
function* checkPublicPort(url: FilePart): Generator<ConfigurationFault> {
  if (url.isMissing || url.file.valueAt(['http', 'port']) !== undefined) return;
  yield url.fault(...withRemedy('settings.public-port'));
}

/** A loopback IP address for listening. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Metrics contain the names of all tenants and targets. */
function* checkOperatorPort(operator: FilePart): Generator<ConfigurationFault> {
  const host = operator.at('host');
  if (host.text === null || LOOPBACK.test(host.text) || !operator.at('token').isMissing) return;
  yield host.fault(...withRemedy('settings.open-metrics'));
}

/** A required audit log needs a directory. */
function* checkAuditLog(section: FilePart): Generator<ConfigurationFault> {
  if (section.isMissing || section.file.valueAt(['dataDirectory']) !== undefined) return;
  yield section.fault(...withRemedy('settings.data-directory', { section: section.path.join('.') }));
}

/** Servers shared by all organisations, which accept no secret without a user. */
const SHARED_LOGIN = /^https:\/\/(login|test)\.salesforce\.com\/*$/;

/** Checks the client of a connection, by kind. */
function* checkLogin(connection: FilePart, { vendorClients }: DefinedNames): Generator<ConfigurationFault> {
  const part = connection.at('client');
  const kind = connection.at('kind').value;
  const section = SECTION_OF_KIND.get(kind);
  if (section === undefined || vendorClients === null) return;
  const clients = vendorClients[section];
  yield* part.unknownName(
    [...clients.keys()],
    message('settings.a-vendor-client', { vendor: CLIENT_SECTIONS[section] }),
    inSettings(section),
  );
  const name = String(part.value);
  const client = clients.get(name);
  if (client === undefined) return;
  if (kind === 'microsoft-app' && !client.hasSecret && !client.hasCertificate) {
    yield part.fault(...withRemedy('settings.microsoft-app', { name }));
  }
  if (kind !== 'salesforce-app') return;
  if (!connection.at('subject').isMissing) {
    if (client.hasCertificate) return;
    yield part.fault(...withRemedy('settings.salesforce-subject', { name }));
  } else if (!client.hasSecret) {
    yield part.fault(...withRemedy('settings.salesforce-secret', { name }));
  } else if (client.loginUrl === undefined || SHARED_LOGIN.test(String(client.loginUrl))) {
    yield part.fault(...withRemedy('settings.salesforce-url', { name }));
  }
}

/** Reminder links point to the daemon, so patients need a public URL. */
function* checkReminderLinks(links: FilePart, { publicUrl }: DefinedNames): Generator<ConfigurationFault> {
  if (links.isMissing || isForOthers(String(publicUrl))) return;
  yield links.fault(...withRemedy('settings.reminder-links'));
}

const OF_CALENDARS = [
  ...['title', 'titleReason', 'titleFormat', 'fields', 'free', 'tentative'],
  ...['visibility', 'labels', 'reminderMinutes', 'links'],
];

/** A calendar requires agendas and no CRM part; a CRM requires a CRM part and no calendar options. */
function* checkParts(target: FilePart, { connectors }: DefinedNames): Generator<ConfigurationFault> {
  const name = String(target.at('connector').value);
  const connector = connectors.get(name);
  if (connector === undefined) return;
  const crm = target.at('crm');
  if (connector.holds === 'events') {
    if (!crm.isMissing) yield crm.fault(...withRemedy('settings.calendar-crm', { connector: name }));
    if (target.at('agendas').isMissing) yield target.fault(...withRemedy('settings.no-agendas'));
    return;
  }
  for (const key of OF_CALENDARS) {
    if (target.at(key).isMissing) continue;
    yield target.at(key).fault(...withRemedy('settings.for-calendars', { key }));
  }
  if (crm.isMissing) {
    yield target.fault(...withRemedy('settings.no-crm'));
    return;
  }
  const { streams } = connector;
  const stream = crm.at('stream').value ?? 'patients';
  if (typeof stream !== 'string' || streams.includes(stream)) return;
  yield crm.at('stream').fault(...withRemedy('settings.stream-unsupported', { stream, streams: streams.join(', ') }));
}

function* checkConnection(target: FilePart, { connectors }: DefinedNames): Generator<ConfigurationFault> {
  const part = target.at('connection');
  const name = part.text;
  if (name === null) return;
  if (name === CLINIC_CONNECTION) {
    yield part.fault(...withRemedy('settings.clinic-connection'));
    return;
  }
  const connections = new FilePart(target.file, ['connections']);
  yield* part.unknownName(connections.names, message('settings.a-connection'), message('settings.add-connection'));
  const kind = connections.at(name, 'kind').text;
  const kinds = connectors.get(String(target.at('connector').value))?.connectionKinds;
  if (kinds === undefined || kind === null || kinds.includes(kind)) return;
  const usable = kinds.map<Text>(String).reduce((one, other) => message('settings.or', { one, other }));
  yield part.fault(...withRemedy('settings.connection-kind', { name, kind, kinds: usable }));
}

/** Titles with patient data require a written reason. */
function* checkTitle(target: FilePart): Generator<ConfigurationFault> {
  const title = target.at('title');
  if ((title.value !== 'initials' && title.value !== 'full') || !target.at('titleReason').isMissing) return;
  yield title.fault(...withRemedy('settings.title-reason', { title: title.value }));
}

/** A title can contain only appointment data that the target's fields allow. */
function* checkTitleFormat(target: FilePart): Generator<ConfigurationFault> {
  const format = target.at('titleFormat');
  const allowed = ['title', ...target.at('fields').list];
  const stray = valuesOf(parseTitleFormat(format.text ?? '') ?? []).find((value) => !allowed.includes(value));
  if (stray === undefined) return;
  yield format.fault(...withRemedy('settings.title-field', { field: stray }));
}

/** An appointment is exactly one of busy, free or tentative. */
function* checkTentative(target: FilePart): Generator<ConfigurationFault> {
  const tentative = target.at('tentative');
  const free = target.at('free').isMissing ? FREE_BY_DEFAULT : target.at('free').list;
  const both = tentative.list.find((status) => free.some((one) => one === status));
  if (both === undefined) return;
  yield tentative.fault(...withRemedy('settings.tentative-free', { status: String(both), free: free.join(', ') }));
}

/** A link requires a URL in the profile. */
function* checkShownLinks(links: FilePart, definedNames: DefinedNames): Generator<ConfigurationFault> {
  const inProfile = definedNames.links(clientOf(links));
  for (const name of links.list) {
    if (inProfile?.[name as keyof typeof inProfile] !== false) continue;
    const key = `appointments.${name === 'page' ? 'pageUrl' : 'teleVisitUrl'}`;
    yield links.fault(...withRemedy('settings.no-link', { link: String(name), key }));
  }
}

/** Presets must be supported by the vendor. */
function* checkPresets(target: FilePart, { connectors }: DefinedNames): Generator<ConfigurationFault> {
  const name = String(target.at('connector').value);
  const connector = connectors.get(name);
  if (connector?.holds !== 'events') return;
  const refused: [preset: string, parts: Iterable<FilePart>, remedy: Text][] = [
    ['colour', target.matching('labels.*.colour'), message('settings.unsupported.colour')],
    ['category', target.matching('labels.*.category'), message('settings.unsupported.category')],
    [
      'noAlert',
      target.at('reminderMinutes').value === 'none' ? [target.at('reminderMinutes')] : [],
      message('settings.unsupported.alert'),
    ],
  ];
  for (const [preset, parts, remedy] of refused) {
    if (connector.supports.presets?.includes(preset) === true) continue;
    const unsupported = message('settings.unsupported', { connector: name });
    for (const part of parts) if (!part.isMissing) yield part.fault(unsupported, remedy);
  }
}
