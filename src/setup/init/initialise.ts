import { join } from 'node:path';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';
import type { LoginResult } from '../../oauth/login.ts';
import { askToOpen } from '../../operator/cli/login-command.ts';
import type { InitChoice, InitCommand } from '../../operator/cli/setup-commands.ts';
import { wrap } from '../../operator/cli/table.ts';
import type { Installation } from '../../operator/control/installation.ts';
import { CLINIC_CONNECTION } from '../../settings/tenant-schema.ts';
import { keysAt, type YamlFile } from '../../settings/yaml-file.ts';
import type { Asker } from './asker.ts';
import { answersOf } from './asker.ts';
import { checkSettings, makeSettings, type Registrations, registrationsOf } from './settings-part.ts';
import {
  askCalendars,
  askTenant,
  type CalendarSources,
  type CalendarTools,
  calendarsOf,
  checkPasswords,
  type ExistingCalendar,
  type NewCalendar,
  type NewTenant,
  tenantText,
} from './tenant-part.ts';
import type { ValueTests } from './value-tests.ts';
import { readExisting, replaceOwnFile, SETTINGS_FILE, tenantFile, writeMissingFiles } from './written-files.ts';

/** One run of `init`: directory, source of answers and options. */
interface Setup {
  dir: string;
  asker: Asker;
  choice: InitChoice;
  command: InitCommand;
}

/**
 * Sets up the first clinic in a directory, or an additional clinic. After an interruption, the next run continues at the missing step.
 * Working values remain, and a refused secret is replaced.
 */
export async function initialise(dir: string, choice: InitChoice, options: InitCommand): Promise<void> {
  const asker = await askerOf(choice, options);
  const setup = { dir, asker, choice, command: options };
  const tests = (await import('./value-tests.ts')).openValueTests(options.signal);
  const registrations = await prepareSettings(dir, asker, tests, options);
  const { tenant, file, clinicId: configuredId } = await prepareTenant(dir, registrations.clinic, asker);
  const clinicId = await connectClinic(setup, tenant, {
    client: registrations.clinic,
    currentSecret: configuredId,
    file,
  });
  const tools = { dir, tenant: tenant.id, registrations, tests };
  if (file !== null) await checkPasswords(file, asker, tools);
  const calendars = file === null ? await makeCalendars(setup, tenant, clinicId, tools) : calendarsOf(file);
  const { faults, text } = await options.check(dir);
  if (faults.length > 0) {
    options.err(text);
    return options.exit(2);
  }
  await logInToCalendars(setup, tenant.id, calendars);
  const next = [`clinic-mirror --config ${dir} plan ${tenant.id}`, `clinic-mirror --config ${dir} sync ${tenant.id}`];
  const targets = file === null ? calendars.map(({ id }) => id) : keysAt(file, ['targets']);
  const report = { directory: dir, tenant: tenant.id, targets, next };
  options.print(choice, report, () => renderEnd(dir, tenant, targets, next));
}

/** Asks for the calendars, and writes the complete tenant file. */
async function makeCalendars(
  { dir, asker, command }: Setup,
  tenant: NewTenant,
  clinicId: string | null,
  tools: CalendarTools,
): Promise<NewCalendar[]> {
  const sources = await command.withInstallation(dir, tenant.id, (installation) =>
    sourcesOf(installation, tenant.id, command),
  );
  const calendars = await askCalendars(tools, sources, asker);
  await replaceOwnFile(dir, tenantFile(tenant.id), tenantText(tenant, tools.registrations.clinic, clinicId, calendars));
  return calendars;
}

async function askerOf({ answers }: InitChoice, { read, err }: InitCommand): Promise<Asker> {
  if (answers !== undefined) return answersOf(await read(answers), process.env, err, answers);
  const { stdin, stderr } = process;
  // Standard output is reserved for the answer.
  if (stdin.isTTY && stderr.isTTY)
    return (await import('./prompts.ts')).terminalAsker({ input: stdin, output: stderr });
  throw new MirrorError(message('no-terminal'), {
    ...{ actor: 'settings', code: 'no-terminal', retry: 'never' },
    remedy: message('no-terminal.remedy'),
  });
}

/** Returns the existing settings, or creates the settings. */
async function prepareSettings(
  dir: string,
  asker: Asker,
  tests: ValueTests,
  options: InitCommand,
): Promise<Registrations> {
  const existing = readExisting(dir, SETTINGS_FILE);
  if (existing === null) {
    return makeSettings(dir, asker, { tests, profileOf: (document) => profileOf(document, asker, options) });
  }
  const registrations = registrationsOf(existing);
  if (registrations === null) {
    throw new MirrorError(message('no-clinic-client', { dir }), {
      ...{ actor: 'settings', code: 'init-not-empty', retry: 'never' },
      remedy: message('no-clinic-client.remedy'),
    });
  }
  asker.report(`${join(dir, SETTINGS_FILE)} remains unchanged.`);
  await checkSettings(existing, registrations, asker, { dir, tests });
  return registrations;
}

async function profileOf(document: string, asker: Asker, { read }: InitCommand): Promise<string> {
  const { checkSpecification } = await import('../check-spec/check-spec.ts');
  const { clinicProfileSchema } = await import('../../clinic/schema/profile.ts');
  const { proposedProfile, toDecide } = checkSpecification(await read(document), clinicProfileSchema.parse({}));
  for (const { location, ask } of toDecide)
    asker.report(`Decide in profiles/clinic.yaml, or ask the clinic's vendor: ${location}: ${ask}`);
  return proposedProfile;
}

/** A tenant during setup. */
interface Begun {
  tenant: NewTenant;
  /** Id in the clinic API, if an earlier run wrote the id. */
  clinicId: string | null;
  /** Existing file with targets; null if targets are missing. */
  file: YamlFile | null;
}

/** Returns the tenant: new, unfinished, or complete with targets. */
async function prepareTenant(dir: string, client: string, asker: Asker): Promise<Begun> {
  const tenant = await askTenant(asker);
  const path = tenantFile(tenant.id);
  const existing = readExisting(dir, path);
  if (existing === null) {
    await writeMissingFiles(dir, new Map([[path, tenantText(tenant, client, null, [])]]));
    return { tenant, clinicId: null, file: null };
  }
  const id = existing.valueAt(['clinic', 'tenantId']);
  const clinicId = id === undefined ? null : String(id);
  if (keysAt(existing, ['targets']).length > 0) {
    asker.report(`${join(dir, path)} remains unchanged: add calendars in this file.`);
    return { tenant, clinicId, file: existing };
  }
  if (keysAt(existing, []).every((key) => UNFINISHED_KEYS.has(key))) return { tenant, clinicId, file: null };
  throw new MirrorError(message('tenant-file-foreign', { id: tenant.id }), {
    ...{ actor: 'settings', code: 'init-not-empty', retry: 'never' },
    remedy: message('tenant-file-foreign.remedy', { path }),
  });
}

/** Keys that {@link tenantText} writes before the calendars are known. */
const UNFINISHED_KEYS: ReadonlySet<string> = new Set(['name', 'language', 'zone', 'clinic', 'connections', 'targets']);

/**
 * Connects to the clinic if no connection works yet.
 * @returns the id in the clinic API if the connection has several clinics; null for a single clinic
 */
async function connectClinic(
  setup: Setup,
  tenant: NewTenant,
  { client, currentSecret, file }: { client: string; currentSecret: string | null; file: YamlFile | null },
): Promise<string | null> {
  const { dir, asker } = setup;
  const objection = await clinicObjection(setup, tenant);
  if (objection === null) return currentSecret;
  if (objection.code !== 'tenant-choice' || file !== null) throw objection;
  const clinicId = await asker.text({
    ...{
      id: 'clinicId',
      ask: 'Which clinic?',
      why: objection.remedy ?? 'the connection has access to several clinics',
    },
  });
  await replaceOwnFile(dir, tenantFile(tenant.id), tenantText(tenant, client, clinicId, []));
  return clinicId;
}

/** Returns the error of the clinic connection, or null. */
async function clinicObjection(setup: Setup, tenant: NewTenant): Promise<MirrorError | null> {
  const { dir, command } = setup;
  if (!(await isConnected(setup, tenant.id, CLINIC_CONNECTION))) {
    command.err(`\nConnection to the clinic system of ${tenant.name}:`);
    return (await logIn(setup, tenant.id, CLINIC_CONNECTION)).uncertainty ?? null;
  }
  return command.withInstallation(dir, tenant.id, async ({ tenants }) => {
    const asked = tenants.get(tenant.id)?.clinic.tenantId(command.signal);
    return (await asked?.then(() => null, asMirrorError)) ?? null;
  });
}

function isConnected({ dir, command }: Setup, tenant: string, connection: string): Promise<boolean> {
  return command.withInstallation(dir, tenant, async (installation) => {
    const open = installation.tenants.get(tenant);
    const statuses = open === undefined ? [] : await installation.connections(open);
    return statuses.some((one) => one.connection === connection && one.state === 'connected');
  });
}

async function logInToCalendars(setup: Setup, tenant: string, calendars: readonly ExistingCalendar[]): Promise<void> {
  const { dir, asker, command } = setup;
  for (const { id, kind } of calendars) {
    if (kind === 'caldav' || (await isConnected(setup, tenant, id))) continue;
    const when = await asker.choice({
      ...{ id: `logins.${id}`, ask: `Connect ${id} now?` },
      why: `to connect later: clinic-mirror --config ${dir} login ${tenant} ${id}`,
      choices: [
        { value: 'now', label: 'now, in this browser' },
        { value: 'later', label: 'later' },
      ],
    });
    if (when !== 'now') continue;
    command.err(`\nConnection to ${kind === 'google' ? 'Google' : 'Microsoft'}, for ${id}:`);
    await logIn(setup, tenant, id);
  }
}

function logIn({ dir, choice, command }: Setup, tenant: string, connection: string): Promise<LoginResult> {
  const { err, signal } = command;
  return command.withInstallation(dir, tenant, async (_, services, acting) => {
    const { loginWithBrowser, loginWithDevice } = await import('../../operator/control/acts.ts');
    if (choice.device !== true) {
      const show = (url: string) => err(askToOpen(url));
      return loginWithBrowser(acting, services, { tenant, connection }, show, signal);
    }
    const showCode = ({ userCode, verificationUri }: { userCode: string; verificationUri: string }) =>
      err(`Open ${verificationUri} on any device and enter the code  ${userCode}\nWaiting …`);
    return loginWithDevice(acting, services, { tenant, connection }, showCode, signal);
  });
}

async function sourcesOf({ tenants }: Installation, tenant: string, { signal }: InitCommand): Promise<CalendarSources> {
  const { clinic } = tenants.get(tenant) ?? {};
  const agendas = (await clinic?.agendas(signal)) ?? [];
  // Locations are optional. Without permission to read locations, only their names are missing.
  const locations = (await clinic?.locations(signal).catch(() => [])) ?? [];
  if (agendas.length > 0) return { agendas, locations };
  throw new MirrorError(message('no-agendas'), {
    ...{ actor: 'settings', code: 'no-agendas', retry: 'never' },
    remedy: message('no-agendas.remedy', { tenant }),
  });
}

function renderEnd(dir: string, tenant: NewTenant, targets: readonly string[], next: readonly string[]): string {
  return [
    wrap(`${tenant.name} is set up in ${dir}: ${targets.join(', ')}.`),
    wrap(
      `Back up ${join(dir, 'keys')} to a private place, separate from Redis: without the identity key clinic-mirror writes every event again.`,
    ),
    '',
    'Show the planned changes, then write them:',
    ...next.map((command) => `  ${command}`),
    'Then start the daemon:',
    `  clinic-mirror --config ${dir} run`,
  ].join('\n');
}
