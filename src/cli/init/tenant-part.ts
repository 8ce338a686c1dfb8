import { stringify } from 'yaml';
import { NAME, NAME_REMEDY } from '../../model/names.ts';
import type { Agenda, Location } from '../../model/records.ts';
import { isZone } from '../../model/zones.ts';
import { tenantSecretFile } from '../../settings/tenant-secrets.ts';
import type { Asker } from './asker.ts';
import { addressOf, type CalendarKind, type Registrations } from './settings-part.ts';

/** A clinic before its calendars are known. */
export interface NewTenant {
  id: string;
  name: string;
  language: string;
  zone: string;
}

/** What feeds calendars, as the clinic lists it. */
export interface Places {
  agendas: readonly Agenda[];
  locations: readonly Location[];
}

/** One calendar as it was asked for. */
export interface NewCalendar {
  id: string;
  kind: CalendarKind;
  connection: object;
  target: object;
  /** Its secrets, by their path from the directory on. */
  secrets: ReadonlyMap<string, string>;
}

const CONNECTORS: Readonly<Record<CalendarKind, string>> = {
  google: 'google-calendar',
  microsoft: 'outlook-calendar',
  caldav: 'caldav',
};

/** Asks what a clinic is called, and where it is. */
export async function askTenant(asker: Asker): Promise<NewTenant> {
  const name = await asker.text({ id: 'name', ask: 'Name of the clinic', why: 'as people call it' });
  const id = await asker.text({
    ...{ id: 'tenant', ask: 'Short id of the clinic', usual: idOf(name), check: idFault },
    why: 'names its file and stands in commands; it stays for good',
  });
  const language = await asker.choice({
    ...{ id: 'language', ask: 'Language of titles and pages', why: 'what calendars and patients read' },
    choices: [
      { value: 'it', label: 'Italian' },
      { value: 'en', label: 'English' },
    ],
  });
  const zone = await asker.text({
    ...{ id: 'zone', ask: 'Time zone of the clinic', usual: Intl.DateTimeFormat().resolvedOptions().timeZone },
    why: 'an IANA name; appointments stand in calendars as its clocks show them',
    check: (text) => (isZone(text) ? undefined : 'give an IANA name, such as Europe/Rome'),
  });
  return { id, name, language, zone };
}

/** The file of a tenant. @param clinicId the clinic's own id; null where the login sees one clinic alone */
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

/** Asks for one calendar after the other: what feeds it, where it is, what it tells. */
export async function askCalendars(
  tenant: string,
  { agendas, locations }: Places,
  registrations: Registrations,
  asker: Asker,
): Promise<NewCalendar[]> {
  const firstRun = await asker.choice({
    ...{ id: 'firstRun', ask: 'Before anything is written for the first time' },
    why: 'either way nothing is written before you give the command for it',
    choices: [
      { value: 'plan', label: 'hold it until a person has seen the plan and approved it' },
      { value: 'apply', label: 'write at once with the first sync' },
    ],
  });
  const placeOf = new Map(locations.map(({ id, name }) => [id, name]));
  const choices = agendas.map(({ id, name, locationId }) => {
    const place = placeOf.get(locationId ?? '');
    return { value: id, label: place === undefined ? `${name} (${id})` : `${name}, ${place} (${id})` };
  });
  const calendars: NewCalendar[] = [];
  while (await asker.another('calendars', calendars.length, 'One more calendar?')) {
    const at = `calendars.${calendars.length}`;
    const chosen = await asker.choices({
      ...{ id: `${at}.agendas`, ask: 'Agendas that go into this calendar', choices },
      why: 'the clinic keeps one for each practitioner, room or service; whoever is chosen together shares one calendar',
    });
    const names = agendas.filter(({ id }) => chosen.includes(id)).map(({ name }) => name);
    const taken = new Set(calendars.map(({ id }) => id));
    calendars.push(await askCalendar(asker, at, { tenant, registrations, agendas: chosen, names, taken, firstRun }));
  }
  return calendars;
}

interface Chosen {
  tenant: string;
  registrations: Registrations;
  agendas: string[];
  names: readonly string[];
  taken: ReadonlySet<string>;
  firstRun: 'plan' | 'apply';
}

async function askCalendar(asker: Asker, at: string, chosen: Chosen): Promise<NewCalendar> {
  const { tenant, registrations, agendas, names, taken, firstRun } = chosen;
  const id = await asker.text({
    ...{ id: `${at}.id`, ask: 'Short id of this calendar', usual: idOf(names[0] ?? 'calendar') },
    why: 'stands in commands and reports; it stays for good',
    check: (text) => idFault(text) ?? (taken.has(text) ? 'another calendar has it' : undefined),
  });
  const kind = await asker.choice({
    ...{ id: `${at}.kind`, ask: 'Where is this calendar?', choices: kindsOf(registrations) },
    why: 'kinds with a registration in the settings are offered',
  });
  const calendar = await asker.text({
    ...{ id: `${at}.calendar`, ask: 'Name of the calendar', usual: names.join(', ') },
    why: 'one of our own is made under it: nothing that is there already is touched',
  });
  const title = await asker.choice({
    ...{ id: `${at}.title`, ask: 'What titles tell', choices: TITLES },
    why: 'whoever may read the calendar reads them; names of patients need a reason, written into the file by hand',
  });
  const { connection, settings, secrets } = await askConnection(asker, at, {
    tenant,
    id,
    kind,
    registrations,
    calendar,
  });
  const target = { connector: CONNECTORS[kind], connection: id, agendas, title, firstRun, settings };
  return { id, kind, connection, target, secrets };
}

const TITLES = [
  { value: 'appointment', label: 'that it is an appointment' },
  { value: 'busy', label: 'busy, and nothing else' },
  { value: 'code', label: "the clinic's number of the appointment" },
] as const;

function kindsOf({ google, microsoft }: Registrations): { value: CalendarKind; label: string }[] {
  return [
    { value: 'caldav', label: 'CalDAV' },
    ...(google === null ? [] : [{ value: 'google' as const, label: 'Google Calendar' }]),
    ...(microsoft === null ? [] : [{ value: 'microsoft' as const, label: 'Microsoft 365 (Outlook)' }]),
  ];
}

interface Wanted {
  tenant: string;
  id: string;
  kind: CalendarKind;
  registrations: Registrations;
  calendar: string;
}

async function askConnection(
  asker: Asker,
  at: string,
  { tenant, id, kind, registrations, calendar }: Wanted,
): Promise<{ connection: object; settings: object; secrets: Map<string, string> }> {
  if (kind === 'caldav') return askCaldav(asker, at, tenant, id, calendar);
  const address = await asker.text({
    ...{ id: `${at}.account`, ask: 'E-mail address of its account', isOptional: true },
    why: 'a login with another account is refused then; empty: whoever logs in',
  });
  const account = address === '' ? {} : { account: { address } };
  const connection = { kind, client: registrations[kind] ?? 'main', ...account };
  const mailbox = kind === 'microsoft' ? { mailbox: 'me' } : {};
  return { connection, settings: { ...mailbox, calendar: { create: calendar } }, secrets: new Map() };
}

async function askCaldav(asker: Asker, at: string, tenant: string, id: string, calendar: string) {
  const server = await asker.text({
    ...{ id: `${at}.server`, ask: 'Address of the CalDAV server', check: addressOf(['https:', 'http:']) },
    why: 'such as https://caldav.icloud.com; the rest is found there',
  });
  const username = await asker.text({
    ...{ id: `${at}.username`, ask: 'User name there' },
    why: 'often an e-mail address',
  });
  const password = await asker.secret({
    ...{ id: `${at}.password`, ask: 'Password' },
    why: 'most hosted servers want one made for this application: docs/connect-caldav.md',
  });
  const file = tenantSecretFile(tenant, `${id}-password`);
  return {
    connection: { kind: 'caldav', username, password: { file } },
    settings: { server, calendar: { home: 'discover', create: calendar } },
    secrets: new Map([[file, `${password}\n`]]),
  };
}

/** A name as an id: `Dott.ssa Bianchi` is `dott-ssa-bianchi`. */
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
  return NAME.test(text) ? undefined : NAME_REMEDY;
}
