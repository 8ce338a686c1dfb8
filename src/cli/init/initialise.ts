import { join } from 'node:path';
import type { Installation } from '../../control/installation.ts';
import type { LoginDesk } from '../../control/logins.ts';
import type { Acting } from '../../control/recording.ts';
import { MirrorError } from '../../model/errors.ts';
import type { LoginResult } from '../../oauth/login.ts';
import { keysAt, type YamlFile } from '../../settings/yaml-file.ts';
import type { Print } from '../answer.ts';
import { wrap } from '../table.ts';
import { answersOf } from './answers-file.ts';
import type { Asker } from './asker.ts';
import { askSettings, type Registrations, registrationsOf } from './settings-part.ts';
import { askCalendars, askTenant, type NewCalendar, type NewTenant, type Places, tenantText } from './tenant-part.ts';
import { readExisting, replaceOwnFile, SETTINGS_FILE, tenantFile, writeNewFiles } from './written-files.ts';

/** What the command needs of the command line. */
export interface InitCommand {
  /** Opens the installation of a directory, does the work, closes it again. */
  withInstallation<Result>(
    dir: string,
    tenant: string,
    work: (installation: Installation, desk: LoginDesk, acting: Acting) => Promise<Result>,
  ): Promise<Result>;
  /** Checks the configuration of a directory. */
  check(dir: string): Promise<{ faults: readonly object[]; text: string }>;
  read(file: string): Promise<string>;
  print: Print;
  err(text: string): void;
  signal: AbortSignal;
  exit(code: number): void;
}

/** How a person sets up. */
export interface InitChoice {
  answers?: string;
  device?: boolean;
  json?: boolean;
}

/**
 * Sets up a clinic in a directory, or one more in a directory that is set up. What was begun and not ended is gone on with: settings stand, and
 * so does the file of a tenant that has no targets yet. Nothing else that is there is written.
 */
export async function initialise(dir: string, choice: InitChoice, given: InitCommand): Promise<void> {
  const asker = await askerOf(choice, given);
  const registrations = await settle(dir, asker, given);
  const tenant = await settleTenant(dir, registrations.clinic, asker);
  given.err(`\nThe login to the clinic system of ${tenant.name}:`);
  const clinicId = await logInToClinic(dir, tenant, registrations.clinic, asker, choice, given);
  const places = await given.withInstallation(dir, tenant.id, (installation) =>
    placesOf(installation, tenant.id, given),
  );
  const calendars = await askCalendars(tenant.id, places, registrations, asker);
  await writeNewFiles(dir, new Map(calendars.flatMap(({ secrets }) => [...secrets])));
  await replaceOwnFile(dir, tenantFile(tenant.id), tenantText(tenant, registrations.clinic, clinicId, calendars));
  const { faults, text } = await given.check(dir);
  if (faults.length > 0) {
    given.err(text);
    return given.exit(2);
  }
  await logInToCalendars(dir, tenant.id, calendars, asker, choice, given);
  const next = ['plan', 'sync'].map((verb) => `clinic-mirror --config ${dir} ${verb} ${tenant.id}`);
  const told = { directory: dir, tenant: tenant.id, targets: calendars.map(({ id }) => id), next };
  given.print(choice, told, () => renderEnd(dir, tenant, calendars, next));
}

async function askerOf({ answers }: InitChoice, { read, err }: InitCommand): Promise<Asker> {
  if (answers !== undefined) return answersOf(await read(answers), process.env, err);
  if (process.stdin.isTTY && process.stderr.isTTY) return (await import('./prompts.ts')).terminalAsker();
  throw new MirrorError('there is no terminal in which questions could be asked', {
    ...{ actor: 'settings', code: 'no-terminal', retry: 'never' },
    remedy: 'run it in a terminal, or with --answers and a file (docs/first-calendar.md)',
  });
}

/** The settings, made or there already. */
async function settle(dir: string, asker: Asker, given: InitCommand): Promise<Registrations> {
  const existing = readExisting(dir, SETTINGS_FILE);
  if (existing === null) {
    const { files, registrations } = await askSettings(dir, asker, (document) => profileOf(document, asker, given));
    await writeNewFiles(dir, files);
    return registrations;
  }
  const registrations = registrationsOf(existing);
  if (registrations === null) {
    throw new MirrorError(`the settings in ${dir} name no clinic client`, {
      ...{ actor: 'settings', code: 'init-not-empty', retry: 'never' },
      remedy: 'name a directory that is not there yet, or fill in clinicClients by hand',
    });
  }
  asker.tell(`${join(dir, SETTINGS_FILE)} stays as it is; one more clinic is set up under it.`);
  return registrations;
}

async function profileOf(document: string, asker: Asker, { read }: InitCommand): Promise<string> {
  const { checkSpecification } = await import('../../profile-finder/check-spec.ts');
  const { clinicProfileSchema } = await import('../../clinic/schema/profile.ts');
  const { proposedProfile, toDecide } = checkSpecification(await read(document), clinicProfileSchema.parse({}));
  for (const { place, ask } of toDecide)
    asker.tell(`To decide in profiles/clinic.yaml, or to ask the clinic: ${place}: ${ask}`);
  return proposedProfile;
}

/** The clinic's own file: new, or begun before and without targets. */
async function settleTenant(dir: string, client: string, asker: Asker): Promise<NewTenant> {
  const tenant = await askTenant(asker);
  const existing = readExisting(dir, tenantFile(tenant.id));
  if (existing === null) {
    await writeNewFiles(dir, new Map([[tenantFile(tenant.id), tenantText(tenant, client, null, [])]]));
  } else if (!isUnfinished(existing)) {
    throw new MirrorError(`the tenant "${tenant.id}" has a file with targets`, {
      ...{ actor: 'settings', code: 'init-not-empty', retry: 'never' },
      remedy: `choose another id, or add calendars to ${tenantFile(tenant.id)} by hand`,
    });
  }
  return tenant;
}

function isUnfinished(file: YamlFile): boolean {
  return keysAt(file, ['targets']).length === 0;
}

/** @returns the clinic's id where the login sees several; null where it is the only one */
async function logInToClinic(
  dir: string,
  tenant: NewTenant,
  client: string,
  asker: Asker,
  choice: InitChoice,
  given: InitCommand,
): Promise<string | null> {
  const { doubt } = await logIn(dir, tenant.id, 'clinic', choice, given);
  if (doubt === undefined) return null;
  if (doubt.code !== 'tenant-choice') throw doubt;
  const clinicId = await asker.text({
    ...{ id: 'clinicId', ask: 'Which clinic?', why: doubt.remedy ?? 'the login sees several' },
  });
  await replaceOwnFile(dir, tenantFile(tenant.id), tenantText(tenant, client, clinicId, []));
  return clinicId;
}

async function logInToCalendars(
  dir: string,
  tenant: string,
  calendars: readonly NewCalendar[],
  asker: Asker,
  choice: InitChoice,
  given: InitCommand,
): Promise<void> {
  for (const { id, kind } of calendars) {
    if (kind === 'caldav') continue;
    const when = await asker.choice({
      ...{ id: `logins.${id}`, ask: `Log in to ${id} now?` },
      why: `else later: clinic-mirror --config ${dir} login ${tenant} ${id}`,
      choices: [
        { value: 'now', label: 'now, in this browser' },
        { value: 'later', label: 'later' },
      ],
    });
    if (when === 'now') await logIn(dir, tenant, id, choice, given);
  }
}

function logIn(
  dir: string,
  tenant: string,
  connection: string,
  { device = false }: InitChoice,
  { withInstallation, err, signal }: InitCommand,
): Promise<LoginResult> {
  return withInstallation(dir, tenant, async (_, desk, acting) => {
    const { loginWithBrowser, loginWithDevice } = await import('../../control/acts.ts');
    if (!device) {
      const show = (url: string) => err(`Open this address in a browser on this machine:\n\n${url}\n\nWaiting …`);
      return loginWithBrowser(acting, desk, tenant, connection, show, signal);
    }
    const showCode = ({ userCode, verificationUri }: { userCode: string; verificationUri: string }) =>
      err(`Open ${verificationUri} on any device and type in the code  ${userCode}\nWaiting …`);
    return loginWithDevice(acting, desk, tenant, connection, showCode, signal);
  });
}

async function placesOf({ tenants }: Installation, tenant: string, { signal }: InitCommand): Promise<Places> {
  const { clinic } = tenants.get(tenant) ?? {};
  const agendas = (await clinic?.agendas(signal)) ?? [];
  // What a login may not read is not shown; only names of places are missing then.
  const locations = (await clinic?.locations(signal).catch(() => [])) ?? [];
  if (agendas.length > 0) return { agendas, locations };
  throw new MirrorError('the clinic lists no agenda', {
    ...{ actor: 'settings', code: 'no-agendas', retry: 'never' },
    remedy: `see how it answers: clinic-mirror clinic probe ${tenant}`,
  });
}

function renderEnd(dir: string, tenant: NewTenant, calendars: readonly NewCalendar[], next: readonly string[]): string {
  return [
    wrap(`${tenant.name} is set up in ${dir}: ${calendars.map(({ id }) => id).join(', ')}.`),
    wrap(
      `Keep a copy of ${join(dir, 'keys')} where nobody else reads it, apart from Redis: without the identity key every entry would be written again.`,
    ),
    '',
    'See what would be written, then write it:',
    ...next.map((command) => `  ${command}`),
    'And from then on, unattended:',
    `  clinic-mirror --config ${dir} run`,
  ].join('\n');
}
