import { stringify } from 'yaml';
import type { Agenda, Location } from '../../core/model/records.ts';
import { NAME, NAME_REMEDY } from '../../core/model/text.ts';
import { isZone } from '../../core/model/time.ts';
import { render } from '../../messages/message.ts';
import { zoneRemedy } from '../../settings/common-schemas.ts';
import { LANGUAGE } from '../../settings/tenant-schema.ts';
import { tenantSecretFile } from '../../settings/tenant-secrets.ts';
import { keysAt, type YamlFile } from '../../settings/yaml-file.ts';
import { type Asker, questionOf } from './asker.ts';
import { addressOf, CALENDAR_KINDS, type CalendarKind, type Registrations } from './settings-part.ts';
import type { ValueTests } from './value-tests.ts';
import { prepareSecret, type TestedSecret, untilAccepted } from './written-files.ts';

/** A clinic before the questions about calendars. */
export interface NewTenant {
  id: string;
  name: string;
  language: string;
  zone: string;
}

/** Sources of calendars in the clinic. */
export interface CalendarSources {
  agendas: readonly Agenda[];
  locations: readonly Location[];
}

/** Answers about one calendar. */
export interface NewCalendar {
  id: string;
  kind: CalendarKind;
  connection: object;
  target: object;
}

/** Functions used by the questions about calendars. */
export interface CalendarTools {
  dir: string;
  tenant: string;
  registrations: Registrations;
  tests: Pick<ValueTests, 'caldav'>;
}

const CONNECTORS: Readonly<Record<CalendarKind, string>> = {
  google: 'google-calendar',
  microsoft: 'outlook-calendar',
  caldav: 'caldav',
};

/** Asks for name and location of a clinic. */
export async function askTenant(asker: Asker): Promise<NewTenant> {
  const name = await asker.text({ id: 'name', ask: 'Name of the clinic', why: 'as patients know the clinic' });
  const id = await asker.text({
    ...{ id: 'tenant', ask: 'Short id of the clinic', usual: idOf(name), check: idFault },
    why: 'used in commands and as the file name; cannot be changed later',
  });
  const language = await asker.choice({
    ...{ id: 'language', ask: questionOf(LANGUAGE), why: 'for calendars and messages to patients' },
    choices: [
      { value: 'it', label: 'Italian' },
      { value: 'en', label: 'English' },
    ],
  });
  const zone = await asker.text({
    ...{ id: 'zone', ask: 'Time zone of the clinic', usual: Intl.DateTimeFormat().resolvedOptions().timeZone },
    why: 'an IANA name; calendars show appointments in this zone',
    check: (text) => (isZone(text) ? undefined : `${render(zoneRemedy(text))}; must be an IANA name`),
  });
  return { id, name, language, zone };
}

/** Returns the text of a tenant file. @param clinicId id in the clinic API; null if the connection has only one clinic */
export function tenantText(
  { id: _id, ...tenant }: NewTenant,
  client: string,
  clinicId: string | null,
  calendars: readonly NewCalendar[],
): string {
  return stringify({
    ...tenant,
    clinic: { client, ...(clinicId === null ? {} : { tenantId: clinicId }) },
    connections: Object.fromEntries(calendars.map(({ id, connection }) => [id, connection])),
    targets: Object.fromEntries(calendars.map(({ id, target }) => [id, target])),
  });
}

/**
 * Asks for each calendar: source, location and visible details. Each password is written after its server accepted the password.
 * @throws MirrorError `settings`, code `value-refused`
 */
export async function askCalendars(
  tools: CalendarTools,
  { agendas, locations }: CalendarSources,
  asker: Asker,
): Promise<NewCalendar[]> {
  const firstRun = await asker.choice({
    ...{ id: 'firstRun', ask: 'Before the first write' },
    why: 'with both choices, clinic-mirror writes only after your command',
    choices: [
      { value: 'plan', label: 'hold the changes until an administrator approves the plan' },
      { value: 'apply', label: 'write immediately with the first sync' },
    ],
  });
  const locationNames = new Map(locations.map(({ id, name }) => [id, name]));
  const choices = agendas.map(({ id, name, locationId }) => {
    const locationName = locationNames.get(locationId ?? '');
    return { value: id, label: locationName === undefined ? `${name} (${id})` : `${name}, ${locationName} (${id})` };
  });
  const calendars: NewCalendar[] = [];
  while (await asker.another('calendars', calendars.length, 'Add another calendar?')) {
    const at = `calendars.${calendars.length}`;
    const chosen = await asker.choices({
      ...{ id: `${at}.agendas`, ask: 'Agendas for this calendar', choices },
      why: 'the clinic has one agenda per practitioner, room or service; selected agendas share one calendar',
    });
    const names = agendas.filter(({ id }) => chosen.includes(id)).map(({ name }) => name);
    const taken = new Set(calendars.map(({ id }) => id));
    calendars.push(await askCalendar(asker, at, { ...tools, agendas: chosen, names, taken, firstRun }));
  }
  return calendars;
}

interface Chosen extends CalendarTools {
  agendas: string[];
  names: readonly string[];
  taken: ReadonlySet<string>;
  firstRun: 'plan' | 'apply';
}

async function askCalendar(asker: Asker, at: string, chosen: Chosen): Promise<NewCalendar> {
  const { registrations, agendas, names, taken, firstRun } = chosen;
  const id = await asker.text({
    ...{ id: `${at}.id`, ask: 'Short id of this calendar', usual: idOf(names[0] ?? 'calendar') },
    why: 'used in commands and reports; cannot be changed later',
    check: (text) => idFault(text) ?? (taken.has(text) ? 'another calendar has this id' : undefined),
  });
  const kind = await asker.choice({
    ...{ id: `${at}.kind`, ask: 'Where is this calendar?', choices: kindsOf(registrations) },
    why: 'Google and Microsoft are available if the settings contain a registration',
  });
  const calendar = await asker.text({
    ...{ id: `${at}.calendar`, ask: 'Name of the calendar', usual: names.join(', ') },
    why: 'clinic-mirror creates a calendar with this name; existing events remain unchanged',
  });
  const title = await asker.choice({
    ...{ id: `${at}.title`, ask: 'Title of events', choices: TITLES },
    why: 'visible to every user of the calendar; for patient names, edit the file and add a reason',
  });
  const { connection, settings } =
    kind === 'caldav'
      ? await untilAccepted(asker, () => askCaldav(asker, at, chosen, { id, calendar }))
      : await askAccount(asker, at, { kind, client: registrations[kind] ?? 'main', calendar });
  const target = { connector: CONNECTORS[kind], connection: id, agendas, title, firstRun, settings };
  return { id, kind, connection, target };
}

const TITLES = [
  { value: 'appointment', label: 'the word "appointment"' },
  { value: 'busy', label: 'only "busy"' },
  { value: 'code', label: "the clinic's appointment number" },
] as const;

function kindsOf({ google, microsoft }: Registrations): { value: CalendarKind; label: string }[] {
  return [
    ...(google === null ? [] : [{ value: 'google' as const, label: 'Google Calendar' }]),
    ...(microsoft === null ? [] : [{ value: 'microsoft' as const, label: 'Microsoft 365 (Outlook)' }]),
    { value: 'caldav', label: 'CalDAV' },
  ];
}

async function askAccount(
  asker: Asker,
  at: string,
  { kind, client, calendar }: { kind: 'google' | 'microsoft'; client: string; calendar: string },
): Promise<{ connection: object; settings: object }> {
  const address = await asker.text({
    ...{ id: `${at}.account`, ask: 'E-mail address of the account', isOptional: true },
    why: 'clinic-mirror refuses other accounts; empty: accepts any account',
  });
  const account = address === '' ? {} : { account: { address } };
  const connection = { kind, client, ...account };
  const mailbox = kind === 'microsoft' ? { mailbox: 'me' } : {};
  const rootUrl = asker.presetAnswer(`${at}.rootUrl`);
  const api = rootUrl === null ? {} : { rootUrl };
  return { connection, settings: { ...mailbox, calendar: { create: calendar }, ...api } };
}

async function askCaldav(
  asker: Asker,
  at: string,
  tools: CalendarTools,
  { id, calendar }: { id: string; calendar: string },
) {
  const server = await asker.text({
    ...{ id: `${at}.server`, ask: 'URL of the CalDAV server', check: addressOf(['https:', 'http:']) },
    why: 'such as https://caldav.icloud.com; clinic-mirror finds the calendars there',
  });
  const username = await asker.text({
    ...{ id: `${at}.username`, ask: 'User name on the CalDAV server' },
    why: 'often an e-mail address',
  });
  const secret = caldavPassword(asker, at, tools, { id, server, username });
  await prepareSecret(tools.dir, secret, asker);
  return {
    connection: { kind: 'caldav', username, password: { file: secret.file } },
    settings: { server, calendar: { home: 'discover', create: calendar } },
  };
}

function caldavPassword(
  asker: Asker,
  at: string,
  { tenant, tests }: Pick<CalendarTools, 'tenant' | 'tests'>,
  { id, server, username }: { id: string; server: string; username: string },
): TestedSecret {
  return {
    ...{ file: tenantSecretFile(tenant, `${id}-password`), what: `the password of ${id}`, mayBeAway: false },
    ask: () =>
      asker.secret({
        ...{ id: `${at}.password`, ask: `Password of ${username}` },
        why: 'most hosted servers require an app password: docs/connect/caldav.md',
      }),
    test: (password) => tests.caldav({ server, username, password }),
  };
}

/** A calendar in an existing tenant file. */
export type ExistingCalendar = Pick<NewCalendar, 'id' | 'kind'>;

/** Lists calendars of a tenant file that `init` could have created. */
export function calendarsOf(file: YamlFile): ExistingCalendar[] {
  return keysAt(file, ['connections']).flatMap((id) => {
    const kind = CALENDAR_KINDS.find((one) => one === file.valueAt(['connections', id, 'kind']));
    return kind === undefined ? [] : [{ id, kind }];
  });
}

/** Tests the CalDAV passwords of a tenant file. Replaces refused passwords that `init` wrote. */
export async function checkPasswords(
  file: YamlFile,
  asker: Asker,
  tools: Omit<CalendarTools, 'registrations'>,
): Promise<void> {
  for (const [index, { id, kind }] of calendarsOf(file).entries()) {
    const target = keysAt(file, ['targets']).find((one) => file.valueAt(['targets', one, 'connection']) === id);
    const server = target === undefined ? undefined : file.valueAt(['targets', target, 'settings', 'server']);
    if (kind !== 'caldav' || typeof server !== 'string') continue;
    const username = String(file.valueAt(['connections', id, 'username']));
    const secret = caldavPassword(asker, `calendars.${index}`, tools, { id, server, username });
    if (file.valueAt(['connections', id, 'password', 'file']) !== secret.file) continue;
    await untilAccepted(asker, () => prepareSecret(tools.dir, { ...secret, mayBeAway: true }, asker));
  }
}

/** Makes an id from a name: `Dott.ssa Bianchi` is `dott-ssa-bianchi`. */
function idOf(name: string): string {
  const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return (
    plain
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 40) || 'clinic'
  );
}

function idFault(text: string): string | undefined {
  return NAME.test(text) ? undefined : render(NAME_REMEDY);
}
